"""An operator deletes, changes or creates znodes while a rollback runs, between any of its writes.

As far as possible, every write of the rollback is a transaction of its own. `interfere` runs before the first one, in
another turn before one in the middle, then before the last.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.zookeeper import transactions, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Op, Result
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists, NoNode
from tests.controller.bare_controller import Name, batch, records
from tests.controller.cluster import Answer, Cluster, cluster
from tests.waiting import eventually

NAMES: list[Name] = [("held", index) for index in range(3)]
ORIGIN = {("held", 0): (2, 1), ("held", 1): (1, 2), ("held", 2): (1, 3)}
TARGETS = dict.fromkeys(NAMES, (3, 4, 5))
NO_REASSIGNMENT_IN_PROGRESS = 85
POINTS = (znode_paths.topic("held"), znode_paths.partition_state("held", 1), znode_paths.CANCEL_IN_PROGRESS)
"""Znodes that the rollback writes first, in the middle, and last."""

Interfere = Callable[[Cluster], Awaitable[object]]


@pytest_asyncio.fixture
async def world(zk_connect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cluster]:
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    async with cluster(zk_connect, event_log=tmp_path) as made:
        await made.create_topic("held", {index: replicas for (_, index), replicas in ORIGIN.items()}, held=True)
        yield made


class Interference:
    """Runs `interfere` before the transaction that writes `point`. Transactions wait for the one before them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._interfere: Callable[[], Awaitable[object]] | None = None
        self._point = ""
        self._before: asyncio.Future[list[Result]] | None = None
        submit = ZooKeeper.submit_multi

        def submit_multi(
            zk: ZooKeeper, ops: Sequence[Op], session: int | None = None
        ) -> "asyncio.Future[list[Result]]":
            if self._interfere is None:
                return submit(zk, ops, session)

            async def in_turn(before: asyncio.Future[list[Result]] | None) -> list[Result]:
                if before is not None:
                    await asyncio.wait([before])
                if self._interfere is not None and self._point in [op.path for op in ops]:
                    interfere, self._interfere = self._interfere, None
                    await interfere()
                return await submit(zk, ops, session)

            self._before = asyncio.ensure_future(in_turn(self._before))
            return self._before

        monkeypatch.setattr(ZooKeeper, "submit_multi", submit_multi)

    def expect(self, point: str, interfere: Callable[[], Awaitable[object]]) -> None:
        self._point, self._interfere, self._before = point, interfere, None

    @property
    def has_interfered(self) -> bool:
        return self._interfere is None


@pytest.fixture
def interference(monkeypatch: pytest.MonkeyPatch) -> Interference:
    return Interference(monkeypatch)


async def rolled_back_under(world: Cluster, interference: Interference, point: str, interfere: Interfere) -> None:
    """The batch moves, its cancel is requested, an operator interferes. Returns when the cancel is carried out."""
    await world.submit(TARGETS)
    await eventually(lambda: world.started(*NAMES))
    interference.expect(point, lambda: interfere(world))
    await world.cancel_all()
    assert interference.has_interfered


async def all_is_back(world: Cluster) -> bool:
    assert await world.batch_gone()
    assert await records(world.zk) == set()
    return await world.has(*((*name, replicas) for name, replicas in ORIGIN.items()))


def no_defect(caplog: pytest.LogCaptureFixture) -> None:
    assert not [record.getMessage() for record in caplog.records if record.exc_info]
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert errors == [
        text
        for text in errors
        if text.startswith("the move goes on, and its record is written again: /admin/reassignments/")
    ]


async def test_236_2_zookeeper_refuses_a_second_cancel_during_the_first_and_accepts_one_after_it(
    world: Cluster, interference: Interference, caplog: pytest.LogCaptureFixture
) -> None:
    async def interfere(world: Cluster) -> None:
        with pytest.raises(NodeExists):
            await world.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")

    for point in POINTS:
        await rolled_back_under(world, interference, point, interfere)
        await eventually(lambda: all_is_back(world))
        await world.cancel_all()
    counts = Counter(event["event"] for event in await world.events())
    assert (counts["move.cancelled"], counts["batch.cancelled"]) == (len(POINTS) * len(NAMES), len(POINTS) * 2), (
        "each once"
    )
    no_defect(caplog)


async def test_455_6_a_client_that_cancels_during_a_rollback_gets_its_answer_after_it(
    world: Cluster, interference: Interference, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[asyncio.Task[dict[Name, Answer]]] = []

    async def interfere(world: Cluster) -> None:
        asked.append(asyncio.create_task(world.alter(dict.fromkeys(NAMES))))

    for point in POINTS:
        await rolled_back_under(world, interference, point, interfere)
        answers = await asked.pop()
        assert {code for code, _ in answers.values()} == {NO_REASSIGNMENT_IN_PROGRESS}
        await eventually(lambda: all_is_back(world))
    no_defect(caplog)


async def test_236_2_a_cancel_znode_deleted_or_created_again_during_the_rollback_leaves_nothing_half_done(
    world: Cluster, interference: Interference, caplog: pytest.LogCaptureFixture
) -> None:
    async def take_back(world: Cluster) -> None:
        await world.zk.delete(znode_paths.CANCEL_IN_PROGRESS)

    async def make_again(world: Cluster) -> None:
        await take_back(world)
        await world.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"again")

    for interfere in (take_back, make_again):
        for point in POINTS:
            await rolled_back_under(world, interference, point, interfere)
            await sound(world)
            await eventually(world.cancel_gone)  # one that was made again is carried out too
            await world.cancel_all()
            await eventually(lambda: all_is_back(world))
    no_defect(caplog)


async def test_236_2_a_batch_deleted_changed_or_created_again_during_its_rollback_counts_as_it_is_then(
    world: Cluster, interference: Interference, caplog: pytest.LogCaptureFixture
) -> None:
    other = batch({NAMES[0]: (4, 5)})

    async def delete(world: Cluster) -> None:
        with suppress(NoNode):
            await world.zk.delete(znode_paths.REASSIGN_PARTITIONS)

    async def change(world: Cluster) -> None:
        with suppress(NoNode):
            await world.zk.set(znode_paths.REASSIGN_PARTITIONS, other)

    async def make_anew(world: Cluster) -> None:
        await delete(world)
        await world.zk.create(znode_paths.REASSIGN_PARTITIONS, other)

    for interfere in (delete, change, make_anew):
        for point in POINTS:
            await rolled_back_under(world, interference, point, interfere)
            await sound(world)
            await eventually(lambda: carried_out(world))
            await world.alter(dict.fromkeys(NAMES))
            await world.cancel_all()
            await eventually(lambda: all_is_back(world))
    no_defect(caplog)


async def carried_out(world: Cluster) -> bool:
    """Whether all entries of the batch move, if there is a batch."""
    return set(await world.batch() or ()) <= await world.moving()


async def sound(world: Cluster) -> None:
    """A record for each move, and nothing else."""

    async def is_so() -> bool:
        return await records(world.zk) == await world.moving()

    await eventually(is_so)


async def test_236_8_moves_complete_although_their_records_are_changed_deleted_or_created_again(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    async def change(path: str) -> None:
        await world.zk.set(path, b'{"version":1,"target":[9],"original_replicas":["x"]}')

    async def make_anew(path: str) -> None:
        await world.zk.delete(path)
        await world.zk.create(path, b"{")

    ways: list[Callable[[str], Awaitable[object]]] = [change, world.zk.delete, make_anew]
    for end in ("cancel", "another target", "completion"):
        assert set((await world.alter(TARGETS)).values()) == {(0, None)}
        for name, interfere in zip(NAMES, ways, strict=True):
            await interfere(znode_paths.reassignment(*name))
        if end == "another target":
            assert set((await world.alter(dict.fromkeys(NAMES, (4, 5)))).values()) == {(0, None)}
        if end == "completion":
            await world.release("held")
            await eventually(lambda: world.has(*((*name, replicas) for name, replicas in TARGETS.items())))
        else:
            assert set((await world.alter(dict.fromkeys(NAMES))).values()) == {(0, None)}
            await eventually(lambda: world.has(*((*name, replicas) for name, replicas in ORIGIN.items())))
        assert await records(world.zk) == set(), end
    no_defect(caplog)


async def test_236_5_each_controller_reports_a_problem_once_however_often_it_reads_the_cluster(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    lists = (znode_paths.REASSIGN_PARTITIONS, *znode_paths.QUEUES)

    async def reported(times: int) -> bool:
        whose = [event["who"] for event in await world.events() if event["event"] == "entry.refused"]
        assert Counter(whose) == {f"znode {path}": times for path in lists}
        return True

    for path in lists:
        await world.zk.create(path, b"{")
    await eventually(lambda: reported(1))
    for target in ((3, 4), None):
        data, _ = await world.zk.get(znode_paths.partition_state("held", 0))
        await world.zk.set(znode_paths.partition_state("held", 0), data)
        assert await world.alter({NAMES[0]: target}) == {NAMES[0]: (0, None)}
    assert sum("the cluster is read again" in record.message for record in caplog.records) >= 2
    assert await reported(1)
    await world.stop_server()
    await world.start_server()
    await eventually(lambda: reported(2))
    for path in lists:
        await world.zk.delete(path)


async def test_236_13_waiting_entries_are_reported_once_however_often_the_controller_reads_the_cluster(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Entries wait for reassignments to be enabled, then for a dead broker."""
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    await world.create_topic("free", {0: (1, 2), 1: (1, 2)})
    assert set((await world.alter(dict.fromkeys(NAMES, (3, 4)))).values()) == {(0, None)}
    await world.kill_broker(5)
    await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")
    await eventually(lambda: world.disabled(("free", 0)))
    await world.submit({("free", 0): (4, 5)})
    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({("free", 1): (4, 5)}))

    async def reported() -> Counter[tuple[str, str]]:
        """Reported waits: the znode and the reason."""
        found = [event for event in await world.events() if event["event"] == "entry.waiting"]
        return Counter((event["who"], "broker" if "not alive" in event["reason"] else "disabled") for event in found)

    by_batch, by_queue = (f"znode {path}" for path in (znode_paths.REASSIGN_PARTITIONS, znode_paths.REASSIGN_QUEUE))
    for what in ("disabled", "broker"):
        wanted = {(by_batch, "disabled"): 1, (by_queue, "disabled"): 1}
        if what == "broker":
            await world.zk.delete(znode_paths.REASSIGN_CANCEL)
            wanted |= {(by_batch, "broker"): 1, (by_queue, "broker"): 1}

        async def all_are_reported(wanted: dict[tuple[str, str], int] = wanted) -> bool:
            assert await reported() == wanted
            return True

        await eventually(all_are_reported)
        name = NAMES[what == "broker"]
        state = znode_paths.partition_state(*name)
        await world.zk.set(state, (await world.zk.get(state))[0])
        assert await world.alter({name: None}) == {name: (0, None)}
        assert await all_are_reported()
    assert sum("the cluster is read again" in record.message for record in caplog.records) >= 2
