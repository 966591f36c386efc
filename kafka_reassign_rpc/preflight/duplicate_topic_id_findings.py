"""What follows from topics that have one id, and which of them the logs belong to. Pure."""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic import topic_id_text
from kafka_reassign_rpc.core.topics import duplicate_topic_ids
from kafka_reassign_rpc.preflight.ask_duplicate_topic_ids import MOST_TOPICS, Twins
from kafka_reassign_rpc.preflight.cures import Commands, Cures
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, unsafe
from kafka_reassign_rpc.support.counted import counted, those
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.topic_znodes import TopicZnode, encode_topic

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
