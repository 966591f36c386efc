"""Which move is which: Kafka lists what moves now, without ids, times and outcomes. The book compares looks.

A move that is listed no longer is over. How it ended shows in its partition's replicas: the original ones (cancelled),
the target (completed), others (gone). A broker may show them a little later than the controller's list: what could
be such a delay has to be seen twice, other replicas `LOOKS` times.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.client.result_values import PartitionReassignment
from kafka_reassign_rpc.client.stock_cluster import Listed
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

TWICE, LOOKS = 2, 10
DELETED = "its partition was deleted"
OTHERS = "its replicas are neither the target nor the original ones"
NOT_TOLD = "no broker knows the replicas of its partition"


class Standing(NamedTuple):
    """`topic_id` is "" where the broker gives none."""

    replicas: tuple[int, ...]
    topic_id: str = ""


Told = Mapping[TopicPartition, Standing | None]
"""None: there is no such partition. Of one that is missing here there is no answer."""


class _Move:
    """`unlisted`: looks since it was listed; `alike`: of these, how many in a row gave the same answer, `last`."""

    __slots__ = ("alike", "last", "record", "topic_id", "unlisted")

    def __init__(self, record: MoveRecord) -> None:
        self.record = record
        self.topic_id = ""
        self.listed()

    def listed(self) -> None:
        self.unlisted = self.alike = 0
        self.last: str | None = None


class MoveBook:
    """The moves of one cluster. Give it every look with `observe`."""

    def __init__(self) -> None:
        self._moves: dict[TopicPartition, _Move] = {}
        self._looks = 0
        self._last_id = -1

    @property
    def records(self) -> dict[TopicPartition, MoveRecord]:
        return {name: one.record for name, one in self._moves.items()}

    @property
    def follows_some(self) -> bool:
        return bool(self._moves)

    @property
    def topics(self) -> set[str]:
        """The topics of moves whose outcome is not known yet."""
        return {name.topic for name in self._moves}

    def observe(
        self, at: int, listed: Listed, told: Told, at_rest: Mapping[TopicPartition, Sequence[int]]
    ) -> list[Event]:
        """What has happened since the look before. `at`: ms since 1970; `listed`: what is in flight; `at_rest`:
        replicas in their order, of partitions that were seen before they moved. The list is older than `told`.
        """
        events = [*self._events(at, listed, told, at_rest)]
        self._looks += 1
        return events

    def _events(
        self, at: int, listed: Listed, told: Told, at_rest: Mapping[TopicPartition, Sequence[int]]
    ) -> Iterator[Event]:
        for name in [name for name in self._moves if name not in listed]:
            yield from self._unlisted(name, told)
        for name, move in listed.items():
            standing = told.get(name)
            known = self._moves.get(name)
            if known is not None:
                replaced = [*_replaced(name, known, move, standing)]
                yield from replaced
                if replaced and replaced[0].event != catalogue.MOVE_RETARGETED:
                    known = None
            if known is None:
                record = self._record(at, move, at_rest.get(name, ()))
                known = self._moves[name] = _Move(record)
                if self._looks:
                    yield _event(catalogue.MOVE_STARTED, name, record)
            known.listed()
            if standing is not None and standing.topic_id:
                known.topic_id = standing.topic_id

    def _record(self, at: int, move: PartitionReassignment, at_rest: Sequence[int]) -> MoveRecord:
        """A server of ours gives its own id. At the first look it is unknown since when a move is in flight."""
        original = tuple([one for one in move.replicas if one in move.sources])
        if set(at_rest) == move.sources:
            original = tuple(at_rest)
        self._last_id = max(at, self._last_id + 1)
        id_ = self._last_id if move.id is None else move.id
        started = at if self._looks else None
        return MoveRecord(MoveTerms(move.target, move.route, move.reason), original, id_, started)

    def _unlisted(self, name: TopicPartition, told: Told) -> Iterator[Event]:
        one = self._moves[name]
        one.unlisted += 1
        answer = _answer(name, one, told)
        one.alike = one.alike + 1 if answer == one.last else 1
        one.last = answer
        if answer == catalogue.MOVE_COMPLETED or (
            one.alike >= (TWICE if answer in (catalogue.MOVE_CANCELLED, DELETED) else LOOKS)
        ):
            del self._moves[name]
            if answer in (catalogue.MOVE_COMPLETED, catalogue.MOVE_CANCELLED):
                yield _event(answer, name, one.record)
            else:
                yield replace(_event(catalogue.MOVE_GONE, name, one.record), reason=answer)
        elif one.unlisted >= 3 * LOOKS:  # brokers contradict one another
            del self._moves[name]
            yield replace(_event(catalogue.MOVE_GONE, name, one.record), reason=OTHERS)


def _answer(name: TopicPartition, one: _Move, told: Told) -> str:
    if name not in told:
        return NOT_TOLD
    standing = told[name]
    if standing is None or (one.topic_id and standing.topic_id and standing.topic_id != one.topic_id):
        return DELETED
    if set(standing.replicas) == set(one.record.original):  # also where the target was changed to these
        return catalogue.MOVE_CANCELLED
    return catalogue.MOVE_COMPLETED if set(standing.replicas) == set(one.record.terms.target) else OTHERS


def _replaced(
    name: TopicPartition, known: _Move, move: PartitionReassignment, standing: Standing | None
) -> Iterator[Event]:
    """Another move is listed for the partition: what has become of the known one."""
    record = known.record
    if standing is not None and known.topic_id and standing.topic_id and standing.topic_id != known.topic_id:
        yield replace(_event(catalogue.MOVE_GONE, name, record), reason=DELETED)
        return
    is_other = move.id not in (None, record.id)
    sources = move.sources
    if not is_other and move.target == record.terms.target:
        return
    if sources == set(record.terms.target) or (is_other and sources == set(record.original)):
        ended = catalogue.MOVE_CANCELLED if sources == set(record.original) else catalogue.MOVE_COMPLETED
        yield _event(ended, name, record)
    elif is_other:
        yield replace(_event(catalogue.MOVE_GONE, name, record), reason=OTHERS)
    else:
        known.record = replace(record, terms=MoveTerms(move.target, move.route, move.reason))
        yield _event(catalogue.MOVE_RETARGETED, name, known.record)


def _event(event: str, name: TopicPartition, record: MoveRecord) -> Event:
    at_end = record.original if event == catalogue.MOVE_CANCELLED else record.terms.target
    return Event(
        event,
        *name,
        id=record.id,
        route=record.terms.route,
        reason=record.terms.reason or None,
        target=record.terms.target,
        original=record.original,
        replicas=at_end if event in (catalogue.MOVE_COMPLETED, catalogue.MOVE_CANCELLED) else None,
        started=record.started,
    )
