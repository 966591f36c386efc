"""Reads the cluster from ZooKeeper and commits rounds to it, fenced.

Every transaction begins with a check that `/controller_epoch` has the version of this server's election, and is bound
to the session that won it. So a controller that was replaced without noticing cannot write.

A lost connection is waited for, as long as the session lives: what was read is read again, and the receipts of
transactions (`zookeeper.receipts`) tell which of them were carried out. So no caller has to know that it was lost.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from kafka_reassign_rpc.controller.commit import queue_writes, znode_writes
from kafka_reassign_rpc.controller.controller_election import Leadership
from kafka_reassign_rpc.controller.loading.load_cluster import LoadedCluster, read_cluster
from kafka_reassign_rpc.controller.loading.load_queue import ZnodeProblem
from kafka_reassign_rpc.core.broker_settings import BrokerSettings
from kafka_reassign_rpc.core.controller_failover import reassigned_by_others
from kafka_reassign_rpc.core.round import replay
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster, Topic, TopicPartition
from kafka_reassign_rpc.core.state.reassign_partitions_entries import BatchZnode
from kafka_reassign_rpc.core.znode_routes import reassign_partitions, reassignment_requests
from kafka_reassign_rpc.support.slice_timer import SliceTimer
from kafka_reassign_rpc.support.slices import emptied
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Check, Op, Result, Stat
from kafka_reassign_rpc.zookeeper.transactions import MAX_MULTI_BYTES, size_of, split_ops
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import (
    BatchesFailed,
    Fenced,
    NotSent,
    SessionOver,
    Unknown,
    ZkError,
)

T = TypeVar("T")

MAX_STEP_BYTES = 1_048_575 - 1024
"""Bytes of one write. ZooKeeper closes the connection on a packet of 1 MiB; fence, receipt and headers need some
room."""
MAX_OPERATIONS = 1000
"""Operations of one transaction: larger ones would hold up ZooKeeper's single writer for too long."""


class ControllerMoved(Exception):
    """Another controller was elected, or may be (Kafka's ControllerMovedException): no more writes, no more answers."""


class ReloadNeeded(Exception):
    """ZooKeeper has refused a call: it may hold another state than the controller knows. Reload the cluster."""

    @property
    def is_refusal(self) -> bool:
        """Whether this very write is refused, by ZooKeeper or for its size, and its outcome is not just unknown."""
        cause = self.__cause__
        return not isinstance(cause.first if isinstance(cause, BatchesFailed) else cause, NotSent | Unknown)


class TopicTooLarge(Exception):
    """A topic's znode would not fit into one ZooKeeper packet."""

    def __init__(self, topic: str, size: int) -> None:
        super().__init__(
            f"The assignment of topic {topic!r} would take {size} bytes, more than the {MAX_STEP_BYTES} that ZooKeeper"
            " takes in one znode: move fewer of its partitions at a time."
        )
        self.topic = topic


class Reloaded(NamedTuple):
    """What is not as it was known before: topics that are gone, and partitions whose replicas or moves others have
    changed."""

    gone: list[Topic]
    changed: set[TopicPartition]


class DurableStore:
    """ZooKeeper as one elected controller sees it."""

    def __init__(self, zk: ZooKeeper, leadership: Leadership) -> None:
        self._zk = zk
        self._leadership = leadership
        self._fence = Check(znode_paths.CONTROLLER_EPOCH, leadership.epoch_version)
        self._parents: set[str] = set()
        self._problems: list[ZnodeProblem] = []

    async def load(self, settings: Callable[[], BrokerSettings]) -> LoadedCluster:
        """The whole cluster. Raises ControllerMoved, ReloadNeeded.

        `settings` gives the settings of brokers that are in force once it is read.
        """
        return await self._load(Cluster(), settings)

    async def _load(self, known: Cluster, settings: Callable[[], BrokerSettings]) -> LoadedCluster:
        found = await self.reading(lambda: read_cluster(self._zk, settings))
        self._parents = set(found.parents)
        self._problems += [problem for problem in found.problems if _is_new(problem, known)]
        return found

    def problems(self) -> list[ZnodeProblem]:
        """Problems of the batch and the queue that the last loads have found. Returns each problem once."""
        problems, self._problems = self._problems, []
        return problems

    async def reload(self, cluster: Cluster) -> Reloaded:
        """Make `cluster` equal to what ZooKeeper holds now.

        Raises ControllerMoved, ReloadNeeded.
        """
        fresh = (await self._load(cluster, lambda: cluster.broker_settings)).cluster
        known = cluster.brokers
        fresh.shutting_down = {id_ for id_ in cluster.shutting_down if fresh.brokers.get(id_) == known.get(id_)}
        gone = [topic for topic in cluster.topics.values() if _is_gone(topic, fresh)]
        pace = SliceTimer()
        await pace.through(replay.keep_soft_state(cluster, fresh))
        lost = {topic.name for topic in gone}
        changed: set[TopicPartition] = set()
        for topic, indexes in fresh.moving.items():
            changed.update(
                TopicPartition(topic, index)
                for index in indexes
                if fresh.get(topic, index) != cluster.get(topic, index)
            )
            await pace.rest()
        for name in fresh.topics.keys() & cluster.topics.keys() - lost:
            before = cluster.topics[name].partitions
            changed.update(
                TopicPartition(name, index)
                for index, value in fresh.topics[name].partitions.items()
                if reassigned_by_others(before.get(index), value)
            )
            await pace.rest()
        changed.update(TopicPartition(name, index) for name in lost for index in fresh.moving.get(name, ()))
        fresh.sizes = {name: size for name, size in cluster.sizes.items() if name.topic not in lost}
        # Reports about the queue are not repeated. Memory knows more of the batch than its znode says.
        fresh.queue.reported = cluster.queue.reported
        if fresh.batch is not None and cluster.batch is not None and fresh.batch.changed == cluster.batch.changed:
            fresh.batch = replace(cluster.batch, occupied=fresh.batch.occupied)
        # A cancel znode that has children stays: one that was carried out is no cancel of the next batch.
        fresh.cancelled = cluster.cancelled
        if fresh.cancel_all is not None and fresh.cancel_all.id == fresh.cancelled:
            fresh.cancel_all = None
        for field in cluster.__struct_fields__:
            setattr(cluster, field, getattr(fresh, field))
        for name in lost:
            cluster.queue.orphan(name)
        return Reloaded(gone, changed)

    async def reading(self, read: Callable[[], Awaitable[T]]) -> T:
        """The result of `read`, which is called again after each lost connection. ZooKeeper's other errors become
        ControllerMoved and ReloadNeeded."""
        try:
            return await self._zk.reading(read, self._leadership.session)
        except SessionOver as error:
            raise ControllerMoved("the ZooKeeper session is over") from error
        except ZkError as error:
            raise ReloadNeeded(str(error)) from error

    async def commit(self, cluster: Cluster, view: RoundView) -> replay.ReplayedChanges:
        """Make a round's changes durable, then replay them into `cluster`.

        Raises ControllerMoved, ReloadNeeded, TopicTooLarge. In all three cases `cluster` is unchanged.
        """
        pace = SliceTimer()
        phases = [
            await self._batches(phase, pace)
            for phase in znode_writes.phases(cluster, view, self._leadership.epoch, self._parents)
        ]
        durable = replay.Durable({}, {}, {}, {})
        batch_stat: Stat | None = None
        parts: dict[str, Stat] = {}
        for batches in self._joined(phases):
            answers = await self._write([[step.op for step in steps] for steps in batches])
            for steps, results in zip(batches, answers, strict=True):
                for step, result in zip(steps, results, strict=True):
                    stat = result if result is None or isinstance(result, Stat) else result[1]
                    if stat is None:
                        continue
                    if step.name is not None:
                        _note(durable, step.name, stat, is_record=step.is_record)
                    elif step.op.path == znode_paths.REASSIGN_PARTITIONS:
                        batch_stat = stat
                    elif step.op.path in view.queue.made:
                        parts[step.op.path] = stat
                    elif step.is_parent:
                        self._parents.add(step.op.path)
                steps.clear()  # all of a round freed at once would hold the loop for long
                results.clear()
                await pace.rest()
        applied = replay.ReplayedChanges()
        await pace.through(replay.replay(cluster, view, durable, self._leadership.epoch, applied))
        for topic in applied.deleted:
            self._forget_parents(topic)
        batch = (-1, -1) if batch_stat is None else (batch_stat.version, batch_stat.mzxid)
        reassign_partitions.put_durable(cluster, view, *batch)
        reassignment_requests.put_durable(cluster, view)
        await pace.through(queue_writes.put_durable(cluster, view, parts))
        await pace.through(emptied(*durable))
        return applied

    def _forget_parents(self, topic: Topic) -> None:
        self._parents -= {znode_paths.reassignment_topic(topic.name), znode_paths.partitions(topic.name)}
        self._parents.difference_update(znode_paths.partition(topic.name, index) for index in topic.partitions)

    async def confirm(self) -> None:
        """Ask ZooKeeper whether this server is still the controller. Raises ControllerMoved if not; ReloadNeeded."""
        await self._write([[self._fence]])

    async def write(self, operations: Iterable[Op]) -> None:
        """Fenced writes outside of rounds: orphaned records, a block of producer ids, the znodes of a deleted topic."""
        await self._write(list(split_ops(operations)))

    async def write_together(self, groups: Iterable[Sequence[Op]], *, guard: Sequence[Op] = ()) -> None:
        """Like `write`; the operations of each group go into one transaction. `guard` begins every transaction."""
        batches: list[list[Op]] = []
        room = 0
        for group in groups:
            cost = sum(size_of(op, self._zk.chroot) for op in group)
            if not batches or cost > room or len(batches[-1]) + len(group) > MAX_OPERATIONS:
                batches.append([*guard])
                room = MAX_MULTI_BYTES - sum(size_of(op, self._zk.chroot) for op in guard)
            batches[-1].extend(group)
            room -= cost
        await self._write(batches)

    async def read(self, places: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        """The content of each of these znodes, None where it does not exist. Raises ControllerMoved, ReloadNeeded."""
        return await self.reading(lambda: self._zk.multi_get(places))

    async def children(self, places: Sequence[str]) -> list[list[str] | None]:
        """The children of each of these znodes, None where it does not exist. Raises ControllerMoved, ReloadNeeded."""
        return await self.reading(lambda: self._zk.multi_children(places))

    async def ensure(self, places: Iterable[str]) -> None:
        """Create those of these znodes that do not exist. Raises ControllerMoved, ReloadNeeded."""
        for path in places:
            await self.reading(partial(self._zk.ensure_path, path))

    async def _write(self, batches: list[list[Op]]) -> list[list[Result]]:
        try:
            return await self._zk.transact_many(batches, self._leadership.session, self._fence)
        except BatchesFailed as error:
            if isinstance(error.first, Fenced | SessionOver):
                raise ControllerMoved(str(error.first)) from error
            raise ReloadNeeded(str(error)) from error
        except SessionOver as error:
            raise ControllerMoved("the ZooKeeper session is over") from error
        except ZkError as error:
            raise ReloadNeeded(str(error)) from error

    async def _batches(
        self, steps: Iterator[znode_writes.Step | None], pace: SliceTimer
    ) -> list[list[znode_writes.Step]]:
        """The steps in their order, cut into transactions that ZooKeeper accepts. Raises TopicTooLarge."""
        batches: list[list[znode_writes.Step]] = []
        room = operations = together = 0
        name = ""
        for step in steps:
            if step is None:
                await pace.rest()
                continue
            cost = size_of(step.op, self._zk.chroot)
            if step.with_previous:
                together += cost
            else:
                together, name = cost, step.name[0] if step.name else step.op.path
            if together > MAX_STEP_BYTES:
                raise TopicTooLarge(name, together)
            if not batches or ((cost > room or operations >= MAX_OPERATIONS) and not step.with_previous):
                batches.append([])
                room, operations = MAX_MULTI_BYTES, 0
            batches[-1].append(step)
            room -= cost
            operations += 1
            if pace.is_due:
                await pace.rest()
        return batches

    def _joined(self, phases: list[list[list[znode_writes.Step]]]) -> list[list[list[znode_writes.Step]]]:
        """The phases one after the other, or all of them in one transaction where they fit into it."""
        if sum(len(batch) for phase in phases for batch in phase) <= MAX_OPERATIONS:
            every = [step for phase in phases for batch in phase for step in batch]
            if sum(size_of(step.op, self._zk.chroot) for step in every) <= MAX_MULTI_BYTES:
                return [[every]] if every else []
        return [phase for phase in phases if phase]


def _is_new(problem: ZnodeProblem, known: Cluster) -> bool:
    """Whether the problem is new since the znode was last read."""
    if problem.root == znode_paths.REASSIGN_PARTITIONS:
        batch = known.batch or BatchZnode()
        changed, occupied = batch.changed, batch.occupied
    else:
        part = known.queue.parts.get(problem.path)
        changed, occupied = -1 if part is None else part.changed, problem.root in known.queue.occupied
    return not occupied if problem.changed < 0 else problem.changed > changed


def _note(durable: replay.Durable, name: TopicPartition, stat: Stat, *, is_record: bool) -> None:
    topic, partition = name
    if is_record:
        # A record that is written again keeps its id, also one that an interrupted start has left behind.
        durable.records[name] = stat.czxid, stat.ctime
    elif partition == znode_writes.NO_PARTITION:
        durable.topics[topic] = stat.version, stat.czxid
    else:
        durable.states[name] = stat.version
        if stat.version == 0:
            durable.created[name] = stat.czxid


def _is_gone(topic: Topic, fresh: Cluster) -> bool:
    """Whether the topic does not exist any more, or another one of the same name does."""
    now = fresh.topics.get(topic.name)
    return topic.name not in fresh.unreadable if now is None else now.created != topic.created
