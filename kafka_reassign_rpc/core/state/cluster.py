"""The cluster as the controller sees it: immutable values in a few dictionaries.

Every value here is frozen. A decision never changes a value: it makes the next one, and `core.writers.replay` puts that
one into the `Cluster`, after ZooKeeper has stored it. What others have written or reported comes in by a fact
(`core.writers.facts`) between two rounds. Nothing else writes here. So List and Metadata always show durable state
alone, even while the controller writes a large commit.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from uuid import UUID

import msgspec

from kafka_reassign_rpc.core.state.queue_entries import Queue
from kafka_reassign_rpc.core.state.reassign_partitions_entries import BatchZnode, CancelAll
from kafka_reassign_rpc.core.state.soft_state import SoftState
from kafka_reassign_rpc.core.state.throttle_leases import Lease, Leases
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition as TopicPartition  # noqa: PLC0414 - imported from here

NO_LEADER = -1
"""Leader id of a partition that no live in-sync replica can lead."""


RPC, BATCH, QUEUE, REQUEST, HEAL = "rpc", "batch", "queue", "request", "heal"
"""The route of a move says how its target came: a client's AlterPartitionReassignments (rpc), the znode
`/admin/reassign_partitions` (batch), the queue `/admin/reassign_partitions_queue` (queue), a znode under
`/admin/reassignment_requests` (request; these three: KIP-236), or self-healing (heal)."""

ROUTES = (RPC, BATCH, QUEUE, REQUEST, HEAL)


class MoveRecord(msgspec.Struct, frozen=True, gc=False):
    """A move in flight, as `/admin/reassignments/$topic/$partition` records it (KIP-236).

    target      the replicas that the partition gets
    original    the replicas before the first target was given, in order: a cancel restores exactly these
    id          the record's czxid; -1 until the record is durable
    started     the record's ctime, ms since the epoch; -1 until the record is durable
    route       how the current target came (`RPC`, `BATCH`, …)
    reason      why, in the words of the sender of the current target
    throttle    the rate of the move's throttle lease, bytes/s; -1: no lease (see `core.state.throttle_leases`)
    retained    adding replicas of a former target that the leader or the ISR still needed when the target changed (see
                `core.reassignment_algebra.target_change`): they leave with the original ones, a cancel removes them
    legacy      a request znode with `"legacy":true` has given the current target: the move counts as an entry of
                `/admin/reassign_partitions` although it has none
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


class Partition(msgspec.Struct, frozen=True, gc=False):
    """One partition: its assignment, its leader and ISR, and its move if it has one.

    replicas            the full replica set; during a move: the target, then the replicas to be removed
    adding              replicas that the move adds (KIP-455)
    removing            replicas that the move removes at its completion (KIP-455)
    pending_deletion    replicas that have left the assignment and may still have a log. The topic znode lists them as
                        removing until each broker has confirmed its StopReplica (or died), so that the next controller
                        deletes them too. List and Metadata do not show them.
    partition_epoch     the zkVersion of the state znode; -1 before that znode exists. A decided ISR change has
                        the next one before it is durable
    created             the czxid of the state znode; -1 before that znode exists
    offline             replicas whose log dir has failed, as their brokers have answered LeaderAndIsr (Kafka's
                        replicasOnOfflineDirs), or has the log of an earlier topic while other replicas are in sync.
                        Soft state: no znode has it, and each controller asks anew
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
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        """The replica set after the move; the replica set itself where nothing moves."""
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
        """The original replicas of the move, in their original order; at rest, the replicas.

        A stock controller starts moves without a record. Their original replicas are `origin`: nothing else is known.
        """
        origin = self.origin
        recorded = origin if self.move is None else self.move.original
        if recorded != origin and set(recorded) != set(origin):  # a stale record: the topic znode is the truth
            return origin
        return recorded

    @property
    def retained(self) -> tuple[int, ...]:
        """Removing replicas that a former target of the move had added (see `MoveRecord`)."""
        if self.move is None or not self.move.retained:
            return ()
        return tuple([r for r in self.removing if r in self.move.retained and r not in self.move.original])

    @property
    def sources(self) -> tuple[int, ...]:
        """The replicas that the move does not add: R - AR."""
        return tuple([r for r in self.replicas if r not in self.adding]) if self.adding else self.replicas

    @property
    def lease(self) -> Lease | None:
        """The move's throttle lease; None too where the move copies nothing."""
        if self.move is None or self.move.throttle <= 0 or not self.adding:
            return None
        return Lease(self.move.throttle, self.sources, self.adding)


REVISIONS = count(1)
"""Source of `Topic.revision`, for the whole process."""


LAST_ZXID = 2**63 - 1


class Topic(msgspec.Struct):
    """A topic and its partitions. Only `core.writers.replay` changes `partitions`."""

    name: str
    id: UUID | None
    partitions: dict[int, Partition]
    version: int = -1
    """The zkVersion of the topic znode."""
    extra: dict[str, msgspec.Raw] = {}
    """Fields of the topic znode that this program does not know: every rewrite preserves them."""
    missing: dict[int, int] = {}
    """How many replicas a partition has too few: see `core.topics.missing_replicas`."""
    unreadable: frozenset[int] = frozenset()
    """Partitions whose state znode cannot be decoded: their assignment stays, commands do not find them."""
    revision: int = msgspec.field(default_factory=lambda: next(REVISIONS))
    """A number that changes with every change of a partition, and that no topic had before: a reader may cache what it
    made of the partitions under this number."""
    deleting: bool = False
    """True once its deletion is durable: from then on no command finds the topic."""
    created: int = -1
    """The czxid of the topic znode. It distinguishes this topic from all others of its name, also where topics have no
    ids. Topics of other names share it: one transaction creates many."""
    id_since: int = LAST_ZXID
    """A zxid since which the topic has had its id, at the latest, as far as this controller knows."""


SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""By their numbers on the wire, from 0 (org.apache.kafka.common.security.auth.SecurityProtocol)."""


class Endpoint(msgspec.Struct, frozen=True):
    """Where a broker listens. `security_protocol` is one of SECURITY_PROTOCOLS."""

    listener: str
    security_protocol: str
    host: str
    port: int


def endpoint_for(endpoints: Sequence[Endpoint], listener: str | None, security_protocol: str = "") -> Endpoint:
    """The endpoint for clients of a listener: that of the same name, else one with the same security protocol, else the
    first one. (Servers and brokers may call their listeners otherwise.)"""
    same = (one for one in endpoints if one.listener == listener)
    alike = (one for one in endpoints if one.security_protocol == security_protocol)
    return next(same, next(alike, endpoints[0]))


class Broker(msgspec.Struct, frozen=True):
    """A registered broker, as `/brokers/ids/$id` shows it. `epoch` is the czxid of that znode: a bounce changes it."""

    id: int
    epoch: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None

    def endpoint(self, listener: str | None = None, security_protocol: str = "") -> Endpoint:
        """The endpoint of the listener with this name, else one with this security protocol, else the first one."""
        return endpoint_for(self.endpoints, listener, security_protocol)


class Cluster(msgspec.Struct):
    """All that ZooKeeper says about the cluster, as of the last commit. Only `core.writers.replay` changes it."""

    brokers: dict[int, Broker] = {}
    shutting_down: set[int] = set()
    servers: frozenset[int] = frozenset()
    """Ids that servers of this product have taken, this one's among them: see `is_server`."""
    topics: dict[str, Topic] = {}
    topic_names: dict[UUID, str] = {}
    moving: dict[str, set[int]] = {}
    """Partitions with a move in flight, by topic, so that List need not scan all partitions."""
    leases: Leases = msgspec.field(default_factory=Leases)
    unreadable: dict[str, str] = {}
    """Topics whose znode cannot be decoded, with the reason: commands do not find them, but their names are taken."""
    stale_marks: frozenset[str] = frozenset()
    """Names in `/admin/delete_topics` that mark no present topic: the topic does not exist, or was created after its
    mark. No topic is created while they stand; the controller removes them."""
    waiting_marks: frozenset[str] = frozenset()
    """Topics with a mark in `/admin/delete_topics` that waits: see `core.topics.deletion_marks`."""
    topic_configs: dict[str, Mapping[str, str]] = {}
    broker_configs: dict[str, Mapping[str, str]] = {}
    """Dynamic configs by broker id as text; `<default>` has the cluster-wide ones."""
    settings: Mapping[str, str] = {}
    """What `/admin/reassignment_settings` holds: see `core.settings_in_force`."""
    settings_problem: str = ""
    """Why that znode cannot be understood. Then no new move and no repair starts: it may have said so."""
    failed: dict[int, int] = {}
    """Failed brokers (gone, and with replicas): when a controller first noticed it, ms since the epoch (KIP-46)."""
    occupied_records: frozenset[TopicPartition] = frozenset()
    """Partitions whose move record has children of somebody else, also where it is empty: the controller empties it
    where the move ends, and the next move is written into it."""
    occupied_failures: frozenset[int] = frozenset()
    """Failed brokers whose znode has children of somebody else: the controller empties it, since ZooKeeper does not
    delete a znode with children."""
    disabled_by_znode: bool = False
    """`/admin/reassign_cancel` exists, so that reassignments are disabled: see `core.restrictions`."""
    batch: BatchZnode | None = None
    """`/admin/reassign_partitions`, where it exists: see `core.znode_routes.reassign_partitions`."""
    requests: frozenset[str] = frozenset()
    """Names of the request znodes that the controller has not decided yet: see
    `core.znode_routes.reassignment_requests`."""
    cancel_all: CancelAll | None = None
    """`/admin/cancel_reassignment_in_progress`, where it exists and the controller has not carried it out."""
    queue: Queue = msgspec.field(default_factory=Queue)
    """The waiting moves: see `core.znode_routes.queue_admission`."""
    config_versions: dict[tuple[str, str], tuple[int, int]] = {}
    """Czxid and zkVersion of the known dynamic configs, by kind ("topics", "brokers") and name."""
    since: int = -1
    """The last transaction of ZooKeeper before all this was read. What was read before that is older."""
    soft: SoftState = msgspec.field(default_factory=SoftState)
    """All that is not durable."""

    def get(self, topic: str, partition: int) -> Partition | None:
        """The partition; None where it does not exist, its topic is in deletion, or its state cannot be decoded.

        None too where it has no state while a mark of its topic waits: a former controller may have deleted the state.
        """
        known = self.topics.get(topic)
        if known is None or known.deleting or partition in known.unreadable:
            return None
        found = known.partitions.get(partition)
        if found is not None and found.partition_epoch < 0 and topic in self.waiting_marks:
            return None
        return found

    def is_live(self, broker: int) -> bool:
        """Whether the broker is registered and not in controlled shutdown (Kafka's liveBrokerIds)."""
        return broker in self.brokers and broker not in self.soft.shutting_down

    def is_server(self, broker: int) -> bool:
        """Whether a server of this product has this id, and no broker: nobody will ever hold a replica under it."""
        return broker in self.servers and broker not in self.brokers

    def is_online(self, replica: int, partition: Partition) -> bool:
        """Whether this replica can lead: its broker is live, and its log dir has not failed (isReplicaOnline)."""
        return self.is_live(replica) and replica not in partition.offline

    def all_partitions(self) -> Iterator[tuple[str, int, Partition]]:
        for topic in self.topics.values():
            for index, partition in topic.partitions.items():
                yield topic.name, index, partition

    @property
    def default_configs(self) -> Mapping[str, str]:
        """The cluster-wide dynamic broker configs."""
        return self.broker_configs.get("<default>", {})

    def topic_config(self, topic: str, key: str, default: str) -> str:
        """The topic's own value, else the cluster's dynamic default, else `default`."""
        own = self.topic_configs.get(topic, {}).get(key)
        if own is not None:
            return own
        return self.default_configs.get(key, default)
