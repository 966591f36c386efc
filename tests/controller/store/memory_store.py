"""A store in memory, as one in front of a log would be: a round is one record, and every controller replays the log.

The log refuses a writer of an older epoch, and a record that depends on what others have changed. A record that
is written once more, since its answer was lost, is found by its number.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.controller.store import (
    ConfigWrite,
    ControllerMoved,
    Entity,
    ReloadNeeded,
    StoredConfigs,
    StoredProblem,
    TopicTooLarge,
)
from kafka_reassign_rpc.core.reassignment import reassign_partitions
from kafka_reassign_rpc.core.reassignment_algebra import durable_assignment
from kafka_reassign_rpc.core.round.round_view import PartitionsAdded, RoundView, TopicCreated
from kafka_reassign_rpc.core.settings.broker_settings import KAFKA_DEFAULTS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.queue_entries import QueueChanges, QueuePart
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.core.writers import replay
from kafka_reassign_rpc.core.writers.reload import Reloaded, take_over
from kafka_reassign_rpc.core.writers.topic_writes import put_partition, put_topic

QUEUE = "/admin/reassign_partitions_queue"


class Configs(NamedTuple):
    """The configs of an entity, their version, and what is remembered of former ones."""

    version: int
    configs: Mapping[str, str] | None
    memory: TopicMemory | BrokerMemory | None


class Log:
    """What is durable, for all controllers. Others than controllers change `cluster` with `others`.

    epoch      of the latest election: older ones are fenced
    limit      characters that a topic's assignments may take; None: any number
    problems   what every load finds
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.configs: dict[Entity, Configs] = {}
        self.epoch = 0
        self.limit: int | None = None
        self.problems: list[StoredProblem] = []
        self._last = 0
        self._written: set[tuple[int, int]] = set()

    def next_number(self) -> int:
        """A number that only rises, as a zxid or an offset."""
        self._last += 1
        return self._last

    def others(self, name: TopicPartition, replicas: tuple[int, ...]) -> None:
        """Others give a partition other replicas."""
        topic = self.cluster.topics[name.topic]
        topic.version += 1
        value = replace(topic.partitions[name.partition], replicas=replicas)
        put_partition(self.cluster, topic, name.partition, value)

    def append(self, epoch: int, number: int, carry_out: Callable[[], None]) -> None:
        """Carry a record out, once."""
        if epoch < self.epoch:
            raise ControllerMoved("fenced")
        if (epoch, number) not in self._written:
            carry_out()
            self._written.add((epoch, number))


class MemoryStore:
    """A `controller.store.Store`.

    lives   how many more records are written before the process dies; None: any number
    loses   after so many more records, the answer to one is lost; None: never
    """

    place = "the log"

    def __init__(self, log: Log) -> None:
        log.epoch += 1
        self.log = log
        self.epoch = log.epoch
        self.configs = MemoryConfigs(self)
        self.lives: int | None = None
        self.loses: int | None = None
        self._number = 0
        self._problems: list[StoredProblem] = []
        self._known: set[StoredProblem] = set()

    async def load(self) -> "MemoryLoaded":
        self._problems += [problem for problem in self.log.problems if problem not in self._known]
        self._known.update(self.log.problems)
        cluster = _copy(self.log.cluster)
        cluster.soft.broker_settings = KAFKA_DEFAULTS
        cluster.derive_settings()
        return MemoryLoaded(cluster)

    def view(self, cluster: Cluster, too_large: Collection[str] = ()) -> RoundView:
        return RoundView(cluster, too_large)

    async def reload(self, cluster: Cluster) -> Reloaded:
        fresh = (await self.load()).cluster
        found = Reloaded([], set())
        _through(take_over(cluster, fresh, found))
        return found

    def problems(self) -> list[StoredProblem]:
        problems, self._problems = self._problems, []
        return problems

    async def confirm(self) -> None:
        self.write(lambda: None)

    async def commit(self, cluster: Cluster, view: RoundView) -> replay.ReplayedChanges:
        self._check_size(view)
        found: list[replay.Durable] = []

        def carry_out() -> None:
            _check_versions(self.log.cluster, cluster, view)
            written = _written(self.log, view)
            _replay(self.log.cluster, view, written, self.epoch)
            found.append(written)

        self.write(carry_out)
        return _replay(cluster, view, found[0], self.epoch)

    def write(self, carry_out: Callable[[], None]) -> None:
        """Write a record; once more where its answer is lost."""
        if self.lives == 0:
            raise ControllerMoved("the process has died")
        self._number += 1
        self.log.append(self.epoch, self._number, carry_out)
        if self.loses == 0:
            self.log.append(self.epoch, self._number, carry_out)
        self.loses = None if not self.loses else self.loses - 1
        if self.lives is not None:
            self.lives -= 1
            if self.lives == 0:
                raise ControllerMoved("the process has died before the answer came")

    def _check_size(self, view: RoundView) -> None:
        for name in dict.fromkeys(name.topic for name in view.partitions):
            values = dict(view.cluster.topics[name].partitions)
            values |= {
                changed.partition: one.value for changed, one in view.partitions.items() if changed.topic == name
            }
            size = sum(len(str(durable_assignment(value))) for value in values.values())
            if self.log.limit is not None and size > self.log.limit:
                raise TopicTooLarge(name, f"The assignment of topic {name!r} would take {size} characters.")


class MemoryLoaded(NamedTuple):
    """A `controller.store.Loaded`."""

    cluster: Cluster


class MemoryConfigs:
    """A `controller.store.LeasedConfigStore`."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def remembered(self) -> list[Entity]:
        return [entity for entity, found in self._store.log.configs.items() if found.memory is not None]

    async def read(self, entities: Sequence[Entity]) -> list[StoredConfigs]:
        none = Configs(-1, None, None)
        found = [(entity, self._store.log.configs.get(entity, none)) for entity in entities]
        return [StoredConfigs(entity, one.configs, one.memory, version=one.version) for entity, one in found]

    async def write(self, writes: Sequence[ConfigWrite], *, limited: bool = False) -> int:
        log = self._store.log
        sizes = [len(str(write.configs)) for write in writes]
        for write, size in zip(writes, sizes, strict=True):
            if limited and write.stored.entity.kind == "topics" and log.limit is not None and size > log.limit:
                raise TopicTooLarge(write.stored.entity.name, f"{size} characters of configs are too many")

        def carry_out() -> None:
            for write in writes:
                known = log.configs.get(write.stored.entity)
                if (-1 if known is None else known.version) != write.stored.version:
                    raise ReloadNeeded("somebody else has changed configs")
            for write in writes:
                log.configs[write.stored.entity] = Configs(
                    log.next_number(), write.configs or None, write.memory or None
                )

        self._store.write(carry_out)
        return sum(sizes)


def _written(log: Log, view: RoundView) -> replay.Durable:
    number = log.next_number()
    durable = replay.Durable({}, {}, {}, {})
    new = {
        TopicPartition(topic, index): value
        for topic, change in view.topics.items()
        if isinstance(change, TopicCreated | PartitionsAdded)
        for index, value in change.partitions.items()
    }
    for name, value in {**new, **{name: change.value for name, change in view.partitions.items()}}.items():
        known = log.cluster.topics.get(name.topic)
        before = None if known is None else known.partitions.get(name.partition)
        if before is None:
            durable.states[name], durable.created[name] = 0, number
        else:
            durable.states[name] = before.partition_epoch + 1
        if value.move is not None and value.move.id is None:
            durable.records[name] = number, number
        durable.topics[name.topic] = (0, number) if known is None else (known.version + 1, known.created)
    _queue_after(log, view.queue)
    durable.parts = {
        path: replay.Written(part.version, number, number) for path, part in view.queue.made.items() if part is not None
    }
    batch = log.cluster.batch
    durable.batch = reassign_partitions.BatchWritten(0 if batch is None else batch.version + 1, number)
    return durable


def _queue_after(log: Log, changes: QueueChanges) -> None:
    """The parts of the queue after a round: what joins in one round is a part."""
    queue, changes.made = log.cluster.queue, {}
    for path in changes.withdrawn.keys() | changes.ended.keys() | changes.changed.keys():
        gone = changes.withdrawn.get(path, {}) | changes.ended.get(path, {})
        part = queue.parts[path]
        now = changes.changed.get(path, {})
        left = {name: now.get(name, move) for name, move in part.entries.items() if name not in gone}
        changes.made[path] = replace(part, entries=left, version=part.version + 1) if left else None
    if changes.appended:
        path = f"{QUEUE}/{log.next_number()}"
        changes.made[path] = QueuePart(
            QUEUE, path, {(topic, index): move for (topic, index), move in changes.appended.items()}
        )


def _replay(cluster: Cluster, view: RoundView, written: replay.Durable, epoch: int) -> replay.ReplayedChanges:
    applied = replay.ReplayedChanges()
    _through(replay.replay(cluster, view, written, epoch, applied))
    return applied


def _check_versions(stored: Cluster, known: Cluster, view: RoundView) -> None:
    """Raises ReloadNeeded where others have changed what this round changes."""
    for name in view.partitions:
        topic, was = stored.topics.get(name.topic), known.topics.get(name.topic)
        if topic is None or was is None or (topic.created, topic.version) != (was.created, was.version):
            raise ReloadNeeded(f"somebody else has changed topic {name.topic}")
        if _epoch(topic.partitions.get(name.partition)) != _epoch(was.partitions.get(name.partition)):
            raise ReloadNeeded(f"somebody else has changed {name.topic}-{name.partition}")
    if any(isinstance(change, TopicCreated) and name in stored.topics for name, change in view.topics.items()):
        raise ReloadNeeded("somebody else has created a topic")
    for path in view.queue.withdrawn.keys() | view.queue.ended.keys() | view.queue.changed.keys():
        if path not in stored.queue.parts or stored.queue.parts[path].version != known.queue.parts[path].version:
            raise ReloadNeeded("somebody else has changed the queue")


def _epoch(value: Partition | None) -> int | None:
    return None if value is None else value.partition_epoch


def _copy(cluster: Cluster) -> Cluster:
    """The cluster as a new reader has it."""
    fresh = Cluster(
        brokers=dict(cluster.brokers),
        topic_configs=dict(cluster.topic_configs),
        broker_configs=dict(cluster.broker_configs),
        failed=dict(cluster.failed),
        batch=cluster.batch,
    )
    for topic in cluster.topics.values():
        put_topic(
            fresh,
            topic.name,
            topic.id,
            topic.partitions,
            version=topic.version,
            missing=topic.missing,
            deleting=topic.deleting,
            created=topic.created,
        )
    for part in cluster.queue.parts.values():
        _through(fresh.queue.put(part))
    return fresh


def _through(steps: Iterable[None]) -> None:
    for _ in steps:
        pass
