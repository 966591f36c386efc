"""Servers as processes in front of a stock cluster in KRaft mode, and what tests ask of them."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC
from kafka_reassign_rpc.client.result_values import PartitionInfo
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.kraft.stock_cluster import BROKERS, SIDES, StockCluster
from tests.processes import Process, Processes, processes
from tests.stock.ports import kept_ports

LEAD_S = 1.0
STATE_TOPIC = "__kafka_reassign"
THROTTLES = ("replication.throttled.rate", "replication.throttled.replicas")


class Service:
    """Servers in front of one cluster."""

    def __init__(self, cluster: StockCluster, started: Processes, folder: Path) -> None:
        self.cluster = cluster
        self._former = frozenset(cluster.made)
        self.started = started
        self.folder = folder
        config = folder / "client.properties"
        config.write_text("request.timeout.ms=3000\n")
        self._config = str(config)

    async def start(self, server: int = 1_000, *more: str, bootstrap: str | None = None) -> Process:
        port = kept_ports(1)[0]
        return await self.started.start(
            str(server),
            *("serve", "--bootstrap-server", bootstrap or self.cluster.bootstrap, "--command-config", self._config),
            *("--listeners", f"PLAINTEXT://127.0.0.1:{port}", "--broker-id", str(server)),
            *("--data-dir", str(self.folder), "--state-log-lead-ms", str(round(LEAD_S * 1_000))),
            *("--reassignment-progress-interval-ms", "1000", *more),
        )

    def events(self) -> list[dict[str, object]]:
        """Of all servers."""
        files = sorted(self.folder.glob("events-*/events-*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def named(self, event: str) -> Counter[TopicPartition]:
        """Moves of this test: servers also tell how those of the tests before have ended."""
        found = (one for one in self.events() if one["event"] == event and one["topic"] not in self._former)
        return Counter(TopicPartition(str(one["topic"]), int(str(one["partition"]))) for one in found)

    async def partitions(self, topic: str) -> Mapping[int, PartitionInfo]:
        async with self.cluster.client() as client:
            found = (await client.describe_topics([topic]))[topic]
        assert not isinstance(found, KafkaError)
        return found

    async def replicas(self, topic: str) -> Mapping[int, tuple[int, ...]]:
        return {index: one.replicas for index, one in (await self.partitions(topic)).items()}

    async def throttles(self, topic: str) -> list[str]:
        """Configs of throttles of this topic and of all brokers."""
        async with self.cluster.client() as client:
            told = [
                *(await client.describe_configs([(TOPIC, topic)])).values(),
                *(await client.describe_broker_configs(BROKERS)).values(),
            ]
        assert not any(isinstance(some, KafkaError) for some in told), told
        named = [one.name for some in told if not isinstance(some, KafkaError) for one in some]
        return [name for name in named if name.endswith(THROTTLES)]

    async def unthrottled(self) -> None:
        """Takes away the rates that another test has left."""
        names = [f"{side}.replication.throttled.rate" for side in SIDES]
        async with self.cluster.client() as client:
            done = await client.change_configs({(BROKER, str(one)): dict.fromkeys(names) for one in BROKERS})
        assert not any(done.values()), done

    async def moving(self) -> set[TopicPartition]:
        """As the cluster has it."""
        async with self.cluster.client() as client:
            return {*await client.list_partition_reassignments()}


def client_of(server: Process) -> AsyncReassignmentClient:
    return AsyncReassignmentClient(bootstrap_servers=server.ready_value("bootstrap"))


@asynccontextmanager
async def service_of(cluster: StockCluster, folder: Path) -> AsyncIterator[Service]:
    """Once no throttle of others is left."""
    async with processes(folder) as started:
        made = Service(cluster, started, folder)
        await made.unthrottled()
        yield made
