"""A topic, its partitions, and their moves in flight with what they are asked for with."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from enum import StrEnum
from itertools import count
from typing import NamedTuple, Optional
from uuid import UUID

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.throttle_leases import Lease

NO_LEADER = -1
"""No live in-sync replica can lead."""
LEADER_UNKNOWN = -3
"""In a view of a client, to which leader and ISR are not reported. (-2 is Kafka's LeaderDuringDelete.)"""


RPC, BATCH, QUEUE, REQUEST, HEAL = "rpc", "batch", "queue", "request", "heal"
"""How a move's target came: by AlterPartitionReassignments, by one of KIP-236's znodes (`/admin/reassign_partitions`,
`/admin/reassign_partitions_queue`, `/admin/reassignment_requests`), or by self-healing.
"""

ROUTES = (RPC, BATCH, QUEUE, REQUEST, HEAL)


class MoveTerms(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a move is asked for with, whatever its way in. Requests, znodes and entries are decoded into it; a waiting
    move and a move in flight keep it.

    route               how the target came (`RPC`, `BATCH`, …)
    reason              the words of the sender of the target
    throttle            bytes/s of the throttle lease (`core.state.throttle_leases`); 0: no lease; None: not said, then
                        a move in flight keeps its own and any other has none
    lifts               the lease replaces a stricter rate that is set already
    moves_per_broker    in the queue: the move's own cap on the moves in flight that each of its brokers receives and
                        that its leader sends; None: it has none
    expected            the only replicas from which the move starts; None: any
    by                  who asked; None: the controller itself, or unknown
    """

    target: tuple[int, ...]
    route: str = RPC
    reason: str = ""
    throttle: int | None = None
    lifts: bool = False
    moves_per_broker: int | None = None
    expected: tuple[int, ...] | None = None
    by: Requester | None = None

    def asks_for_the_same(self, other: "MoveTerms") -> bool:
        """Whether they differ at most in the lease, in who asked, and in the replicas that the move starts from."""
        alike = replace(other, throttle=self.throttle, lifts=self.lifts, expected=self.expected, by=self.by)
        return self == alike


class CancelMove(msgspec.Struct, frozen=True, gc=False):
    """`expected`: the only replicas from which the move in flight is to be cancelled; None: any."""

    expected: tuple[int, ...] | None = None


class Phase(StrEnum):
    """How far a cluster in KRaft mode has carried a decided move out, as far as that is durable (`core.phases`).

    START    it gets the target
    MOVING   it has it
    CANCEL   it takes the target back
    RESTORE  it has taken it back, and gets the original replicas in their order
    """

    START = "start"
    MOVING = "moving"
    CANCEL = "cancel"
    RESTORE = "restore"


class MoveRecord(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A move in flight, as the store records it (KIP-236; ZooKeeper's in `/admin/reassignments/$topic/$partition`).

    terms       of the current target, without what only says when it may start
    original    the replicas before the first target, in order: a cancel restores exactly these
    id          the number of the store's write that has made the record (czxid, offset); None until it is durable
    started     the time of that write, ms since the epoch; None until the record is durable, or where it is not known
    retained    adding replicas of a former target that stay (`core.reassignment_algebra`): they leave with the original
                ones, a cancel removes them
    legacy      a request znode with `"legacy":true` gave the current target: the move counts as an entry of
                `/admin/reassign_partitions` although it has none

    In front of KRaft:

    phase         None in ZooKeeper mode, where a decided move depends on no other controller
    replaces      in START: the move in flight that gets this target
    cancelled_by  in CANCEL and RESTORE: who asked, None: the controller itself
    adopted       others have started it at the cluster
    """

    terms: MoveTerms
    original: tuple[int, ...]
    id: int | None = None
    started: int | None = None
    retained: tuple[int, ...] = ()
    legacy: bool = False
    phase: Phase | None = None
    replaces: Optional["MoveRecord"] = None
    cancelled_by: Requester | None = None
    adopted: bool = False


class Partition(msgspec.Struct, frozen=True, gc=False):
    """replicas            during a move: the target, then the replicas to be removed
    pending_deletion    replicas that have left the assignment and may still have a log. The topic znode lists them as
                        removing until each broker has confirmed its StopReplica (or died), so that the next controller
                        deletes them too. List and Metadata do not show them
    partition_epoch     the zkVersion of the state znode, -1 before that exists. A decided ISR change has the next one
                        before it is durable
    created             the czxid of the state znode, -1 before that exists
    offline             replicas whose log dir has failed, by their brokers' answers to LeaderAndIsr (Kafka's
                        replicasOnOfflineDirs), or has the log of an earlier topic while other replicas are in sync.
                        Soft state: each controller asks again
    """

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    pending_deletion: tuple[int, ...] = ()
    leader: int = NO_LEADER
    isr: tuple[int, ...] = ()
    leader_epoch: int = 0
    partition_epoch: int = -1
    controller_epoch: int = 0
    leader_recovery_state: int = 0
    move: MoveRecord | None = None
    offline: tuple[int, ...] = ()
    created: int = -1

    @property
    def is_described(self) -> bool:
        """Whether leader and ISR are known: to a controller always."""
        return self.leader != LEADER_UNKNOWN

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def goes_back(self) -> bool:
        """Whether others than the present replicas may follow, although nothing moves: a cancel is under way."""
        return self.move is not None and self.move.phase in (Phase.CANCEL, Phase.RESTORE)

    @property
    def target(self) -> tuple[int, ...]:
        """At rest: the replicas."""
        removing = self.removing
        return tuple([r for r in self.replicas if r not in removing]) if removing else self.replicas

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas from before the move, in their present order: KIP-455's R - AR, without the retained ones."""
        if self.move is None or not self.move.retained:
            return self.sources
        retained = self.retained
        return tuple([r for r in self.sources if r not in retained])

    @property
    def original(self) -> tuple[int, ...]:
        """The replicas from before the move, in their original order; at rest the replicas.

        Moves of stock controllers have no record: only `origin` is known.
        """
        origin = self.origin
        recorded = origin if self.move is None else self.move.original
        if recorded != origin and set(recorded) != set(origin):  # a stale record: the topic znode is the truth
            return origin
        return recorded

    @property
    def retained(self) -> tuple[int, ...]:
        """Removing replicas that a former target had added."""
        if self.move is None or not self.move.retained:
            return ()
        return tuple([r for r in self.removing if r in self.move.retained and r not in self.move.original])

    @property
    def sources(self) -> tuple[int, ...]:
        """KIP-455's R - AR."""
        return tuple([r for r in self.replicas if r not in self.adding]) if self.adding else self.replicas

    @property
    def lease(self) -> Lease | None:
        """None also if the move copies nothing."""
        if self.move is None or not self.move.terms.throttle or not self.adding:
            return None
        return Lease(self.move.terms.throttle, self.sources, self.adding, self.move.terms.lifts)


REVISIONS = count(1)
"""Source of `Topic.revision`, for the whole process."""


LAST_ZXID = 2**63 - 1


def topic_id_text(topic_id: UUID) -> str:
    """org.apache.kafka.common.Uuid: Base64 for URLs, without padding."""
    return str(urlsafe_b64encode(topic_id.bytes).rstrip(b"="), "ascii")


def topic_id_of(text: str) -> UUID:
    """The inverse of `topic_id_text`. Raises ValueError."""
    return UUID(bytes=urlsafe_b64decode(text + "=="))


class Topic(msgspec.Struct):
    name: str
    id: UUID | None
    partitions: dict[int, Partition]
    version: int = -1
    """The zkVersion of the topic znode."""
    extra: dict[str, msgspec.Raw] = {}
    """Unknown fields of the topic znode: every rewrite preserves them."""
    missing: dict[int, int] = {}
    """How many replicas a partition lacks (`core.topics.missing_replicas`)."""
    unreadable: dict[int, str] = {}
    """Partitions with an unreadable state znode, with path and reason: their assignment stays, commands do not find
    them."""
    revision: int = msgspec.field(default_factory=lambda: next(REVISIONS))
    """Changes with every change of a partition, and is unique: a reader may cache results under it."""
    deleting: bool = False
    """True once its deletion is durable: no command finds the topic any more."""
    created: int = -1
    """The topic znode's czxid distinguishes this topic from others of its name, also without ids.

    Topics that one transaction has created share it.
    """
    id_since: int = LAST_ZXID
    """A zxid since which the topic has had its id, at the latest."""
    stateless_since: int = -1
    """The zxid of the write that has named its partitions without a state, where none of them has ever had one, so that
    there is no log of them; -1: one of them may have had a state."""


class Twin(NamedTuple):
    """A topic that is left alone, since its id is that of another one, `first`, which had it first."""

    id: UUID
    first: str

    @property
    def reason(self) -> str:
        return (
            f"its topic id {topic_id_text(self.id)} is that of topic {self.first}, which had it first: this topic is"
            " left alone until one of the two has another id (`kafka-reassign-rpc check` says which one the logs"
            " belong to)"
        )
