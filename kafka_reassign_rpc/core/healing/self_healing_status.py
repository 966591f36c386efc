"""What operators see of self-healing (KIP-46): failed brokers, and their repairs. Controller, API and client use it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_reassign_rpc.core.state.cluster import TopicPartition


@dataclass(frozen=True)
class FailedBroker:
    """A broker that is gone while it holds replicas.

    since     when the controller first missed it, ms since 1970 began (UTC)
    heal_at   when the controller moves its replicas elsewhere; None: never
    replicas  how many replicas it holds that no move takes away from it yet
    """

    broker: int
    since: int
    heal_at: int | None
    replicas: int


@dataclass(frozen=True)
class BrokerRepair:
    """The repair of a broker that is under way: how many of its moves wait in the queue, and are in flight.

    is_back  it has come back meanwhile; the moves in flight go on unless `self.healing.cancel.on.return` is set
    """

    broker: int
    waiting: int
    moving: int
    is_back: bool = False


@dataclass(frozen=True)
class HealingStatus:
    """The failed brokers, and how self-healing is set.

    interval_ms      how long a broker has to be gone before the controller heals it; None: self-healing is off
    held_back        why the controller does not heal brokers whose time has come, nor goes on with waiting repairs, or
                     None
    waiting, moving  how many moves of repairs wait in the queue, and how many are under way
    problems         configs that make no sense and have no effect, unknown racks, partitions that cannot be repaired
    repairs          the brokers whose repairs are under way
    """

    interval_ms: int | None
    paused: bool
    held_back: str | None
    failed: Sequence[FailedBroker]
    waiting: int
    moving: int
    problems: Sequence[str] = ()
    repairs: Sequence[BrokerRepair] = ()


@dataclass(frozen=True)
class RepairMove:
    """The move of one partition away from a failed broker."""

    partition: TopicPartition
    replicas: tuple[int, ...]
    target: tuple[int, ...]


@dataclass(frozen=True)
class Repair:
    """The repair of a failed broker.

    left_out  partitions that cannot be repaired, with the reason
    bytes     how much the moves copy; None where that is not known
    """

    moves: Sequence[RepairMove]
    left_out: Mapping[TopicPartition, str]
    bytes: int | None
