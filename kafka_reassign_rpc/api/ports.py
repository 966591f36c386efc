"""The ports between API handlers and whoever serves them: the server process or a simulated broker.

A handler knows nothing of ZooKeeper, of the controller's loop or of a fleet: it turns a message into plain
values, asks a `Node` (and its ports), and turns the answer into a message. Values here are plain on purpose:
tuples and dictionaries of ids and names, `core.state.cluster` values, and `KafkaError` where something went wrong.

Errors. A port method raises `KafkaError` for what concerns the whole request (NOT_CONTROLLER, a stale broker
epoch) and returns `KafkaError` values for single items. Anything else that it raises is a defect: it is logged,
and the client gets UNKNOWN_SERVER_ERROR in the shape of the API it called.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol
from uuid import UUID

import msgspec

from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.reassignment.alter import AS_IT_IS
from kafka_reassign_rpc.core.reassignment.progress import MoveProgress
from kafka_reassign_rpc.core.state.cluster import RPC, Partition, Topic, TopicPartition
from kafka_reassign_rpc.core.state.queue_entries import Waiting
from kafka_reassign_rpc.core.throttling.replication_throttles import TopicThrottles

ANONYMOUS = "User:ANONYMOUS"

TOPICS = "topics"
BROKERS = "brokers"
CLUSTER_DEFAULT = "<default>"
"""Name of the config entity that stands for all brokers (the wire says "")."""


class RequestContext(msgspec.Struct, frozen=True, gc=False):
    """Who asks, by which connection, in which version."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    client_host: str = ""
    listener: str = "PLAINTEXT"
    principal: str = ANONYMOUS


class NodeEndpoint(NamedTuple):
    """A node as clients of one listener see it."""

    id: int
    host: str
    port: int
    rack: str | None = None


# ---------------------------------------------------------------------------------------------------- API records


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """An answer whose body is encoded already (everything after the response header)."""

    body: bytes


Handler = Callable[["Node", Any, RequestContext], Any]
"""(node, request body, context) -> response body or `Encoded`; a coroutine where it has to wait."""

ErrorAnswer = Callable[[Any, int, KafkaError], Any]
"""(request body, api version, error) -> the whole request's failure in the shape of the API."""


class Api(msgspec.Struct, frozen=True, gc=False):
    """One API key as we serve it. `fail` makes the answer when `handle` raised."""

    key: int
    name: str
    min_version: int
    max_version: int
    handle: Handler
    fail: ErrorAnswer
    advertised: bool = True
    """False: served, but not shown in ApiVersions."""


# ---------------------------------------------------------------------------------------------------- reassignments

TargetItem = tuple[int, tuple[int, ...] | None, tuple[int, ...] | None]
"""(partition, target replicas or None to cancel, replicas that must stand there now or None)."""


class AlterReassignments(msgspec.Struct, frozen=True):
    """AlterPartitionReassignments. Every partition stands in it once (the handler has merged duplicates)."""

    topics: Sequence[tuple[str, Sequence[TargetItem]]]
    allow_replication_factor_change: bool = True
    timeout_ms: int = 60_000
    reason: str = ""
    throttle: int = AS_IT_IS
    """Bytes/s of the lease that each of these moves gets; 0: none."""
    queue: bool = False
    """Whether they join the queue instead of starting at once."""
    route: str = RPC


ItemResult = tuple[str, int, KafkaError | None]
"""(topic, partition, None or why not)."""


# ---------------------------------------------------------------------------------------------------- healing


class FailedBroker(NamedTuple):
    """A broker that is gone while it holds replicas: since when, and when it is healed (None: never), ms."""

    id: int
    since: int
    heal_at: int | None
    replicas: int


class HealingStatus(NamedTuple):
    """What is known of lost brokers (KIP-46).

    interval_ms      how long a broker has to be gone to be healed; -1: none ever is
    held_back        why brokers whose time has come are not healed
    waiting, moving  moves of repairs
    problems         configs that make no sense, racks that are not known, what cannot be repaired
    """

    interval_ms: int
    paused: bool
    held_back: str | None
    failed: Sequence[FailedBroker]
    waiting: int
    moving: int
    problems: Sequence[str] = ()


class RepairMove(NamedTuple):
    """Where a partition goes because a broker is lost."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    target: tuple[int, ...]


class Repair(NamedTuple):
    """The repair of a broker. `left_out`: (topic, partition, why it cannot be repaired); `bytes`: to be copied."""

    moves: Sequence[RepairMove]
    left_out: Sequence[tuple[str, int, str]]
    bytes: int


# ---------------------------------------------------------------------------------------------------- topics


class NewTopic(msgspec.Struct, frozen=True):
    """A topic to create: counts (-1 = the broker default), or `assignments` by partition index, never both."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: Mapping[int, tuple[int, ...]] = {}
    configs: Mapping[str, str] = {}


class CreatedTopic(msgspec.Struct, frozen=True):
    """What was created (or would be, with validate_only: then `id` is the zero UUID)."""

    id: UUID
    num_partitions: int
    replication_factor: int


class NewPartitions(msgspec.Struct, frozen=True):
    """A topic to grow to `count` partitions; `assignments` has one replica list per *new* partition, or is None."""

    topic: str
    count: int
    assignments: Sequence[tuple[int, ...]] | None = None


# ---------------------------------------------------------------------------------------------------- from brokers


class IsrChange(msgspec.Struct, frozen=True, gc=False):
    """One partition of an AlterPartition. Named by `topic_id` from version 2, by `topic` before."""

    topic: str | None
    topic_id: UUID | None
    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    isr_broker_epochs: tuple[int, ...] | None = None
    """Beside `isr`, from version 3; -1 where the sender does not know."""
    leader_recovery_state: int = 0


class AlterPartition(msgspec.Struct, frozen=True):
    """The ISR changes that one leader asks for."""

    broker_id: int
    broker_epoch: int
    changes: Sequence[IsrChange]
    api_version: int


class ControllerPort(Protocol):
    """The controller, as far as APIs reach it. While it is not active every async method raises NotController."""

    def is_active(self) -> bool:
        """Whether this process is the controller and may answer as one."""

    async def alter_reassignments(self, request: AlterReassignments, ctx: RequestContext) -> Sequence[ItemResult]:
        """Starts, changes and cancels moves. One result per partition asked for, once all of it is durable."""

    def list_reassignments(
        self, wanted: Mapping[str, Collection[int]] | None
    ) -> Iterable[tuple[Topic, Collection[int]]]:
        """Partitions with a move in flight, by topic: all, or those among `wanted`. Topics without any are left out.

        To be read at once: the next commit changes both.
        """

    async def closed(self) -> KafkaError | None:
        """Why no new move may start, or None where one may. Heeds all that was written before the question."""

    def waiting_reassignments(
        self, wanted: Mapping[str, Collection[int]] | None
    ) -> Iterable[tuple[str, Sequence[tuple[int, Partition, Waiting]]]]:
        """Partitions without a move in flight, but with one that waits, in the same way."""

    async def healing(self) -> HealingStatus:
        """Brokers that are lost, and what becomes of them."""

    async def heal(self, broker: int, ctx: RequestContext, *, dry_run: bool) -> Repair:
        """Queues the repair of a lost broker, whatever the interval; with `dry_run`, shows what it would be.

        Raises InvalidRequest where the broker is not lost, PolicyViolation where something holds repairs back.
        """

    def throttles(self, topic: str) -> TopicThrottles:
        """The replication throttles of a topic, as topic and broker configs say."""

    def progress(self, topic: str, partition: int) -> MoveProgress | None:
        """How the move in flight gets on; None before a sample has seen it. The same object while nothing changes."""

    def samples(self) -> int:
        """Another number after every sample."""

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool, timeout_ms: int, ctx: RequestContext
    ) -> Mapping[str, CreatedTopic | KafkaError]:
        """Creates topics; every name is answered."""

    async def delete_topics(
        self, names: Sequence[str], *, timeout_ms: int, ctx: RequestContext
    ) -> Mapping[str, KafkaError | None]:
        """Starts deletions; every name is answered."""

    async def create_partitions(
        self, topics: Sequence[NewPartitions], *, validate_only: bool, timeout_ms: int, ctx: RequestContext
    ) -> Mapping[str, KafkaError | None]:
        """Grows topics; every name is answered."""

    async def elect_leaders(
        self, partitions: Sequence[TopicPartition] | None, *, unclean: bool, timeout_ms: int, ctx: RequestContext
    ) -> Sequence[ItemResult]:
        """Preferred or unclean elections, of all partitions where None; ELECTION_NOT_NEEDED is an error like others."""

    async def alter_partition(self, request: AlterPartition) -> Sequence[Partition | KafkaError]:
        """ISR changes: beside `request.changes`, the partition as it stands then, or why not."""

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> Sequence[TopicPartition]:
        """Moves leadership off a broker; the partitions that it still leads."""

    async def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> tuple[int, int]:
        """A block of producer ids: (first id, how many)."""

    async def producer_id(self) -> int:
        """An id for an idempotent producer that no other has or had."""


# ---------------------------------------------------------------------------------------------------- configs

ConfigChange = Callable[[Mapping[str, str]], Mapping[str, str]]
"""(configs that stand) -> (configs that should stand). Pure: it may be called again after a lost race."""


class ConfigPort(Protocol):
    """Dynamic configs of topics and brokers, as `/config/<entity type>/<name>` holds them.

    Entity types are `TOPICS` and `BROKERS`; the name of the cluster-wide broker configs is `CLUSTER_DEFAULT`.
    """

    async def get(self, entity_type: str, name: str) -> Mapping[str, str]:
        """What is set; empty where nothing is."""

    async def alter(self, entity_type: str, name: str, change: ConfigChange) -> None:
        """Reads, changes, writes (compare-and-set) and announces the change. What `change` raises comes through.

        Writes nothing where nothing changes.
        """


# ---------------------------------------------------------------------------------------------------- log dirs


class LogDirReplica(NamedTuple):
    """A replica in a log dir. A future one is being copied there from another dir of the same broker."""

    topic: str
    partition: int
    size: int
    offset_lag: int = 0
    is_future: bool = False


class LogDir(msgspec.Struct, frozen=True):
    """A log dir and the replicas in it. Bytes; -1 where not known."""

    path: str
    replicas: Sequence[LogDirReplica]
    error: KafkaError | None = None
    total_bytes: int = -1
    usable_bytes: int = -1


class LogDirsPort(Protocol):
    """The log dirs of this node."""

    def describe(self, wanted: Mapping[str, Collection[int]] | None) -> Sequence[LogDir]:
        """Every log dir, with its replicas (of `wanted` where given)."""

    async def move_replicas(self, moves: Sequence[tuple[str, str, int]]) -> Sequence[KafkaError | None]:
        """(absolute path, topic, partition) each: put that replica there (also before it exists)."""


# ---------------------------------------------------------------------------------------------------- events


class EventsPort(NamedTuple):
    """Events as JSON objects, the number of the next one to ask for, and the number of the oldest that is kept."""

    events: Sequence[str]
    next_seq: int
    oldest_seq: int


# ---------------------------------------------------------------------------------------------------- the node


class Node(Protocol):
    """Who answers. Everything sync here is answered from memory and never waits."""

    @property
    def node_id(self) -> int:
        """The broker id that clients know this node by."""

    @property
    def cluster_id(self) -> str:
        """As /cluster/id has it."""

    @property
    def apis(self) -> Mapping[int, Api]:
        """What this node serves."""

    def controller_id(self) -> int:
        """The node that clients should take for the controller; -1 while nobody is known."""

    def nodes(self, listener: str) -> Sequence[NodeEndpoint]:
        """Every node that a client of this listener may talk to, this one included."""

    def topics_now(self) -> Mapping[str, Topic] | None:
        """All topics, when this node knows them without asking anybody (a controller, a broker); else None.

        Those in deletion (`deleting`) may be among them; handlers do not show them.
        """

    async def topics(self, names: Collection[str] | None) -> Mapping[str, Topic]:
        """The topics named (all where None), those that do not exist left out. For when `topics_now()` is None."""

    def topic_name(self, topic_id: UUID) -> str | None:
        """The name of the topic with that id, as far as this node knows."""

    @property
    def configs(self) -> ConfigPort:
        """Dynamic configs."""

    @property
    def static_configs(self) -> Mapping[str, str]:
        """This node's own configuration, by Kafka's names, as it was started with."""

    @property
    def controller(self) -> ControllerPort | None:
        """None on a node that can never be controller."""

    @property
    def log_dirs(self) -> LogDirsPort | None:
        """None on a node that holds no replicas."""

    async def events(self, first: int, max_bytes: int) -> EventsPort | None:
        """What this node itself has recorded, from event `first` on: at least one if there is any, beyond that no more
        than `max_bytes`. Below 0: none of those that are there. None where no log is kept."""
