"""What this controller last knew of partitions that others have removed from ZooKeeper or changed there.

A topic whose znodes vanish is forgotten, as in Kafka (KafkaController.processTopicChange): brokers go on with its logs,
since the znodes may be restored. Restored states may be older than what brokers know, or missing: without the former
values a partition would get a leader that is not in sync, and epochs that brokers refuse.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.topic import Topic

MOST = 100_000
"""Partitions kept. Beyond that, the topics that vanished first are given up."""
MOST_APPEARED = 500
"""Restored partitions noted in one round: each costs many writes (`round.changed_by_others`)."""


class _FormerTopic(NamedTuple):
    id: UUID | None
    partitions: dict[int, Partition]

    def may_be(self, topic: Topic) -> bool:
        """One without an id counts as the same."""
        return topic.id in (None, self.id)


def readable_again(known: Topic, now: Topic) -> Collection[int]:
    """Partitions whose state could not be read before."""
    return (known.unreadable.keys() - now.unreadable.keys()) & now.partitions.keys()


class FormerPartitions:
    """A partition is kept until a durable round has decided about its new state."""

    def __init__(self) -> None:
        self._topics: dict[str, _FormerTopic] = {}
        self._count = 0
        self._unreported: dict[str, None] = {}
        self._appeared: dict[str, set[int]] = {}
        self._repaired: dict[str, set[int]] = {}
        self._room = MOST_APPEARED

    def keep(self, topic: Topic, partitions: Mapping[int, Partition], *, is_reported: bool = False) -> None:
        """A value or an id that is kept already stays, since nothing was decided. `is_reported`: the loss was
        reported."""
        kept = self._topics.get(topic.name)
        if kept is None or not kept.may_be(topic):
            self._give_up(topic.name)
            kept = self._topics[topic.name] = _FormerTopic(topic.id, {})
        before = len(kept.partitions)
        for index, value in islice(partitions.items(), MOST):
            kept.partitions.setdefault(index, value)
        self._count += len(kept.partitions) - before
        if not is_reported:
            self._unreported[topic.name] = None
        while self._count > MOST:
            self._give_up(next(iter(self._topics)))

    def of(self, topic: Topic) -> Mapping[int, Partition]:
        """The former partitions of this very topic."""
        kept = self._topics.get(topic.name)
        return kept.partitions if kept is not None and kept.may_be(topic) else {}

    def appeared(self, topic: Topic, partitions: Collection[int]) -> None:
        """Partitions that this term has not known come with restored states: brokers may know newer ones."""
        some = list(islice(partitions, self._room))
        if some:
            self._room -= len(some)
            self._appeared.setdefault(topic.name, set()).update(some)

    def read_again(self, known: Topic, now: Topic) -> None:
        """Of the same topic: keeps partitions whose state has become unreadable."""
        new = now.unreadable.keys() - known.unreadable.keys()
        if new:
            self.keep(
                known, {index: known.partitions[index] for index in new & known.partitions.keys()}, is_reported=True
            )
        for index in readable_again(known, now):
            self.repaired(now, index)

    def repaired(self, topic: Topic, index: int) -> None:
        """Its state was repaired, perhaps from a backup: whatever its version, only a higher leader epoch
        makes it newer than a value that is kept."""
        if index in self.of(topic):
            self._repaired.setdefault(topic.name, set()).add(index)
        elif topic.partitions[index].partition_epoch >= 0:
            self.appeared(topic, [index])

    def is_repaired(self, topic: Topic, index: int) -> bool:
        return index in self._repaired.get(topic.name, ())

    def is_put_back(self, topic: Topic, index: int) -> bool:
        return index in self._appeared.get(topic.name, ())

    def id_of(self, name: str) -> UUID | None:
        kept = self._topics.get(name)
        return None if kept is None else kept.id

    def has_other(self, topic: Topic) -> bool:
        """Whether another topic of the same name has vanished. No decision was made that its logs may go."""
        kept = self._topics.get(topic.name)
        return kept is not None and kept.id != topic.id

    def of_other(self, topic: Topic, index: int) -> Partition | None:
        """A partition of the topic that had the name before, with the epochs that brokers know."""
        kept = self._topics.get(topic.name)
        return None if kept is None or kept.id == topic.id else kept.partitions.get(index)

    def unreported(self, topics: Mapping[str, Topic]) -> Iterator[tuple[str, int]]:
        """Topics with losses not reported yet, and how many of their partitions are missing in `topics`, the present
        ones.
        """
        for name in self._unreported:
            now, kept = topics.get(name), self._topics[name]
            present = now.partitions if now is not None and kept.may_be(now) else {}
            gone = len(kept.partitions.keys() - present.keys())
            if gone:
                yield name, gone

    def decided(self, topics: Mapping[str, Topic]) -> None:
        """A durable round has decided about all of `topics`, the present ones, but for partitions with an unreadable
        state."""
        self._unreported.clear()
        self._appeared.clear()
        self._repaired.clear()
        self._room = MOST_APPEARED
        for name, kept in list(self._topics.items()):
            now = topics.get(name)
            if now is not None and now.id == kept.id:
                for index in (kept.partitions.keys() & now.partitions.keys()) - now.unreadable.keys():
                    del kept.partitions[index]
                    self._count -= 1
            lacks_id = now is not None and now.id is None and kept.id is not None
            if not kept.partitions and not lacks_id:
                del self._topics[name]

    def _give_up(self, name: str) -> None:
        kept = self._topics.pop(name, None)
        self._unreported.pop(name, None)
        if kept is not None:
            self._count -= len(kept.partitions)
