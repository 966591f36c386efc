"""A node made of plain `core.state` values, for tests of handlers and of the server."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid5

import msgspec

from kafka_reassign_rpc.api.api_definition import Api, RequestContext
from kafka_reassign_rpc.api.config_ports import ConfigChange, DefaultsChange
from kafka_reassign_rpc.api.dispatch import SERVER_APIS, advertised
from kafka_reassign_rpc.api.ports import (
    AlterPartition,
    AlterReassignments,
    CreatedTopic,
    ItemResult,
    LogDir,
    NewPartitions,
    NewTopic,
    NodeEndpoint,
    RecordedEvents,
)
from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT
from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers, LiveBrokers
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome, HealingStatus, Repair
from kafka_reassign_rpc.core.kafka_errors import (
    BrokerNotAvailable,
    ElectionNotNeeded,
    InvalidReplicationFactor,
    KafkaError,
    NoReassignmentInProgress,
    NotController,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.queue.holding import HoldOutcome, Selection
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaEntity, QuotaTable
from kafka_reassign_rpc.core.quotas.mutation_quotas import MutationQuota, MutationQuotas
from kafka_reassign_rpc.core.quotas.windowed_rate import QuotaWindows
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.settings import server_settings
from kafka_reassign_rpc.core.settings.server_settings import MovedSettings
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import CancelMove, MoveRecord, MoveTerms, Partition, Topic
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.status.broker_documents import ControllerState
from kafka_reassign_rpc.core.status.documents import Move
from kafka_reassign_rpc.core.status.moves import moves_in_flight
from kafka_reassign_rpc.core.status.views import TermView
from kafka_reassign_rpc.core.throttling.replication_throttles import TopicThrottles
from kafka_reassign_rpc.protocol.versions import Versions
from kafka_reassign_rpc.support.turns import Steps, rest

NAMESPACE = UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")


def topic(name: str, partitions: Mapping[int, Partition] | int = 1, **changes: Any) -> Topic:
    """A topic. A number of partitions means that many on brokers 1, 2 and 3, led by broker 1."""
    if isinstance(partitions, int):
        partitions = {i: Partition(replicas=(1, 2, 3), leader=1, isr=(1, 2, 3)) for i in range(partitions)}
    return Topic(name=name, id=uuid5(NAMESPACE, name), partitions=dict(partitions), **changes)


def moving(index: int = 0) -> Partition:
    """A partition that moves from 1, 2, 3 to 1, 2, 4."""
    return Partition(
        replicas=(1, 2, 4, 3),
        adding=(4,),
        removing=(3,),
        leader=1,
        isr=(1, 2, 3),
        move=MoveRecord(MoveTerms((1, 2, 4)), (1, 2, 3), 1000 + index, 1),
    )


class DictConfigs:
    """Dynamic configs in a dictionary."""

    def __init__(self) -> None:
        self.entities: dict[tuple[str, str], dict[str, str]] = {}
        self.writes = 0

    async def get(self, entity_type: str, name: str) -> Mapping[str, str]:
        return self.entities.get((entity_type, name), {})

    read = get

    async def alter(self, entity_type: str, name: str, change: ConfigChange, _by: Requester) -> None:
        current = self.entities.get((entity_type, name), {})
        wanted = dict(change(current))
        await asyncio.sleep(0)
        if wanted != current:
            self.writes += 1
            self.entities[entity_type, name] = wanted


class DictSettings:
    """The settings of servers, among the configs of node 1000 in a dictionary."""

    def __init__(self, configs: DictConfigs) -> None:
        self._entities = configs.entities

    async def move(self, _by: Requester) -> MovedSettings:
        own = self._entities.setdefault(("brokers", "1000"), {})
        defaults = self._entities.get(("brokers", "<default>"), {})
        found = server_settings.moved(own, defaults)
        own.update(found.moved)
        for name in (*found.moved, *found.dropped):
            del defaults[name]
        return found


class DictQuotas:
    """Configs of users, clients and IPs in a dictionary."""

    def __init__(self) -> None:
        self.entities: dict[QuotaEntity, dict[str, str]] = {}

    async def get(self, entity: QuotaEntity) -> Mapping[str, str]:
        return self.entities.get(entity, {})

    async def get_all(
        self, shape: tuple[str, ...], exact: Mapping[str, str | None]
    ) -> Mapping[QuotaEntity, Mapping[str, str]]:
        return {
            entity: configs
            for entity, configs in self.entities.items()
            if tuple(kind for kind, _ in entity) == shape
            and all(name == exact.get(kind, name) for kind, name in entity)
        }

    async def alter(self, entity: QuotaEntity, change: ConfigChange, _by: Requester) -> None:
        self.entities[entity] = dict(change(self.entities.get(entity, {})))


def _refusal(quota: MutationQuota, partitions: int) -> KafkaError | None:
    if partitions:
        try:
            quota.record(partitions)
        except KafkaError as error:
            return error
    return None


class ModelController:
    """Records the calls to it, and answers from the node's topics. `hold` makes Alter wait."""

    def __init__(self, node: "ModelNode") -> None:
        self._node = node
        self.active = True
        self.calls: list[Any] = []
        self.hold: asyncio.Event | None = None
        self.raises: Exception | None = None
        self.disabled: KafkaError | None = None
        self.told = ControllerState("1.2.3", 5, 6, {})
        self.refuses_topics = False
        self.health = HealingStatus(None, False, None, (), 0, 0)
        self.repair = Repair((), {}, 0)
        self.moves: list[Move] = []
        self.elections: dict[tuple[str, int], KafkaError | None] = {}
        self.waiting: dict[str, dict[int, WaitingMove]] = {}

    def is_active(self) -> bool:
        return self.active

    async def obeyed(self) -> None:
        """Always."""

    async def _enter(self, *call: Any) -> None:
        self.calls.append(call)
        if self.hold is not None:
            await self.hold.wait()
        if self.raises is not None:
            raise self.raises
        if not self.active:
            raise NotController

    async def alter_reassignments(self, request: AlterReassignments, ctx: RequestContext) -> Sequence[ItemResult]:
        await self._enter("alter", request)
        results = []
        for topic, items in request.topics:
            for index, asked in items:
                results.append((topic, index, self._judge(topic, index, asked)))
                await rest()
        return results

    def _judge(self, name: str, index: int, asked: MoveTerms | CancelMove) -> KafkaError | None:
        found = self._node.known.get(name)
        if found is None or index not in found.partitions:
            return UnknownTopicOrPartition("The partition does not exist.")
        if isinstance(asked, CancelMove) and not found.partitions[index].is_moving:
            return NoReassignmentInProgress()
        return None

    def list_reassignments(
        self, wanted: Mapping[str, Collection[int]] | None
    ) -> Iterable[tuple[Topic, Collection[int]]]:
        for name in self._node.known if wanted is None else wanted:
            found = self._node.known.get(name)
            if found is not None:
                chosen = found.partitions if wanted is None else wanted[name]
                moving = [i for i, p in found.partitions.items() if p.is_moving and i in chosen]
                if moving:
                    yield found, moving

    async def reassignments_disabled(self) -> KafkaError | None:
        await self._enter("closed")
        return self.disabled

    def waiting_reassignments(
        self, wanted: Mapping[str, Collection[int]] | None
    ) -> Iterable[tuple[str, Sequence[tuple[int, Partition, WaitingMove]]]]:
        for name, waiting in self.waiting.items():
            if wanted is None or name in wanted:
                of_topic = self._node.known[name].partitions
                resting = [index for index in waiting if not of_topic[index].is_moving]
                chosen = [index for index in resting if wanted is None or index in wanted[name]]
                yield name, [(index, of_topic[index], waiting[index]) for index in chosen]

    def moves_in_flight(self, wanted: Mapping[str, Collection[int]] | None) -> Iterator[Move | None]:
        for one in self.moves:
            yield one if wanted is None or one.partition in wanted.get(one.topic, ()) else None
        cluster = Cluster(topics=self._node.known)
        for name, found in self._node.known.items():
            if moving := {index for index, partition in found.partitions.items() if partition.is_moving}:
                cluster.moving[name] = moving
        yield from moves_in_flight(TermView(cluster, ProgressTracker(0), None, None), wanted)

    async def change_rates(
        self, wanted: Mapping[str, Collection[int] | None] | None, rate: int, ctx: RequestContext
    ) -> ThrottledMoves:
        await self._enter("change_rates", wanted, rate)
        return ThrottledMoves(2, 3, 1)

    async def healing(self) -> HealingStatus:
        await self._enter("healing")
        return self.health

    async def heal(self, broker: int, ctx: RequestContext, *, dry_run: bool) -> Repair:
        await self._enter("heal", broker, dry_run)
        return self.repair

    async def approve_repairs(self, brokers: Collection[int] | None, ctx: RequestContext) -> ApprovalOutcome:
        await self._enter("approve_repairs", brokers)
        return ApprovalOutcome(4, 1, (3,))

    async def hold_moves(
        self, selection: Selection, ctx: RequestContext, *, hold: bool, reason: str = ""
    ) -> HoldOutcome:
        await self._enter("hold_moves", selection, hold, reason)
        return HoldOutcome(3, 2, 1)

    def throttles(self, topic: str) -> TopicThrottles:
        return TopicThrottles(
            Cluster(topic_configs=self._node.topic_configs, broker_configs=self._node.broker_configs), topic
        )

    def state(self) -> ControllerState:
        return self.told

    async def create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        validate_only: bool,
        quota: MutationQuota,
        timeout_ms: int,
        ctx: RequestContext,
    ) -> Mapping[str, CreatedTopic | KafkaError]:
        await self._enter("create_topics", topics, validate_only)
        if self.refuses_topics:
            return {t.name: InvalidReplicationFactor() for t in topics}
        outcomes: dict[str, CreatedTopic | KafkaError] = {}
        for number, one in enumerate(topics, 1):
            outcomes[one.name] = (
                one.refusal
                or _refusal(quota, 0 if validate_only else max(one.num_partitions, len(one.assignments), 1))
                or CreatedTopic(UUID(int=number), one.num_partitions, one.replication_factor)
            )
            await rest()
        return outcomes

    async def delete_topics(
        self, names: Sequence[str], *, quota: MutationQuota, timeout_ms: int, ctx: RequestContext
    ) -> Mapping[str, KafkaError | None]:
        await self._enter("delete_topics", names)
        return {name: _refusal(quota, len(self._node.known[name].partitions)) for name in names}

    async def create_partitions(
        self,
        topics: Sequence[NewPartitions],
        *,
        validate_only: bool,
        quota: MutationQuota,
        timeout_ms: int,
        ctx: RequestContext,
    ) -> Mapping[str, KafkaError | None]:
        await self._enter("create_partitions", topics, validate_only)
        return {t.topic: _refusal(quota, 0 if validate_only else t.count) for t in topics}

    async def elect_leaders(
        self, partitions: Sequence[tuple[str, int]] | None, *, unclean: bool, ctx: RequestContext
    ) -> Sequence[ItemResult]:
        await self._enter("elect", None if partitions is None else list(partitions), unclean)
        if partitions is None:
            partitions = [(t.name, i) for t in self._node.known.values() for i in t.partitions]
        results: list[ItemResult] = []
        for topic, index in partitions:
            results.append((topic, index, self.elections.get((topic, index), ElectionNotNeeded())))
            await rest()
        return results

    async def alter_partition(self, request: AlterPartition) -> Sequence[Partition | KafkaError]:
        await self._enter("alter_partition", msgspec.structs.replace(request, changes=list(request.changes)))
        results: list[Partition | KafkaError] = []
        for change in request.changes:
            results.append(UnknownTopicOrPartition() if change.partition else moving())
            await rest()
        return results

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> Sequence[tuple[str, int]]:
        await self._enter("controlled_shutdown", broker_id, broker_epoch)
        return [("t", 0)]

    async def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> tuple[int, int]:
        await self._enter("allocate_producer_ids", broker_id, broker_epoch)
        return 5000, 1000

    async def producer_id(self) -> int:
        await self._enter("producer_id")
        return 5000


class ModelLogDirs:
    """Log dirs with given contents; records moves."""

    def __init__(self, dirs: Sequence[LogDir]) -> None:
        self.dirs = dirs
        self.moves: list[tuple[str, str, int]] = []

    def describe(self, wanted: Mapping[str, Collection[int]] | None) -> Steps[Sequence[LogDir]]:
        yield
        if wanted is None:
            return self.dirs
        return [
            LogDir(
                path=d.path,
                replicas=[r for r in d.replicas if r.partition in wanted.get(r.topic, ())],
                error=d.error,
                total_bytes=d.total_bytes,
                usable_bytes=d.usable_bytes,
            )
            for d in self.dirs
        ]

    async def move_replicas(self, moves: Sequence[tuple[str, str, int]]) -> Sequence[KafkaError | None]:
        self.moves += moves
        return [None] * len(moves)


class EmptyAcls:
    """No ACLs; all that are to be created are taken."""

    async def find(self, _wanted: Any) -> dict[Any, Any]:
        return {}

    async def create(self, acls: list[Any], _ctx: RequestContext) -> list[None]:
        return [None] * len(acls)

    async def delete(self, filters: list[Any], _ctx: RequestContext) -> list[list[Any]]:
        return [[] for _ in filters]


class ModelStatus:
    """Documents that repeat what was asked for; only `status` is there on a standby."""

    is_controller = True

    async def document(self, name: str, given: Mapping[str, str]) -> tuple[int, bytes]:
        if name != "status" and not self.is_controller:
            return 503, b'{"error": "this server is not the controller: broker 7 is the controller"}'
        if given.get("limit") == "0" or given.keys() - {"limit", "topic"}:
            return 400, b'{"error": "limit: too small"}'
        return 200, json.dumps({name: given}).encode()


class ModelNode:
    """Broker 1000 with brokers 1, 2, 3 and 4, all alive."""

    node_id = 1000
    cluster_id = "model-cluster"

    def __init__(self, *topics: Topic, knows: bool = True) -> None:
        self.known = {t.name: t for t in topics}
        self.knows = knows
        self.cut_off = False
        self.apis: Mapping[int, Api] = SERVER_APIS
        self.endpoints = [NodeEndpoint(i, f"b{i}", 9092, f"r{i}") for i in (1, 2, 3, 4)]
        self.endpoints.append(NodeEndpoint(1000, "server", 9093))
        self.configs = DictConfigs()
        self.settings: DictSettings | None = DictSettings(self.configs)
        self.status: ModelStatus | None = ModelStatus()
        self.quotas = DictQuotas()
        self.quota_table = QuotaTable()
        self.mutation_quotas = MutationQuotas(self.quota_table, QuotaWindows(), time.monotonic)
        self.acls: Any = None
        self.brokers_authorizer: str | None = ""
        self.asked_about: list[DefaultsChange] = []
        self.brokers_refuse: KafkaError | None = None
        self.topic_configs: dict[str, Mapping[str, str]] = {}
        self.broker_configs: dict[str, Mapping[str, str]] = {}
        self.static_configs: dict[str, str] = {"broker.id": "1000"}
        self.brokers = LiveBrokers()
        self.controller: Any = ModelController(self)
        """None makes a node that is not the controller."""
        self.log_dirs: ModelLogDirs | None = None
        self.recorded: RecordedEvents | None = None
        self.running: Sequence[NodeEndpoint] = ()
        self.asked_events: list[tuple[int, int]] = []

    def authorizer(self) -> str | None:
        return self.brokers_authorizer

    async def unknown_settings(self, names: Collection[str], timeout_ms: int = 0) -> Collection[str]:
        return ()

    async def accept_defaults(self, change: DefaultsChange) -> None:
        self.asked_about.append(change)
        await asyncio.sleep(0)
        if self.brokers_refuse is not None:
            raise self.brokers_refuse

    async def live_brokers(self, *, answered: bool = False) -> LiveBrokers:
        return self.brokers

    async def topic_layers(self) -> ConfigLayers:
        own = await self.configs.get(BROKERS, str(self.node_id))
        return ConfigLayers(own, await self.configs.get(BROKERS, DEFAULT), self.static_configs)

    def announced_versions(self) -> Versions:
        return advertised(self.apis)

    def controller_id(self) -> int:
        return 1000

    def is_privileged(self, listener: str) -> bool:
        return listener != "CLIENTS"

    def nodes(self, listener: str) -> Sequence[NodeEndpoint]:
        return self.endpoints

    def topics_now(self) -> Mapping[str, Topic] | None:
        return self.known if self.knows else None

    async def topics(self, names: Collection[str] | None) -> Mapping[str, Topic]:
        await asyncio.sleep(0)
        if self.cut_off:
            raise BrokerNotAvailable("ZooKeeper cannot be asked: it is away")
        return {n: t for n, t in self.known.items() if names is None or n in names}

    async def events(self, first: int, max_bytes: int) -> RecordedEvents | None:
        self.asked_events.append((first, max_bytes))
        return self.recorded

    async def servers(self, listener: str) -> Sequence[NodeEndpoint]:
        return self.running

    def topic_name(self, topic_id: UUID) -> str | None:
        return next((t.name for t in self.known.values() if t.id == topic_id), None) if self.knows else None


def handler_service(handle: Callable[[Any], Any | Awaitable[Any]], *keys: int) -> Any:
    """A service that answers what `handle(request)` returns, for these API keys (by default all of the server's)."""
    served = {k: (a.min_version, a.max_version) for k, a in SERVER_APIS.items() if not keys or k in keys}
    return service(served, handle)


def service(served: Mapping[int, tuple[int, int]], handle: Callable[[Any], Any | Awaitable[Any]]) -> Any:
    """A service that serves these versions."""
    return SimpleNamespace(
        served=served,
        max_elements={},
        refusal=lambda _header, _error: None,
        handle=lambda request, _peer: handle(request),
    )
