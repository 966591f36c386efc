"""What operators see of self-healing (KIP-46), for controller, API and client."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from kafka_reassign_rpc.core.healing.repair_cost import RepairCost
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.human_units import utc_time


@dataclass(frozen=True)
class FailedBroker:
    """A broker that is gone while it holds replicas.

    since     when the controller first missed it, ms since 1970
    heal_at   when the controller moves its replicas; None if never, or while something keeps repairs from starting
    replicas  how many of its replicas no move in flight takes away
    cost      what its repair would cost, None if not yet known
    """

    broker: int
    since: int
    heal_at: int | None
    replicas: int
    cost: RepairCost | None = None


@dataclass(frozen=True)
class LogDirFailure:
    """A registered broker that has lost log dirs with replicas.

    paths     the log dirs, empty until the broker has named them
    since, heal_at  as in `FailedBroker`
    replicas  how many of its replicas are offline without a move that takes them away, None until it has answered
    cost      what their repair would cost, None if not yet known
    """

    broker: int
    paths: Sequence[str]
    since: int
    heal_at: int | None
    replicas: int | None
    cost: RepairCost | None = None


@dataclass(frozen=True)
class GoneBroker:
    """A broker that is gone, and holds nothing that has yet to be repaired: it is shown until nothing names it.

    since     when the controller first missed it, ms since 1970; None: before its term
    repaired  how many replicas repairs, waiting or in flight, take away
    awaited   how many moves, waiting or in flight, would bring a replica there: they wait for it
    """

    broker: int
    since: int | None
    repaired: int
    awaited: int


@dataclass(frozen=True)
class BrokerRepair:
    """The repair of a broker that is under way: how many of its moves wait and are in flight.

    is_back     it has come back, with the log dirs that had failed; moves in flight continue unless
                `self.healing.cancel.on.return` is set
    unapproved  how many of those that wait need approval
    cost        what those that wait will cost, None if not yet known
    """

    broker: int
    waiting: int
    moving: int
    is_back: bool = False
    unapproved: int = 0
    cost: RepairCost | None = None


@dataclass(frozen=True)
class HealingStatus:
    """The failed brokers, and how self-healing is set.

    interval_ms      how long a broker must be gone before the controller heals it, None if self-healing is off
    held_back        why due brokers are not healed and waiting repairs do not start, or None
    waiting, moving  moves of repairs
    problems         configs without effect because they are invalid, unknown racks, partitions that cannot be repaired
    repairs          repairs under way, by broker
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

    def fate(self, one: FailedBroker | LogDirFailure | GoneBroker) -> str:
        """What will happen to it, and when, for people; empty: nobody can say."""
        if isinstance(one, GoneBroker):
            repair = self._repair(one.broker) or repaired_text(one)
            return "; ".join(filter(None, (repair, awaited_text(one.awaited))))
        if one.heal_at is not None:
            return self.due(one.heal_at)
        if one.replicas == 0:
            return self._repair(one.broker) or replicas_text(one)
        if self.paused:
            return "not healed before self-healing is resumed"
        if one.replicas is None:
            return ""
        if self.interval_ms is None:
            return "never healed"
        # Every other failure has a time, but while nothing may start.
        what = "self-healing is held back" if self.held_back is not None else "reassignments are disabled"
        return f"not healed while {what}"

    def _repair(self, broker: int) -> str:
        found = next((repair for repair in self.repairs if repair.broker == broker), None)
        if found is None:
            return ""
        which = "" if not found.unapproved else f" ({found.unapproved} for approval)"
        return f"its repair is under way: {counted(found.moving, 'move')} in flight, {found.waiting} waiting{which}"

    def due(self, at: int) -> str:
        """Nobody knows when somebody approves a repair."""
        return f"{'ready for approval' if self.approval else 'healed'} at {utc_time(at)} UTC"


LEFT_TO_MOVES = (
    "moves in flight take all of its replicas away",
    "moves take all of its replicas away, or would only bring it some",
)
"""Why there is nothing to repair of a lost broker, and of a registered one with a failed log dir."""


def replicas_text(one: FailedBroker | LogDirFailure) -> str:
    """What has to be repaired."""
    if one.replicas is None:
        return "offline replicas not known yet"
    if one.replicas:
        return counted(one.replicas, "replica")
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
    """

    moves: Sequence[RepairMove]
    left_out: Mapping[TopicPartition, str]
    bytes: int | None
    copy_ms: int | None = None
