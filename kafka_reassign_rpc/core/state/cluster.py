"""The cluster as the controller sees it: immutable values, held in a few dictionaries.

Every value here is frozen. A decision never changes one: it makes the value that should stand after it,
and only `core.round.replay` puts that value into the `Cluster`. So a reader of the cluster (List, Metadata)
always sees what is durable, also while a large commit is under way.
"""

from collections.abc import Iterator, Mapping
from itertools import count
from uuid import UUID

import msgspec

from kafka_reassign_rpc.core.state.queue_entries import Queue
from kafka_reassign_rpc.core.state.reassign_partitions_entries import BatchZnode, CancelAll
from kafka_reassign_rpc.core.state.throttle_leases import Lease, Leases
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition as TopicPartition  # noqa: PLC0414 - imported from here

NO_LEADER = -1
"""Leader id of a partition that no live in-sync replica can lead."""


RPC, BATCH, QUEUE, REQUEST, HEAL = "rpc", "batch", "queue", "request", "heal"
"""By which route a move's target came: a client's request, `/admin/reassign_partitions`, its queue, a znode under
`/admin/reassignment_requests` (all KIP-236), or self-healing."""

ROUTES = (RPC, BATCH, QUEUE, REQUEST, HEAL)


class MoveRecord(msgspec.Struct, frozen=True, gc=False):
    """A reassignment in flight, as `/admin/reassignments/$topic/$partition` records it (KIP-236).

    `original` is the replica set, in order, that stood before the first target was given: a cancel
    brings back exactly this. `id` is the record's czxid, `started` its ctime in ms since the epoch;
    both are -1 until the record is durable. `route` is the one by which the target came that stands now, `reason`
    what whoever gave it said of it, in words. `throttle` is the rate of its lease (see `core.state.throttle_leases`)
    in bytes/s, -1
    where it has none. `retained` are replicas that a former target has brought in, and that nobody could do without
    when
    the target changed (see `core.reassignment_algebra.target_change`): they leave with the original ones, and a
    cancel drops them.
    """

    target: tuple[int, ...]
    original: tuple[int, ...]
    id: int = -1
    started: int = -1
    route: str = RPC
    reason: str = ""
    throttle: int = -1
    retained: tuple[int, ...] = ()


class Partition(msgspec.Struct, frozen=True, gc=False):
    """One partition: its assignment, its leader and ISR, and its move if it has one.

    replicas    the full replica set; while moving: the target, then what is to be removed
    adding      replicas that the move brings in (KIP-455)
    removing    replicas that the move takes out when it completes (KIP-455)
    pending_deletion     replicas that are out of the assignment but may still hold a log: the topic znode keeps
                them as removing until each has confirmed its StopReplica (or died), so that whichever
                controller comes next deletes them too. Clients are not shown them.
    """

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    pending_deletion: tuple[int, ...] = ()
    leader: int = NO_LEADER
    isr: tuple[int, ...] = ()
    leader_epoch: int = 0
    partition_epoch: int = -1
    """The zkVersion of the state znode; -1 while that znode does not exist."""
    controller_epoch: int = 0
    leader_recovery_state: int = 0
    move: MoveRecord | None = None

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        """The replica set that stands once nothing is moving."""
        removing = self.removing
        return tuple([r for r in self.replicas if r not in removing]) if removing else self.replicas

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas that stood before the move, in the order in which they stand now: KIP-455's R - AR, but for
        those that a former target of the move has left behind."""
        if self.move is None or not self.move.retained:
            return self.sources
        retained = self.retained
        return tuple([r for r in self.sources if r not in retained])

    @property
    def retained(self) -> tuple[int, ...]:
        """Those to be removed that were not there before the move (see `MoveRecord`)."""
        if self.move is None or not self.move.retained:
            return ()
        return tuple([r for r in self.removing if r in self.move.retained and r not in self.move.original])

    @property
    def sources(self) -> tuple[int, ...]:
        """The replicas that the move does not bring in."""
        return tuple([r for r in self.replicas if r not in self.adding]) if self.adding else self.replicas

    @property
    def lease(self) -> Lease | None:
        """The throttle that its move has of its own; None where nothing is copied, too."""
        if self.move is None or self.move.throttle <= 0 or not self.adding:
            return None
        return Lease(self.move.throttle, self.sources, self.adding)


REVISIONS = count(1)
"""Those of topics, in all of this process."""


class Topic(msgspec.Struct):
    """A topic and its partitions. `partitions` is changed only by `core.round.replay`."""

    name: str
    id: UUID | None
    partitions: dict[int, Partition]
    version: int = -1
    """The zkVersion of the topic znode."""
    extra: dict[str, msgspec.Raw] = {}
    """Fields of the topic znode that we do not know, kept on every rewrite."""
    unreadable: frozenset[int] = frozenset()
    """Partitions whose state znode is garbage: their assignment is kept, no command finds them."""
    revision: int = msgspec.field(default_factory=lambda: next(REVISIONS))
    """Another one after every change of a partition, and none that any topic had before: what was made of the
    partitions may be kept as long as it stands."""
    deleting: bool = False
    """True from the moment its deletion is durable: no command finds the topic any more."""


class Endpoint(msgspec.Struct, frozen=True):
    """Where a broker listens: `security_protocol` is Kafka's name (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)."""

    listener: str
    security_protocol: str
    host: str
    port: int


class Broker(msgspec.Struct, frozen=True):
    """A live broker, as `/brokers/ids/$id` shows it. `epoch` is that znode's czxid: a bounce changes it."""

    id: int
    epoch: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None

    def endpoint(self, listener: str | None = None) -> Endpoint:
        """The endpoint of that listener name, or the first one."""
        for endpoint in self.endpoints:
            if endpoint.listener == listener:
                return endpoint
        return self.endpoints[0]


class Cluster(msgspec.Struct):
    """All that ZooKeeper says about the cluster, as of the last commit. Changed only by `core.round.replay`."""

    brokers: dict[int, Broker] = {}
    shutting_down: set[int] = set()
    topics: dict[str, Topic] = {}
    topic_names: dict[UUID, str] = {}
    moving: dict[str, set[int]] = {}
    """Partitions with a move in flight, by topic: List never scans."""
    leases: Leases = msgspec.field(default_factory=Leases)
    unreadable: dict[str, str] = {}
    """Topics whose znode is garbage, with the reason: they are no topics, but their names are taken."""
    topic_configs: dict[str, Mapping[str, str]] = {}
    broker_configs: dict[str, Mapping[str, str]] = {}
    """Dynamic configs by broker id as text; `<default>` holds the cluster-wide ones."""
    failed: dict[int, int] = {}
    """Brokers that are gone while they hold replicas: when that was first noticed, ms since the epoch (KIP-46)."""
    occupied_failures: frozenset[int] = frozenset()
    """Those under whose znodes somebody has put others: one that is over is emptied, since it cannot be deleted."""
    disabled_by_znode: bool = False
    """`/admin/reassign_cancel` exists: see `core.restrictions`."""
    batch: BatchZnode | None = None
    """`/admin/reassign_partitions`, where it exists: see `core.znode_routes.reassign_partitions`."""
    requests: frozenset[str] = frozenset()
    """Names of the znodes under `/admin/reassignment_requests` that have not been taken up: see
    `core.znode_routes.reassignment_requests`."""
    cancel_all: CancelAll | None = None
    """`/admin/cancel_reassignment_in_progress`, where it exists and has not been carried out."""
    cancelled: int = -1
    """The id of the last one that was carried out."""
    queue: Queue = msgspec.field(default_factory=Queue)
    """The moves that wait: see `core.znode_routes.queue_admission`."""
    sizes: dict[TopicPartition, int] = {}
    """Bytes of the leader's replica, of partitions that move or wait to move, where a broker has told them. Soft
    state: no failover keeps it, and what it says is as old as the last sample."""

    def get(self, topic: str, partition: int) -> Partition | None:
        """The partition, or None where there is none (or its topic is being deleted, or its state is garbage)."""
        found = self.topics.get(topic)
        if found is None or found.deleting or partition in found.unreadable:
            return None
        return found.partitions.get(partition)

    def is_live(self, broker: int) -> bool:
        """Registered, and not in controlled shutdown (Kafka's liveBrokerIds)."""
        return broker in self.brokers and broker not in self.shutting_down

    def all_partitions(self) -> Iterator[tuple[str, int, Partition]]:
        for topic in self.topics.values():
            for index, partition in topic.partitions.items():
                yield topic.name, index, partition

    @property
    def default_configs(self) -> Mapping[str, str]:
        """The dynamic configs of all brokers."""
        return self.broker_configs.get("<default>", {})

    def topic_config(self, topic: str, key: str, default: str) -> str:
        """The topic's own value, else the cluster's dynamic default, else `default`."""
        own = self.topic_configs.get(topic, {}).get(key)
        if own is not None:
            return own
        return self.default_configs.get(key, default)
