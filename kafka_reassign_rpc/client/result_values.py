"""What the client returns. All of it is frozen and can be a key of a dictionary where that makes sense."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_reassign_rpc.core.state.cluster import RPC, TopicPartition

NO_THROTTLE = 2**63 - 1
"""The throttle that KIP-240 reports where none applies, bytes/s."""


MOVING, WAITING = "moving", "waiting"
"""The states of a listed move."""


class Reassignment:
    """The identity of one move of one partition (KIP-240).

    Two moves of the same partition, one after the other, are two identities: equality and hash are by the id that
    the server gave the move when it recorded it.
    """

    __slots__ = ("_id", "topic_partition")

    def __init__(self, topic_partition: TopicPartition, reassignment_id: int) -> None:
        self.topic_partition = topic_partition
        self._id = reassignment_id

    @property
    def id(self) -> int:
        """The czxid of the move's record in ZooKeeper; only good for comparing and for showing."""
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
    """What the server knows of a move in flight (KIP-240).

    start_time              milliseconds since 1970 began (UTC)
    current_leader          broker id, -1 where there is none
    leader_throttle         bytes/s; NO_THROTTLE where none applies
    new_assigned_brokers    the replicas once the move is over, preferred leader first
    new_assigned_throttles  bytes/s at which each of those may copy; NO_THROTTLE where none applies
    total_bytes             what each new replica has to copy; this and what follows None where not known
    copied_bytes            what each broker that the move adds holds, as far as known
    bytes_per_second        at which these grow, together
    remaining_ms            milliseconds until all is copied, at the present rate
    stall_reason            why the move does not get on; None where it does
    route                   how it was asked for: rpc, batch, queue, request or heal
    reason                  what it is for, in the words of whoever asked for it
    """

    reassignment: Reassignment
    start_time: int
    current_leader: int
    leader_throttle: int
    new_assigned_throttles: Mapping[int, int]
    total_bytes: int | None = None
    copied_bytes: Mapping[int, int] = field(default_factory=dict)
    bytes_per_second: int | None = None
    remaining_ms: int | None = None
    stall_reason: str | None = None
    route: str = RPC
    reason: str = ""

    @property
    def new_assigned_brokers(self) -> tuple[int, ...]:
        return tuple(self.new_assigned_throttles)


@dataclass(frozen=True)
class PartitionReassignment:
    """A moving partition as KIP-455 lists it: the target, then what is to be removed; or a move that waits.

    id      what tells the move from any other (KIP-240); -1 where the server gives none, or it waits
    state   MOVING, or WAITING for what stands in the server's queue (KIP-236): `replicas` are then those that stand
    route   how it was asked for: rpc, batch, queue, request or heal; stock Kafka does not tell, and gives rpc
    reason  what it is for, in the words of whoever asked for it
    """

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    id: int = -1
    state: str = MOVING
    route: str = RPC
    reason: str = ""

    @property
    def is_waiting(self) -> bool:
        return self.state == WAITING

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas once the move is over; of one that waits, not necessarily in this order."""
        coming = self.adding_replicas if self.is_waiting else ()
        return tuple(broker for broker in (*self.replicas, *coming) if broker not in self.removing_replicas)

    @property
    def sources(self) -> frozenset[int]:
        """The replicas that are not new: where the data comes from."""
        return frozenset(self.replicas) - frozenset(self.adding_replicas)


@dataclass(frozen=True)
class ClusterNode:
    """A node that clients may talk to."""

    id: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True)
class PartitionInfo:
    """A partition as Metadata shows it. `leader` is -1 where there is none."""

    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, order=True)
class Replica:
    """One replica of a partition; ordered as the stock tool orders them, by broker first."""

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
    """Where a replica lies, in bytes and by path. `future` is where it is being moved to on the same broker."""

    current: str | None = None
    future: str | None = None
    size: int = 0
    offset_lag: int = 0


@dataclass(frozen=True)
class LogDirs:
    """What one broker says of the replicas that were asked for; `error` where it could not be asked."""

    broker: int
    replicas: Mapping[TopicPartition, ReplicaLogDir] = field(default_factory=dict)
    error: str | None = None
