"""The ports through which API handlers reach the server process or a simulated broker.

A port method raises `KafkaError` if the whole request fails (NOT_CONTROLLER, a stale broker epoch), and returns
`KafkaError` values for single items. Any other exception is a defect.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

import msgspec

from kafka_reassign_rpc.api.api_definition import Api, RequestContext
from kafka_reassign_rpc.api.config_ports import AclPort, ConfigPort, DefaultsChange, QuotaPort, SettingsPort
from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers, LiveBrokers
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome, HealingStatus, Repair
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.core.leadership.isr_changes import IsrChange
from kafka_reassign_rpc.core.queue.holding import HoldOutcome, Selection
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.quotas.mutation_quotas import MutationQuota, MutationQuotas
from kafka_reassign_rpc.core.state.partition import CancelMove, MoveTerms, Partition, Topic
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.broker_documents import ControllerState
from kafka_reassign_rpc.core.status.documents import Move
from kafka_reassign_rpc.core.throttling.replication_throttles import TopicThrottles
from kafka_reassign_rpc.protocol.versions import Versions
from kafka_reassign_rpc.support.turns import Steps

LONGEST_WAIT_MS = 5_000
"""How long a request waits for settings that a node has to learn from brokers: they answer within a moment, and a
request that waits takes the place of others."""


class NodeEndpoint(NamedTuple):
    id: int
    host: str
    port: int
    rack: str | None = None


# ---------------------------------------------------------------------------------------------------- reassignments


AskedItem = tuple[int, MoveTerms | CancelMove]
"""A partition, and what is to become of it."""


class AlterReassignments(msgspec.Struct, frozen=True):
    """Each partition occurs once. `queue`: the moves join the queue; else they start at once. `timeout_ms`: how long
    the sender waits.
    """

    topics: Sequence[tuple[str, Sequence[AskedItem]]]
    allow_replication_factor_change: bool = True
    queue: bool = False
    timeout_ms: int = 60_000


ItemResult = tuple[str, int, KafkaError | None]
"""(topic, partition, None or the error)."""


# ---------------------------------------------------------------------------------------------------- topics


class NewTopic(msgspec.Struct, frozen=True):
    """Either counts (-1 = the broker's default), or `assignments` by partition index."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: Mapping[int, tuple[int, ...]] = {}
    configs: Mapping[str, str] = {}
    refusal: KafkaError | None = None
    """Why the topic is refused where its counts, its name and its assignment are right: its configs, or a policy."""


class CreatedTopic(msgspec.Struct, frozen=True):
    """With validate_only `id` is the zero UUID."""

    id: UUID
    num_partitions: int
    replication_factor: int


class NewPartitions(msgspec.Struct, frozen=True):
    """`count` is the new one. `assignments` has one replica list per *new* partition, or is None."""

    topic: str
    count: int
    assignments: Sequence[tuple[int, ...]] | None = None


# ---------------------------------------------------------------------------------------------------- from brokers


class AlterPartition(msgspec.Struct, frozen=True):
    broker_id: int
    broker_epoch: int
    changes: Sequence[IsrChange]
    api_version: int


class MovesPort(Protocol):
    """While it is not active every async method raises NotController."""

    def is_active(self) -> bool:
        """Whether this process is the controller and may answer as one: its lease has not run out."""

    async def obeyed(self) -> None:
        """Waits a moment for the first answer of a broker. Raises NotController while brokers obey another epoch."""

    async def alter_reassignments(self, request: AlterReassignments, ctx: RequestContext) -> Sequence[ItemResult]:
        """One result per partition, once all changes are durable."""

    def list_reassignments(
        self, wanted: Mapping[str, Collection[int]] | None
    ) -> Iterable[tuple[Topic, Collection[int]]]:
        """The partitions with a move in flight, by topic: all of them, or those among `wanted`.

        Read the result at once: the next commit changes it.
        """

    async def reassignments_disabled(self) -> KafkaError | None:
        """Why, or None. Takes account of every earlier write."""

    def waiting_reassignments(
        self, wanted: Mapping[str, Collection[int]] | None
    ) -> Iterable[tuple[str, Sequence[tuple[int, Partition, WaitingMove]]]]:
        """The partitions that have no move in flight but one in the queue, in the same way."""

    def moves_in_flight(self, wanted: Mapping[str, Collection[int]] | None) -> Iterator[Move | None]:
        """As `core.status.moves` has it."""

    async def change_rates(
        self, wanted: Mapping[str, Collection[int] | None] | None, rate: int, ctx: RequestContext
    ) -> ThrottledMoves:
        """Gives these moves, in flight and waiting, a throttle lease of `rate` bytes/s, or none (0). `wanted` are
        topics with partitions, None for all. Moves of repairs are passed over.
        """

    async def healing(self) -> HealingStatus: ...

    async def heal(self, broker: int, ctx: RequestContext, *, dry_run: bool) -> Repair:
        """Queues the repair of a failed broker without waiting for `failure.interval.ms`. With `dry_run`, only shows
        it.

        Raises InvalidRequest if the broker has not failed, PolicyViolation if repairs are held back.
        """

    async def approve_repairs(self, brokers: Collection[int] | None, ctx: RequestContext) -> ApprovalOutcome:
        """Of these brokers (None for all); durable when it returns. Raises PolicyViolation if repairs are held back."""

    async def hold_moves(
        self, selection: Selection, ctx: RequestContext, *, hold: bool, reason: str = ""
    ) -> HoldOutcome:
        """Holds selected moves of the queue, or releases them; durable when it returns."""

    def throttles(self, topic: str) -> TopicThrottles: ...

    def state(self) -> ControllerState: ...


class ControllerPort(MovesPort, Protocol):
    """Of a controller that also decides about topics and leaders."""

    async def create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        validate_only: bool,
        quota: MutationQuota,
        timeout_ms: int,
        ctx: RequestContext,
    ) -> Mapping[str, CreatedTopic | KafkaError]:
        """The result has every name. RequestTimedOut for a topic that was created but is not usable after `timeout_ms`,
        or after `LONGEST_WAIT_MS`; with 0 or less, for every created topic.
        """

    async def delete_topics(
        self, names: Sequence[str], *, quota: MutationQuota, timeout_ms: int, ctx: RequestContext
    ) -> Mapping[str, KafkaError | None]:
        """Starts deletions; the result has every name. RequestTimedOut for all that have started if `timeout_ms` is 0
        or less.
        """

    async def create_partitions(
        self,
        topics: Sequence[NewPartitions],
        *,
        validate_only: bool,
        quota: MutationQuota,
        timeout_ms: int,
        ctx: RequestContext,
    ) -> Mapping[str, KafkaError | None]:
        """As `create_topics`."""

    async def elect_leaders(
        self, partitions: Sequence[TopicPartition] | None, *, unclean: bool, ctx: RequestContext
    ) -> Sequence[ItemResult]:
        """Of `partitions`, None for all. ELECTION_NOT_NEEDED is an error like others."""

    async def alter_partition(self, request: AlterPartition) -> Sequence[Partition | KafkaError]:
        """For each of `request.changes`, in order: the partition after the change, or the error."""

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> Sequence[TopicPartition]:
        """Returns the partitions that the broker still leads."""

    async def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> tuple[int, int]:
        """(first id, number of ids)."""

    async def producer_id(self) -> int:
        """For an idempotent producer: no other producer has or had it."""


# ---------------------------------------------------------------------------------------------------- log dirs


class LogDirReplica(NamedTuple):
    """A future replica is being copied there from another dir of the same broker."""

    topic: str
    partition: int
    size: int
    offset_lag: int = 0
    is_future: bool = False


class LogDir(msgspec.Struct, frozen=True):
    """Sizes in bytes; None: unknown."""

    path: str
    replicas: Sequence[LogDirReplica]
    error: KafkaError | None = None
    total_bytes: int | None = None
    usable_bytes: int | None = None


class LogDirsPort(Protocol):
    def describe(self, wanted: Mapping[str, Collection[int]] | None) -> Steps[Sequence[LogDir]]:
        """Every log dir with all its replicas, or those of `wanted`."""

    async def move_replicas(self, moves: Sequence[tuple[str, str, int]]) -> Sequence[KafkaError | None]:
        """Moves each (absolute path, topic, partition) to that path; a replica that does not exist yet is created there
        later.
        """


# ---------------------------------------------------------------------------------------------------- status


class StatusPort(Protocol):
    async def document(self, name: str, given: Mapping[str, str]) -> tuple[int, bytes]:
        """/api/v1/`name` with these parameters, in full: HTTP's status code, and JSON."""


# ---------------------------------------------------------------------------------------------------- events


class RecordedEvents(NamedTuple):
    """Events as JSON objects.

    next_seq      the number of the next event to ask for
    oldest_seq    of the oldest event in the log
    complete_seq  from this number on the log has every event; None: it has all from the oldest on
    """

    events: Sequence[str]
    next_seq: int
    oldest_seq: int
    complete_seq: int | None = None


# ---------------------------------------------------------------------------------------------------- the node


class MovesNode(Protocol):
    """What the APIs about moves need of the node that answers. Methods that are not async answer from memory and never
    wait.
    """

    @property
    def node_id(self) -> int:
        """The broker id by which clients know this node."""

    @property
    def apis(self) -> Mapping[int, Api]: ...

    def topics_now(self) -> Mapping[str, Topic] | None:
        """All topics, on a node that has them in memory (a controller, a broker); None on any other node. Those whose
        deletion has begun (`deleting`) may be among them; handlers do not show those.
        """

    async def unknown_settings(self, names: Collection[str], timeout_ms: int = LONGEST_WAIT_MS) -> Collection[str]:
        """Those that this node must learn from brokers and does not know after `timeout_ms`, and `LONGEST_WAIT_MS` at
        most.
        """

    @property
    def settings(self) -> SettingsPort | None:
        """None on a node that is no server of this product."""

    @property
    def status(self) -> StatusPort | None:
        """None on a node that is no server of this product."""

    @property
    def controller(self) -> MovesPort | None:
        """None on a node that can never be controller."""

    async def events(self, first: int, max_bytes: int) -> RecordedEvents | None:
        """From event `first` on; None if this node keeps no event log.

        At least one event if there is one, and no more than `max_bytes` beyond the first. With `first` below 0: no
        events, only the numbers.
        """

    async def servers(self, listener: str) -> Sequence[NodeEndpoint]:
        """The running servers of this product, as clients of this listener reach them."""


class Node(MovesNode, Protocol):
    """The server process or simulated broker that answers."""

    @property
    def cluster_id(self) -> str: ...

    def announced_versions(self) -> Versions:
        """What ApiVersions shows, in the order of the keys: a part of the versions that this node serves."""

    def controller_id(self) -> int | None:
        """None while none is known."""

    def is_privileged(self, listener: str) -> bool:
        """Whether brokers come by this listener: there they may forward what clients have asked them."""

    def nodes(self, listener: str) -> Sequence[NodeEndpoint]:
        """Those that a client of this listener may connect to, this one included."""

    async def topics(self, names: Collection[str] | None) -> Mapping[str, Topic]:
        """Those that exist among `names` (None for all). To be called if `topics_now()` is None."""

    def topic_name(self, topic_id: UUID) -> str | None: ...

    @property
    def configs(self) -> ConfigPort: ...

    async def accept_defaults(self, change: DefaultsChange) -> None:
        """Returns if this broker, or on a server every live broker, accepts these cluster-wide configs and starts with
        them. Raises the KafkaError of a broker that does not, and RequestTimedOut if one does not answer, or if there
        is none.
        """

    @property
    def quotas(self) -> QuotaPort: ...

    @property
    def mutation_quotas(self) -> MutationQuotas: ...

    @property
    def acls(self) -> AclPort | None:
        """None on a node without an authorizer."""

    def authorizer(self) -> str | None:
        """The class that the brokers have; "" if they have none, None while that is unknown."""

    @property
    def static_configs(self) -> Mapping[str, str]:
        """The configuration with which this node was started, by Kafka's names."""

    async def live_brokers(self, *, answered: bool = False) -> LiveBrokers:
        """What the brokers make of the configs of topics. Waits only for ZooKeeper, and if `answered` for brokers that
        have just registered: before their answer they count as the oldest release.
        """

    async def topic_layers(self) -> ConfigLayers:
        """The broker configs that give the configs of topics which do not set them. Waits only for ZooKeeper."""

    @property
    def controller(self) -> ControllerPort | None:
        """None on a node that can never be controller."""

    @property
    def log_dirs(self) -> LogDirsPort | None:
        """None on a node that holds no replicas."""


def active_controller(node: Node) -> ControllerPort | None:
    controller = node.controller
    return controller if controller is not None and controller.is_active() else None


def required_controller(node: Node) -> ControllerPort:
    controller = active_controller(node)
    if controller is None:
        raise NotController
    return controller


async def obeyed(node: MovesNode) -> None:
    """Before anything that brokers have to carry out. Raises NotController while they obey another epoch."""
    controller = node.controller
    if controller is not None and controller.is_active():
        await controller.obeyed()


def mutation_quota(node: Node, ctx: RequestContext, strict_since: int) -> MutationQuota:
    """KIP-599: before the version `strict_since`, what is beyond the quota is done, and the client is asked to wait.
    `controller.commands.topic_commands` records the partitions of each topic with which nothing else is wrong.
    """
    user = ctx.principal.partition(":")[2]
    return node.mutation_quotas.of_request(user, ctx.client_id or "", strict=ctx.api_version >= strict_since)
