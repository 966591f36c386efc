"""Three stock brokers, real data, and our servers as their controllers."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka.admin import KafkaAdminClient

from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC, Resource, config_request
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, FOLLOWER_REPLICAS
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.protocol.messages import DescribeConfigsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import batch, batch_json
from tests.faults.cluster import Cluster, address_of, ask, metadata
from tests.processes import processes
from tests.stock.cluster import StockBroker, StockCluster
from tests.stock.jars import BROKER_VERSION, classpath, require
from tests.waiting import eventually
from tests.zookeeper.proxy import Proxy

from .load import REQUEST_TIMEOUT_MS, Load

BROKERS = (1, 2, 3)
RACKS = {1: "a", 2: "b", 3: "c", 4: "c"}
PARTITION_BYTES = 500_000
"""Of each partition before it moves: many fetches of the brokers' `replica.fetch.max.bytes`."""

STALLS_SOON = ("--reassignment-progress-interval-ms", "500", "--reassignment-stall-timeout-ms", "1000")
OUTLIVES_PAUSES = ("--zookeeper-session-timeout-ms", "12000")
"""Where ZooKeeper or the server is silent for long, on a busy machine, a stock broker would take the controllership."""
BROKER_LOGGER = 8
"""The kind of resource (ConfigResource.Type)."""

Name = tuple[str, int]
Replicas = tuple[int, ...]


async def controller(zk: ZooKeeper) -> int:
    """The controller's broker id. Raises NoNode where there is no controller."""
    return int(json.loads((await zk.get(znode_paths.CONTROLLER))[0])["brokerid"])


class MixedCluster:
    """Stock brokers with our servers as controllers. `server` names our server that is the controller.

    links   of some brokers: the way of their connections to ZooKeeper
    """

    def __init__(self, stock: StockCluster, cluster: Cluster) -> None:
        self.stock = stock
        self.cluster = cluster
        self.zk = cluster.zk
        self.server = "a"
        self.links: dict[int, Proxy] = {}

    async def serve(self, name: str, *options: str) -> None:
        """Start our server of that name; returns once it is the controller and all brokers know it."""
        await self.cluster.server(name, *STALLS_SOON, *OUTLIVES_PAUSES, *options)
        await self.cluster.controlled_by(name, within=60)
        self.server = name
        await eventually(self._is_known, within=60)

    async def _is_known(self) -> bool:
        shown = [await metadata(address_of(broker.address)) for broker in self.stock.brokers.values()]
        return {answer.controller_id for answer in shown} == {1000}

    async def join(self, broker: int) -> StockBroker:
        """Add one more broker, for this scenario alone."""
        joining = self.stock.brokers[broker] = self.stock.broker(broker, {"broker.rack": RACKS[broker]})
        await joining.start()
        await eventually(self._is_known, within=60)
        return joining

    async def hold(self) -> None:
        """Set a throttle rate of almost zero on every broker, for the replicas that topics name as throttled."""
        for broker in BROKERS:
            await self._configure((BROKER, str(broker)), {FOLLOWER_RATE: "1"}, broker)
            await self._learned(f"brokers/{broker}", FOLLOWER_RATE, broker)

    async def let_go(self) -> None:
        """Remove that rate again."""
        for broker in BROKERS:
            await self._configure((BROKER, str(broker)), {FOLLOWER_RATE: None}, broker)

    async def create(self, topic: str, assignment: Mapping[int, Replicas], *, held: bool = False) -> None:
        """Create a topic with data. With `held`, new replicas stop after their first fetches until `release`."""
        await self.create_empty(topic, assignment)
        await asyncio.to_thread(self._fill, topic, len(assignment))
        if held:
            newcomers = [f"{i}:{b}" for i, replicas in assignment.items() for b in BROKERS if b not in replicas]
            await self._configure((TOPIC, topic), {FOLLOWER_REPLICAS: ",".join(newcomers)})
            for broker in BROKERS:
                await self._learned(f"topics/{topic}", FOLLOWER_REPLICAS, broker)

    async def create_empty(self, topic: str, assignment: Mapping[int, Replicas]) -> None:
        await asyncio.to_thread(self._create, topic, list(assignment.values()))

    def _create(self, topic: str, assignment: list[Replicas]) -> None:
        admin = AdminClient({"bootstrap.servers": self.stock.bootstrap, "log_level": 0})
        new = NewTopic(topic, num_partitions=len(assignment), replica_assignment=[list(one) for one in assignment])
        admin.create_topics([new], operation_timeout=30)[topic].result(60)

    def _fill(self, topic: str, partitions: int) -> None:
        # In small batches: a first fetch brings a whole batch, however large it is.
        small = {"batch.size": 8_192, "linger.ms": 0, "acks": "all"}
        producer = Producer({"bootstrap.servers": self.stock.bootstrap, "log_level": 0, **small})
        for index in range(partitions):
            for _ in range(PARTITION_BYTES // 5_000):
                producer.produce(topic, b"0 " + bytes(4_998), partition=index)
        assert not producer.flush(60)

    async def delete(self, *topics: str) -> None:
        """Delete topics; returns once their names are free."""
        admin = AdminClient({"bootstrap.servers": self.stock.brokers[1].address, "log_level": 0})
        for answer in admin.delete_topics(list(topics), operation_timeout=30).values():
            await asyncio.wrap_future(answer)
        for topic in topics:
            await self.gone(znode_paths.topic(topic))

    async def release(self, *topics: str) -> None:
        for topic in topics:
            await self._configure((TOPIC, topic), {FOLLOWER_REPLICAS: None})

    async def _configure(self, resource: Resource, configs: Mapping[str, str | None], broker: int = 1) -> None:
        address = address_of(self.stock.brokers[broker].address)
        [result] = (await ask(address, config_request({resource: configs}), 1)).responses
        assert not result.error_code, result.error_message

    async def _learned(self, entity: str, config: str, broker: int) -> None:
        """Wait until a broker has applied a config, which it does a moment after the answer."""
        pattern = re.compile(rb"entityPath: %s with config: .*%s" % (entity.encode(), config.encode()))
        await self.stock.brokers[broker].wait_for_line(pattern)

    async def logs_state_changes(self, broker: int) -> None:
        """From now on, a broker logs what each control request says of each partition."""
        await self._configure((BROKER_LOGGER, str(broker)), {"state.change.logger": "TRACE"}, broker)

    def load(self, topic: str, partitions: int, *, request_timeout_ms: int = REQUEST_TIMEOUT_MS) -> Load:
        return Load(self.stock.bootstrap, topic, range(partitions), request_timeout_ms)

    async def alter(self, targets: Mapping[Name, Replicas | None]) -> dict[Name, int]:
        """AlterPartitionReassignments; the error code of each partition."""
        return await self.cluster.alter(self.server, targets)

    async def start(self, targets: Mapping[Name, Replicas]) -> None:
        """Start moves; all must be accepted."""
        assert await self.alter(targets) == dict.fromkeys(targets, 0)

    async def moving(self) -> set[Name]:
        return await self.cluster.moving(self.server)

    async def shows_progress(self, name: Name, adding: int) -> bool:
        """Whether the server shows a throttled move as partly done: more than 0 bytes, less than all."""
        found = (await self.cluster.told(self.server))[name]
        return bool(0 < found["copied"][str(adding)] < found["bytes_total"])

    async def is_throttled_too_far(self, name: Name, adding: int) -> bool:
        """Whether the stall reason says that producers write more than the throttle allows."""
        reason = (await self.cluster.stalled(self.server))[name] or ""
        return re.fullmatch(rf"throttled to 1 B/s \(follower {adding}\) while \d+ B/s are produced", reason) is not None

    async def read_in_group(self, topic: str) -> int:
        """Bytes of a partition's records, read by a group whose only bootstrap server is ours."""
        return await asyncio.to_thread(self._read_in_group, topic)

    def _read_in_group(self, topic: str) -> int:
        config = {"group.id": "readers", "auto.offset.reset": "earliest", "log_level": 0}
        first = Consumer({"bootstrap.servers": self.stock.bootstrap, **config})
        _until_coordinated(first, topic)
        first.close()
        own = self.cluster.servers[self.server].ready_value("bootstrap")
        consumer = Consumer({"bootstrap.servers": own, **config})
        consumer.subscribe([topic])
        found, deadline = 0, time.monotonic() + 60
        try:
            while found < PARTITION_BYTES and time.monotonic() < deadline:
                for record in consumer.consume(500, timeout=1):
                    if record.error() is None:
                        found += len(record.value() or b"")
            consumer.commit(asynchronous=False)
        finally:
            consumer.close()
        return found

    async def ask_with_kafka_python(self) -> None:
        """One admin client whose only bootstrap server is ours asks for topics, brokers and configs."""
        await asyncio.to_thread(self._ask_with_kafka_python)

    def _ask_with_kafka_python(self) -> None:
        own = self.cluster.servers[self.server].ready_value("bootstrap")
        client = KafkaAdminClient(bootstrap_servers=own, client_id="kafka-python-test")
        try:
            for _ in range(5):
                client.list_topics()
                assert len(client.describe_cluster()["brokers"]) == len(self.stock.brokers) + 1
        finally:
            client.close()

    async def has_config(self, name: str, value: str) -> bool:
        """Whether our server shows a config of its own with this value."""
        cls = DescribeConfigsRequest
        asked = cls.DescribeConfigsResource(resource_type=BROKER, resource_name="1000", configuration_keys=[name])
        request = cls(resources=[asked], include_synonyms=False, include_documentation=False)
        answer = await ask(self.cluster.address(self.server), request, 3)
        ((shown,),) = [result.configs for result in answer.results]
        return bool(shown.value == value)

    async def rest_at(self, targets: Mapping[Name, Replicas]) -> None:
        await self.cluster.rests_at(targets, within=90)

    async def stock_controls(self) -> bool:
        return await controller(self.zk) in BROKERS

    # A lost broker

    async def lives(self, broker: int) -> bool:
        """Whether our server shows the broker as alive."""
        shown = await metadata(self.cluster.address(self.server))
        return broker in {one.node_id for one in shown.brokers}

    # The batch in ZooKeeper

    async def submit(self, targets: Mapping[Name, Replicas]) -> None:
        await self.zk.create(znode_paths.REASSIGN_PARTITIONS, batch(targets))

    async def moves(self, *names: Name) -> bool:
        return set(names) <= await self.moving()

    async def has_begun(self, *names: Name) -> bool:
        """Whether these entries of the batch have their original replicas recorded and move."""
        found = await batch_json(self.zk) or {}
        assert all("original_replicas" in found[name] for name in names), found
        return await self.moves(*names)

    async def gone(self, path: str) -> None:
        async def is_gone() -> bool:
            return await self.zk.exists(path) is None

        await eventually(is_gone, within=60)


@asynccontextmanager
async def behind_our_server(
    directory: Path,
    brokers: Iterable[int] = BROKERS,
    *,
    chroot: str = "",
    overrides: Mapping[str, str] | None = None,
    per_broker: Mapping[int, Mapping[str, str]] | None = None,
    versions: Mapping[int, str] | None = None,
    zookeeper_of: str = "",
    links: Collection[int] = (),
    options: Sequence[str] = (),
) -> AsyncIterator[MixedCluster]:
    """Stock brokers whose controller is our server `a`, after a failover from one of them.

    versions    of those brokers that are not of 3.9.1
    zookeeper_of    the release of Kafka whose ZooKeeper it is; "": a present one
    links       the brokers whose connections to ZooKeeper can be cut
    options     of our server
    """
    versions = versions or {}
    for version in {BROKER_VERSION, *versions.values(), zookeeper_of or BROKER_VERSION}:
        require(version)
    jars = classpath(zookeeper_of) if zookeeper_of else ""
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper", jars=jars))
        if chroot:
            async with ZooKeeper(zookeeper.address) as outside:
                await outside.ensure_path(chroot)
        connect = zookeeper.address + chroot
        zk = await stack.enter_async_context(ZooKeeper(connect))
        stock = StockCluster(connect, directory, brokers, overrides=overrides, per_broker=per_broker)
        stack.push_async_callback(stock.kill)
        group = await stack.enter_async_context(processes(directory))
        mixed = MixedCluster(stock, Cluster(group, zk, connect, directory))
        for broker, version in versions.items():
            stock.brokers[broker].version = version
        for broker in links:
            mixed.links[broker] = await stack.enter_async_context(Proxy(zookeeper.address))
            stock.brokers[broker].properties["zookeeper.connect"] = mixed.links[broker].address + chroot
        await stock.start()
        assert await controller(zk) in stock.brokers
        await mixed.serve("a", *options)
        yield mixed


_NOT_YET = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
}


def _until_coordinated(consumer: Consumer, topic: str) -> None:
    """Brokers make the topic of groups when they are asked, and then one of them becomes the group's coordinator."""
    deadline = time.monotonic() + 60
    while True:
        try:
            consumer.committed([TopicPartition(topic, 0)], timeout=60)
        except KafkaException as error:
            if error.args[0].code() not in _NOT_YET or time.monotonic() > deadline:
                raise
            consumer.poll(0.1)
        else:
            return
