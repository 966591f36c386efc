"""What operators see of self-healing (KIP-46): failed brokers and their repairs, for controller, API and client."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka_reassign_rpc.core.healing.repair_cost import RepairCost
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.support.human_units import utc_time


@dataclass(frozen=True)
class FailedBroker:
    """A broker that is gone while it holds replicas.

    since     when the controller first missed it, ms since 1970 began (UTC)
    heal_at   when the controller moves its replicas elsewhere; None: never, or not while something keeps repairs
              from starting
    replicas  how many replicas it holds that no move in flight takes away from it
    cost      what its repair would cost; None: not known yet
    """

    broker: int
    since: int
    heal_at: int | None
    replicas: int
    cost: RepairCost | None = None


@dataclass(frozen=True)
class LogDirFailure:
    """A registered broker that has lost log dirs with replicas.

    paths     the log dirs; empty: the broker has not told
    since, heal_at  as in `FailedBroker`
    replicas  how many of its replicas are offline, and no move in flight takes them away; None: it has yet to say
    cost      what their repair would cost; None: not known yet
    """

    broker: int
    paths: Sequence[str]
    since: int
    heal_at: int | None
    replicas: int | None
    cost: RepairCost | None = None


@dataclass(frozen=True)
class BrokerRepair:
    """The repair of a broker that is under way: how many of its moves wait and are in flight.

    is_back     it has come back, with the log dirs that had failed; moves in flight continue unless
                `self.healing.cancel.on.return` is set
    unapproved  how many of those that wait start only once somebody has approved them
    cost        what those that wait will cost; None: not known yet
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

    interval_ms      how long a broker must be gone before the controller heals it; None: self-healing is off
    held_back        why the controller does not heal brokers that are due, and starts no waiting repair; or None
    waiting, moving  moves of repairs that wait, and that are in flight
    problems         configs without effect because they are invalid, unknown racks, partitions that cannot be repaired
    repairs          repairs under way, by broker
    approval         whether new repairs wait until somebody has approved them
    unapproved       those of `waiting` that start only then
    log_dirs         registered brokers that have lost log dirs
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

    def due(self, at: int) -> str:
        """What becomes of a lost broker at its `heal_at`. Nobody knows when somebody approves its repair."""
        return f"{'ready for approval' if self.approval else 'healed'} at {utc_time(at)} UTC"


class ApprovalOutcome(NamedTuple):
    """What became of an approval.

    approved  moves of repairs that may start now
    held      those of them that somebody holds besides: they start after their release
    brokers   those whose repairs these are
    """

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
    bytes     how much the moves copy; None: unknown
    copy_ms   how long the busiest broker takes for it at the present rates; None: unknown
    """

    moves: Sequence[RepairMove]
    left_out: Mapping[TopicPartition, str]
    bytes: int | None
    copy_ms: int | None = None
