"""The queue: moves are queued and wait, the next controller reads them, and they start under caps until none is left.

Stock Kafka has no queue, so there is no comparison. One controller runs in this process on a real ZooKeeper, without
brokers. The benchmark makes their requests itself, and so measures the queue's own work. The longest stall is the most
CPU time that the event loop spent before it ran a task that is due every 2 ms.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

from benchmarks.tables import duration, show
from kafka_reassign_rpc.server import process_limits
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.jute import size_of
from kafka_reassign_rpc.zookeeper.operations import Create, Op
from kafka_reassign_rpc.zookeeper.transactions import pipeline, split_ops
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import (
    BareController,
    DyingZooKeeper,
    Name,
    Replicas,
    elected_controller,
    register,
)
from tests.core.build import write

SIZE, QUICK_SIZE = 100_000, 4_000
OF_TOPIC = 1000
BROKERS = 20
PER_BROKER, PER_CLUSTER = 200, 1000
EVERY_S = 0.002
AT_ONCE = 20


class Stalls:
    """Measures the longest stall of the event loop."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def watch(self) -> None:
        while True:
            begun = time.thread_time()
            await asyncio.sleep(EVERY_S)
            self.worst = max(self.worst, time.thread_time() - begun)


@asynccontextmanager
async def watched() -> AsyncIterator[Stalls]:
    stalls = Stalls()
    task = asyncio.create_task(stalls.watch())
    try:
        yield stalls
    finally:
        task.cancel()


async def run(zookeeper: str, _directory: Path, *, quick: bool) -> str:
    process_limits.tune_interpreter()
    size = QUICK_SIZE if quick else SIZE
    connect = f"{zookeeper}/queue"
    targets = await _world(connect, size)
    rows: list[tuple[str, ...]] = []
    async with ZooKeeper(connect) as brokers:
        await register(brokers, *range(1, BROKERS + 1))
        async with elected_controller(connect) as controller:
            process_limits.leave_loaded_objects_alone()
            await brokers.create(znode_paths.REASSIGN_CANCEL, b"")
            await controller.read_admin_znodes()
            rows.append(await _measured(f"{size:,} moves sent", controller, lambda: _send(controller, targets)))
        begun = time.perf_counter()
        async with watched() as stalls, elected_controller(connect) as controller:
            process_limits.leave_loaded_objects_alone()
            rows.append(
                ("the next controller", duration(time.perf_counter() - begun), duration(stalls.worst), "-", "-")
            )
            rows.append(
                await _measured(
                    "starting queued moves while reassignments are disabled", controller, controller.start_queued_moves
                )
            )
            await brokers.delete(znode_paths.REASSIGN_CANCEL)
            _cap(controller)
            rows.append(await _measured("the first ones start", controller, controller.read_admin_znodes))
            rows.append(
                await _measured("starting queued moves while all is full", controller, controller.start_queued_moves)
            )
            rows.append(await _measured("all the others, as they end", controller, lambda: _carry_out(controller)))
            left = [value for _, _, value in controller.cluster.all_partitions() if value.is_moving]
            if controller.cluster.queue or left or await brokers.exists(znode_paths.REASSIGN_QUEUE):
                raise RuntimeError("not all has been taken up")
    head = ("queue", "took", "longest stall", "written to the queue", "written in all")
    return show(f"queue: caps of {PER_BROKER} per broker, {PER_CLUSTER} in all", head, rows)


async def _world(connect: str, size: int) -> Mapping[Name, Replicas]:
    """Partitions with two replicas each, one of which is to move."""
    targets: dict[Name, Replicas] = {}
    ops: list[Op] = []
    for number in range(size // OF_TOPIC):
        topic = f"topic-{number}"
        origins = {}
        for index in range(OF_TOPIC):
            at = number + index
            first, second, third = (1 + (at + step) % BROKERS for step in (0, 7, 12))
            origins[index] = (first, second)
            targets[topic, index] = (first, third)
        assignment = topic_znodes.encode_topic(UUID(int=number + 1), {i: (to, (), ()) for i, to in origins.items()})
        ops += [Create(znode_paths.topic(topic), assignment), Create(znode_paths.partitions(topic))]
        for index, replicas in origins.items():
            ops.append(Create(znode_paths.partition(topic, index)))
            ops.append(
                Create(
                    znode_paths.partition_state(topic, index), topic_znodes.encode_state(replicas[0], 0, replicas, 1)
                )
            )
    async with ZooKeeper(connect) as zk:
        for path in (
            znode_paths.TOPICS,
            znode_paths.DELETE_TOPICS,
            znode_paths.REASSIGNMENTS,
            f"{znode_paths.CONFIG}/topics",
        ):
            await zk.ensure_path(path)
        await pipeline(zk.submit_multi, split_ops(ops))
    return targets


async def _measured(name: str, controller: BareController, work: Callable[[], Awaitable[object]]) -> tuple[str, ...]:
    controller.zk.transactions.clear()
    async with watched() as stalls:
        begun = time.perf_counter()
        await work()
        took = time.perf_counter() - begun
    queue, everything = _written(controller.zk)
    return name, duration(took), duration(stalls.worst), _bytes(queue), _bytes(everything)


def _written(zk: DyingZooKeeper) -> tuple[int, int]:
    """Bytes of the operations on the queue, and bytes of all operations."""
    ops = [op for transaction in zk.transactions for op in transaction]
    return _sum(op for op in ops if op.path.startswith(znode_paths.REASSIGN_QUEUE)), _sum(ops)


def _sum(ops: Iterable[Op]) -> int:
    return sum(map(size_of, ops))


def _bytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count:,} B"


async def _send(controller: BareController, targets: Mapping[Name, Replicas]) -> None:
    answers = await controller.alter(targets, queue=True)
    if any(answers.values()):
        raise RuntimeError("not all were taken")


def _cap(controller: BareController) -> None:
    caps = {
        "partition.reassignments.max.per.broker": str(PER_BROKER),
        "partition.reassignments.max.per.cluster": str(PER_CLUSTER),
    }
    write(controller.cluster, broker_configs={"<default>": caps})


async def _carry_out(controller: BareController) -> None:
    """Every move ends at once, and as many start as the caps admit, until none is left."""
    while controller.cluster.moving:
        names = [(topic, index) for topic, indexes in controller.cluster.moving.items() for index in indexes]
        answers = []
        for name in names:
            answers.append(asyncio.create_task(controller.caught_up(name)))
            if len(answers) % AT_ONCE == 0:
                await asyncio.sleep(0)  # this request is not part of the measurement
        await asyncio.gather(*answers)
        await controller.start_queued_moves()
