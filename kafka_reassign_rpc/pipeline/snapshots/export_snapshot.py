"""Exports a running cluster of any Kafka as a snapshot, over the Kafka protocol.

All brokers are asked at once for the replicas of some thousand partitions, and the answers written before the next, so
memory does not grow with the cluster. A broker that does not answer costs one request timeout, once. Its sizes are
those of the moment when it answered.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from kafka_reassign_rpc.client import ClusterNode, KafkaError, ReassignmentClient, TopicPartition, UnsupportedHere
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC, Configs
from kafka_reassign_rpc.client.log_dir_calls import BrokerLogDirs
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.snapshots.cluster_look import Moves, look
from kafka_reassign_rpc.pipeline.snapshots.growth_rates import NO_RATES, EarlierSizes, Rates, RatesOverTime, RatesTable
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.brokers.log_dir_volumes import LogDirSpace, by_volume, known_apart, volumes
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, Volume
from kafka_reassign_rpc.support.counted import counted

PART_PARTITIONS = 20_000
MOST_LONG = 2**63 - 1
"""Network file systems tell almost so many bytes each."""
CONFIG_TOPICS = 500
Status = Callable[[str], None]
ReplicaKey = tuple[str, int, int]
_NAMED = 5


@dataclass
class ExportedSnapshot:
    cluster_id: str
    brokers: int = 0
    topics: int = 0
    partitions: int = 0
    replicas: int = 0
    moving: int = 0
    waiting: int = 0
    warnings: list[str] = field(default_factory=list)


def export(
    client: ReassignmentClient,
    out: StorePath,
    *,
    source: str,
    show_status: Status,
    earlier: EarlierSizes | None = None,
    rates: RatesTable | None = None,
    over_time: RatesOverTime | None = None,
    part_partitions: int = PART_PARTITIONS,
) -> ExportedSnapshot:
    """`out` must not exist or be empty.

    earlier     an older snapshot: the growth since then gives the produce rates that `rates` does not
    rates       what the operator knows
    over_time   rates of earlier snapshots, with which those of now are taken together

    Raises BadInput if `out` is taken, `earlier` is of another cluster, or `rates` names what the cluster does not
    have, KafkaError if the cluster does not answer. A broker that does not answer gives a warning, and its sizes are
    null.
    """
    at = time.time_ns() // 1_000_000
    with SnapshotWriter(out, at) as writer:
        everything, moves, changed = look(client)
        if not everything.cluster_id:
            raise JobFailed("the cluster does not say its id: a broker before Kafka 0.10.1?")
        if earlier is not None:
            earlier.require_earlier(everything.cluster_id, at)
        if over_time is not None:
            over_time.require_cluster(everything.cluster_id)
        exported = ExportedSnapshot(everything.cluster_id)
        work = _Export(client, writer, exported, moves, earlier, rates, over_time, at)
        work.name_changed(changed)
        work.nodes(everything.nodes)
        for topics in _parts(everything.topics, part_partitions):
            work.partitions(topics)
            topics_read = counted(work.exported.topics, "topic")
            show_status(f"{counted(work.exported.partitions, 'partition')} of {topics_read}")
        if rates is not None:
            rates.require_all_taken()
        work.brokers()
        server = "kafka-reassign-rpc" if client.can_compare_replicas() else "kafka"
        writer.finish(SnapshotMeta(everything.cluster_id, at, source, server))
    work.exported.warnings = work.warnings.lines()
    return work.exported


def _parts(topics: Iterator[TopicInfo], size: int) -> Iterator[list[TopicInfo]]:
    """Topics stay whole, so a part has about `size` partitions."""
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


def _as_now(_: int, rates: Rates) -> Rates:
    return rates


class _Export:
    def __init__(
        self,
        client: ReassignmentClient,
        writer: SnapshotWriter,
        exported: ExportedSnapshot,
        moves: Moves,
        earlier: EarlierSizes | None,
        rates: RatesTable | None,
        over_time: RatesOverTime | None,
        at: int,
    ) -> None:
        self.exported = exported
        self.warnings = ExportWarnings()
        self._client = client
        self._writer = writer
        self._moves = moves
        self._earlier = earlier
        self._rates, self._over_time = rates, over_time
        self._at = at
        self._live: dict[int, ClusterNode] = {}
        self._assigned: set[int] = set()
        self._log_dirs: dict[int, BrokerLogDirs] = {}
        self._silent: set[int] = set()

    def name_changed(self, changed: list[TopicPartition]) -> None:
        for name in changed:
            self.warnings.add("the move of {}", "moves", name, "began or ended during the export, and counts as moving")

    def nodes(self, nodes: list[ClusterNode]) -> None:
        """Leaves out nodes that are our servers."""
        self._log_dirs = self._ask({node.id: {} for node in nodes})
        servers = self._client.servers_among(node.id for node in nodes)
        for server in servers:
            self._log_dirs.pop(server, None)
        self._live = {node.id: node for node in nodes if node.id not in servers}

    def partitions(self, topics: list[TopicInfo]) -> None:
        wanted: dict[int, dict[str, list[int]]] = {}
        for topic in topics:
            if topic.error is not None:
                why = f"{topic.error.message} The snapshot has what is known of the partitions."
                self.warnings.add("topic {}", "topics", topic.name, why)
            for index, partition in topic.partitions.items():
                for broker in self._replicas(topic.name, index, partition.replicas):
                    wanted.setdefault(broker, {}).setdefault(topic.name, []).append(index)
        self._assigned |= wanted.keys()
        sizes: dict[ReplicaKey, int] = {}
        for broker, found in self._ask({one: wanted[one] for one in wanted if one in self._live}).items():
            for replica in found.replicas:
                size = replica.size if replica.size >= 0 else None
                self._writer.replicas.add(
                    (replica.topic, replica.partition, broker, size, replica.log_dir, replica.future)
                )
                if size is not None and not replica.future:
                    sizes[replica.topic, replica.partition, broker] = size
        self.exported.replicas = self._writer.replicas.rows
        for topic in topics:
            self._write_partitions(topic, sizes)
        self._topic_configs([topic.name for topic in topics])

    def _write_partitions(self, topic: TopicInfo, sizes: Mapping[ReplicaKey, int]) -> None:
        self.exported.topics += 1
        self._writer.topics.add((topic.name, topic.topic_id or None))
        told = {} if self._rates is None else self._rates.take(topic.name, topic.partitions)
        over_time = _as_now if self._over_time is None else self._over_time.of(topic.name, topic.topic_id or None)
        for index, partition in sorted(topic.partitions.items()):
            move = self._moves.get(TopicPartition(topic.name, index))
            is_waiting = move is not None and move.is_waiting
            self.exported.waiting += is_waiting
            self.exported.moving += move is not None and not is_waiting
            adding = () if move is None else move.adding_replicas
            self._assigned.update(adding)
            size = sizes.get((topic.name, index, partition.leader))
            if size is None:  # no leader, or it does not answer: the size of another in-sync replica is a good estimate
                size = max(
                    (sizes[key] for b in partition.isr if (key := (topic.name, index, b)) in sizes), default=None
                )
            rates = told.get(index, NO_RATES)
            if rates[0] is None and self._earlier is not None:
                rates = (self._earlier.rate(topic.name, index, size, self._at), *rates[1:])
            produced, fetched, messages, cpu = over_time(index, rates)
            self._writer.partitions.add(
                (
                    topic.name,
                    index,
                    self._replicas(topic.name, index, partition.replicas),
                    partition.leader if partition.leader >= 0 else None,
                    partition.isr,
                    adding,
                    () if move is None else move.removing_replicas,
                    size,
                    produced,
                    fetched,
                    is_waiting,
                    messages,
                    cpu,
                )
            )
        self.exported.partitions = self._writer.partitions.rows

    def _replicas(self, topic: str, index: int, in_metadata: tuple[int, ...]) -> tuple[int, ...]:
        """The list of moves wins over the metadata."""
        move = self._moves.get(TopicPartition(topic, index))
        return in_metadata if move is None else move.replicas

    def _topic_configs(self, names: list[str]) -> None:
        rest = iter(names)
        while part := list(islice(rest, CONFIG_TOPICS)):
            answers: Mapping[tuple[int, str], Configs | KafkaError]
            try:
                answers = self._client.describe_configs([(TOPIC, name) for name in part])
            except KafkaError as error:
                answers = {(TOPIC, name): error for name in part}
            for (_, name), configs in answers.items():
                self._write_configs("topic", name, configs)

    def brokers(self) -> None:
        """Last, when all brokers with an assigned replica are known."""
        for broker in self._live.keys() - self._assigned - self._log_dirs.keys():
            del self._live[broker]
            why = "tells nothing of its log dirs and holds no replica: the snapshot leaves it out, it may be no broker"
            self.warnings.add("node {}", "nodes", broker, why)
        volumes_of, cordoned = self._write_log_dirs(), self._cordoned(self._live.keys() | self._assigned)
        for broker in sorted(self._live.keys() | self._assigned):
            node, found = self._live.get(broker), volumes_of.get(broker)
            self._writer.brokers.add(
                (
                    broker,
                    None if node is None else node.rack,
                    None if node is None else node.host,
                    None if node is None else node.port,
                    None if found is None else min(MOST_LONG, sum(volume.size for volume in found)),
                    None if found is None else min(MOST_LONG, sum(volume.free for volume in found)),
                    node is not None,
                    cordoned[broker],
                )
            )
            self.exported.brokers += 1
        try:
            default = self._client.describe_configs([(BROKER, "")])[BROKER, ""]
        except KafkaError as error:
            default = error
        self._write_configs("broker", "", default)
        answering = sorted(self._live.keys() - self._silent)
        for broker, configs in self._client.describe_broker_configs(answering).items():
            self._write_configs("broker", str(broker), configs)

    def _cordoned(self, brokers: Collection[int]) -> dict[int, bool | None]:
        """A kafka-reassign-rpc server tells which brokers get no new replica; elsewhere a broker is cordoned if all
        its log dirs are. None: nobody tells.
        """
        found: dict[int, bool | None] = dict.fromkeys(brokers)
        try:
            return found | {one.id: one.cordoned for one in self._client.brokers().brokers}
        except UnsupportedHere:
            pass
        except KafkaError as error:
            self.warnings.add("{}", "", "which brokers are cordoned is not known", error.message)
            return found
        for broker, of_broker in self._log_dirs.items():
            online = [bool(one.cordoned) for one in of_broker.log_dirs if one.online]
            found[broker] = all(online) if online else None
        return found

    def _write_configs(self, kind: str, name: str, configs: Configs | KafkaError) -> None:
        if not isinstance(configs, KafkaError):
            self._writer.configs.extend((kind, name, *one) for one in configs)
        elif name:
            self.warnings.add(f"the configs of {kind} {{}}", f"{kind}s without their configs", name, configs.message)
        else:
            self.warnings.add("the configs of {}", "", "all brokers", configs.message)

    def _ask(self, wanted: Mapping[int, Mapping[str, list[int]]]) -> dict[int, BrokerLogDirs]:
        """All at once. A broker that does not answer gets a warning, and is asked no more."""
        asked = {broker: partitions for broker, partitions in wanted.items() if broker not in self._silent}
        answers = {}
        for broker, found in self._client.describe_brokers(asked).items():
            if not isinstance(found, KafkaError):
                answers[broker] = found
                continue
            self._silent.add(broker)
            self.warnings.add(
                "broker {} does not report the sizes of its replicas",
                "brokers that do not report the sizes of their replicas",
                broker,
                found.message,
            )
        return answers

    def _write_log_dirs(self) -> dict[int, tuple[Volume, ...] | None]:
        online = {
            broker: [
                LogDirSpace(one.path, _or_unknown(one.total_bytes), _or_unknown(one.usable_bytes))
                for one in found.log_dirs
                if one.online
            ]
            for broker, found in sorted(self._log_dirs.items())
        }
        apart = known_apart(online.values())
        cordoned = {
            (broker, one.path): bool(one.cordoned) for broker in online for one in self._log_dirs[broker].log_dirs
        }
        for broker, dirs in online.items():
            offline = [one.path for one in self._log_dirs[broker].log_dirs if not one.online]
            if offline:
                self.warnings.add("broker {}", "brokers", broker, f"log dirs are offline: {', '.join(offline[:10])}")
            for number, held in enumerate(by_volume(dirs, apart)):
                known = held[0].size >= 0
                if known and len(held) > 1:
                    paths = ", ".join(one.path for one in held[:10])
                    why = f"log dirs are taken for one volume, their sizes are equal: {paths}"
                    self.warnings.add("broker {}", "brokers", broker, why)
                sizes = [(one.size, one.free if one.free >= 0 else None) if known else (None, None) for one in held]
                self._writer.log_dirs.extend(
                    (broker, one.path, True, number if known else None, *size, cordoned[broker, one.path])
                    for one, size in zip(held, sizes, strict=True)
                )
            self._writer.log_dirs.extend((broker, path, False, None, None, None) for path in offline)
        return {
            broker: volumes(dirs, apart) if dirs or not self._log_dirs[broker].log_dirs else ()
            for broker, dirs in online.items()
        }


def _or_unknown(size: int | None) -> int:
    return UNKNOWN if size is None else size


@dataclass
class _Group:
    count: int = 0
    names: list[str] = field(default_factory=list)


class ExportWarnings:
    """One line for all brokers or topics with the same error. Its size depends on the number of different errors, not
    on the cluster.
    """

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str, str], _Group] = {}

    def add(self, one: str, many: str, name: object, why: str) -> None:
        """`one`: the text for one, with {} for the name; `many`: the text after a number."""
        group = self._groups.setdefault((one, many, why), _Group())
        group.count += 1
        if len(group.names) < _NAMED:
            group.names.append(str(name))

    def lines(self) -> list[str]:
        found = []
        for (one, many, why), group in self._groups.items():
            more = ", …" if group.count > len(group.names) else ""
            names = ", ".join(group.names)
            what = one.format(names) if group.count == 1 else f"{group.count} {many} ({names}{more})"
            found.append(f"{what}: {why}")
        return found
