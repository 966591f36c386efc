"""The real server with a real ZooKeeper and simulated brokers, in one process; and znodes as operators write them.

Moves of a topic that was created with `held=True` make no progress until its release: followers are throttled to a byte
a second.
"""

import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from kafka_reassign_rpc.controller.lifecycle.server_config import AuthorizerConfig, EventLogConfig, ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.controller.telemetry.webhook_requests import WebhookConfig
from kafka_reassign_rpc.core.settings.broker_settings import Value
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS, ReassignmentSettings
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet import Fleet, FleetConfig
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
)
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import EMPTY
from kafka_reassign_rpc.zookeeper.settings_znode import ServerConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import Name, Replicas, batch, batch_json, queue_json, state_json, topic_json
from tests.vendor_requests import told, wanted
from tests.waiting import eventually

BROKERS = (1, 2, 3, 4, 5)
SIZE = 2_000_000
BANDWIDTH = 40_000_000
REPLICA_LAG_MS = 3_000
ROUND_S = 20.0
"""As long as a round may take whose commit ZooKeeper does not answer."""
THROTTLED = "follower.replication.throttled.replicas"
RATE = "follower.replication.throttled.rate"
LISTENERS = (Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0),)

SAMPLING = Sampling()
NO_BALANCE: Mapping[str, Value] = {"auto.leader.rebalance.enable": False}
"""Settings for tests that say who leads although another replica is preferred: the first check is 5 s after a start,
which a slow machine sees.
"""

Answer = tuple[int, str | None]


class Cluster:
    """One server, which a test may stop and start, and its brokers. `zk`: a plain client."""

    def __init__(
        self,
        connect: str,
        zk: ZooKeeper,
        settings: ReassignmentSettings,
        event_log: Path | None = None,
        sampling: Sampling = SAMPLING,
        *,
        metrics: bool = False,
        status_page: str = "counts",
        replica_lag_ms: int = REPLICA_LAG_MS,
    ) -> None:
        self.connect = self.connect_of_server = connect
        self.session_timeout_ms = 18_000
        """Of the server."""
        self.zk = zk
        self.fleets: dict[int, Fleet] = {}
        self._configs = ConfigStore(zk)
        self._settings = settings
        self._event_log = event_log
        self._sampling = sampling
        self._metrics = metrics
        self._status_page = status_page
        self._replica_lag_ms = replica_lag_ms
        self.broker_configs: Mapping[str, str] = {}
        self.racks: Mapping[int, str] = {}
        """What brokers are started with from now on."""
        self.broker_settings: Mapping[str, Value] = {}
        """What servers are started with from now on, in place of what brokers have."""
        self.refuses_by_policy = True
        self.refuses_without_authorizer = True
        self.authorizer: AuthorizerConfig | None = None
        """What servers are started with from now on."""
        self.webhooks: WebhookConfig | None = None
        self.listeners: Sequence[Endpoint] = LISTENERS
        self.security: Callable[[], Mapping[str, Any]] = dict
        """Makes what the listeners of each server need."""
        self._server: AsyncExitStack | None = None
        self._process: ControllerProcess
        self._brokers: dict[int, AsyncExitStack] = {}
        self._wire: RpcClient
        self.metrics_address: str
        self.bootstrap = ""
        self.addresses: Mapping[str, tuple[str, int]]
        """Of the running server, by listener."""

    # ---------------------------------------------------------------------------------------- processes

    async def start_server(self, server_id: int = 1000) -> None:
        self.server_id = server_id
        self._server = AsyncExitStack()
        config = ServerConfig(
            zookeeper_connect=self.connect_of_server,
            session_timeout_ms=self.session_timeout_ms,
            listeners=self.listeners,
            server_id=server_id,
            settings=self._settings,
            metrics_listener=("127.0.0.1", 0) if self._metrics else None,
            status_page=self._status_page,
            event_log=None if self._event_log is None else EventLogConfig(self._event_log / str(server_id)),
            sampling=self._sampling,
            broker_settings=self.broker_settings,
            refuses_by_policy=self.refuses_by_policy,
            authorizer=self.authorizer,
            refuses_without_authorizer=self.refuses_without_authorizer,
            webhooks=self.webhooks,
            **self.security(),
        )
        server = self._process = await self._server.enter_async_context(ControllerProcess(config))
        await server.ready()
        self.metrics_address = server.metrics_address or ""
        self.bootstrap = server.bootstrap
        self.addresses = server._listeners._server.addresses
        self._wire = await self.client()
        self._server.callback(self._wire.close)

    async def client(self, client_id: str = "test") -> RpcClient:
        """One more client of the server."""
        host, _, port = self.bootstrap.rpartition(":")
        return await RpcClient.open(host, int(port), client_id, 20.0)

    async def reconnect(self, client: RpcClient | None = None) -> None:
        """Later requests come by a new connection, or by that of this client."""
        self._wire.close()
        self._wire = await self.client() if client is None else client
        assert self._server is not None
        self._server.callback(self._wire.close)

    async def stop_server(self) -> None:
        if self._server is not None:
            await self._server.aclose()
        self._server = None

    async def start_broker(self, broker: int) -> None:
        stack = self._brokers[broker] = AsyncExitStack()
        config = FleetConfig(
            zookeeper_connect=self.connect,
            broker_ids=(broker,),
            racks=self.racks,
            bandwidth=BANDWIDTH,
            replica_lag_time_max_ms=self._replica_lag_ms,
            configs=self.broker_configs,
            log_dirs=2,
        )
        self.fleets[broker] = await stack.enter_async_context(Fleet(config))

    async def kill_broker(self, broker: int) -> None:
        """Stop a broker without a controlled shutdown."""
        await self.fleets[broker].close(controlled=False)
        await self._brokers.pop(broker).aclose()
        await eventually(lambda: self._is_gone(broker))

    async def _is_gone(self, broker: int) -> bool:
        return await self.zk.exists(znode_paths.broker(broker)) is None

    async def end(self) -> None:
        await self.stop_server()  # first: otherwise brokers are sent to one another while they close
        for broker in list(self._brokers):
            await self.fleets[broker].close(controlled=False)
            await self._brokers.pop(broker).aclose()

    # ------------------------------------------------------------------------------------------ clients

    async def ask(self, request: Any, version: int) -> Any:
        return await self._wire.call(type(request), request, version)

    async def create_topic(
        self, name: str, assignment: Mapping[int, Sequence[int]], *, held: bool = False, size: int = SIZE
    ) -> None:
        """`size`: bytes of each replica of a held topic; others are empty."""
        topic = CreateTopicsRequest.CreatableTopic
        wanted = topic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                topic.CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
                for index, replicas in assignment.items()
            ],
            configs=[],
        )
        if held:
            await self.zk.ensure_path("/simulated_fleet")
            await self.zk.create(f"/simulated_fleet/{name}", b"%d" % size)
        answer = await self.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000, validate_only=False), 5)
        assert [one.error_code for one in answer.topics] == [0], answer
        if held:  # all replicas, as those of a cancelled move would be taken out of a list (236-11)
            await self.configure("topics", name, {THROTTLED: "*"})
            await eventually(lambda: self._is_held(name))

    def _is_held(self, name: str) -> bool:
        """Whether all brokers have read that the topic is throttled: a broker without that copies at full speed."""
        first = TopicPartition(name, 0)
        return all(self.fleets[broker]._throttles.follower_throttled(broker, first) for broker in self._brokers)

    async def delete_topic(self, name: str) -> None:
        answer = await self.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 4)
        assert [one.error_code for one in answer.responses] == [0], answer

    async def release(self, name: str) -> None:
        await self.configure("topics", name, {})

    async def configure(self, kind: str, name: str, values: Mapping[str, str]) -> None:
        await self._configs.alter(kind, name, lambda _: values)

    async def settings(self, values: Mapping[str, str]) -> None:
        """The settings that all servers share are these."""
        await ServerConfigStore(self.zk, self.server_id).alter("brokers", str(self.server_id), lambda _: values)

    async def incremental(self, name: str, value: str | None) -> int:
        """Set (or delete) a config of all brokers as kafka-configs.sh --entity-default does, a setting of all servers
        as --entity-name ID does. Returns the error code."""
        cls = IncrementalAlterConfigsRequest
        change = cls.AlterConfigsResource.AlterableConfig(name=name, config_operation=int(value is None), value=value)
        resource = cls.AlterConfigsResource(resource_type=4, resource_name=self._entity(name), configs=[change])
        answer = await self.ask(cls(resources=[resource], validate_only=False), 1)
        (result,) = answer.responses
        code: int = result.error_code
        return code

    async def described(self, name: str) -> str | None:
        """A config of all brokers, or a setting of all servers, as kafka-configs.sh --describe shows it; None where it
        is not set."""
        cls = DescribeConfigsRequest
        entity = self._entity(name)
        resource = cls.DescribeConfigsResource(resource_type=4, resource_name=entity, configuration_keys=None)
        answer = await self.ask(cls(resources=[resource], include_synonyms=True, include_documentation=False), 3)
        (result,) = answer.results
        assert result.error_code == 0
        source = 2 if entity else 3
        return next((one.value for one in result.configs if one.name == name and one.config_source == source), None)

    def _entity(self, name: str) -> str:
        return str(self.server_id) if name in SERVER_SETTINGS else ""

    async def alter(
        self,
        targets: Mapping[Name, Replicas | None],
        *,
        queue: bool = False,
        reason: str | None = None,
        throttle: int = -1,
    ) -> dict[Name, Answer]:
        cls = AlterPartitionReassignmentsRequest
        topics: dict[str, list[Any]] = {}
        for (topic, index), target in targets.items():
            part = cls.ReassignableTopic.ReassignablePartition(
                partition_index=index, replicas=None if target is None else list(target)
            )
            topics.setdefault(topic, []).append(part)
        request = cls(
            timeout_ms=10_000,
            topics=[cls.ReassignableTopic(name=name, partitions=parts) for name, parts in topics.items()],
            throttle=throttle,
            queue=queue,
            reason=reason,
        )
        answer = await self.ask(request, 0)
        assert answer.error_code == 0
        return {
            (topic.name, one.partition_index): (one.error_code, one.error_message)
            for topic in answer.responses
            for one in topic.partitions
        }

    async def controls(self) -> bool:
        """Whether the server is the controller."""
        answer = await self.ask(ListPartitionReassignmentsRequest(timeout_ms=10_000, topics=None), 0)
        return bool(answer.error_code == 0)

    async def replayed(self) -> None:
        """Waits for the rounds under way: what ZooKeeper shows of them, the server answers with a moment later."""
        term = self._process._state._service._term
        if term is not None:
            await term.loop.wait_for_answers(ROUND_S)

    async def events(self, from_seq: int = 0) -> list[dict[str, Any]]:
        """The recorded events, `replayed`."""
        await self.replayed()
        found: list[dict[str, Any]] = told(await self.ask(wanted("event_log", from_seq=from_seq), 0))["events"]
        return found

    async def moving(self) -> set[Name]:
        """The partitions in ListPartitionReassignments, `replayed`."""
        return set(await self.states())

    async def states(self) -> dict[Name, str]:
        """The same, with their state: moving or waiting."""
        return {name: one.state for name, one in (await self._listed()).items()}

    async def ids(self) -> dict[Name, int]:
        return {name: one.reassignment_id for name, one in (await self._listed()).items()}

    async def _listed(self) -> dict[Name, Any]:
        await self.replayed()
        answer = await self.ask(ListPartitionReassignmentsRequest(timeout_ms=10_000, topics=None), 0)
        return {(topic.name, one.partition_index): one for topic in answer.topics for one in topic.partitions}

    async def moves_to(self, name: Name, target: Sequence[int]) -> bool:
        """Whether the partition's move to this target is in flight."""
        one = (await self._listed())[name]
        return bool(one.state == "moving" and one.replicas[: len(target)] == list(target))

    async def waits(self, *names: Name) -> bool:
        """Whether these moves wait, and no others."""
        states = await self.states()
        return {name for name, state in states.items() if state == "waiting"} == set(names)

    async def nothing_waits(self) -> bool:
        return await self.waits()

    async def moving_is(self, names: Collection[Name]) -> bool:
        return await self.moving() == set(names)

    async def led_by(self, name: Name, broker: int) -> bool:
        return bool((await state_json(self.zk, name))["leader"] == broker)

    async def in_sync(self, name: Name, broker: int) -> bool:
        return broker in (await state_json(self.zk, name))["isr"]

    async def replicas_on(self, broker: int) -> set[Name]:
        """The partitions in the broker's DescribeLogDirs."""
        connection = await RpcClient.open(*self.fleets[broker].addresses[broker], "test", 10.0)
        try:
            answer = await connection.call(DescribeLogDirsRequest, DescribeLogDirsRequest(version=4, topics=None), 4)
        finally:
            connection.close()
        return {
            (topic.name, one.partition_index)
            for directory in answer.results
            for topic in directory.topics
            for one in topic.partitions
        }

    async def has_all(self, name: Name, *brokers: int) -> bool:
        """Whether each of these brokers has a log of the partition."""
        return all([name in await self.replicas_on(broker) for broker in brokers])

    async def has_no(self, name: Name, *brokers: int) -> bool:
        """Whether none of these brokers has a log of the partition."""
        return not any([name in await self.replicas_on(broker) for broker in brokers])

    # ------------------------------------------------------------------------------------------- znodes

    async def submit(self, targets: Mapping[Name, Replicas]) -> None:
        """Create the batch as Kafka 2.x's tool does."""
        await self.zk.create(znode_paths.REASSIGN_PARTITIONS, batch(targets))

    async def batch(self) -> dict[Name, dict[str, Any]] | None:
        return await batch_json(self.zk)

    async def queue(self) -> dict[Name, dict[str, Any]] | None:
        return await queue_json(self.zk)

    async def queue_gone(self) -> bool:
        return not any([await self.zk.exists(root) for root in znode_paths.QUEUES])

    async def is_empty_queue(self) -> bool:
        return bool((await self.zk.get(znode_paths.REASSIGN_QUEUE))[0] == EMPTY)

    async def disabled(self, name: Name) -> bool:
        """Whether reassignments are disabled, as clients see it."""
        ((code, _),) = (await self.alter({name: tuple(await self.assignment(*name))})).values()
        return code == 44

    async def record(self, name: Name) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((await self.zk.get(znode_paths.reassignment(*name)))[0])
        return found

    async def has_only(self, entries: Mapping[Name, Mapping[str, Any]]) -> bool:
        return await self.batch() == entries

    async def batch_gone(self) -> bool:
        return await self.zk.exists(znode_paths.REASSIGN_PARTITIONS) is None

    async def cancel_all(self) -> None:
        """Create the cancel znode, and wait until the cancel is carried out."""
        await self.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
        await eventually(self.cancel_gone)

    async def cancel_gone(self) -> bool:
        return await self.zk.exists(znode_paths.CANCEL_IN_PROGRESS) is None

    async def assignment(self, topic: str, index: int = 0) -> list[int]:
        found: list[int] = (await topic_json(self.zk, topic))["partitions"][str(index)]
        return found

    async def has(self, *wanted: tuple[str, int, Sequence[int]]) -> bool:
        """Whether these partitions have these replicas, and nothing moves or is pending deletion."""
        for topic, index, replicas in wanted:
            found = await topic_json(self.zk, topic)
            assert found["partitions"][str(index)] == list(replicas), found
            assert (found["adding_replicas"], found["removing_replicas"]) == ({}, {}), found
        return True

    async def started(self, *names: Name) -> bool:
        """Whether these entries have got their original replicas, and their partitions move."""
        found = await self.batch() or {}
        assert all("original_replicas" in found[name] for name in names), found
        return set(names) <= await self.moving()


@asynccontextmanager
async def cluster(
    connect: str,
    *,
    brokers: Collection[int] = BROKERS,
    settings: ReassignmentSettings = DEFAULT_SETTINGS,
    event_log: Path | None = None,
    sampling: Sampling = SAMPLING,
    metrics: bool = False,
    status_page: str = "counts",
    replica_lag_ms: int = REPLICA_LAG_MS,
    broker_configs: Mapping[str, str] | None = None,
    broker_settings: Mapping[str, Value] | None = None,
    racks: Mapping[int, str] | None = None,
    connect_of_server: str | None = None,
    session_timeout_ms: int = 18_000,
    refuses_without_authorizer: bool = True,
    authorizer: AuthorizerConfig | None = None,
    acls: bool = False,
    webhooks: WebhookConfig | None = None,
) -> AsyncIterator[Cluster]:
    """A cluster whose server is the controller and whose brokers are all registered.

    connect_of_server   how the server comes to ZooKeeper, where it is another way than that of the brokers
    acls                whether ZooKeeper has a place for ACLs, as brokers with an authorizer make it
    """
    async with ZooKeeper(connect) as zk:
        if acls:
            await zk.ensure_path(znode_paths.ACLS)
        made = Cluster(
            connect,
            zk,
            settings,
            event_log,
            sampling,
            metrics=metrics,
            status_page=status_page,
            replica_lag_ms=replica_lag_ms,
        )
        made.broker_configs, made.broker_settings = broker_configs or {}, broker_settings or {}
        made.racks, made.refuses_without_authorizer = racks or {}, refuses_without_authorizer
        made.connect_of_server = connect_of_server or connect
        made.session_timeout_ms = session_timeout_ms
        made.authorizer, made.webhooks = authorizer, webhooks
        try:
            await made.start_server()
            await made.configure("brokers", "<default>", {RATE: "1"})
            for broker in brokers:
                await made.start_broker(broker)
            await eventually(lambda: not brokers or made.fleets[max(brokers)].brokers)
            for broker in brokers:
                await made.fleets[broker].ready()
            yield made
        finally:
            await made.end()


def dumped(*entries: object, **fields: object) -> bytes:
    """A batch written by hand."""
    return json.dumps({"version": 1, "partitions": entries, **fields}).encode()
