"""What Kafka takes for unique and is not: names that meet as metrics, principals, producer ids, ids of nodes. Pure.

Topic ids: `duplicate_topic_id_findings`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kafka_reassign_rpc.controller.duties.producer_ids import BLOCK, first_free, is_set_back
from kafka_reassign_rpc.core.config_values import INT32, items, number
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.cures import Cures
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, some_brokers, unsafe, warning
from kafka_reassign_rpc.preflight.kraft_broker_findings import is_generated
from kafka_reassign_rpc.preflight.read_state import FoundState, UniqueNames
from kafka_reassign_rpc.support.counted import agreeing, all_of, those
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.quota_znodes import quote_name, unquote_name

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
    return some(f"{host}:{port} ({some_brokers(ids)})" for (host, port), ids in sorted(found.items()))


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
