"""A controller's loop on a real ZooKeeper, without connections to brokers: the test sends the brokers' requests."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import UUID, uuid5

from msgspec.structs import replace

from kafka_reassign_rpc.api.ports import AlterPartition, AlterReassignments, AskedItem, ItemResult
from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.commands import alter_reassignments_command, cluster_commands, leadership_commands
from kafka_reassign_rpc.controller.commands.queue_commands import QueueZnodesRead, StartQueuedMoves
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import AdminZnodesRead
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.loading.load_cluster import read_admin, read_cluster, read_root
from kafka_reassign_rpc.controller.store import ControllerMoved
from kafka_reassign_rpc.controller.watches.request_znodes import RequestZnodes
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import ZooKeeperStore
from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.leadership.isr_changes import IsrChange
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import NO_LEADER, QUEUE, RPC, CancelMove, MoveTerms, Partition, Topic
from kafka_reassign_rpc.core.state.queue_entries import BatchZnode, Held, Queue, WaitingMove
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Op, Result
from kafka_reassign_rpc.zookeeper.reassignment_request_znodes import encode_request
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import BadVersion, NoNode, SessionOver, TransactionFailed, Unknown
from tests.core.build import write

SERVER = 1000
TOPIC_ID = UUID("11111111-2222-3333-4444-555555555555")
"""That of topic t."""
OF_ITS_NAME = UUID(int=0)

Replicas = tuple[int, ...]
Name = tuple[str, int]


class DyingZooKeeper(ZooKeeper):
    """A session that is over after a given number of transactions, as if its process had died.

    transactions    all transactions that were sent, without the fence and the receipt
    lives           how many more may be sent; None: any number
    loses           after so many more, ZooKeeper carries out a transaction whose answer is lost; None: never
    refuses         after so many more, ZooKeeper refuses one, as where others have written; None: never
    """

    def __init__(self, connect: str) -> None:
        super().__init__(connect)
        self.transactions: list[Sequence[Op]] = []
        self.lives: int | None = None
        self.loses: int | None = None
        self.refuses: int | None = None

    def submit_multi(self, ops: Sequence[Op], session: int | None = None) -> "asyncio.Future[list[Result]]":
        if self.lives is not None:
            if self.lives == 0:
                raise SessionOver("the process has died")
            self.lives -= 1
        self.transactions.append([op for op in ops[1:] if not op.path.startswith(znode_paths.RECEIPTS)])
        if self.refuses is not None:
            self.refuses -= 1
            if self.refuses < 0:
                self.refuses = None
                refused: asyncio.Future[list[Result]] = asyncio.get_running_loop().create_future()
                refused.set_exception(TransactionFailed(len(ops) - 1, BadVersion("somebody else was faster")))
                return refused
        answer = super().submit_multi(ops, session)
        if self.loses is None:
            return answer
        self.loses -= 1
        if self.loses >= 0:
            return answer
        self.loses = None
        told: asyncio.Future[list[Result]] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda _: told.set_exception(Unknown("the answer was lost")))
        return told


async def register(zk: ZooKeeper, *brokers: int, racks: Mapping[int, str | None] | None = None) -> None:
    """Register brokers, for as long as this session lives."""
    await zk.ensure_path(znode_paths.BROKER_IDS)
    for broker in brokers:
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9000 + broker)
        data = znode_contents.encode_broker([endpoint], 0, (racks or {}).get(broker))
        await zk.create(znode_paths.broker(broker), data, ephemeral=True)


def id_of(name: str) -> UUID:
    """No two topics have one id."""
    return TOPIC_ID if name == "t" else uuid5(TOPIC_ID, name)


async def put_topic(
    zk: ZooKeeper, name: str, partitions: Mapping[int, Replicas], *, topic_id: UUID | None = OF_ITS_NAME, **extra: Any
) -> None:
    """Create a topic as a stock controller leaves it: all replicas in sync, the first one leads under epoch 3.

    In one transaction: a controller that watches would give its partitions states of its own.
    """
    for path in (
        znode_paths.TOPICS,
        znode_paths.DELETE_TOPICS,
        znode_paths.REASSIGNMENTS,
        znode_paths.FAILED_BROKERS,
        znode_paths.FAILED_LOG_DIRS,
        f"{znode_paths.CONFIG}/topics",
    ):
        await zk.ensure_path(path)
    assignments = {index: (replicas, (), ()) for index, replicas in partitions.items()}
    data = json.loads(topic_znodes.encode_topic(id_of(name) if topic_id == OF_ITS_NAME else topic_id, assignments))
    states = {index: topic_znodes.encode_state(replicas[0], 3, replicas, 0) for index, replicas in partitions.items()}
    await zk.multi(topic_creates(name, json.dumps(data | extra).encode(), states))


def topic_creates(name: str, data: bytes, states: Mapping[int, bytes]) -> list[Create]:
    """The operations that create a topic's znodes, the states of its partitions among them."""
    creates = [Create(znode_paths.topic(name), data), Create(znode_paths.partitions(name))]
    for index, state in states.items():
        creates += [Create(znode_paths.partition(name, index)), Create(znode_paths.partition_state(name, index), state)]
    return creates


class BareController:
    """One elected controller. `alter`, `isr` and `stopped` act as requests of clients and brokers."""

    def __init__(
        self, zk: DyingZooKeeper, leadership: controller_election.Leadership, store: ZooKeeperStore, cluster: Cluster
    ) -> None:
        self.zk = zk
        self.epoch = leadership.epoch
        self.store = store
        self.cluster = cluster
        self.applied: list[ReplayedChanges] = []
        self.vanished: list[Topic] = []
        self.events: list[Event] = []
        self.loop = ControllerLoop(
            cluster,
            store,
            self._propagate,
            self._topics_vanished,
            lambda changed, bounced: cluster_commands.ControllerFailover(
                SERVER, lambda: None, changed=changed, bounced=bounced
            ),
            record=self.events.extend,
        )
        self.requests = RequestZnodes(zk, self.loop, self.events.extend)

    def _propagate(self, applied: ReplayedChanges) -> Iterator[None]:
        self.applied.append(applied)
        return iter(())

    def _topics_vanished(self, gone: Sequence[Topic]) -> Iterator[None]:
        self.vanished += gone
        return iter(())

    def start_with(self, **settings: Any) -> None:
        """As if the server had been started with these `ReassignmentSettings`."""
        write(self.cluster, started_with=replace(self.cluster.soft.started_with, **settings))

    def partition(self, topic: str, index: int = 0) -> Partition:
        found = self.cluster.get(topic, index)
        assert found is not None
        return found

    async def alter(
        self,
        targets: Mapping[Name, Replicas | None],
        *,
        queue: bool = False,
        reason: str = "",
        route: str | None = None,
        throttle: int | None = None,
        lifts: bool = False,
        expected: Replicas | None = None,
        by: Requester = CONTROLLER,
    ) -> dict[Name, KafkaError | None]:
        topics: dict[str, list[AskedItem]] = {}
        route = route or (QUEUE if queue else RPC)
        for (topic, index), target in targets.items():
            asked: MoveTerms | CancelMove = CancelMove(expected)
            if target is not None:
                asked = MoveTerms(target, route, reason, throttle, lifts, expected=expected)
            topics.setdefault(topic, []).append((index, asked))
        request = AlterReassignments(list(topics.items()), queue=queue)
        results: Sequence[ItemResult] = await self.loop.submit(
            alter_reassignments_command.AlterReassignmentsCommand(request, by)
        )
        return {(topic, index): error for topic, index, error in results}

    async def isr(self, name: Name, isr: Replicas) -> Partition | KafkaError:
        """The leader sends AlterPartition with this ISR."""
        current = self.partition(*name)
        change = IsrChange(name[0], None, name[1], current.leader_epoch, current.partition_epoch, isr)
        epoch = self.cluster.brokers[current.leader].epoch
        request = AlterPartition(current.leader, epoch, [change], 1)
        (answer,) = await self.loop.submit(leadership_commands.AlterPartitionCommand(request))
        return answer

    async def caught_up(self, name: Name) -> Partition | KafkaError:
        """All live replicas of the partition get in sync."""
        current = self.partition(*name)
        live = tuple(replica for replica in current.replicas if self.cluster.is_online(replica, current))
        return await self.isr(name, live)

    async def stopped(self, name: Name) -> None:
        """Brokers confirm the deletion of all replicas that are pending deletion."""
        for broker in self.partition(*name).pending_deletion:
            epoch, created = self.partition(*name).leader_epoch, self.cluster.topics[name[0]].created
            stop = {TopicPartition(*name): StopReplicaState(epoch, delete=True, created=created)}
            await self.loop.submit(cluster_commands.StopsConfirmed(broker, stop))

    async def read_admin_znodes(self) -> None:
        """Read KIP-236's znodes, as after their watches have fired."""
        found = await read_admin(self.zk)
        await self.loop.submit(AdminZnodesRead(found, batch_read=True))
        await self.loop.submit(QueueZnodesRead([await read_root(self.zk, root) for root in znode_paths.QUEUES]))

    async def start_queued_moves(self) -> None:
        """Start queued moves until no more can start now."""
        while True:
            await self.loop.submit(StartQueuedMoves())
            if not self.cluster.queue.waiting.more:
                break

    async def start_requests(self) -> None:
        """Start the request znodes, as after the watch of their parent has fired."""
        await self.requests.start_all()

    async def finish_moves(self) -> None:
        """Brokers catch up and confirm stops, until nothing moves."""
        for topic, index, _ in list(self.cluster.all_partitions()):
            if self.partition(topic, index).is_moving:
                await self.caught_up((topic, index))
            await self.stopped((topic, index))

    async def check(self) -> None:
        """The invariants: valid assignments, a leader wherever one is possible, and memory equal to ZooKeeper."""
        for topic, index, value in self.cluster.all_partitions():
            name = f"{topic}-{index}: {value}"
            assert not set(value.adding) & set(value.removing), name
            assert value.replicas == value.target + value.removing, name
            assert set(value.isr) <= set(value.replicas), name
            assert value.leader == NO_LEADER or value.leader in value.isr, name
            live = [replica for replica in value.isr if self.cluster.is_live(replica)]
            assert value.leader in live or not live, name
            assert (value.move is not None) == value.is_moving, name
        loaded = (await read_cluster(self.zk)).cluster
        pending_deletion = any(value.pending_deletion for _, _, value in self.cluster.all_partitions())
        assert pending_deletion or loaded.moving == self.cluster.moving
        for topic, index, value in self.cluster.all_partitions():
            if not value.pending_deletion:
                assert loaded.get(topic, index) == replace(value, offline=())
        assert _known(loaded.batch) == _known(self.cluster.batch)
        queue = self.cluster.queue
        assert loaded.queue.parts == queue.parts
        assert waiting_moves(loaded.queue) == waiting_moves(queue)
        assert sorted(queue.names.values()) == sorted(waiting_moves(queue))


def _known(batch: BatchZnode | None) -> object:
    """The part of a batch in memory that a batch just read has too."""
    return None if batch is None else (batch.entries, batch.version, batch.changed)


def waiting_moves(queue: Queue) -> dict[Name, WaitingMove]:
    """The moves that wait, by partition."""
    return {(topic, index): place.move for topic, places in queue.topics.items() for index, place in places.items()}


async def queue_json(zk: ZooKeeper, root: str = znode_paths.REASSIGN_QUEUE) -> dict[Name, dict[str, Any]] | None:
    """The entries of the queue's znodes by partition, None where it does not exist."""
    try:
        places = [root, *(f"{root}/{name}" for name in sorted(await zk.children(root)))]
    except NoNode:
        return None
    moves: dict[Name, dict[str, Any]] = {}
    for path in places:
        for one in json.loads((await zk.get(path))[0])["partitions"]:
            moves[one.pop("topic"), one.pop("partition")] = one
    return moves


async def batch_json(zk: ZooKeeper) -> dict[Name, dict[str, Any]] | None:
    """The entries of `/admin/reassign_partitions` by partition, None where it does not exist."""
    try:
        found = json.loads((await zk.get(znode_paths.REASSIGN_PARTITIONS))[0])
    except NoNode:
        return None
    assert found["version"] == 1
    return {(one.pop("topic"), one.pop("partition")): one for one in found["partitions"]}


def batch(targets: Mapping[Name, Replicas]) -> bytes:
    """A batch as Kafka 2.x's tool writes it."""
    entries = [{"topic": topic, "partition": index, "replicas": to} for (topic, index), to in targets.items()]
    return json.dumps({"version": 1, "partitions": entries}).encode()


async def put_request(zk: ZooKeeper, data: bytes | Mapping[Name, Replicas], *, legacy: bool = False) -> str:
    """Create a request znode as in KIP-236. Returns its name."""
    await zk.ensure_path(znode_paths.REASSIGNMENT_REQUESTS)
    if not isinstance(data, bytes):
        data = encode_request({TopicPartition(*name): to for name, to in data.items()}, legacy=legacy)
    path, _ = await zk.create(znode_paths.reassignment_request("request_"), data, sequence=True)
    return path.rpartition("/")[2]


@asynccontextmanager
async def elected_controller(
    connect: str, *, lives: int | None = None, held: Held | None = None
) -> AsyncIterator[BareController]:
    """A controller from its election through its failover to its end.

    lives   transactions after its election that it sends before it dies
    held    as what its failover holds all that waits
    """
    async with DyingZooKeeper(connect) as zk:
        current = await controller_election.owner(zk)
        leadership = await controller_election.campaign(
            zk, SERVER, (), lambda: time.time_ns() // 1_000_000, seize=current
        )
        assert leadership is not None
        store = ZooKeeperStore(zk, leadership)
        loaded = await store.load()
        zk.lives = lives
        controller = BareController(zk, leadership, store, loaded.cluster)
        task = asyncio.create_task(controller.loop.run())
        beside: list[asyncio.Task[None]] = []
        try:
            await controller.loop.submit(cluster_commands.ControllerFailover(SERVER, lambda: None, held=held))
            beside.append(asyncio.create_task(controller.loop.throttle_leases.run()))
            zk.transactions.clear()
            yield controller
        finally:
            for running in (task, *beside):
                running.cancel()
                with suppress(asyncio.CancelledError, ControllerMoved):
                    await running


async def topic_json(zk: ZooKeeper, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((await zk.get(znode_paths.topic(name)))[0])
    return found


async def state_json(zk: ZooKeeper, name: Name) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((await zk.get(znode_paths.partition_state(*name)))[0])
    return found


async def records(zk: ZooKeeper) -> set[Name]:
    """Partitions with a move record."""
    found = set()
    for topic in await zk.children(znode_paths.REASSIGNMENTS):
        found |= {
            (topic, int(name)) for name in await zk.children(znode_paths.reassignment_topic(topic)) if name.isdigit()
        }
    return found
