"""What operators see of self-healing (KIP-46), for controller, API and client."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from kafka_reassign_rpc.core.healing.repair_cost import RepairCost
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.human_units import duration, size


@dataclass(frozen=True)
class FailedBroker:
    """A broker that is gone while it holds replicas.

    since     when the controller first missed it, ms since 1970
    heal_at   when the controller moves its replicas; None if never, or while something keeps repairs from starting
    replicas  how many of its replicas no move in flight takes away; `impossible`: without a place at the last try
    cost      what its repair would cost, None if not yet known
    fate      what happens next, and when, in words (`fates.py`); `command`: what an operator types for it, or ""
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
