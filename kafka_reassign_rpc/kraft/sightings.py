"""What looks have seen of the moves, one after the other: which of them count, and how often they agree. No I/O."""

from collections.abc import Collection, Generator, Iterable
from typing import NamedTuple

from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.cluster_seen import record_of, topic_seen
from kafka_reassign_rpc.kraft.intents import Intents
from kafka_reassign_rpc.kraft.kraft_commands import Sighted
from kafka_reassign_rpc.kraft.ports import Look


class _Seen(NamedTuple):
    """`looks`: so many in a row have seen the same; the last began with this number."""

    seen: SeenPartition | None
    looks: int


class Sightings:
    """A look counts for a partition if it has begun after the last act there was answered. Looks are far enough apart
    that a broker which lives has by the second what the controller had at the first."""

    def __init__(self, intents: Intents) -> None:
        self._intents = intents
        self._last: dict[TopicPartition, _Seen] = {}
        self._told: set[TopicPartition] = set()
        self._not_counting: set[TopicPartition] = set()
        self._answered: set[TopicPartition] = set()

    def being_told(self, names: Iterable[TopicPartition]) -> None:
        self._told.update(names)
        self._forget(names)

    def answered(self, names: Collection[TopicPartition]) -> None:
        """The look that is under way does not count."""
        self._told.difference_update(names)
        self._not_counting.update(names)
        self._answered.update(names)
        self._forget(names)

    def look_begins(self) -> None:
        self._not_counting = set(self._told)
        self._answered = set()

    @property
    def outdated(self) -> frozenset[TopicPartition]:
        """Partitions with an act that was answered while the look that has just ended was under way."""
        return frozenset(self._answered)

    def taken(self, look: Look, *, is_settled: bool) -> Generator[None, None, dict[TopicPartition, Sighted]]:
        """After a look at all topics. Not `is_settled`: what a former server has told may still arrive, so that looks
        agree on nothing. Yields after each topic and each move."""
        self._last = {name: one for name, one in self._last.items() if name in self._intents.moves}
        topics = {}
        for topic_name in look.topics:
            topics[topic_name] = topic_seen(look, topic_name)
            yield
        found = {}
        for name, record in list(self._intents.moves.items()):
            yield
            if name in self._told or name in self._not_counting:
                continue
            topic = topics.get(name.topic)
            one = None if topic is None else topic.partitions.get(name.partition)
            is_there = topic is not None and one is not None and record_of(self._intents, topic, name) is not None
            seen = one.assignment if one is not None and is_there else None
            before = self._last.get(name)
            looks = before.looks + 1 if is_settled and before is not None and before.seen == seen else 1
            flew = before is not None and before.seen is not None and before.seen.is_moving
            was_in_flight = (
                flew and before is not None and before.seen is not None and (before.seen.target == record.terms.target)
            )
            self._last[name] = _Seen(seen, looks)
            found[name] = Sighted(record, seen, looks, was_in_flight)
        return found

    def _forget(self, names: Iterable[TopicPartition]) -> None:
        for name in names:
            self._last.pop(name, None)
