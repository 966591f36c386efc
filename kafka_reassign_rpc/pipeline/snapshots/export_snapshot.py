"""A cluster that runs, as a snapshot: asked over the Kafka protocol, any Kafka, in pieces of bounded size.

Topics come in one answer that is read bit by bit; the brokers are asked for the replicas of some thousand partitions
at a time, side by side, and what they say is written before the next piece. So memory does not grow with the cluster.
A snapshot is not one instant: sizes and leaders are those of the moment at which a broker was asked.
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
from kafka_reassign_rpc.pipeline.snapshots.export_events import NO_DIRS
from kafka_reassign_rpc.pipeline.snapshots.growth_rates import Earlier
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import Meta, SnapshotWriter

PIECE = 20_000
"""Partitions whose replicas are asked for at once."""
CONFIG_TOPICS = 500
"""Topics whose configs are asked for at once."""
AT_ONCE = 8
"""Brokers that are asked side by side."""

Say = Callable[[str], None]
Key = tuple[str, int, int]
"""Topic, partition, broker."""


@dataclass
class Exported:
    """What came of an export; `warnings` are what is missing in it and why."""

    cluster_id: str
    brokers: int = 0
    topics: int = 0
    partitions: int = 0
    replicas: int = 0
    moving: int = 0
    warnings: list[str] = field(default_factory=list)


def export(
    client: ReassignmentClient, out: Path, *, source: str, say: Say, earlier: Earlier | None = None, piece: int = PIECE
) -> Exported:
    """Write a snapshot to `out`, which must not exist or be empty.

    earlier     a snapshot taken before: what has grown since gives the produce rates

    Raises BadInput where `out` is taken or `earlier` is of another cluster, KafkaError where the cluster as such cannot
    be asked. A broker that does not answer is a warning: the sizes that only it knows are null.
    """
    with SnapshotWriter(out) as writer:
        at = time.time_ns() // 1_000_000
        moving = client.list_partition_reassignments()
        everything = client.describe_everything()
        if not everything.cluster_id:
            raise JobFailed("the cluster does not say its id: a broker before Kafka 0.10.1?")
        if earlier is not None:
            earlier.must_be_of(everything.cluster_id, at)
        exported = Exported(everything.cluster_id, moving=len(moving))
        with ThreadPoolExecutor(AT_ONCE, "export") as threads:
            work = _Export(client, writer, threads, exported, moving, earlier, at)
            work.nodes(everything.nodes)
            for topics in _pieces(everything.topics, piece):
                work.partitions(topics)
                say(f"{exported.partitions} partitions of {exported.topics} topics")
            work.brokers()
        ours = client.can_compare_replicas()
        writer.finish(Meta(everything.cluster_id, at, source, "kafka-reassign-rpc" if ours else "kafka"))
    return exported


def _pieces(topics: Iterator[TopicInfo], size: int) -> Iterator[list[TopicInfo]]:
    """Topics with about `size` partitions together; a topic is never divided."""
    piece: list[TopicInfo] = []
    count = 0
    for topic in topics:
        piece.append(topic)
        count += len(topic.partitions)
        if count >= size:
            yield piece
            piece, count = [], 0
    if piece:
        yield piece


class _Export:
    def __init__(
        self,
        client: ReassignmentClient,
        writer: SnapshotWriter,
        threads: ThreadPoolExecutor,
        exported: Exported,
        moving: Mapping[TopicPartition, PartitionReassignment],
        earlier: Earlier | None,
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
        self._volumes: dict[int, BrokerLogDirs] = {}
        self._silent: set[int] = set()
        self._warning = threading.Lock()

    def nodes(self, nodes: list[ClusterNode]) -> None:
        """Who is there; what stands among the nodes and is no broker is left out."""
        asked = dict(zip(nodes, self._threads.map(lambda node: self._ask(node.id, {}), nodes), strict=True))
        for node, found in asked.items():
            if found is not None and tuple(found.log_dirs) == NO_DIRS:
                continue
            self._live[node.id] = node
            if found is not None:
                self._volumes[node.id] = found

    def partitions(self, topics: list[TopicInfo]) -> None:
        """One piece: ask the brokers, then write replicas, partitions and configs."""
        wanted: dict[int, dict[str, list[int]]] = {}
        for topic in topics:
            if topic.error is not None:
                self._warn(f"topic {topic.name}: {topic.error.message} What is known of its partitions is there.")
            for index, partition in topic.partitions.items():
                for broker in self._replicas(topic.name, index, partition.replicas):
                    wanted.setdefault(broker, {}).setdefault(topic.name, []).append(index)
        self._assigned |= wanted.keys()
        asked = [broker for broker in wanted if broker in self._live and broker not in self._silent]
        sizes: dict[Key, int] = {}
        for broker, found in zip(asked, self._threads.map(lambda b: self._ask(b, wanted[b]), asked), strict=True):
            for replica in () if found is None else found.replicas:
                row = (replica.topic, replica.partition, broker, replica.size, replica.log_dir, replica.future)
                self._writer.replicas.add(row)
                if not replica.future:
                    sizes[replica.topic, replica.partition, broker] = replica.size
        self._exported.replicas = self._writer.replicas.rows
        for topic in topics:
            self._topic(topic, sizes)
        self._topic_configs([topic.name for topic in topics])

    def _topic(self, topic: TopicInfo, sizes: Mapping[Key, int]) -> None:
        self._exported.topics += 1
        for index, partition in sorted(topic.partitions.items()):
            move = self._moving.get(TopicPartition(topic.name, index))
            begun = move if move is not None and not move.is_waiting else None
            replicas = self._replicas(topic.name, index, partition.replicas)
            size = sizes.get((topic.name, index, partition.leader))
            if size is None:  # nobody leads, or its leader does not answer: what the others have is a good guess
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
                    () if begun is None else begun.adding_replicas,
                    () if begun is None else begun.removing_replicas,
                    size,
                    rate,
                    None,
                )
            )
        self._exported.partitions = self._writer.partitions.rows

    def _replicas(self, topic: str, index: int, shown: tuple[int, ...]) -> tuple[int, ...]:
        """A broker may learn of a move later than the controller lists it."""
        move = self._moving.get(TopicPartition(topic, index))
        return shown if move is None else move.replicas

    def _topic_configs(self, names: list[str]) -> None:
        rest = iter(names)
        while some := list(islice(rest, CONFIG_TOPICS)):
            try:
                answers = self._client.describe_configs([(TOPIC, name) for name in some])
            except KafkaError as error:
                self._warn(f"the configs of {len(some)} topics from {some[0]} on: {error.message}")
                continue
            for (_, name), configs in answers.items():
                if isinstance(configs, KafkaError):
                    self._warn(f"the configs of topic {name}: {configs.message}")
                else:
                    self._writer.configs.extend(("topic", name, one.name, one.value) for one in configs)

    def brokers(self) -> None:
        """Brokers and their configs, at the end: now all that have a replica are known."""
        for broker in sorted(self._live.keys() | self._assigned):
            node, volumes = self._live.get(broker), self._volumes.get(broker)
            self._writer.brokers.add(
                (
                    broker,
                    None if node is None else node.rack,
                    None if node is None else node.host,
                    -1 if node is None else node.port,
                    None if volumes is None else volumes.total_bytes,
                    None if volumes is None else volumes.usable_bytes,
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
        try:
            return self._client.describe_broker(broker, partitions)
        except KafkaError as error:
            self._silent.add(broker)
            self._warn(f"broker {broker} does not tell the sizes of its replicas: {error.message}")
            return None

    def _warn(self, text: str) -> None:
        with self._warning:
            if text not in self._exported.warnings:
                self._exported.warnings.append(text)
