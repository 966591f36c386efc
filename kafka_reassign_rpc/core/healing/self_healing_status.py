"""What operators see of self-healing (KIP-46), for controller, API and client. The fate of each lost broker and failed
log dir is one line on every screen: what happens next, and when, or the command that makes it happen.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from typing import NamedTuple, TypeVar

import msgspec

from kafka_reassign_rpc.core.healing.repair_targets import RepairCost
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.human_units import duration, size, utc_time
from kafka_reassign_rpc.support.typed_commands import command


@dataclass(frozen=True)
class FailedBroker:
    """A broker that is gone while it holds replicas.

    since     when the controller first missed it, ms since 1970
    heal_at   when the controller moves its replicas; None if never, or while something keeps repairs from starting
    replicas  how many of its replicas no move in flight takes away; `impossible`: without a place at the last try
    cost      what its repair would cost, None if not yet known
    fate      what happens next, and when, in words (`Fate`); `command`: what an operator types for it, or ""
    """

    broker: int
    since: int
    heal_at: int | None
    replicas: int
    cost: RepairCost | None = None
    impossible: int = 0
    fate: str = field(default="", compare=False)
    command: str = field(default="", compare=False)


@dataclass(frozen=True)
class LogDirFailure:
    """A registered broker that has lost log dirs with replicas.

    paths     the log dirs, empty until the broker has named them
    since, heal_at  as in `FailedBroker`
    replicas  how many of its replicas are offline without a move that takes them away, None until it has answered
    cost      what their repair would cost, None if not yet known
    impossible, fate, command  as in `FailedBroker`
    """

    broker: int
    paths: Sequence[str]
    since: int
    heal_at: int | None
    replicas: int | None
    cost: RepairCost | None = None
    impossible: int = 0
    fate: str = field(default="", compare=False)
    command: str = field(default="", compare=False)


@dataclass(frozen=True)
class GoneBroker:
    """A broker that is gone, and holds nothing that still needs a repair: it is shown until nothing names it.

    since     when the controller first missed it, ms since 1970; None: before its term
    repaired  how many replicas repairs, waiting or in flight, take away
    awaited   how many moves, waiting or in flight, would bring a replica there: they wait for it
    cost      what of its repair waits; None if not yet known
    fate, command  as in `FailedBroker`
    """

    broker: int
    since: int | None
    repaired: int
    awaited: int
    cost: RepairCost | None = None
    fate: str = field(default="", compare=False)
    command: str = field(default="", compare=False)


@dataclass(frozen=True)
class BrokerRepair:
    """The repair of a broker that is under way: how many of its moves wait and are in flight.

    is_back     it has come back, with the log dirs that had failed; moves in flight continue unless
                `self.healing.cancel.on.return` is set
    unapproved  how many of those that wait need approval
    cost        what those that wait will cost, None if not yet known
    held        how many of those that wait are held
    fate, command  as in `FailedBroker`
    """

    broker: int
    waiting: int
    moving: int
    is_back: bool = False
    unapproved: int = 0
    cost: RepairCost | None = None
    held: int = 0
    fate: str = field(default="", compare=False)
    command: str = field(default="", compare=False)


@dataclass(frozen=True)
class HealingStatus:
    """The failed brokers, and how self-healing is set.

    interval_ms      how long a broker must be gone before the controller heals it, None if self-healing is off
    held_back        why due brokers are not healed and waiting repairs do not start, or None
    waiting, moving  moves of repairs
    problems         configs without effect because they are invalid, unknown racks, partitions that cannot be repaired
    repairs          repairs under way, by broker; those of lost brokers are listed with these
    approval         whether new repairs need approval
    unapproved       those of `waiting` that do
    log_dirs         registered brokers that have lost log dirs, until these are good again or hold nothing
    gone             brokers that are gone besides the failed ones
    """

    interval_ms: int | None
    paused: bool
    held_back: str | None
    failed: Sequence[FailedBroker]
    waiting: int
    moving: int
    problems: Sequence[str] = ()
    repairs: Sequence[BrokerRepair] = ()
    approval: bool = False
    unapproved: int = 0
    log_dirs: Sequence[LogDirFailure] = ()
    gone: Sequence[GoneBroker] = ()

    @property
    def other_repairs(self) -> list[BrokerRepair]:
        """Of brokers that are back."""
        every: list[Lost] = [*self.failed, *self.log_dirs, *self.gone]
        lost = {one.broker for one in every}
        return [one for one in self.repairs if one.broker not in lost]


Lost = FailedBroker | LogDirFailure | GoneBroker

LEFT_TO_MOVES = (
    "moves in flight take all of its replicas away",
    "moves take all of its replicas away, or would only bring it some",
)
"""Why there is nothing to repair of a lost broker, and of a registered one with a failed log dir."""


def what_and_fate(one: Lost | BrokerRepair) -> str:
    """What is lost, and what happens next: the line of each lost broker on every screen."""
    replicas = ""
    if isinstance(one, FailedBroker | LogDirFailure) and one.replicas != 0:
        replicas = replicas_text(one.replicas)
    return ", ".join(filter(None, (replicas, cost_text(one.cost), one.fate)))


def replicas_text(count: int | None) -> str:
    return "offline replicas not known yet" if count is None else counted(count, "replica")


def cost_text(cost: RepairCost | None) -> str:
    """Empty if no size is known, or nothing is to copy."""
    if cost is None or not cost.bytes:
        return ""
    least = "at least " if cost.unsized else ""
    time = "" if not cost.copy_ms else f" in about {duration(cost.copy_ms / 1000)}"
    return f"{least}{size(cost.bytes)} to copy{time}"


def left_to_moves(one: FailedBroker | LogDirFailure) -> str:
    return LEFT_TO_MOVES[isinstance(one, LogDirFailure)]


def repaired_text(one: GoneBroker) -> str:
    """The repairs may be of other brokers."""
    return f"repairs take {counted(one.repaired, 'replica')} away" if one.repaired else ""


def awaited_text(moves: int) -> str:
    """Moves that wait for a broker that is gone, and what ends that."""
    if not moves:
        return ""
    them = agreeing(moves, "them")
    wait = f"{counted(moves, 'move')} {agreeing(moves, 'wait')} for it"
    return f"{wait}, and nothing repairs that: cancel {them}, give {them} another target, or bring the broker back"


class ApprovalOutcome(msgspec.Struct, frozen=True):
    """`approved` moves of repairs may start now, except the `held` ones among them, which start after their release."""

    approved: int
    held: int
    brokers: Sequence[int]


@dataclass(frozen=True)
class RepairMove:
    partition: TopicPartition
    replicas: tuple[int, ...]
    target: tuple[int, ...]


@dataclass(frozen=True)
class Repair:
    """The repair of a failed broker.

    left_out  partitions that cannot be repaired, with the reason
    bytes     how much the moves copy, None if unknown
    copy_ms   how long the busiest broker takes for it at the present rates, None if unknown
    unsized   copies of unknown size: `bytes` lacks them
    """

    moves: Sequence[RepairMove]
    left_out: Mapping[TopicPartition, str]
    bytes: int | None
    copy_ms: int | None = None
    unsized: int = 0


REASONS = 5
"""How many reasons why partitions cannot be repaired are reported one by one."""

NAMED = 3
"""How many of the partitions are named with each reason: topics have long names, and a report is one line."""


class UnrepairedPartition(NamedTuple):
    brokers: frozenset[int]
    reason: str


def impossible_texts(found: Mapping[TopicPartition, UnrepairedPartition]) -> Iterator[str]:
    names: dict[str, list[TopicPartition]] = {}
    for name, left in found.items():
        names.setdefault(left.reason, []).append(name)
    by_count = sorted(names.items(), key=lambda one: -len(one[1]))
    for reason, of_reason in by_count[:REASONS]:
        yield f"{_stay(of_reason)}: {reason}"
    rest = [name for _, of_reason in by_count[REASONS:] for name in of_reason]
    if rest:
        yield f"{_stay(rest)} for other reasons"


def _stay(names: Sequence[TopicPartition]) -> str:
    """The first by name, so that the same report is recognized when it comes again."""
    named = ", ".join(map(str, nsmallest(NAMED, names))) + (" …" if len(names) > NAMED else "")
    if len(names) == 1:
        return f"1 partition stays as it is ({named})"
    return f"{len(names)} partitions stay as they are ({named})"


Left = Mapping[TopicPartition, UnrepairedPartition]
NOTHING_LEFT: Left = {}
Failure = TypeVar("Failure", FailedBroker, LogDirFailure)


class Fate(NamedTuple):
    """`command`: what an operator types for it, or ""."""

    fate: str = ""
    command: str = ""


def with_fates(found: HealingStatus, enable: str | None = None, left: Left = NOTHING_LEFT) -> HealingStatus:
    """enable     where no move starts, the command that changes that, "" if none does; else None
    left       the partitions that the last repairs could not move
    """
    repairs = {one.broker: one for one in found.repairs}

    def of_failure(one: Failure) -> Failure:
        reasons = Counter(what.reason for what in left.values() if one.broker in what.brokers)
        impossible = min(reasons.total(), one.replicas or 0)
        why = reasons.most_common(1)[0][0] if impossible else ""
        own = _of_replicas(one, found, enable, impossible, why) if one.replicas != 0 else Fate()
        repair = _of_repair(repairs.get(one.broker), found, enable)
        if one.replicas == 0 and not repair.fate:
            own = Fate(left_to_moves(one))
        return replace(one, impossible=impossible, **_both(own, repair)._asdict())

    def of_gone(one: GoneBroker) -> GoneBroker:
        repair = _of_repair(repairs.get(one.broker), found, enable)
        if not repair.fate:
            repair = Fate(repaired_text(one))
        return replace(one, **_both(repair, Fate(awaited_text(one.awaited)))._asdict())

    return replace(
        found,
        failed=[of_failure(one) for one in found.failed],
        log_dirs=[of_failure(one) for one in found.log_dirs],
        gone=[of_gone(one) for one in found.gone],
        repairs=[replace(one, **_of_repair(one, found, enable)._asdict()) for one in found.repairs],
    )


def _both(first: Fate, second: Fate) -> Fate:
    return Fate("; ".join(filter(None, (first.fate, second.fate))), first.command or second.command)


def _of_replicas(
    one: FailedBroker | LogDirFailure, found: HealingStatus, enable: str | None, impossible: int, why: str
) -> Fate:
    if impossible:
        which = "none of them can" if impossible == one.replicas else f"{impossible} of them cannot"
        again = "" if one.heal_at is None else f"; tried again at {utc_time(one.heal_at)} UTC"
        return Fate(f"{which} be moved now: {why}{again}")
    if one.heal_at is not None:
        return Fate(f"{'ready for approval' if found.approval else 'healed'} at {utc_time(one.heal_at)} UTC")
    if found.paused:
        then = ", and then only by heal --now" if found.interval_ms is None else ""
        return Fate(f"not healed before self-healing is resumed{then}", _RESUME)
    if one.replicas is None:
        return Fate()
    if found.interval_ms is None:
        return Fate("never healed by itself", command("kafka-reassign heal", "--now", one.broker))
    # Every other failure has a time, except while nothing may start.
    if found.held_back is not None:
        return Fate("not healed while self-healing is held back")
    return Fate("not healed while reassignments are disabled", enable or "")


_RESUME = command("kafka-reassign heal", "--resume")
ENABLE = command("kafka-reassign", "--enable")


def _of_repair(repair: BrokerRepair | None, found: HealingStatus, enable: str | None) -> Fate:
    if repair is None:
        return Fate()
    kept = [f"{count} {how}" for count, how in ((repair.unapproved, "for approval"), (repair.held, "held")) if count]
    which = f" ({', '.join(kept)})" if kept else ""
    state = "it is back, its repair goes on" if repair.is_back else "its repair is under way"
    text = f"{state}: {counted(repair.moving, 'move')} in flight, {repair.waiting} waiting{which}"
    if not repair.waiting:
        return Fate(text)
    waits = f"{text}, until"
    if found.paused:
        return Fate(f"{waits} self-healing is resumed", _RESUME)
    if found.held_back is not None:
        return Fate(f"{waits} self-healing is no longer held back")
    if enable is not None:
        return Fate(f"{waits} reassignments are enabled", enable)
    if repair.unapproved:
        return Fate(text, command("kafka-reassign heal", "--approve", "--brokers", repair.broker))
    if repair.held:
        return Fate(text, command("kafka-reassign release", "--broker", repair.broker))
    return Fate(text)
