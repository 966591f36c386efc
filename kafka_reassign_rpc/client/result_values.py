"""The values that calls of the client return."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from kafka_reassign_rpc.core.state.partition import RPC
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

MOVING, WAITING = "moving", "waiting"
"""A listed move is in flight, or in the queue."""


class Reassignment:
    """The identity of one move of one partition (KIP-240).

    Equality and hash go by the partition and the id that the server gave the move. Moves of other partitions may have
    the same id, such as those that started in one request: keep the whole value, or id and partition.
    """

    __slots__ = ("_id", "topic_partition")

    def __init__(self, topic_partition: TopicPartition, reassignment_id: int) -> None:
        self.topic_partition = topic_partition
        self._id = reassignment_id

    @property
    def id(self) -> int:
        """The czxid of the move's znode in ZooKeeper. Use it only to compare and to show."""
        return self._id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reassignment):
            return NotImplemented
        return self._id == other._id and self.topic_partition == other.topic_partition

    def __hash__(self) -> int:
        return hash((self._id, self.topic_partition))

    def __repr__(self) -> str:
        return f"Reassignment({self.topic_partition}, id={self._id})"


@dataclass(frozen=True)
class ReassignmentDescription:
    """The server's description of a move in flight (KIP-240): how far it is, `moves_in_flight` says.

    start_time              milliseconds since 1970 (UTC)
    current_leader          broker id; None: no leader
    leader_throttle         bytes/s; NO_THROTTLE: none applies
    new_assigned_brokers    the target, preferred leader first
    new_assigned_throttles  broker of the target -> bytes/s at which it may copy; NO_THROTTLE: none applies
    """

    reassignment: Reassignment
    start_time: int
    current_leader: int | None
    leader_throttle: int
    new_assigned_throttles: Mapping[int, int]

    @property
    def new_assigned_brokers(self) -> tuple[int, ...]:
        return tuple(self.new_assigned_throttles)


class PartitionReassignment(msgspec.Struct, frozen=True, gc=False):
    """A move in flight as KIP-455 lists it, or a move that waits in the queue (KIP-236).

    replicas        in flight: the target, then the removing replicas; waiting: the replicas that the partition has now
    id              the identity of the move (KIP-240); None: the server gives none, or the move waits
    state           MOVING or WAITING
    route           how the move came: rpc, batch, queue, request or heal; rpc on stock Kafka, which does not say it
    reason          what the move is for, as the client that started it says
    waiting_target  of a waiting move: its target in order; None: the order is unknown
    held            by whom, since when and why a waiting move is held; "": it is not held
    """

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    id: int | None = None
    state: str = MOVING
    route: str = RPC
    reason: str = ""
    waiting_target: tuple[int, ...] | None = None
    held: str = ""

    @property
    def is_waiting(self) -> bool:
        return self.state == WAITING

    @property
    def target(self) -> tuple[int, ...]:
        """For a waiting move the order is known only with `waiting_target`."""
        if self.waiting_target is not None:
            return self.waiting_target
        coming = self.adding_replicas if self.is_waiting else ()
        return tuple(broker for broker in (*self.replicas, *coming) if broker not in self.removing_replicas)

    @property
    def sources(self) -> frozenset[int]:
        """The data comes from these: the replicas that the move does not add."""
        return frozenset(self.replicas) - frozenset(self.adding_replicas)


@dataclass(frozen=True)
class ClusterNode:
    """A node that clients may connect to."""

    id: int
    host: str
    port: int
    rack: str | None


class PartitionInfo(msgspec.Struct, frozen=True, gc=False):
    """A partition as Metadata shows it. Without a leader, `leader` is -1; `leader_epoch` is -1 if it is not known.
    `offline`: replicas on dead brokers and on failed log dirs."""

    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader_epoch: int = -1
    offline: tuple[int, ...] = ()


@dataclass(frozen=True, order=True)
class Replica:
    """Ordered as in the stock tool, by broker first."""

    broker: int
    topic: str
    partition: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker}"


@dataclass(frozen=True)
class ReplicaLogDir:
    """The path of the replica's log dir, and its size in bytes. `future`: the log dir to which the broker moves it."""

    current: str | None = None
    future: str | None = None
    size: int = 0
    offset_lag: int = 0


@dataclass(frozen=True)
class LogDirs:
    """The requested replicas on one broker. `error` says why it gave no answer."""

    broker: int
    replicas: Mapping[TopicPartition, ReplicaLogDir] = field(default_factory=dict)
    error: str | None = None
