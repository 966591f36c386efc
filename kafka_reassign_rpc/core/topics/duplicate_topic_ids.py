"""Topics that have one id. Kafka takes topic ids for unique: its controller cannot be elected then
(`ControllerContext.addTopicId`), and a migration to KRaft keeps one of the topics.

The topic that had the id first is served: the one that this controller knows under it, else the one whose znode was
created first. The others are left alone, as those with an unreadable znode are, until each has an id of its own.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from uuid import UUID

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Topic, Twin


def find(topics: Iterable[Topic], holders: Mapping[UUID, str]) -> Generator[None, None, dict[str, Twin]]:
    """Those of `topics` that are left alone. `holders`: the topics that are known under their ids."""
    first: dict[UUID, Topic] = {}
    others: list[Topic] = []
    for topic in topics:
        yield
        if topic.id is None:
            continue
        before = first.setdefault(topic.id, topic)
        if before is not topic:
            goes_first = _rank(topic, holders) < _rank(before, holders)
            others.append(before if goes_first else topic)
            first[topic.id] = topic if goes_first else before
    return {topic.name: Twin(topic.id, first[topic.id].name) for topic in others if topic.id is not None}


def _rank(topic: Topic, holders: Mapping[UUID, str]) -> tuple[bool, int, str]:
    return topic.id is None or holders.get(topic.id) != topic.name, topic.created, topic.name


def among(changed: Mapping[str, Topic], cluster: Cluster) -> Generator[None, None, dict[str, Twin]]:
    """Those of the topics that others have changed which are left alone, given all that the cluster knows."""
    ids = {topic.id for topic in changed.values() if topic.id is not None}
    standing = [
        cluster.topics[name]
        for one in ids
        if (name := cluster.topic_names.get(one)) is not None and name not in changed and name not in cluster.twins
    ]
    return (yield from find((*changed.values(), *standing), cluster.topic_names))


def freed(cluster: Cluster) -> Sequence[str]:
    """Topics that were left alone, and whose id no other topic has any more."""
    return [name for name, one in cluster.twins.items() if _is_free(cluster, name, one.id)]


def _is_free(cluster: Cluster, name: str, topic_id: UUID) -> bool:
    """A topic that is left alone itself may be known under an id that its znode no longer has."""
    holder = cluster.topic_names.get(topic_id, name)
    return holder == name or (holder in cluster.twins and cluster.twins[holder].id != topic_id)


def groups(twins: Mapping[str, Twin]) -> dict[UUID, Sequence[str]]:
    """By id the topics that have it, the one that had it first before the others."""
    found: dict[UUID, dict[str, None]] = {}
    for name, twin in sorted(twins.items()):
        found.setdefault(twin.id, {twin.first: None})[name] = None
    return {one: list(names) for one, names in found.items()}
