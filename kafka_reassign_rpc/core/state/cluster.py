"""The cluster as the controller sees it: immutable values in a few dictionaries.

`core.writers.replay` puts a decided value in once ZooKeeper has stored it, `core.writers.facts` what others have
written or reported, between two rounds. Nothing else writes here, so List and Metadata show only durable state, even
during a large commit.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from uuid import UUID

import msgspec

from kafka_reassign_rpc.core.state.config_entities import DEFAULT
from kafka_reassign_rpc.core.state.failed_log_dirs import FailedLogDirs
from kafka_reassign_rpc.core.state.queue_entries import Queue
from kafka_reassign_rpc.core.state.reassign_partitions_entries import BatchZnode, CancelAll
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.soft_state import SoftState
from kafka_reassign_rpc.core.state.throttle_leases import Lease, Leases
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition as TopicPartition  # noqa: PLC0414 - imported from here

NO_LEADER = -1
LEADER_UNKNOWN = -3
"""To whoever only looks: nobody tells leader and ISR. (-2 is Kafka's LeaderDuringDelete.)"""
"""No live in-sync replica can lead."""


RPC, BATCH, QUEUE, REQUEST, HEAL = "rpc", "batch", "queue", "request", "heal"
"""How a move's target came: by AlterPartitionReassignments, by one of KIP-236's znodes (`/admin/reassign_partitions`,
`/admin/reassign_partitions_queue`, `/admin/reassignment_requests`), or by self-healing.
"""

ROUTES = (RPC, BATCH, QUEUE, REQUEST, HEAL)


class MoveRecord(msgspec.Struct, frozen=True, gc=False):
    """A move in flight, as `/admin/reassignments/$topic/$partition` records it (KIP-236).

    original    the replicas before the first target, in order: a cancel restores exactly these
    id          the record's czxid; -1 until the record is durable
    started     the record's ctime, ms since the epoch; -1 until the record is durable
    route       how the current target came (`RPC`, `BATCH`, …)
    reason      the words of the sender of the current target
    throttle    bytes/s of the move's throttle lease, -1 if it has none (`core.state.throttle_leases`)
    retained    adding replicas of a former target that the leader or the ISR still needed
                (`core.reassignment_algebra`): they leave with the original ones, a cancel removes them
    legacy      a request znode with `"legacy":true` gave the current target: the move counts as an entry of
                `/admin/reassign_partitions` although it has none
    by          who asked for the current target; None is the controller itself, or a version that did not record it
    lifts       its lease replaces a stricter standing rate
    """

    target: tuple[int, ...]
    original: tuple[int, ...]
    id: int = -1
    started: int = -1
    route: str = RPC
    reason: str = ""
    throttle: int = -1
    retained: tuple[int, ...] = ()
    legacy: bool = False
    by: Requester | None = None
    lifts: bool = False


class Partition(msgspec.Struct, frozen=True, gc=False):
    """One partition: its assignment, leader, ISR, and its move if it has one.

    replicas            during a move: the target, then the replicas to be removed
    pending_deletion    replicas that have left the assignment and may still have a log. The topic znode lists them as
                        removing until each broker has confirmed its StopReplica (or died), so that the next controller
                        deletes them too. List and Metadata do not show them.
    partition_epoch     the zkVersion of the state znode, -1 before that exists. A decided ISR change has the next one
                        before it is durable
    created             the czxid of the state znode, -1 before that exists
    offline             replicas whose log dir has failed, by their brokers' answers to LeaderAndIsr (Kafka's
                        replicasOnOfflineDirs), or has the log of an earlier topic while other replicas are in sync.
                        Soft state: no znode has it, and each controller asks again
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
        """Whether leader and ISR are known: a controller knows them always."""
        return self.leader != LEADER_UNKNOWN

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        """At rest these are the replicas."""
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

        Moves of stock controllers have no record, so only `origin` is known.
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
        if self.move is None or self.move.throttle <= 0 or not self.adding:
            return None
        return Lease(self.move.throttle, self.sources, self.adding, self.move.lifts)


REVISIONS = count(1)
"""Source of `Topic.revision`, for the whole process."""


LAST_ZXID = 2**63 - 1


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
    unreadable: frozenset[int] = frozenset()
    """Partitions with an unreadable state znode: their assignment stays, commands do not find them."""
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


SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Indexes are the numbers on the wire (org.apache.kafka.common.security.auth.SecurityProtocol)."""


class Endpoint(msgspec.Struct, frozen=True):
    listener: str
    security_protocol: str
    host: str
    port: int


def endpoint_for(endpoints: Sequence[Endpoint], listener: str | None, security_protocol: str = "") -> Endpoint:
    """The endpoint for clients of a listener: that of the same name, else of the same security protocol, else the
    first. Servers and brokers may name their listeners differently.
    """
    same = (one for one in endpoints if one.listener == listener)
    alike = (one for one in endpoints if one.security_protocol == security_protocol)
    return next(same, next(alike, endpoints[0]))


class Broker(msgspec.Struct, frozen=True):
    """`epoch` is the czxid of `/brokers/ids/$id`: a bounce changes it."""

    id: int
    epoch: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None

    def endpoint(self, listener: str | None = None, security_protocol: str = "") -> Endpoint:
        return endpoint_for(self.endpoints, listener, security_protocol)


class Cluster(msgspec.Struct):
    """All that ZooKeeper says about the cluster, as of the last commit. Only `core.writers` changes it."""

    brokers: dict[int, Broker] = {}
    shutting_down: set[int] = set()
    servers: frozenset[int] = frozenset()
    """Ids of our servers, this one among them (see `is_server`)."""
    topics: dict[str, Topic] = {}
    topic_names: dict[UUID, str] = {}
    moving: dict[str, set[int]] = {}
    """Partitions with a move in flight, by topic, so that List need not scan all partitions."""
    leases: Leases = msgspec.field(default_factory=Leases)
    unreadable: dict[str, str] = {}
    """Topics with an unreadable znode, with the reason: commands do not find them, but their names are taken."""
    stale_marks: frozenset[str] = frozenset()
    """Names in `/admin/delete_topics` whose topic does not exist or is newer than its mark.

    No topic of such a name is created until the controller has removed the mark.
    """
    waiting_marks: frozenset[str] = frozenset()
    """Topics with a mark in `/admin/delete_topics` that waits (`core.topics.deletion_marks`)."""
    topic_configs: dict[str, Mapping[str, str]] = {}
    broker_configs: dict[str, Mapping[str, str]] = {}
    """By broker id as text; `<default>` has the cluster-wide ones."""
    settings: Mapping[str, str] = {}
    """The content of `/admin/reassignment_settings` (`core.settings_in_force`)."""
    settings_by: Mapping[str, Requester] = {}
    """Who has set or deleted each of them, if known."""
    settings_changed: int = -1
    """The mzxid of that znode: what is newer has come since the settings are as they are."""
    settings_problem: str = ""
    """Why that znode is unreadable. It may forbid moves and repairs, so none starts."""
    failed: dict[int, int] = {}
    """Failed brokers (gone, and with replicas): when a controller first noticed it, ms since the epoch (KIP-46)."""
    failed_log_dirs: dict[int, FailedLogDirs] = {}
    """Brokers that have lost log dirs, and with them replicas. While such a broker is away, nobody knows more."""
    records_with_children: frozenset[TopicPartition] = frozenset()
    """Partitions whose move record has children of somebody else, even without content: the controller empties it when
    the move ends, and the next move is written into it.
    """
    failures_with_children: frozenset[int] = frozenset()
    """Failed brokers whose znode has children of somebody else: ZooKeeper does not delete it, so the controller empties
    it.
    """
    log_dirs_with_children: frozenset[int] = frozenset()
    """The same for `failed_log_dirs`."""
    disabled_by_znode: bool = False
    """`/admin/reassign_cancel` exists (`core.restrictions`)."""
    batch: BatchZnode | None = None
    """`/admin/reassign_partitions` (`core.znode_routes.reassign_partitions`)."""
    requests: frozenset[str] = frozenset()
    """Names of the undecided request znodes (`core.znode_routes.reassignment_requests`)."""
    cancel_all: CancelAll | None = None
    """`/admin/cancel_reassignment_in_progress`, until the controller has carried it out."""
    queue: Queue = msgspec.field(default_factory=Queue)
    """The waiting moves (`core.znode_routes.queue_admission`)."""
    config_versions: dict[tuple[str, str], tuple[int, int]] = {}
    """Czxid and zkVersion of the known dynamic configs, by kind ("topics", "brokers") and name."""
    since: int = -1
    """The last transaction of ZooKeeper before all this was read."""
    soft: SoftState = msgspec.field(default_factory=SoftState)

    def get(self, topic: str, partition: int) -> Partition | None:
        """None if it does not exist, its topic is in deletion, or its state is unreadable; also if it has no state
        while a mark of its topic waits, since a former controller may have deleted the state.
        """
        known = self.topics.get(topic)
        if known is None or known.deleting or partition in known.unreadable:
            return None
        found = known.partitions.get(partition)
        if found is not None and found.partition_epoch < 0 and topic in self.waiting_marks:
            return None
        return found

    def is_live(self, broker: int) -> bool:
        """Kafka's liveBrokerIds: registered and not in controlled shutdown."""
        return broker in self.brokers and broker not in self.soft.shutting_down

    def is_server(self, broker: int) -> bool:
        """Whether one of our servers has this id, and no broker: then nobody will ever hold a replica under it."""
        return broker in self.servers and broker not in self.brokers

    def is_online(self, replica: int, partition: Partition) -> bool:
        """Kafka's isReplicaOnline: the broker is live, and the replica's log dir has not failed."""
        return self.is_live(replica) and replica not in partition.offline

    def is_lost(self, replica: int, partition: Partition) -> bool:
        """Nobody reads or writes it any more: its broker is not registered, or its log dir has failed."""
        return replica not in self.brokers or replica in partition.offline

    def all_partitions(self) -> Iterator[tuple[str, int, Partition]]:
        for topic in self.topics.values():
            for index, partition in topic.partitions.items():
                yield topic.name, index, partition

    @property
    def default_configs(self) -> Mapping[str, str]:
        return self.broker_configs.get(DEFAULT, {})

    def topic_config(self, topic: str, key: str, default: str) -> str:
        """The topic's own value, else the cluster's dynamic default, else `default`."""
        own = self.topic_configs.get(topic, {}).get(key)
        if own is not None:
            return own
        return self.default_configs.get(key, default)
