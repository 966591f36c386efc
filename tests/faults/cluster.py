"""A cluster of real processes: how to harm it, how clients ask it, and the checks of the end."""

import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    DescribeLogDirsRequest,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
)
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode
from tests.processes import Process, Processes, processes
from tests.raw_client import connected
from tests.vendor_requests import told, wanted
from tests.waiting import eventually

SESSION_MS = 2_000
NOT_CONTROLLER = 41

Name = tuple[str, int]
Replicas = Sequence[int]
Address = tuple[str, int]


def address_of(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return host, int(port)


async def ask(address: Address, body: Any, version: int) -> Any:
    """One request on a connection of its own."""
    async with connected(address) as client:
        return await client.call(body, version)


def alter_request(targets: Mapping[Name, Replicas | None], *, throttle: int = -1) -> Any:
    request = AlterPartitionReassignmentsRequest
    topics: dict[str, list[Any]] = {}
    for (topic, index), target in targets.items():
        partition = request.ReassignableTopic.ReassignablePartition(
            partition_index=index, replicas=None if target is None else list(target)
        )
        topics.setdefault(topic, []).append(partition)
    return request(
        timeout_ms=10_000,
        topics=[request.ReassignableTopic(name=topic, partitions=found) for topic, found in topics.items()],
        throttle=throttle,
    )


async def alter(address: Address, targets: Mapping[Name, Replicas | None], *, throttle: int = -1) -> dict[Name, int]:
    """AlterPartitionReassignments at one server. Returns error codes by partition; asserts no top-level error."""
    answer = await ask(address, alter_request(targets, throttle=throttle), 0)
    assert not answer.error_code, f"error {answer.error_code}: {answer.error_message}"
    return {
        (topic.name, found.partition_index): found.error_code
        for topic in answer.responses
        for found in topic.partitions
    }


async def listed(address: Address) -> Any:
    """ListPartitionReassignments for all partitions."""
    return await ask(address, ListPartitionReassignmentsRequest(timeout_ms=10_000, topics=None), 0)


async def metadata(address: Address, *topics: str, version: int = 8) -> Any:
    request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics])
    return await ask(address, request, version)


def only_lost_replicas_moved(before: Mapping[Name, Replicas], after: Mapping[Name, Replicas], *lost: int) -> bool:
    """Whether the least data moved: replicas on other brokers than the lost ones stayed."""
    return all(
        len(found) == len(after[name])
        and all(new == old or old in lost for old, new in zip(found, after[name], strict=True))
        for name, found in before.items()
    )


def closed_windows() -> str:
    """`reassignment.windows` in which no move starts today or tomorrow."""
    day = time.strftime("%a", time.gmtime(time.time() + 3 * 86_400)).lower()
    return f"{day} 00:00-00:01 UTC"


class Cluster:
    """ZooKeeper is the test's; servers and fleets are processes started here.

    connect     the chroot as the test sees it; servers may be given another way there (a proxy)
    """

    def __init__(self, group: Processes, zk: ZooKeeper, connect: str, data: Path) -> None:
        self._group = group
        self.zk = zk
        self.connect = connect
        self._data = data
        self.servers: dict[str, Process] = {}
        self.ids: dict[str, int] = {}
        self.fleets: dict[str, Process] = {}

    async def fleet(
        self,
        brokers: str,
        *topics: str,
        bandwidth: int = 100_000_000,
        session_ms: int = SESSION_MS,
        racks: Mapping[int, str] | None = None,
        options: Sequence[str] = (),
    ) -> Process:
        arguments = ["--zookeeper-connect", self.connect, "--broker-ids", brokers, "--bandwidth", str(bandwidth)]
        arguments += ["--data-dir", str(self._data / "fleet"), "--session-timeout-ms", str(session_ms)]
        for broker in brokers.split(","):
            if racks is not None:
                arguments += ["--rack", f"{broker}:{racks[int(broker)]}"]
        for topic in topics:
            arguments += ["--topic", topic]
        process = await self._group.start(f"fleet-{brokers}", "fleet", *arguments, *options)
        self.fleets[brokers] = process
        return process

    async def server(self, name: str, *options: str, connect: str | None = None, broker_id: int = 1000) -> Process:
        arguments = ["--zookeeper-connect", connect or self.connect, "--listeners", "PLAINTEXT://127.0.0.1:0"]
        arguments += ["--zookeeper-session-timeout-ms", str(SESSION_MS), "--broker-id", str(broker_id)]
        arguments += ["--event-log-dir", str(self._data / f"events-{broker_id}")]
        process = await self._group.start(f"server-{name}", "serve", *arguments, *options)
        self.servers[name] = process
        self.ids[name] = broker_id
        return process

    def address(self, server: str) -> Address:
        return address_of(self.servers[server].ready_value("bootstrap"))

    # What is asked

    async def alter(
        self, server: str, targets: Mapping[Name, Replicas | None], *, throttle: int = -1
    ) -> dict[Name, int]:
        return await alter(self.address(server), targets, throttle=throttle)

    async def configure(self, server: str, configs: Mapping[str, str | None]) -> None:
        """Set (None: delete) settings of all servers."""
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource
        changes = [
            resource.AlterableConfig(name=name, config_operation=int(value is None), value=value)
            for name, value in configs.items()
        ]
        request = IncrementalAlterConfigsRequest(
            resources=[resource(resource_type=4, resource_name=str(self.ids[server]), configs=changes)],
            validate_only=False,
        )
        answer = await ask(self.address(server), request, 0)
        assert [one.error_code for one in answer.responses] == [0], answer

    async def is_controller(self, server: str) -> bool:
        return bool((await listed(self.address(server))).error_code == 0)

    async def controlled_by(self, server: str, *, within: float = 60) -> None:
        await eventually(lambda: self.is_controller(server), within=within)

    async def events(self, server: str) -> list[dict[str, Any]]:
        """The recorded events of one server."""
        found: list[dict[str, Any]] = []
        seq = 0
        while True:
            page = told(await ask(self.address(server), wanted("event_log", from_seq=seq), 0))
            if not page["events"]:
                return found
            found += page["events"]
            seq = page["next_seq"]

    async def moving(self, server: str) -> set[Name]:
        answer = await listed(self.address(server))
        assert not answer.error_code, f"error {answer.error_code}"
        return {(topic.name, found.partition_index) for topic in answer.topics for found in topic.partitions}

    async def moves_nothing(self, server: str) -> bool:
        """ZooKeeper shows the end of a move a moment before its controller hears that it is written."""
        return not await self.moving(server)

    async def told(self, server: str) -> dict[Name, Any]:
        """The documents of the moves in flight."""
        found = told(await ask(self.address(server), wanted("in_flight"), 0))
        return {(one["topic"], one["partition"]): one for one in found["moves"] if one["state"] == "moving"}

    async def stalled(self, server: str) -> dict[Name, str | None]:
        """By move: why it stalls, or None."""
        return {name: one["stalled"] for name, one in (await self.told(server)).items()}

    # What ZooKeeper holds

    async def epoch(self) -> int:
        return int((await self.zk.get(znode_paths.CONTROLLER_EPOCH))[0])

    async def topic(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((await self.zk.get(znode_paths.topic(name)))[0])
        return found

    async def state(self, name: Name) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((await self.zk.get(znode_paths.partition_state(*name)))[0])
        return found

    async def records(self) -> set[Name]:
        found = set()
        for topic in await self.zk.children(znode_paths.REASSIGNMENTS):
            found |= {(topic, int(index)) for index in await self.zk.children(znode_paths.reassignment_topic(topic))}
        return found

    async def replicas(self) -> dict[Name, list[int]]:
        """The replicas of every partition."""
        return {
            (topic, int(index)): found
            for topic in await self.zk.children(znode_paths.TOPICS)
            for index, found in (await self.topic(topic))["partitions"].items()
        }

    async def failed(self) -> dict[int, int]:
        """Brokers with a durable failure (KIP-46), and when it was first noticed, ms."""
        found = {}
        for name in await self.zk.children(znode_paths.FAILED_BROKERS):
            with suppress(NoNode):
                found[int(name)] = json.loads((await self.zk.get(znode_paths.failed_broker(int(name))))[0])["timestamp"]
        return found

    async def held(self) -> dict[tuple[int, Name], int]:
        """Bytes of each replica on each live broker, from DescribeLogDirs."""
        found: dict[tuple[int, Name], int] = {}
        for broker in await self.live():
            data, _ = await self.zk.get(znode_paths.broker(broker))
            address = address_of(json.loads(data)["endpoints"][0].partition("//")[2])
            answer = await ask(address, DescribeLogDirsRequest(version=4, topics=None), 4)
            for directory in answer.results:
                for topic in directory.topics:
                    found |= {(broker, (topic.name, p.partition_index)): p.partition_size for p in topic.partitions}
        return found

    async def throttles(self) -> dict[str, dict[str, str]]:
        """All throttle configs."""
        found = {}
        for kind in ("topics", "brokers"):
            for name in await self.zk.children(f"{znode_paths.CONFIG}/{kind}"):
                config = json.loads((await self.zk.get(f"{znode_paths.CONFIG}/{kind}/{name}"))[0])["config"]
                throttled = {key: value for key, value in config.items() if ".throttled." in key}
                if throttled:
                    found[f"{kind}/{name}"] = throttled
        return found

    async def live(self) -> set[int]:
        try:
            return {int(name) for name in await self.zk.children(znode_paths.BROKER_IDS)}
        except NoNode:
            return set()

    async def everything(self) -> dict[str, tuple[bytes, int]]:
        """Data and version of every znode that only a controller writes."""
        places = [znode_paths.CONTROLLER_EPOCH]
        for root in (znode_paths.TOPICS, znode_paths.REASSIGNMENTS):
            places += await self.zk.tree(root)
        found = await self.zk.multi_get(sorted(places))
        return {
            path: (read[0], read[1].version)
            for path, read in zip(sorted(places), found, strict=True)
            if read is not None
        }

    # What has to hold

    async def rests_at(self, targets: Mapping[Name, Replicas], *, within: float = 40) -> None:
        """Wait until these partitions have exactly these replicas, all in sync, and nothing is left of any move."""
        await eventually(lambda: self.rested_at(targets), within=within)

    async def rested_at(self, targets: Mapping[Name, Replicas]) -> bool:
        """Whether these partitions have exactly these replicas, all in sync, with nothing left of any move."""
        for topic in {topic for topic, _ in targets}:
            written = await self.topic(topic)
            assert (written["adding_replicas"], written["removing_replicas"]) == ({}, {}), written
            for name, target in targets.items():
                if name[0] == topic:
                    assert written["partitions"][str(name[1])] == list(target), (name, written["partitions"])
        live = await self.live()
        states = await self.zk.multi_get([znode_paths.partition_state(*name) for name in targets])
        for (name, target), read in zip(targets.items(), states, strict=True):
            assert read is not None, name
            state = json.loads(read[0])
            assert sorted(state["isr"]) == sorted(set(target) & live), (name, state)
            assert state["leader"] in state["isr"], (name, state)
        assert await self.records() == set()
        return True


class InvariantChecker:
    """Checks partitions again and again: epochs never go down, and no partition is without a leader needlessly."""

    def __init__(self, cluster: Cluster, names: Sequence[Name]) -> None:
        self._cluster = cluster
        self._names = names
        self._epochs: dict[Name, tuple[int, int, int]] = {}
        self._since: dict[Name, float] = {}

    async def check(self, *, patience: float) -> None:
        """`patience`: seconds that a partition may have no live leader although a replica in sync is alive."""
        live = await self._cluster.live()
        for name in self._names:
            data, stat = await self._cluster.zk.get(znode_paths.partition_state(*name))
            state = json.loads(data)
            epochs = (state["leader_epoch"], stat.version, state["controller_epoch"])
            before = self._epochs.get(name, epochs)
            assert all(new >= old for new, old in zip(epochs, before, strict=True)), f"{name}: {before} -> {epochs}"
            self._epochs[name] = epochs
            if state["leader"] in live or not live & set(state["isr"]):
                self._since.pop(name, None)
            else:
                waited = time.monotonic() - self._since.setdefault(name, time.monotonic())
                assert waited < patience, f"{name} has no leader though {live & set(state['isr'])} could lead: {state}"


@asynccontextmanager
async def simulated_cluster(directory: Path) -> AsyncIterator[Cluster]:
    """Below a chroot: three simulated brokers with a topic, whose moves take minutes; server `a` (1000) is the
    controller."""
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(directory / "zookeeper"))
        async with ZooKeeper(zookeeper.address) as outside:
            await outside.ensure_path("/kafka")
        connect = f"{zookeeper.address}/kafka"
        zk = await stack.enter_async_context(ZooKeeper(connect))
        cluster = Cluster(await stack.enter_async_context(processes(directory)), zk, connect, directory)
        await cluster.server("a")
        await cluster.fleet("1,2,3", "t:6:2:1000000", bandwidth=10_000)
        yield cluster
