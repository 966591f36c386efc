"""The store in front of ZooKeeper: reads the cluster in bulk, and commits rounds to it in fenced transactions.

Every transaction checks that `/controller_epoch` has the version of this server's election, and is bound to the session
that won it: a controller that was replaced without noticing cannot write. Every call is repeated over a lost
connection.

Throttle leases change configs, and a znode remembers the former values. A config and its memory change in one
transaction, which depends on the versions that were read: no change by a client is lost, and the next controller finds
the former value. If both are too long for one, the memory covers the config before and after, until the second is
written.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TypeVar

from kafka_reassign_rpc.controller.controller_election import Leadership
from kafka_reassign_rpc.controller.loading.load_cluster import LoadedCluster, read_cluster
from kafka_reassign_rpc.controller.store import (
    ConfigWrite,
    ControllerMoved,
    Entity,
    ReloadNeeded,
    StoredConfigs,
    StoredProblem,
    TopicTooLarge,
)
from kafka_reassign_rpc.controller.zookeeper_store import znode_writes
from kafka_reassign_rpc.core.config_values import BROKERS, TOPICS
from kafka_reassign_rpc.core.reassignment import reassign_partitions
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.settings.broker_settings import KAFKA_DEFAULTS, BrokerSettings
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS, ReassignmentSettings
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.state.queue_entries import BatchZnode
from kafka_reassign_rpc.core.state.requesters import znode
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.core.writers import replay
from kafka_reassign_rpc.core.writers.facts import ZnodeProblem
from kafka_reassign_rpc.core.writers.reload import Reloaded, take_over
from kafka_reassign_rpc.support.slices import emptied
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import transactions, znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import announcement, entity_path, written, written_or_gone
from kafka_reassign_rpc.zookeeper.jute import size_of
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Delete, Op, Result, SetData, Stat
from kafka_reassign_rpc.zookeeper.own_server_znodes import decode_memory, encode_memory
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import room_beside
from kafka_reassign_rpc.zookeeper.transactions import split_ops, transact_many
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import (
    BatchesFailed,
    Fenced,
    NotSent,
    SessionOver,
    Unknown,
    ZkError,
)

log = logging.getLogger(__name__)

KINDS = (TOPICS, BROKERS)

ZnodeRead = tuple[bytes, Stat] | None


class LeasedConfigZnodes:
    def __init__(self, zk: "FencedZooKeeper") -> None:
        self._zk = zk

    async def remembered(self) -> list[Entity]:
        found = await self._zk.children([znode_paths.throttle_memories(kind) for kind in KINDS])
        return [Entity(kind, name) for kind, names in zip(KINDS, found, strict=True) for name in names or ()]

    async def read(self, entities: Sequence[Entity]) -> list[StoredConfigs]:
        places = [_path(entity) for entity in entities]
        places += [znode_paths.throttle_memory(*entity) for entity in entities]
        found = await self._zk.read(places)
        stored = []
        pace = Pace()
        for entity, config, memory in zip(entities, found, found[len(entities) :], strict=False):
            stored.append(stored_configs(entity, config, memory))
            await pace.rest()
        return stored

    async def write(self, writes: Sequence[ConfigWrite], *, limited: bool = False) -> int:
        together: list[list[Op]] = []
        in_steps: list[list[list[Op]]] = []
        written = 0
        for write in writes:
            steps = transactions_of(write)
            sizes = [sum(map(size_of, step)) for step in steps]
            entity = write.stored.entity
            if limited and entity.kind == TOPICS and max(sizes, default=0) > transactions.MAX_STEP_BYTES:
                raise TopicTooLarge(
                    entity.name,
                    f"The lists of throttled replicas of topic {entity.name!r} would take {max(sizes)} bytes, more than"
                    f" the {transactions.MAX_STEP_BYTES} that ZooKeeper takes in one znode: move fewer of its"
                    " partitions at a time.",
                )
            written += sum(sizes)
            if len(steps) == 1:
                together += steps
            else:
                in_steps.append(steps)
        try:
            await self._zk.write_together(together)
            for step in chain.from_iterable(in_steps):
                await self._zk.write_together([step])
        except ReloadNeeded:  # perhaps there is no parent yet
            await self._zk.ensure(map(znode_paths.throttle_memories, KINDS))
            await self._zk.ensure((*map(znode_paths.config_type, KINDS), znode_paths.CONFIG_CHANGES))
            raise
        return written


def _path(entity: Entity) -> str:
    return znode_paths.config(f"{entity.kind}/{entity.name}")


def stored_configs(entity: Entity, config: ZnodeRead, memory: ZnodeRead) -> StoredConfigs:
    version = (None if config is None else config[1], None if memory is None else memory[1])
    order = None if config is None else (config[1].czxid, config[1].version)
    try:
        configs = None if config is None else znode_contents.decode_config(config[0], _path(entity))
    except BadZnode as error:
        return StoredConfigs(entity, None, None, str(error), version, order)
    return StoredConfigs(entity, configs, None if memory is None else _memory(entity, memory[0]), None, version, order)


def _memory(entity: Entity, data: bytes) -> TopicMemory | BrokerMemory:
    """If the znode cannot be decoded, the present values count as the former ones."""
    path = znode_paths.throttle_memory(*entity)
    try:
        if entity.kind == TOPICS:
            return decode_memory(data, path, TopicMemory)
        return decode_memory(data, path, BrokerMemory)
    except BadZnode as error:
        log.error("the present config counts as the one from before the throttle: %s", error)
        return _nothing(entity)


def _nothing(entity: Entity) -> TopicMemory | BrokerMemory:
    return TopicMemory() if entity.kind == TOPICS else BrokerMemory()


def transactions_of(write: ConfigWrite) -> list[list[Op]]:
    """Several, where config and memory are too long for one."""
    entity, configs, memory, _, version, *_ = write.stored
    assert isinstance(version, tuple)
    of_config, of_memory = version
    ops: list[Op] = []
    if write.configs != (configs or {}):
        place = _path(entity), write.configs, of_config
        ops = [*(written_or_gone(*place) if entity.kind == BROKERS else [written(*place)])]
        ops.append(announcement(entity_path(*entity)))
    known = _nothing(entity) if memory is None else memory
    return _in_steps(znode_paths.throttle_memory(*entity), of_memory, known, write.memory, ops)


def _in_steps(
    path: str,
    stat: Stat | None,
    known: TopicMemory | BrokerMemory,
    after: TopicMemory | BrokerMemory,
    of_config: list[Op],
) -> list[list[Op]]:
    """`path` and `stat` are of the memory znode; None: it does not exist."""
    version = None if stat is None else stat.version
    has_children = stat is not None and stat.num_children > 0
    found = [[*_memory_writes(path, version, known, after, has_children=has_children), *of_config]]
    too_long = sum(map(size_of, found[0])) > transactions.MAX_MULTI_BYTES
    if too_long and of_config and isinstance(known, TopicMemory) and isinstance(after, TopicMemory):
        between = known.with_all_of(after)
        first = _memory_writes(path, version, known, between)
        if first:
            version = 0 if version is None else version + 1
        found = [first, of_config, _memory_writes(path, version, between, after, has_children=has_children)]
    return [transaction for transaction in found if transaction]


def _memory_writes(
    path: str,
    version: int | None,
    known: TopicMemory | BrokerMemory,
    after: TopicMemory | BrokerMemory,
    *,
    has_children: bool = False,
) -> list[Op]:
    """`has_children`: made by others, so ZooKeeper does not delete the znode."""
    if version is None:
        return [Create(path, encode_memory(after))] if after else []
    if not after and not has_children:
        return [Delete(path, version)]
    return [SetData(path, encode_memory(after), version)] if after != known else []


T = TypeVar("T")


class FencedZooKeeper:
    """What duties use that only a controller in front of ZooKeeper has. Raises ControllerMoved and ReloadNeeded, as
    `controller.store.Store`."""

    def __init__(self, zk: ZooKeeper, leadership: Leadership) -> None:
        self._zk = zk
        self._leadership = leadership
        self._fence = Check(znode_paths.CONTROLLER_EPOCH, leadership.epoch_version)

    @property
    def is_in_a_copy(self) -> bool:
        return self._leadership.is_in_a_copy

    async def reading(self, read: Callable[[], Awaitable[T]]) -> T:
        """Calls `read` again after each lost connection."""
        try:
            return await self._zk.reading(read, self._leadership.session)
        except ZkError as error:
            raise _failure(error) from error

    async def confirm(self) -> None:
        await self._write([[self._fence]])

    async def write(self, operations: Iterable[Op]) -> None:
        """For writes outside of rounds: orphaned records, a block of producer ids, the znodes of a deleted topic."""
        await self._write(list(split_ops(operations)))

    async def write_together(self, groups: Iterable[Sequence[Op]], *, guard: Sequence[Op] = ()) -> None:
        """The operations of each group go into one transaction. `guard` begins every transaction."""
        batches: list[list[Op]] = []
        room = 0
        for group in groups:
            cost = sum(size_of(op, self._zk.chroot) for op in group)
            if not batches or cost > room or len(batches[-1]) + len(group) > transactions.MAX_OPERATIONS:
                batches.append([*guard])
                room = transactions.MAX_MULTI_BYTES - sum(size_of(op, self._zk.chroot) for op in guard)
            batches[-1].extend(group)
            room -= cost
        await self._write(batches)

    async def read(self, places: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        return await self.reading(lambda: self._zk.multi_get(places))

    async def children(self, places: Sequence[str]) -> list[list[str] | None]:
        return await self.reading(lambda: self._zk.multi_children(places))

    async def ensure(self, places: Iterable[str]) -> None:
        for path in places:
            await self.reading(partial(self._zk.ensure_path, path))

    async def _write(self, batches: list[list[Op]]) -> list[list[Result]]:
        try:
            return await transact_many(self._zk, batches, self._leadership.session, self._fence)
        except ZkError as error:
            raise _failure(error) from error


def _failure(error: ZkError) -> ControllerMoved | ReloadNeeded:
    if isinstance(error, SessionOver):
        return ControllerMoved("the ZooKeeper session is over")
    first = error.first if isinstance(error, BatchesFailed) else error
    if isinstance(first, Fenced | SessionOver):
        return ControllerMoved(str(first))
    return ReloadNeeded(str(error), is_unknown=isinstance(first, NotSent | Unknown))


class ZooKeeperStore(FencedZooKeeper):
    """A `controller.store.Store`, which says what its methods do.

    settings      returns those of brokers that are in force when it is called: after the read of a load
    started_with  this server's own
    """

    place = "ZooKeeper"

    def __init__(
        self,
        zk: ZooKeeper,
        leadership: Leadership,
        settings: Callable[[], BrokerSettings] = lambda: KAFKA_DEFAULTS,
        started_with: ReassignmentSettings = DEFAULT_SETTINGS,
    ) -> None:
        super().__init__(zk, leadership)
        self.configs = LeasedConfigZnodes(self)
        self._settings = settings
        self._started_with = started_with
        self._parents: set[str] = set()
        self._problems: list[ZnodeProblem] = []

    async def load(self) -> LoadedCluster:
        return await self._load(Cluster(), self._settings, self._started_with)

    async def _load(
        self, known: Cluster, settings: Callable[[], BrokerSettings], started_with: ReassignmentSettings
    ) -> LoadedCluster:
        there = zip(znode_writes.PARENTS, await self.read(znode_writes.PARENTS), strict=True)
        await self.ensure(path for path, read in there if read is None)
        found = await self.reading(lambda: read_cluster(self._zk, settings, started_with, known.topic_names))
        self._parents = set(found.parents)
        self._problems += [problem for problem in found.problems if _is_new(problem, known)]
        return found

    def problems(self) -> list[StoredProblem]:
        problems, self._problems = self._problems, []
        return [StoredProblem(znode(problem.root).who, problem.text) for problem in problems]

    def view(self, cluster: Cluster, too_large: Collection[str] = ()) -> RoundView:
        return RoundView(cluster, too_large)

    async def reload(self, cluster: Cluster) -> Reloaded:
        soft = cluster.soft
        fresh = (await self._load(cluster, lambda: soft.broker_settings, soft.started_with)).cluster
        found = Reloaded([], set())
        await Pace().through(take_over(cluster, fresh, found))
        return found

    async def commit(self, cluster: Cluster, view: RoundView) -> replay.ReplayedChanges:
        pace = Pace()
        phases = [
            await self._batches(phase, pace)
            for phase in znode_writes.phases(cluster, view, self._leadership.epoch, self._parents)
        ]
        durable = replay.Durable()
        for batches in self._joined(phases):
            answers = await self._write([[step.op for step in steps] for steps in batches])
            for steps, results in zip(batches, answers, strict=True):
                for step, result in zip(steps, results, strict=True):
                    stat = result if result is None or isinstance(result, Stat) else result[1]
                    if stat is None:
                        continue
                    if step.name is not None:
                        _put_version(durable, step.name, stat, is_record=step.is_record)
                    elif step.op.path == znode_paths.REASSIGN_PARTITIONS:
                        durable.batch = _batch_written(step.op, stat)
                    elif step.op.path in view.queue.made:
                        durable.parts[step.op.path] = replay.Written(stat.version, stat.mzxid, stat.czxid)
                    elif step.is_parent:
                        self._parents.add(step.op.path)
                steps.clear()  # all of a round freed at once would hold the loop for long
                results.clear()
                await pace.rest()
        applied = replay.ReplayedChanges()
        await pace.through(replay.replay(cluster, view, durable, self._leadership.epoch, applied))
        for topic in applied.deleted:
            self._forget_parents(topic)
        await pace.through(emptied(durable.topics, durable.states, durable.records, durable.created))
        return applied

    def _forget_parents(self, topic: Topic) -> None:
        self._parents -= {znode_paths.reassignment_topic(topic.name), znode_paths.partitions(topic.name)}
        self._parents.difference_update(znode_paths.partition(topic.name, index) for index in topic.partitions)

    async def _batches(self, steps: Iterator[znode_writes.Step | None], pace: Pace) -> list[list[znode_writes.Step]]:
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
            if together > transactions.MAX_STEP_BYTES:
                raise TopicTooLarge(
                    name,
                    f"The assignment of topic {name!r} would take {together} bytes, more than the"
                    f" {transactions.MAX_STEP_BYTES} that ZooKeeper takes in one znode: move fewer of its"
                    " partitions at a time.",
                )
            if not batches or ((cost > room or operations >= transactions.MAX_OPERATIONS) and not step.with_previous):
                batches.append([])
                room, operations = transactions.MAX_MULTI_BYTES, 0
            batches[-1].append(step)
            room -= cost
            operations += 1
            await pace.rest()
        return batches

    def _joined(self, phases: list[list[list[znode_writes.Step]]]) -> list[list[list[znode_writes.Step]]]:
        """In one transaction if they fit."""
        if sum(len(batch) for phase in phases for batch in phase) <= transactions.MAX_OPERATIONS:
            every = [step for phase in phases for batch in phase for step in batch]
            if sum(size_of(step.op, self._zk.chroot) for step in every) <= transactions.MAX_MULTI_BYTES:
                return [[every]] if every else []
        return [phase for phase in phases if phase]


def _is_new(problem: ZnodeProblem, known: Cluster) -> bool:
    if problem.root == znode_paths.REASSIGN_PARTITIONS:
        batch = known.batch or BatchZnode()
        changed, has_children = batch.changed, batch.has_children
    else:
        part = known.queue.parts.get(problem.path)
        changed, has_children = -1 if part is None else part.changed, problem.root in known.queue.roots_with_children
    return not has_children if problem.changed < 0 else problem.changed > changed


def _batch_written(op: Op, stat: Stat) -> reassign_partitions.BatchWritten:
    room = room_beside(op.data) if isinstance(op, SetData) else None
    return reassign_partitions.BatchWritten(stat.version, stat.mzxid, room)


def _put_version(durable: replay.Durable, name: TopicPartition, stat: Stat, *, is_record: bool) -> None:
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
