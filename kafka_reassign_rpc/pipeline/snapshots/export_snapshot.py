"""Exports a running cluster as a snapshot, over the Kafka protocol, from any Kafka, in parts of bounded size.

The cluster sends all topics in one answer, which the client reads bit by bit. For each part of some thousand
partitions the export asks the brokers, several at once, for their replicas, and writes the answers before it goes on.
So memory does not grow with the cluster. A snapshot is not one instant: a broker's sizes are those of the moment when
it answered.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from kafka_reassign_rpc.client import ClusterNode, KafkaError, PartitionReassignment, ReassignmentClient, TopicPartition
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC
from kafka_reassign_rpc.client.log_dir_calls import BrokerLogDirs
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.server_nodes import is_server
from kafka_reassign_rpc.pipeline.snapshots.growth_rates import EarlierSizes
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta

PART_PARTITIONS = 20_000
"""Partitions of one part."""
CONFIG_TOPICS = 500
"""Topics in one request for configs."""
BROKERS_AT_ONCE = 8
"""Brokers that the export asks at the same time."""

Status = Callable[[str], None]
ReplicaKey = tuple[str, int, int]
"""Topic, partition, broker."""


@dataclass
class ExportedSnapshot:
    """The result of an export: counts, and warnings about data that is missing and why."""

    cluster_id: str
    brokers: int = 0
    topics: int = 0
    partitions: int = 0
    replicas: int = 0
    moving: int = 0
    warnings: list[str] = field(default_factory=list)


def export(
    client: ReassignmentClient,
    out: Path,
    *,
    source: str,
    show_status: Status,
    earlier: EarlierSizes | None = None,
    part_partitions: int = PART_PARTITIONS,
) -> ExportedSnapshot:
    """Write a snapshot to `out`, which must not exist or be empty.

    earlier     an older snapshot: the growth since then gives the produce rates

    Raises BadInput where `out` is taken or `earlier` is of another cluster, KafkaError where the cluster does not
    answer. A broker that does not answer is a warning: the sizes that only it knows are null.
    """
    with SnapshotWriter(out) as writer:
        at = time.time_ns() // 1_000_000
        moving = client.list_partition_reassignments()
        everything = client.describe_everything()
        if not everything.cluster_id:
            raise JobFailed("the cluster does not say its id: a broker before Kafka 0.10.1?")
        if earlier is not None:
            earlier.require_earlier(everything.cluster_id, at)
        exported = ExportedSnapshot(everything.cluster_id, moving=len(moving))
        with ThreadPoolExecutor(BROKERS_AT_ONCE, "export") as threads:
            work = _Export(client, writer, threads, exported, moving, earlier, at)
            work.nodes(everything.nodes)
            for topics in _parts(everything.topics, part_partitions):
                work.partitions(topics)
                show_status(f"{exported.partitions} partitions of {exported.topics} topics")
            work.brokers()
        server = "kafka-reassign-rpc" if client.can_compare_replicas() else "kafka"
        writer.finish(SnapshotMeta(everything.cluster_id, at, source, server))
    return exported


def _parts(topics: Iterator[TopicInfo], size: int) -> Iterator[list[TopicInfo]]:
    """Lists of whole topics with about `size` partitions together."""
    part: list[TopicInfo] = []
    count = 0
    for topic in topics:
        part.append(topic)
        count += len(topic.partitions)
        if count >= size:
            yield part
            part, count = [], 0
    if part:
        yield part


class _Export:
    """One export while it runs."""

    def __init__(
        self,
        client: ReassignmentClient,
        writer: SnapshotWriter,
        threads: ThreadPoolExecutor,
        exported: ExportedSnapshot,
        moving: Mapping[TopicPartition, PartitionReassignment],
        earlier: EarlierSizes | None,
        at: int,
    ) -> None:
        self._client = client
        self._writer = writer
        self._threads = threads
        self._exported = exported
        self._moving = moving
        self._earlier = earlier
        self._at = at
        self._live: dict[int, ClusterNode] = {}
        self._assigned: set[int] = set()
        self._log_dirs: dict[int, BrokerLogDirs] = {}
        self._silent: set[int] = set()
        self._warning = threading.Lock()

    def nodes(self, nodes: list[ClusterNode]) -> None:
        """Find out which brokers are live; nodes that are kafka-reassign-rpc servers are left out."""
        asked = dict(zip(nodes, self._threads.map(lambda node: self._ask(node.id, {}), nodes), strict=True))
        for node, found in asked.items():
            if found is not None and is_server(found.log_dirs):
                continue
            self._live[node.id] = node
            if found is not None:
                self._log_dirs[node.id] = found

    def partitions(self, topics: list[TopicInfo]) -> None:
        """One part: ask the brokers, then write replicas, partitions and configs."""
        wanted: dict[int, dict[str, list[int]]] = {}
        for topic in topics:
            if topic.error is not None:
                self._warn(
                    f"topic {topic.name}: {topic.error.message} The snapshot has what is known of its partitions."
                )
            for index, partition in topic.partitions.items():
                for broker in self._replicas(topic.name, index, partition.replicas):
                    wanted.setdefault(broker, {}).setdefault(topic.name, []).append(index)
        self._assigned |= wanted.keys()
        asked = [broker for broker in wanted if broker in self._live and broker not in self._silent]
        sizes: dict[ReplicaKey, int] = {}
        for broker, found in zip(asked, self._threads.map(lambda b: self._ask(b, wanted[b]), asked), strict=True):
            for replica in () if found is None else found.replicas:
                row = (replica.topic, replica.partition, broker, replica.size, replica.log_dir, replica.future)
                self._writer.replicas.add(row)
                if not replica.future:
                    sizes[replica.topic, replica.partition, broker] = replica.size
        self._exported.replicas = self._writer.replicas.rows
        for topic in topics:
            self._write_partitions(topic, sizes)
        self._topic_configs([topic.name for topic in topics])

    def _write_partitions(self, topic: TopicInfo, sizes: Mapping[ReplicaKey, int]) -> None:
        self._exported.topics += 1
        for index, partition in sorted(topic.partitions.items()):
            move = self._moving.get(TopicPartition(topic.name, index))
            in_flight = move if move is not None and not move.is_waiting else None
            replicas = self._replicas(topic.name, index, partition.replicas)
            size = sizes.get((topic.name, index, partition.leader))
            if size is None:  # no leader, or it does not answer: the size of another in-sync replica is a good estimate
                size = max(
                    (sizes[key] for b in partition.isr if (key := (topic.name, index, b)) in sizes), default=None
                )
            rate = None if self._earlier is None else self._earlier.rate(topic.name, index, size, self._at)
            self._writer.partitions.add(
                (
                    topic.name,
                    index,
                    replicas,
                    partition.leader,
                    partition.isr,
                    () if in_flight is None else in_flight.adding_replicas,
                    () if in_flight is None else in_flight.removing_replicas,
                    size,
                    rate,
                    None,
                )
            )
        self._exported.partitions = self._writer.partitions.rows

    def _replicas(self, topic: str, index: int, in_metadata: tuple[int, ...]) -> tuple[int, ...]:
        """The replicas as the controller lists them: a broker's metadata may not show a new move yet."""
        move = self._moving.get(TopicPartition(topic, index))
        return in_metadata if move is None else move.replicas

    def _topic_configs(self, names: list[str]) -> None:
        rest = iter(names)
        while part := list(islice(rest, CONFIG_TOPICS)):
            try:
                answers = self._client.describe_configs([(TOPIC, name) for name in part])
            except KafkaError as error:
                self._warn(f"the configs of {len(part)} topics from {part[0]} on: {error.message}")
                continue
            for (_, name), configs in answers.items():
                if isinstance(configs, KafkaError):
                    self._warn(f"the configs of topic {name}: {configs.message}")
                else:
                    self._writer.configs.extend(("topic", name, one.name, one.value) for one in configs)

    def brokers(self) -> None:
        """Brokers and their configs. This comes last, when all brokers with an assigned replica are known."""
        for broker in sorted(self._live.keys() | self._assigned):
            node, log_dirs = self._live.get(broker), self._log_dirs.get(broker)
            self._writer.brokers.add(
                (
                    broker,
                    None if node is None else node.rack,
                    None if node is None else node.host,
                    -1 if node is None else node.port,
                    None if log_dirs is None else log_dirs.total_bytes,
                    None if log_dirs is None else log_dirs.usable_bytes,
                    node is not None,
                )
            )
            self._exported.brokers += 1
        for name in ["", *map(str, sorted(self._live.keys() - self._silent))]:
            try:
                configs = self._client.describe_configs([(BROKER, name)])[BROKER, name]
            except KafkaError as error:
                configs = error
            if isinstance(configs, KafkaError):
                self._warn(f"the configs of {'all brokers' if not name else f'broker {name}'}: {configs.message}")
            else:
                self._writer.configs.extend(("broker", name, one.name, one.value) for one in configs)

    def _ask(self, broker: int, partitions: Mapping[str, list[int]]) -> BrokerLogDirs | None:
        """DescribeLogDirs of one broker; None, and a warning, where it does not answer."""
        try:
            return self._client.describe_broker(broker, partitions)
        except KafkaError as error:
            self._silent.add(broker)
            self._warn(f"broker {broker} does not report the sizes of its replicas: {error.message}")
            return None

    def _warn(self, text: str) -> None:
        with self._warning:
            if text not in self._exported.warnings:
                self._exported.warnings.append(text)
