"""What others have edited by hand while no controller ran, as far as brokers prove it: they know what the last
controller has told them. Who does not answer, or has started since, proves nothing.

in ZooKeeper                        as brokers know it            the controller
a topic with states, without an id  one id                        gives it that one: brokers refuse their logs under
                                                                  another
one that no controller has had,     one id                        gives it a new one: the name was another topic's,
without an id                                                     with higher epochs
the znode is as old as what         another id                    names both: the one that was written may be meant
brokers know, and was written since
a state with a leader               another, in the same leader   raises the leader epoch, so that brokers act on what
                                    epoch                         was written: an epoch has one leader

An edit that the running controller reads: `core.round.changed_by_others`.
"""

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER
from kafka_reassign_rpc.core.state.topic import Topic, topic_id_text
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.slices import sorted_in_slices

MOST_PARTITIONS = 10_000
"""Of how many partitions a broker is asked."""
MOST_WRITTEN = 2_000
"""Of how many in topics that have an id, those that were written last first: while no controller runs, only edits are
written. A controller that dies with thousands of moves under way has written all of them."""


class Told(NamedTuple):
    """What one broker knows. `leaders`: with their leader epochs; only those that live."""

    broker: int
    ids: dict[str, UUID]
    leaders: dict[TopicPartition, tuple[int, int]]


class IdEdited(NamedTuple):
    """`brokers` know the topic by `known`."""

    topic: str
    now: UUID
    known: UUID
    brokers: Sequence[int]

    @property
    def text(self) -> str:
        """A clause."""
        known, now = topic_id_text(self.known), topic_id_text(self.now)
        return (
            f"the topic_id of /brokers/topics/{self.topic} was edited from {known} to {now}, and brokers refuse their"
            f" logs under that (INCONSISTENT_TOPIC_ID): write {known} there, unless the logs are of no use"
        )


class Edits(NamedTuple):
    """lost     the ids of topics that have none
    edited   topics with another id
    leaders  partitions with another leader
    """

    lost: Mapping[str, UUID] = {}
    edited: Sequence[IdEdited] = ()
    leaders: Collection[TopicPartition] = ()


def to_ask_about(cluster: Cluster, written: Mapping[str, int], since: int) -> Generator[None, None, list[str]]:
    """Topics without an id, and those of which something was `written` after this zxid: that of the last mark of a
    controller of ours, which is a minute older than its end at most."""
    suspects = list[tuple[bool, int, str]]()
    for topic in list(cluster.topics.values()):
        last = written.get(topic.name, -1)
        if not topic.deleting and (topic.id is None or last > since):
            suspects.append((topic.id is not None, -last, topic.name))
        yield
    names, asked = list[str](), 0
    for has_id, _, name in chain.from_iterable((yield from sorted_in_slices(suspects))):
        size, most = len(cluster.topics[name].partitions), MOST_WRITTEN if has_id else MOST_PARTITIONS
        if asked + size <= most or not (has_id or names):
            names.append(name)
            asked += size
        yield
    return names


def is_as_stored(cluster: Cluster, names: Sequence[str], told: Told) -> bool:
    """Whether a broker knows all of these topics by the ids that they have: no other need be asked."""
    return all(name in told.ids and told.ids[name] == cluster.topics[name].id for name in names)


def proven(cluster: Cluster, told: Sequence[Told], since: int) -> Generator[None, None, Edits]:
    lost, edited, leaders, given = dict[str, UUID](), list[IdEdited](), set[TopicPartition](), set[UUID]()
    for name in {name: None for one in told for name in one.ids}:
        topic, known = cluster.topics.get(name), {one.broker: one.ids[name] for one in told if name in one.ids}
        if topic is None or len(set(known.values())) > 1:
            continue
        (id_,) = set(known.values())
        if topic.id is None:
            had_one = any(value.partition_epoch >= 0 for value in topic.partitions.values())
            if had_one and id_ not in cluster.topic_names and id_ not in given:
                lost[name] = id_
                given.add(id_)
        elif topic.id != id_ and topic.created <= since < topic.id_since:
            edited.append(IdEdited(name, topic.id, id_, sorted(known)))
        yield
    for one in told:
        for partition, (leader, epoch) in one.leaders.items():
            topic, value = cluster.topics.get(partition.topic), cluster.get(*partition)
            is_same = topic is not None and topic.id in (None, one.ids.get(partition.topic))
            has_epoch = value is not None and value.partition_epoch >= 0 and value.leader_epoch == epoch
            if is_same and has_epoch and value is not None and NO_LEADER != leader != value.leader:
                leaders.add(partition)
            yield
    return Edits(lost, edited, leaders)


def keep_ids(cluster: Cluster, lost: Mapping[str, UUID]) -> Iterator[None]:
    """The failover gives these topics the ids that they had."""
    for name, id_ in lost.items():
        topic = cluster.topics[name]
        cluster.soft.former.keep(Topic(name, id_, {}, created=topic.created), {}, is_reported=True)
        yield
