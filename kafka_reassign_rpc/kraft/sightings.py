"""What looks have seen of the moves, one after the other: which of them count, and how often they agree. No I/O."""

import asyncio
import time
from collections.abc import Callable, Collection, Generator, Iterable
from typing import NamedTuple

from kafka_reassign_rpc.core.phases.phases import LOOKS
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.look_facts import TopicSeen
from kafka_reassign_rpc.kraft.cluster_seen import Known, records_of, topic_seen
from kafka_reassign_rpc.kraft.kraft_commands import Sighted
from kafka_reassign_rpc.kraft.ports import Look
from kafka_reassign_rpc.kraft.round_records import Intents

FORWARDING_S = 60.0
"""For so long a broker passes an Alter on to the controllers, again and again, while none answers (retryTimeoutMs of
BrokerServer's forwarding channel). Only when it arrives there does its own time-out begin."""


class Settling(NamedTuple):
    """Seconds in which an Alter may still have an effect of which this server does not know: from the claim on, one
    of the former server for a move that the log has then; from a lost answer on, one of its own.

    The former server tells for its lead time after its last commit, by its clock. A virtual machine that is paused as a
    whole does not see that time pass (CLOCK_MONOTONIC), so nothing here covers what it tells when it goes on.
    """

    claimed: float
    unanswered: float


def settling(lead_s: float, request_timeout_s: float) -> Settling:
    unanswered = FORWARDING_S + request_timeout_s
    return Settling(lead_s + unanswered, unanswered)


class _Seen(NamedTuple):
    """`looks`: so many in a row have seen the same, all of them settled or none."""

    seen: SeenPartition
    looks: int
    is_settled: bool


class Taken(NamedTuple):
    """What a look has shown, and what of it counts for moves."""

    topics: dict[str, TopicSeen]
    sighted: dict[TopicPartition, Sighted]


class Sightings:
    """A look counts for a partition if it has begun after the last act there was answered. Looks are far enough apart
    that a broker which lives has by the second what the controller had at the first.

    `now`: monotonic seconds. Moves that `intents` has at first are those of the claim.
    """

    def __init__(self, intents: Intents, settling: Settling, now: Callable[[], float] = time.monotonic) -> None:
        self._intents = intents
        self._settling = settling
        self._now = now
        self._settled_at = dict.fromkeys(intents.moves, now() + settling.claimed)
        self._last: dict[TopicPartition, _Seen] = {}
        self._told: set[TopicPartition] = set()
        self.all_answered = asyncio.Event()
        """Not set while an act has no answer."""
        self.all_answered.set()
        self._not_counting: set[TopicPartition] = set()
        self._answered: set[TopicPartition] = set()

    def being_told(self, names: Iterable[TopicPartition]) -> None:
        self._told.update(names)
        if self._told:
            self.all_answered.clear()
        self._forget(names)

    def answered(self, names: Collection[TopicPartition]) -> None:
        """The look that is under way does not count."""
        self._told.difference_update(names)
        if not self._told:
            self.all_answered.set()
        self._not_counting.update(names)
        self._answered.update(names)
        self._forget(names)

    def unanswered(self, names: Iterable[TopicPartition]) -> None:
        """What was sent may still arrive."""
        until = self._now() + self._settling.unanswered
        for name in names:
            self._settled_at[name] = max(until, self._settled_at.get(name, until))

    def look_begins(self) -> None:
        self._not_counting = set(self._told)
        self._answered = set()
        now = self._now()
        self._settled_at = {name: at for name, at in self._settled_at.items() if at > now}

    @property
    def being_changed(self) -> frozenset[TopicPartition]:
        """Partitions with an act that has no answer yet."""
        return frozenset(self._told)

    @property
    def outdated(self) -> frozenset[TopicPartition]:
        """Partitions with an act that was answered while the look that has just ended was under way."""
        return frozenset(self._answered)

    def taken(self, look: Look, gone: Collection[Known] = ()) -> Generator[None, None, Taken]:
        """After a look. Of a move whose partition it does not show, it says nothing, unless the topic is `gone`.
        Yields after each partition and each move."""
        self._last = {name: one for name, one in self._last.items() if name in self._intents.moves}
        taken = Taken({}, {})
        for topic_name in look.topics:
            taken.topics[topic_name] = yield from topic_seen(look, topic_name)
        ours = {name: records_of(self._intents, name, topic.id) for name, topic in taken.topics.items()}
        yield
        for name, record in list(self._intents.moves.items()):
            yield
            if name in self._told or name in self._not_counting:
                continue
            if gone and Known(name.topic, self._intents.ids.get(name.topic, "")) in gone:
                taken.sighted[name] = Sighted(record, None, LOOKS)
                continue
            topic = taken.topics.get(name.topic)
            found = None if topic is None else topic.partitions.get(name.partition)
            if found is None or name not in ours[name.topic]:
                self._forget([name])
                continue
            seen, before, is_settled = found.assignment, self._last.get(name), name not in self._settled_at
            agrees = before is not None and (before.seen, before.is_settled) == (seen, is_settled)
            looks = before.looks + 1 if before is not None and agrees else 1
            self._last[name] = _Seen(seen, looks, is_settled)
            last = None if before is None else before.seen
            taken.sighted[name] = Sighted(record, seen, looks, last, is_settled)
        return taken

    def _forget(self, names: Iterable[TopicPartition]) -> None:
        for name in names:
            self._last.pop(name, None)
