"""What Kafka takes for unique and is not: names that meet as metrics, principals, producer ids, ids of nodes, topic
ids.

Of topics that have one id brokers are asked (`look`): under which id they know each, and where its logs are, so which
topic the logs belong to. All else is pure.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.controller.duties.producer_ids import BLOCK, first_free, is_set_back
from kafka_reassign_rpc.core.config_values import INT32, items, number
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import topic_id_text
from kafka_reassign_rpc.core.topics import duplicate_topic_ids
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer, ask_each, connected
from kafka_reassign_rpc.preflight.findings import Commands, Cures, Finding, fine, some, some_brokers, unsafe, warning
from kafka_reassign_rpc.preflight.kraft_broker_findings import is_generated
from kafka_reassign_rpc.preflight.read_state import FoundState, UniqueNames
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import DescribeLogDirsRequest
from kafka_reassign_rpc.support.counted import agreeing, all_of, counted, those
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.transport.broker_answers import known_topics
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import quote_name, unquote_name
from kafka_reassign_rpc.zookeeper.topic_znodes import TopicZnode, encode_topic
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

VOTERS = "controller.quorum.voters"


def findings(cluster: Cluster, names: UniqueNames, cures: Cures) -> Iterator[Finding]:
    found = [*_metrics(cluster), *_principals(names), *_producer_ids(names, cures)]
    yield from found or [fine("unique-names", "no names meet as metrics or principals, and producer ids only rise")]


def _same(names: Iterable[str], meaning: Callable[[str], str]) -> list[list[str]]:
    """The names that mean the same, in groups."""
    groups = defaultdict[str, list[str]](list)
    for name in sorted(names):
        groups[meaning(name)].append(name)
    return [group for group in groups.values() if len(group) > 1]


def _metrics(cluster: Cluster) -> Iterator[Finding]:
    topics = (name for name in {*cluster.topics, *cluster.unreadable} if "." in name or "_" in name)
    same = _same(topics, lambda name: name.replace(".", "_"))
    if same:
        yield warning(
            "metric-names",
            "names of topics differ only in '.' and '_', which are the same in the names of Kafka's metrics:"
            f" {some(' and '.join(group) for group in same)}. One of them hides the figures of the other",
            "no such topic can be created by a client: move the records of one to a topic of another name",
        )


def _principals(names: UniqueNames) -> Iterator[Finding]:
    for kind, found in names.entities.items():
        same = _same(found, lambda name: unquote_name(name) or name)
        if same:
            odd = [name for group in same for name in group if quote_name(unquote_name(name)) != name]
            shown = some(map(all_of, same))
            yield unsafe(
                "principals",
                f"several znodes of /config/{kind} are one name to Kafka: {shown}. Which one's quotas and SCRAM"
                " credentials hold changes with each change, and a migration to KRaft keeps those of one",
                "set what is to hold with kafka-configs.sh, which writes the one that is quoted as Kafka quotes it, and"
                f" then delete {some(odd)}",
            )


def _producer_ids(names: UniqueNames, cures: Cures) -> Iterator[Finding]:
    block = names.producer_ids
    if block is not None and is_set_back(*block):
        first = first_free(*block)
        data = znode_contents.encode_producer_id_block(-1, first, first + BLOCK - 1).decode()
        yield unsafe(
            "producer-ids",
            f"{znode_paths.PRODUCER_ID_BLOCK} says that producer ids up to"
            f" {0 if block.last is None else block.last} have been given out, and its {block.writes} writes may have"
            f" given out those up to {first - 1}: somebody may have set it back. A stock controller gives such ids out"
            " once more, and brokers then refuse records of idempotent producers, or take them for repeated ones; a"
            " server of kafka-reassign-rpc does not",
            "write a block behind them",
            cures.shell(("set", znode_paths.PRODUCER_ID_BLOCK, data)),
        )


def nodes(
    state: FoundState, answers: Sequence[BrokerAnswer], own_id: int, advertised: Sequence[Endpoint]
) -> Iterator[Finding]:
    """Addresses and ids of brokers and servers. Kafka's broker does not start at the address of another."""
    at = defaultdict[tuple[str, int], list[int]](list)
    for broker in state.cluster.brokers.values():
        for place in sorted({(one.host, one.port) for one in broker.endpoints}):
            at[place].append(broker.id)
    twice = {place: ids for place, ids in at.items() if len(ids) > 1}
    if twice:
        yield unsafe(
            "addresses",
            f"brokers are registered at one address: {_places(twice)}. Who connects there reaches one of them",
            "give each of them its own in advertised.listeners",
        )
    ours = {place: at[place] for one in advertised if (place := (one.host, one.port)) in at}
    if ours:
        yield unsafe(
            "addresses",
            f"this server would be advertised at the address of a broker: {_places(ours)}",
            "give it another one (--listeners, --advertised-listeners)",
        )
    both = sorted(set(state.servers) & set(state.registered) - {str(own_id)})
    if both:
        yield warning(
            "broker-ids",
            f"{those(both, 'server')} of kafka-reassign-rpc {agreeing(len(both), 'run')}, and a broker is registered"
            " with the same id: such a server controls nothing",
            "start the server with another --broker-id",
        )
    generating = [one.broker.id for one in answers if is_generated(one)]
    if generating and own_id > max(state.cluster.brokers, default=-1):
        yield warning(
            "broker-ids",
            f"ZooKeeper may give the id {own_id} to the next broker without broker.id, as it may have given"
            f" {some_brokers(generating)} theirs: this server ends its control then",
            "choose a --broker-id up to the brokers' reserved.broker.max.id",
        )


def _places(found: Mapping[tuple[str, int], Sequence[int]]) -> str:
    return some(f"{Address(host, port)} ({some_brokers(ids)})" for (host, port), ids in sorted(found.items()))


def controller_ids(state: FoundState, answers: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    """Ids of KRaft controllers that brokers or servers have too, as far as brokers know them by their properties."""
    voters = {id_ for one in answers for id_ in _voters(one)}
    brokers = sorted(voters & _brokers(state))
    ours = sorted(voters & {id_ for name in state.taken_ids if (id_ := number(name, 0, INT32)) is not None})
    if brokers:
        yield unsafe(
            "controller-ids",
            f"{some_brokers(brokers, 'have')} the ids of KRaft controllers ({VOTERS}): in KRaft mode no broker starts"
            " with the id of a controller",
            f"give these controllers other ids, in their node.id and in {VOTERS} of all",
        )
    if ours:
        yield warning(
            "controller-ids",
            f"{those(ours, 'server')} of kafka-reassign-rpc and KRaft controllers have the same id: in /controller, in"
            " logs and in metrics they cannot be distinguished",
            f"give these controllers other ids, in their node.id and in {VOTERS} of all",
        )


def _brokers(state: FoundState) -> set[int]:
    held = {replica for _, _, one in state.cluster.all_partitions() for replica in one.replicas}
    return {*state.cluster.brokers, *held}


def _voters(answer: BrokerAnswer) -> Iterator[int]:
    for voter in items(answer.configs.get(VOTERS, "")):
        if (id_ := number(voter.partition("@")[0].strip(), 0, INT32)) is not None:
            yield id_


MOST_TOPICS, MOST_PARTITIONS = 20, 1000
"""How many topics are asked about, and how many partitions of each, at most."""


class Log(NamedTuple):
    """`path`: its folder."""

    topic: str
    broker: int
    path: str


class Twins(NamedTuple):
    """znodes  of topics with one id, those that can be read
    told    by topic, the ids under which brokers know it
    logs    in the order of brokers
    silent  brokers that did not list their logs
    asked   the topics that brokers were asked about
    """

    znodes: Mapping[str, TopicZnode] = {}
    told: Mapping[str, frozenset[UUID]] = {}
    logs: Sequence[Log] = ()
    silent: Sequence[int] = ()
    asked: Collection[str] = ()


async def look(zk: ZooKeeper, cluster: Cluster, links: BrokerLinks, client_id: str, seconds: float) -> Twins:
    """Each broker has `seconds` for its answer. Raises ZkError."""
    names = [name for group in duplicate_topic_ids.groups(cluster.twins).values() for name in group][:MOST_TOPICS]
    paths = {znode_paths.topic(name): name for name in names}
    znodes = {}
    for (path, name), read in zip(paths.items(), await zk.multi_get(list(paths)), strict=True):
        with suppress(BadZnode):
            if read is not None:
                znodes[name] = topic_znodes.decode_topic(read[0], path)
    asked = {name: sorted(znode.partitions) for name, znode in znodes.items()}
    asked = {name: indexes for name, indexes in asked.items() if len(indexes) <= MOST_PARTITIONS}
    if not asked:
        return Twins(znodes)
    told: dict[str, set[UUID]] = {}
    logs: list[Log] = []
    silent = []
    answers = await ask_each(cluster.brokers.values(), lambda broker: _ask(broker, links, client_id, seconds, asked))
    for broker, answer in zip(sorted(cluster.brokers), answers, strict=True):
        if answer is None:
            silent.append(broker)
            continue
        ids, found = answer
        logs += found
        for name, id_ in ids.items():
            told.setdefault(name, set()).add(id_)
    return Twins(znodes, {name: frozenset(ids) for name, ids in told.items()}, logs, silent, asked)


_Answer = tuple[dict[str, UUID], list[Log]] | None


async def _ask(
    broker: Broker, links: BrokerLinks, client_id: str, seconds: float, asked: Mapping[str, Sequence[int]]
) -> _Answer:
    try:
        async with connected(broker, links, client_id, seconds) as client:
            ids = {one.name: one.topic_id async for one in known_topics(client, asked)}
            return ids, await _logs(client, broker.id, asked)
    except (OSError, EOFError, ProtocolError, TimeoutError, _NotTold):
        return None


class _NotTold(Exception):
    """The broker does not let this login see its log dirs."""


async def _logs(client: RpcClient, broker: int, asked: Mapping[str, Sequence[int]]) -> list[Log]:
    """Raises _NotTold: without a log dir nothing is known."""
    version = await client.version(DescribeLogDirsRequest)
    topic = DescribeLogDirsRequest.DescribableLogDirTopic
    topics = [topic(version=version, topic=name, partitions=list(indexes)) for name, indexes in asked.items()]
    request = DescribeLogDirsRequest(version=version, topics=topics)
    answer = await client.call(DescribeLogDirsRequest, request, version)
    if not answer.results or any(one.error_code for one in answer.results):
        raise _NotTold
    return [
        Log(found.name, broker, f"{one.log_dir}/{found.name}-{partition.partition_index}")
        for one in answer.results
        for found in one.topics
        for partition in found.partitions
    ]


SUBJECT = "twin-ids"
FILE = "partition.metadata"
"""A broker keeps the topic id of a log in it."""


class _Cure(NamedTuple):
    """`frees`: the topic does not have the common id any more. `has_logs`: as far as is known."""

    text: str
    commands: Commands = ()
    frees: bool = False
    has_logs: bool = True


def topic_id_findings(cluster: Cluster, twins: Twins, cures: Cures) -> Iterator[Finding]:
    groups = duplicate_topic_ids.groups(cluster.twins)
    if not groups:
        yield fine(SUBJECT, "no two topics have one id")
    for topic_id, names in islice(groups.items(), MOST_TOPICS):
        found = [_cure(name, topic_id, cluster, twins, cures) for name in names]
        held = [at for at, one in enumerate(found) if not one.frees]
        if len(held) == 1:
            found[held[0]] = _Cure(f"{names[held[0]]} keeps its id")
        elif not held and not found[0].has_logs:
            found[0] = _Cure(f"{names[0]} had the id first, and keeps it")
        yield unsafe(
            SUBJECT,
            f"{those(names, 'topic', 'have')} one id, {topic_id_text(topic_id)}: no stock controller can be elected,"
            f" a migration to KRaft keeps one of them, and a server serves {names[0]} alone"
            f"{_silent(twins.silent)}",
            "; ".join(one.text for one in found),
            tuple(command for one in found for command in one.commands),
        )
    if len(groups) > MOST_TOPICS:
        more = f"{counted(len(groups) - MOST_TOPICS, 'more id')} of several topics each"
        yield unsafe(SUBJECT, f"there are {more}", "mend these, and look again")


def _cure(name: str, topic_id: UUID, cluster: Cluster, twins: Twins, cures: Cures) -> _Cure:
    znode = twins.znodes.get(name)
    own = twins.told.get(name, frozenset()) - {topic_id}
    paths = [f"{one.path}/{FILE} of broker {one.broker}" for one in twins.logs if one.topic == name]
    if znode is not None and len(own) == 1 and own.isdisjoint(cluster.topic_names):
        (before,) = own
        text = f"brokers know {name} under {topic_id_text(before)}: write this id into its znode again"
        return _Cure(text, _with_id(name, znode, before, cures), frees=True)
    if paths:
        return _Cure(
            f"the logs of {name} say which id is its own: look at topic_id in {some(paths)}, and write that one into"
            f" {znode_paths.topic(name)}"
        )
    if znode is not None and name in twins.asked and _is_known_everywhere(znode, cluster, twins.silent):
        text = (
            f"no broker has a log of {name}: take topic_id out of its znode, and the next controller gives it one; or"
            " delete the znode, if it is no topic"
        )
        return _Cure(text, _with_id(name, znode, None, cures), frees=True, has_logs=False)
    return _Cure(
        f"it is not known where logs of {name} are: look at topic_id in LOG_DIR/{name}-0/{FILE} of its brokers, and"
        f" write that one into {znode_paths.topic(name)}"
    )


def _is_known_everywhere(znode: TopicZnode, cluster: Cluster, silent: Collection[int]) -> bool:
    """Whether each broker that may have a log has listed its logs."""
    replicas = {replica for one in znode.partitions.values() for replica in one.replicas}
    return not silent and replicas <= cluster.brokers.keys()


def _with_id(name: str, znode: TopicZnode, topic_id: UUID | None, cures: Cures) -> Commands:
    data = encode_topic(topic_id, znode.partitions, znode.extra, znode.missing)
    return cures.shell(("set", znode_paths.topic(name), data.decode()))


def _silent(brokers: Sequence[int]) -> str:
    return f"; {those([*brokers], verb='have')} not listed the logs" if brokers else ""
