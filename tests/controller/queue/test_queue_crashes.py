"""KIP-236's queue and a controller that dies between any two of its writes.

Every write is a transaction of its own. The next controller finds the znodes as they are and brings all to the end that
the one before was bringing it to.
"""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from kafka_reassign_rpc.controller.zookeeper_store import znode_writes
from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.zookeeper import transactions, znode_paths
from kafka_reassign_rpc.zookeeper.jute import size_of
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import (
    BareController,
    Name,
    Replicas,
    batch,
    elected_controller,
    put_topic,
    queue_json,
    records,
    register,
    waiting_moves,
)
from tests.controller.crash_points import FIRST, NAMES, ORIGIN, Step, is_over_before_death
from tests.core.build import write

ALTERED: Mapping[Name, Replicas] = {("a", 0): (5, 6), ("a", 1): (6, 5, 1), ("b", 0): (6,)}


async def submit(controller: BareController) -> None:
    await controller.zk.ensure_path("/admin")
    await controller.zk.create(znode_paths.REASSIGN_QUEUE, batch(FIRST))


async def submit_by_the_older_name(controller: BareController) -> None:
    await controller.zk.ensure_path("/admin")
    await controller.zk.create(znode_paths.REASSIGN_EXTRA, batch(FIRST))


async def disable_reassignments(controller: BareController) -> None:
    await controller.zk.ensure_path(znode_paths.REASSIGN_CANCEL)
    await controller.read_admin_znodes()


async def enable_reassignments(controller: BareController) -> None:
    await controller.zk.delete(znode_paths.REASSIGN_CANCEL)


async def look(controller: BareController) -> None:
    await controller.read_admin_znodes()


async def start_others(controller: BareController) -> None:
    """Moves with other targets, which the queue cancels."""
    await controller.alter(ALTERED)
    await controller.isr(("a", 0), (2, 1, 5))


async def queue_by_request(controller: BareController) -> None:
    await controller.alter(FIRST, queue=True)


async def alter(controller: BareController) -> None:
    await controller.alter(ALTERED)


async def alter_by_queue(controller: BareController) -> None:
    await controller.alter(ALTERED, queue=True)


async def cancel(controller: BareController) -> None:
    answers = await controller.alter(dict.fromkeys(NAMES))
    assert set(answers.values()) == {None}, "what waits can be cancelled"


async def submit_for_a_dead_broker(controller: BareController) -> None:
    await controller.zk.ensure_path("/admin")
    await controller.zk.create(znode_paths.REASSIGN_QUEUE, batch(dict.fromkeys(NAMES, (9,))))


async def withdraw(controller: BareController) -> None:
    """Cancel the moves that wait for the dead broker."""
    waiting = waiting_moves(controller.cluster.queue)
    await controller.alter({name: None for name, move in waiting.items() if move.terms.target == (9,)})


class Story(NamedTuple):
    """The steps before, the step in which the controller dies, and the possible ends; the first one if it answered."""

    before: tuple[Step, ...]
    dies_in: Step
    ends: tuple[Mapping[Name, Replicas], ...]
    after: Step | None = None


STORIES = {
    "taken up": Story((submit,), look, (FIRST,)),
    "taken up by the older name": Story((submit_by_the_older_name,), look, (FIRST,)),
    "taken up over moves to elsewhere": Story((start_others, submit), look, (FIRST,)),
    "cut into parts": Story((disable_reassignments, submit), look, (FIRST,), enable_reassignments),
    "taken up from parts": Story((disable_reassignments, queue_by_request, enable_reassignments), look, (FIRST,)),
    "sent": Story((), queue_by_request, (FIRST, ORIGIN)),
    "sent again": Story((disable_reassignments, submit, look, enable_reassignments), alter_by_queue, (ALTERED, FIRST)),
    "overruled": Story((submit_for_a_dead_broker, look), alter, (ALTERED, ORIGIN), withdraw),
    "given up": Story((submit_for_a_dead_broker, look), withdraw, (ORIGIN,), withdraw),
    "cancelled": Story((disable_reassignments, submit, look), cancel, (ORIGIN, FIRST), enable_reassignments),
}


async def live_through(zk: ZooKeeper, connect: str, story: Story, lives: int) -> bool:
    answered = await is_over_before_death(
        connect, story.before, (story.dies_in, BareController.start_queued_moves), lives
    )
    async with elected_controller(connect) as successor:
        await successor.check()
        if story.after is not None:
            await story.after(successor)
            await successor.read_admin_znodes()
        await successor.start_queued_moves()
        await successor.finish_moves()
        await successor.check()
        for name in NAMES:
            value = successor.partition(*name)
            ends = [story.ends[0][name]] if answered else [end[name] for end in story.ends]
            assert value.replicas in ends, f"{name} after {lives} transactions"
            assert (value.adding, value.removing, value.pending_deletion) == ((), (), ())
    assert await records(zk) == set()
    assert await queue_json(zk) is None
    assert await zk.exists(znode_paths.REASSIGN_EXTRA) is None
    return answered


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
async def test_236_7_the_next_controller_completes_what_one_left_between_any_two_writes_of_the_queue(
    zk: ZooKeeper, zk_connect: str, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    monkeypatch.setattr(znode_writes, "PART_BYTES", 1)
    monkeypatch.setattr(queue_admission, "MAX_PART_BYTES", 100)
    lives = 0
    while True:
        connect = f"{zk_connect}/{lives}"
        async with ZooKeeper(connect) as world:
            await register(world, 1, 2, 3, 4, 5, 6)
            for topic in ("a", "b"):
                await put_topic(
                    world, topic, {index: ORIGIN[topic, index] for name, index in NAMES if name == topic}, topic_id=None
                )
            if await live_through(world, connect, story, lives):
                break
        lives += 1
    assert lives >= 2, "how many transactions it can die between"


async def test_236_14_the_controller_splits_a_queue_of_the_largest_size_once_and_never_rewrites_all_of_it(
    zk: ZooKeeper, zk_connect: str
) -> None:
    names = dict.fromkeys(range(40), (1, 2))
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", names, topic_id=None)
    many = {("t", index): (1, 3) for index in names} | {(f"unknown-{index:030d}", 0): (1,) for index in range(11_000)}
    async with elected_controller(zk_connect) as controller:
        write(controller.cluster, broker_configs={"<default>": {"partition.reassignments.max.per.broker": "3"}})
        await zk.ensure_path("/admin")
        data = batch(many)
        assert 900_000 < len(data) < 1_000_000
        await zk.create(znode_paths.REASSIGN_QUEUE, data)
        await controller.read_admin_znodes()
        await controller.check()
        assert len(controller.cluster.queue) == len(many), "it has been cut, and nothing has left it yet"
        controller.zk.transactions.clear()
        while controller.cluster.queue:
            await controller.start_queued_moves()
            assert len(controller.cluster.moving["t"]) <= 3
            await controller.finish_moves()
        written = [
            op for ops in controller.zk.transactions for op in ops if op.path.startswith(znode_paths.REASSIGN_QUEUE)
        ]
        assert max(map(size_of, written)) < 10_000
        assert sum(map(size_of, written)) < 500_000
        await controller.check()
        assert all(controller.partition("t", index).replicas == (1, 3) for index in names)
    assert await queue_json(zk) is None
