"""What has to hold of what operators have set (limits and brakes of self-healing, windows, holds, cordons), by the
state log. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kafka_reassign_rpc.core.healing.repair_targets import repaired_brokers
from kafka_reassign_rpc.core.phases.phases import Outcome
from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL, MAX_BROKERS
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.core.settings.windows import WINDOWS
from kafka_reassign_rpc.core.state.partition import HEAL, MoveRecord, Phase
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.round_records import JOINS, Move, RoundRecord

from .intent_checks import CLOCK_S, Round, Story

NEVER = float("inf")
_CANCELS = (Phase.CANCEL, Phase.RESTORE)


@dataclass
class Lost:
    """A broker that was away, from its kill until it is registered again. Times are seconds of the epoch."""

    broker: int
    limit_s: float
    begin: float = NEVER
    end: float = NEVER

    def is_away(self, at: float) -> bool:
        return self.begin <= at + CLOCK_S and at <= self.end + CLOCK_S

    def may_be_repaired(self, at: float) -> bool:
        return self.begin + self.limit_s <= at + CLOCK_S and at <= self.end + CLOCK_S


@dataclass
class Cordon:
    """`known`: when a target there was refused."""

    broker: int
    begin: float
    known: float = NEVER
    end: float = NEVER


class Placed(NamedTuple):
    """A partition as a broker shows it. `topic_id`: another one is another topic of the same name."""

    replicas: tuple[int, ...]
    topic_id: str
    is_moving: bool = False


def unrepaired(
    broker: int,
    brokers: Collection[int],
    before: Mapping[TopicPartition, Placed],
    now: Mapping[TopicPartition, Placed],
) -> list[TopicPartition]:
    """Partitions that still have the replica that a repair could have placed on another broker. What moved before,
    moves now, or has other replicas by now counts as somebody's."""
    return [
        name
        for name, was in before.items()
        if broker in was.replicas
        and not was.is_moving
        and not set(brokers) <= set(was.replicas)
        and now.get(name) == was
    ]


def repaired_in_time(rounds: Iterable[Round], lost: Lost) -> int:
    """Moves of repairs that joined the queue while it was away."""
    repairs = (
        one.move.terms
        for _, record in rounds
        if lost.begin <= record.at / 1000 <= lost.end
        for one in record.waiting
        if one.part == JOINS and one.move is not None and one.move.terms.route == HEAL
    )
    return sum(lost.broker in repaired_brokers(terms.reason, terms.target) for terms in repairs)


class _Rules:
    """Those that hold before a round, from those before it."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.since: dict[str, float] = {}
        self.waiting: dict[tuple[int, TopicPartition], WaitingMove] = {}
        self.moving: set[TopicPartition] = set()

    def has(self, name: str, at: float, value: str | None = None) -> bool:
        """For a moment at least. `value`: None is any."""
        found = self.settings.get(name)
        return found is not None and value in (None, found) and at - self.since[name] > CLOCK_S

    def why_not(self, begun: MoveRecord, at: float) -> str:
        """Why it may not begin, or "". Windows are for what copies more than a move in flight does."""
        if self.has(ENABLED, at, "false"):
            return "reassignments are disabled"
        if begun.terms.route == HEAL:
            return self.why_no_repair(at)
        in_flight = () if begun.replaces is None else begun.replaces.terms.target
        copies = not set(begun.terms.target) <= {*begun.original, *begun.retained, *in_flight}
        return "no window is open" if copies and self.has(WINDOWS, at) else ""

    def waits_for(self, name: TopicPartition, repair: WaitingMove) -> bool:
        """Whether a client's move with this target waits: a repair adopts it, whatever it does."""
        waiting = (one.terms for (_, of_name), one in self.waiting.items() if of_name == name)
        return any(one.route != HEAL and one.target == repair.terms.target for one in waiting)

    def why_no_repair(self, at: float) -> str:
        return "the brake holds" if self.has(MAX_BROKERS, at, "0") else ""

    def take(self, offset: int, record: RoundRecord, at: float) -> None:
        for setting in record.settings:
            self.since[setting.name] = at
            if setting.value is None:
                self.settings.pop(setting.name, None)
            else:
                self.settings[setting.name] = setting.value
        for one in record.waiting:
            key = offset if one.part == JOINS else one.part, TopicPartition(one.topic, one.partition)
            if one.move is None:
                self.waiting.pop(key, None)
            else:
                self.waiting[key] = one.move
        for move in record.moves:
            name = TopicPartition(move.topic, move.partition)
            (self.moving.discard if move.record is None else self.moving.add)(name)


def by_rules(rounds: Iterable[Round], lost: Collection[Lost]) -> Iterator[str]:
    """No move begins while reassignments are disabled, outside of windows or while it is held. A repair is one of a
    broker that is away for longer than the limit, with as many replicas and all others kept (of those before a move in
    flight to a broker that is away), and none begins while the brake holds. A move that gets another target has begun
    before, and so has one of others that a client cancels or asks for as well."""
    rules = _Rules()
    for offset, record in rounds:
        at = record.at / 1000
        leave = ((one.part, TopicPartition(one.topic, one.partition)) for one in record.waiting if one.move is None)
        left = {name: rules.waiting.get((part, name)) for part, name in leave}
        for move in record.moves:
            name = TopicPartition(move.topic, move.partition)
            if move.record is None or move.record.id is not None or name in rules.moving:
                continue
            if move.record.phase in _CANCELS or _asks_again(move.record):
                continue
            why = "it is held" if _is_start_of(left.get(name), move) else rules.why_not(move.record, at)
            if why:
                yield f"{offset}: {name} begins to move to {list(move.record.terms.target)}, and {why}"
        for one in record.waiting:
            if one.part == JOINS and one.move is not None and one.move.terms.route == HEAL:
                name = TopicPartition(one.topic, one.partition)
                what = f"{offset}: the repair of {name}"
                yield from _of_repair(what, one.move, rules, lost, at, is_adopted=rules.waits_for(name, one.move))
        rules.take(offset, record, at)


def _asks_again(record: MoveRecord) -> bool:
    """For what is in flight."""
    return record.replaces is not None and record.replaces.terms.target == record.terms.target


def _is_start_of(waiting: WaitingMove | None, move: Move) -> bool:
    """Whether it is the one that was held."""
    assert move.record is not None
    return waiting is not None and waiting.held is not None and waiting.terms.asks_for_the_same(move.record.terms)


def _of_repair(
    what: str, move: WaitingMove, rules: _Rules, lost: Collection[Lost], at: float, *, is_adopted: bool
) -> Iterator[str]:
    terms, origin = move.terms, move.origin
    if INTERVAL not in rules.settings:
        yield f"{what} joins the queue, and self-healing is off"
    if why := rules.why_no_repair(at):
        yield f"{what} joins the queue, and {why}"
    brokers = repaired_brokers(terms.reason, terms.target)
    for broker in sorted(brokers):
        if not any(one.broker == broker and one.may_be_repaired(at) for one in lost):
            yield f"{what} replaces broker {broker}, which was not away for longer than the limit"
    if not brokers:
        yield f"{what} replaces no broker: {terms.reason}"
    if is_adopted or origin is None:
        return
    unreached = {one.broker for one in lost if one.is_away(at)} - brokers - set(terms.target)
    if unreached:  # a move in flight may bring one in, and mends nothing: the repair led from what was before it
        return
    if not (len(origin) == len(terms.target) and set(origin) - brokers <= set(terms.target)):
        yield f"{what} leads from {list(origin)} to {list(terms.target)}"


def not_over_cordons(told: Story, cordons: Collection[Cordon]) -> Iterator[str]:
    """No move brings a replica to a broker while that is cordoned."""
    for life in told.lives:
        for cordon in cordons:
            is_within = cordon.known + CLOCK_S < life.begin and life.end < cordon.end
            if life.ended is Outcome.DONE and is_within and _arrives(life.record, cordon.broker):
                yield f"{life.name} ({life.id}) came to {list(life.target)} while broker {cordon.broker} was cordoned"


def _arrives(record: MoveRecord | None, broker: int) -> bool:
    return record is not None and broker in record.terms.target and broker not in record.original
