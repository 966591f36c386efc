"""Topics that have one id: under which id brokers know each, and where its logs are; what follows, and which topic the
logs belong to.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import topic_id_text
from kafka_reassign_rpc.core.topics import duplicate_topic_ids
from kafka_reassign_rpc.preflight.ask_brokers import ask_each, connected
from kafka_reassign_rpc.preflight.cures import Commands, Cures
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, unsafe
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import DescribeLogDirsRequest
from kafka_reassign_rpc.support.counted import counted, those
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.broker_metadata import known_topics
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.topic_znodes import TopicZnode, encode_topic
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

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


def findings(cluster: Cluster, twins: Twins, cures: Cures) -> Iterator[Finding]:
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
