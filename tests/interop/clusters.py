"""The two clusters behind one interface. Brokers 1 to 5 on both; each has its own chroot of one ZooKeeper.

    stock   five brokers 3.9.1; broker 1 starts first and so is the controller
    ours    five simulated brokers, each a process, and our server (id 1000) as the controller

The brokers' follower throttle is one byte a second: it holds the moves of topics that name their replicas as
throttled, until the topic is released.
"""

import asyncio
import json
import re
import signal
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from kafka.protocol.admin import (
    CreateTopicsRequest,
    DescribeLogDirsRequest,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.metadata import MetadataRequest

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode
from tests.fork_server import CLI
from tests.stock.cluster import StockCluster
from tests.stock.process import LoggedProcess
from tests.waiting import eventually

from .wire import Wire

BROKERS = (1, 2, 3, 4, 5)
SESSION_MS = 6_000
THROTTLED_REPLICAS = "follower.replication.throttled.replicas"
THROTTLED_RATE = "follower.replication.throttled.rate"
TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1


class ComparedCluster(ABC):
    """A cluster that scenarios run on: its ZooKeeper, its nodes, and what can happen to its brokers."""

    name: str
    controller_id: int
    keeps_logs = False
    """Whether a broker that comes back keeps the log of a replica that was taken from it meanwhile."""

    suffix = ""
    """Of the names of topics, where several of these are one cluster."""

    def __init__(self, zookeeper: str = "") -> None:
        """`zookeeper`: "" if it has none."""
        self.zookeeper = zookeeper
        self.live: set[int] = set()
        self._znodes = ZooKeeper(zookeeper) if zookeeper else None
        self._wires: dict[int, Wire] = {}
        self._opened: list[Wire] = []

    @property
    def znodes(self) -> ZooKeeper:
        assert self._znodes is not None, "it is no cluster in KRaft mode"
        return self._znodes

    async def start(self) -> None:
        """Start everything and set the throttle's rate on every broker."""
        if self._znodes is not None:
            host, _, chroot = self.zookeeper.partition("/")
            async with ZooKeeper(host) as outside:
                await outside.ensure_path("/" + chroot)
            await self._znodes.start()
        await self._start()
        self.live = set(BROKERS)
        await self.set_rates()

    async def set_rates(self) -> None:
        """The throttle's rate on every broker."""
        for node_id in BROKERS:
            await self.configure(BROKER, str(node_id), {THROTTLED_RATE: "1"}, node=node_id)

    async def end(self) -> None:
        for wire in self._opened:
            wire.drop()
        if self._znodes is not None:
            await self._znodes.close()
        await self._end()

    async def wire(self, node_id: int) -> Wire:
        """A connection to one node. It is kept until the broker stops."""
        if node_id not in self._wires:
            self._wires[node_id] = await self.connect(node_id)
        return self._wires[node_id]

    async def connect(self, node_id: int) -> Wire:
        """A new connection to one node."""
        wire = Wire(*await self.address(node_id))
        self._opened.append(wire)
        return wire

    async def address(self, node_id: int) -> tuple[str, int]:
        """The address that a broker has registered."""
        broker = json.loads((await self.znodes.get(f"/brokers/ids/{node_id}"))[0])
        return broker["host"], broker["port"]

    async def stored_topic(self, name: str) -> dict[str, Any]:
        """As its znode has it: `topic_id`, `partitions`, `adding_replicas`, `removing_replicas`; {} if it is gone."""
        return await self._znode(f"/brokers/topics/{name}")

    async def stored_state(self, name: str, index: int) -> dict[str, Any]:
        """Leader and ISR, as the partition's znode has them."""
        return await self._znode(f"/brokers/topics/{name}/partitions/{index}/state")

    async def stored_configs(self, name: str) -> dict[str, str]:
        """Of a topic."""
        configs: dict[str, str] = (await self._znode(f"/config/topics/{name}")).get("config", {})
        return configs

    async def _znode(self, path: str) -> dict[str, Any]:
        try:
            data, _ = await self.znodes.get(path)
        except NoNode:
            return {}
        loaded: dict[str, Any] = json.loads(data)
        return loaded

    async def ask(self, request: Any, version: int, node: int | None = None) -> dict[str, Any]:
        """Ask a node; without `node`, the controller."""
        wire = await self.wire(self.controller_id if node is None else node)
        return await wire.ask(request, version)

    async def metadata(self, topics: Sequence[str], node: int | None = None) -> dict[str, Any]:
        named = [(None, topic) for topic in topics]
        return await self.ask(MetadataRequest(topics=named, allow_auto_topic_creation=False), 12, node)

    async def create_topic(self, name: str, assignment: Mapping[int, Sequence[int]], *, held: bool) -> None:
        """Create a topic with exactly these replicas, led by the first of each; with data and a throttle if `held`.

        The throttle names every broker that is *not* a replica yet. A replica that is must stay out of it: stock
        brokers throttle it too for a moment after each new leader epoch, and then it leaves the ISR.
        """
        if held:
            await self.prepare_data(name)
        topic: tuple[object, ...] = (
            name,
            -1,
            -1,
            [(index, list(replicas)) for index, replicas in assignment.items()],
            [],
        )
        answer = await self.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
        if any(result["error_code"] for result in answer["topics"]):
            raise RuntimeError(f"{self.name}: {answer}")
        await self.until_led(name, len(assignment))
        await self._until_logged(name, assignment)
        if held:
            newcomers = [f"{i}:{b}" for i, replicas in assignment.items() for b in BROKERS if b not in replicas]
            await self.configure(TOPIC, name, {THROTTLED_REPLICAS: ",".join(newcomers)})
            await self.write_data(name, list(assignment))

    async def release(self, topic: str) -> None:
        """Take the throttle off a held topic."""
        await self.configure(TOPIC, topic, {THROTTLED_REPLICAS: None})

    async def configure(self, kind: int, name: str, configs: Mapping[str, str | None], node: int | None = None) -> None:
        """Set dynamic configs, or delete those that are None."""
        changes = [(key, DELETE if value is None else SET, value) for key, value in configs.items()]
        answer = await self.ask(IncrementalAlterConfigsRequest(resources=[(kind, name, changes)]), 1, node)
        if any(result["error_code"] for result in answer["responses"]):
            raise RuntimeError(f"{self.name}: {answer}")

    async def kill(self, node_id: int) -> None:
        """kill -9, and end the ZooKeeper session."""
        await self.kill_unnoticed(node_id)
        await self.forget(node_id)

    async def kill_unnoticed(self, node_id: int) -> None:
        """kill -9; the ZooKeeper session stays until it times out."""
        await self._process(node_id).kill()
        self._gone(node_id)

    async def forget(self, node_id: int) -> None:
        """Do what ZooKeeper does when the session of a killed broker has timed out."""
        await self.znodes.delete(f"/brokers/ids/{node_id}")

    async def stop(self, node_id: int) -> None:
        """Controlled shutdown."""
        await self._stop(node_id)
        self._gone(node_id)

    async def freeze_until_forgotten(self, node_id: int) -> None:
        """SIGSTOP; returns once ZooKeeper has ended the session."""
        self._process(node_id).freeze()
        self._gone(node_id)

        async def is_forgotten() -> bool:
            return await self.znodes.exists(f"/brokers/ids/{node_id}") is None

        await eventually(is_forgotten, within=120)

    async def thaw(self, node_id: int) -> None:
        """SIGCONT; returns once the broker has registered again and the controller knows it."""
        self._process(node_id).thaw()
        await self._until_known(node_id)
        self.live.add(node_id)

    async def start_everything_again(self) -> None:
        """kill -9 everything but ZooKeeper, end all sessions, and start everything again."""
        await asyncio.gather(*(self._process(node_id).kill() for node_id in {*BROKERS, self.controller_id}))
        for node_id in {*BROKERS, self.controller_id}:
            self._gone(node_id)
        for path in ("/controller", *(f"/brokers/ids/{node_id}" for node_id in BROKERS)):
            await self.znodes.delete(path)
        await self._start()
        self.live = set(BROKERS)

    async def restart(self, node_id: int) -> None:
        await self._restart(node_id)
        await self._until_known(node_id)
        self.live.add(node_id)

    def _gone(self, node_id: int) -> None:
        self.live.discard(node_id)
        if wire := self._wires.pop(node_id, None):
            wire.drop()

    async def _until_known(self, node_id: int) -> None:
        """Wait until the controller shows this broker."""

        async def is_known() -> bool:
            return node_id in {broker["node_id"] for broker in (await self.metadata([]))["brokers"]}

        await eventually(is_known, within=120)

    async def until_led(self, topic: str, partitions: int) -> None:
        """Wait until every broker shows a leader for each partition."""

        async def is_led(node_id: int) -> bool:
            (shown,) = (await self.metadata([topic], node_id))["topics"]
            leaders = [p["leader_id"] for p in shown["partitions"]]
            return len(leaders) == partitions and all(leader >= 0 for leader in leaders)

        for node_id in sorted(self.live):
            await eventually(partial(is_led, node_id), within=120)

    async def _until_logged(self, topic: str, assignment: Mapping[int, Sequence[int]]) -> None:
        """Wait until each live replica has its log: our controller tells followers only after their leader."""
        logs = {(index, broker) for index, replicas in assignment.items() for broker in replicas if broker in self.live}

        async def are_there() -> bool:
            return logs <= {(i, broker) for i, at in (await self.log_dirs(topic, assignment)).items() for broker in at}

        await eventually(are_there, within=60)

    async def log_dirs(self, topic: str, indexes: Iterable[int]) -> dict[int, list[int]]:
        """For each of these partitions of the topic, the live brokers that have a log of it."""
        found: dict[int, list[int]] = {}
        for broker in sorted(self.live):
            answer = await self.ask(DescribeLogDirsRequest(topics=[(topic, list(indexes))]), 4, broker)
            for log_dir in answer["results"]:
                for shown in log_dir["topics"]:
                    if shown["name"] == topic:
                        for p in shown["partitions"]:
                            found.setdefault(p["partition_index"], []).append(broker)
        return found

    async def until_shown(self, topic: str, replicas: Mapping[int, Sequence[int]], *, in_sync: bool = True) -> None:
        """Wait until every broker shows these replicas; with `in_sync`, until all of them are in the ISR.

        A tool may ask any broker, and each broker learns of a change at its own time.
        """
        wanted = {index: (list(found), sorted(found)) for index, found in replicas.items()}

        async def is_shown(node_id: int) -> bool:
            (shown,) = (await self.metadata([topic], node_id))["topics"]
            found = {p["partition_index"]: p for p in shown["partitions"] if p["partition_index"] in wanted}
            return wanted == {
                index: (p["replica_nodes"], sorted(p["isr_nodes"]) if in_sync else wanted[index][1])
                for index, p in found.items()
            }

        for node_id in sorted(self.live):
            await eventually(partial(is_shown, node_id), within=60)

    @abstractmethod
    async def _start(self) -> None: ...

    @abstractmethod
    async def _end(self) -> None: ...

    @abstractmethod
    async def prepare_data(self, topic: str) -> None:
        """Prepare what a topic with data needs before its creation."""

    @abstractmethod
    async def write_data(self, topic: str, partitions: Sequence[int]) -> None:
        """Write data to each partition of an existing topic."""

    @abstractmethod
    def _process(self, node_id: int) -> LoggedProcess: ...

    @abstractmethod
    async def _stop(self, node_id: int) -> None: ...

    @abstractmethod
    async def _restart(self, node_id: int) -> None: ...


class StockKafka(ComparedCluster):
    """Five brokers of Kafka 3.9.1."""

    name = "stock"
    controller_id = 1
    keeps_logs = True

    def __init__(self, zookeeper: str, directory: Path) -> None:
        super().__init__(zookeeper)
        overrides = {"zookeeper.session.timeout.ms": str(SESSION_MS)}
        self.stock = StockCluster(zookeeper, directory, BROKERS, overrides=overrides)

    async def _start(self) -> None:
        brokers = self.stock.brokers
        await brokers[1].start()
        await asyncio.gather(*(brokers[i].start() for i in BROKERS[1:]))

    async def _end(self) -> None:
        await self.stock.kill()

    async def prepare_data(self, topic: str) -> None:
        """Nothing to do: `write_data` produces records."""

    async def write_data(self, topic: str, partitions: Sequence[int]) -> None:
        await produce(self.stock.bootstrap, topic, partitions)

    def _process(self, node_id: int) -> LoggedProcess:
        return self.stock.brokers[node_id]

    async def _stop(self, node_id: int) -> None:
        await self.stock.brokers[node_id].stop()

    async def _restart(self, node_id: int) -> None:
        await self.stock.brokers[node_id].start()


STOCK_BYTES = 300_000
"""In each partition of a topic whose moves are held: many fetches of `replica.fetch.max.bytes`."""


async def produce(bootstrap: str, topic: str, partitions: Sequence[int]) -> None:
    """Real records, in each of these partitions."""
    await asyncio.to_thread(_produce, bootstrap, topic, partitions)


def _produce(bootstrap: str, topic: str, partitions: Sequence[int]) -> None:
    producer = Producer(
        {"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0, "batch.size": 8_192, "linger.ms": 0}
    )
    for index in partitions:
        for _ in range(STOCK_BYTES // 6_000):
            producer.produce(topic, bytes(6_000), partition=index)
    if producer.flush(30):
        raise TimeoutError(f"stock brokers did not take the records of {topic}")


class Ours(ComparedCluster):
    """Our server and five simulated brokers, each in a process of its own, as their commands start them."""

    name = "ours"
    controller_id = 1000
    standby_id = 1001

    def __init__(self, zookeeper: str, directory: Path) -> None:
        super().__init__(zookeeper)
        self._directory = directory
        self._processes: dict[int, LoggedProcess] = {}
        self._servers: dict[int, tuple[str, int]] = {}
        self.replica_bytes = OUR_BYTES
        """In each partition of a topic whose moves are held, from its creation."""

    async def address(self, node_id: int) -> tuple[str, int]:
        return self._servers[node_id] if node_id in self._servers else await super().address(node_id)

    @asynccontextmanager
    async def standby(self) -> AsyncIterator[None]:
        """Run a second server, for `fail_over`. At the end of the block the first server is the controller again."""
        await self._serve(self.standby_id)
        try:
            yield
        finally:
            if self.controller_id != Ours.controller_id:
                await self.fail_over()
            await self._kill(self.standby_id)

    async def fail_over(self) -> None:
        """kill -9 the controller and end its session. It starts again as the standby."""
        fallen = self.controller_id
        await self._kill(fallen)
        self._gone(fallen)
        await self.znodes.delete("/controller")
        self.controller_id = self.standby_id if fallen == Ours.controller_id else Ours.controller_id
        await eventually(self._is_controller, within=120)
        await self._serve(fallen)

    async def _kill(self, server: int) -> None:
        """kill -9, and the end of the session as far as others see the server in it."""
        await self._processes[server].kill()
        with suppress(NoNode):
            await self.znodes.delete(znode_paths.reassignment_server(server))

    async def _is_controller(self) -> bool:
        answer = await self.ask(ListPartitionReassignmentsRequest(timeout_ms=9_000, topics=[]), 0)
        return not answer["error_code"]

    async def _start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        await asyncio.gather(self._serve(self.controller_id), *(self._restart(node_id) for node_id in BROKERS))

    async def _end(self) -> None:
        await asyncio.gather(*(process.kill() for process in self._processes.values()))

    async def _serve(self, node_id: int) -> None:
        ready = await self._launch(
            node_id,
            [
                *("serve", "--zookeeper-connect", self.zookeeper, "--listeners", "PLAINTEXT://127.0.0.1:0"),
                *("--broker-id", str(node_id), "--event-log-dir", str(self._directory / f"events-{node_id}")),
                *("--auto-leader-rebalance-enable", "false"),  # as the stock brokers are started
            ],
            re.compile(rb"^ready bootstrap=([^:\s]+):(\d+)", re.MULTILINE),
        )
        self._servers[node_id] = (ready[1].decode(), int(ready[2]))

    async def prepare_data(self, topic: str) -> None:
        """Write the znode in which simulated brokers find the size of a new topic's replicas."""
        await self.znodes.ensure_path("/simulated_fleet")
        await self.znodes.create(f"/simulated_fleet/{topic}", str(self.replica_bytes).encode())

    async def write_data(self, topic: str, partitions: Sequence[int]) -> None:
        """Nothing to do: new replicas have their size from their creation."""

    def _process(self, node_id: int) -> LoggedProcess:
        return self._processes[node_id]

    async def _stop(self, node_id: int) -> None:
        self._processes[node_id].send(signal.SIGTERM)
        await self._processes[node_id].ended()

    async def _restart(self, node_id: int) -> None:
        arguments = ["fleet", "--zookeeper-connect", self.zookeeper, "--broker-ids", str(node_id)]
        arguments += ["--data-dir", str(self._directory / "data"), "--bandwidth", str(OUR_BYTES_PER_SECOND)]
        arguments += ["--session-timeout-ms", str(SESSION_MS), "--replica-lag-time-max-ms", "5000"]
        await self._launch(node_id, arguments, re.compile(rb"^ready brokers=", re.MULTILINE))

    async def _launch(self, node_id: int, arguments: list[str], ready: re.Pattern[bytes]) -> re.Match[bytes]:
        process = self._processes.setdefault(node_id, LoggedProcess(self._directory / f"{node_id}.log"))
        process.launch_ours(CLI, arguments)
        return await process.wait_for_line(ready)


OUR_BYTES = 2_000_000
OUR_BYTES_PER_SECOND = 4_000_000
"""An unthrottled copy takes half a second, so a throttle that brokers learn a moment late still holds it."""
