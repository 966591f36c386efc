"""A controller that dies between any two transactions: the cluster, the deaths, and the checks of the end.

Every write is a transaction of its own, so that the controller can die between any two writes.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import pytest

from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.zookeeper import transactions
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import (
    BareController,
    Name,
    Replicas,
    elected_controller,
    put_topic,
    records,
    register,
    topic_json,
)

NAMES: tuple[Name, ...] = (("a", 0), ("a", 1), ("b", 0))
ORIGIN: Mapping[Name, Replicas] = {("a", 0): (2, 1), ("a", 1): (1, 2, 3), ("b", 0): (1,)}
FIRST: Mapping[Name, Replicas] = {("a", 0): (3, 4), ("a", 1): (3, 5), ("b", 0): (2, 1)}
SECOND: Mapping[Name, Replicas] = {("a", 0): (4, 5), ("a", 1): (6, 5, 1), ("b", 0): (6,)}
"""The original replicas, and targets for them."""

Step = Callable[[BareController], Awaitable[object]]
Ends = Sequence[Mapping[Name, Replicas]]
"""The states in which partitions may end. If the dying controller answered, only the first one is right."""


async def put_cluster(zk: ZooKeeper) -> None:
    """Register brokers 1 to 6, and create the partitions with their original replicas."""
    await register(zk, 1, 2, 3, 4, 5, 6)
    for topic in ("a", "b"):
        partitions = {index: ORIGIN[topic, index] for name, index in NAMES if name == topic}
        await put_topic(zk, topic, partitions, topic_id=None)


async def complete(controller: BareController) -> object:
    for name in NAMES:
        if controller.partition(*name).is_moving:
            await controller.caught_up(name)
    return None


async def cancel(controller: BareController) -> object:
    """Cancel all moves as a client does."""
    return await controller.alter({name: None for name in NAMES if controller.partition(*name).is_moving})


async def is_over_before_death(connect: str, before: Sequence[Step], dies_in: Sequence[Step], lives: int) -> bool:
    """A controller does `before`, and dies after `lives` more transactions. Returns whether `dies_in` had ended."""
    async with elected_controller(connect) as controller:
        for step in before:
            await step(controller)
        controller.zk.lives = lives
        try:
            for step in dies_in:
                await step(controller)
        except NotController:
            return False
    return True


async def every_death(
    connect: str,
    monkeypatch: pytest.MonkeyPatch,
    live_through: Callable[[ZooKeeper, str, int], Awaitable[bool]],
) -> None:
    """Call `live_through(zk, connect, lives)` for `lives` 0, 1, 2, …, each time in a new cluster.

    Ends when it returns true: everything had ended before the death.
    """
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    lives = 0
    while True:
        chroot = f"{connect}/{lives}"
        async with ZooKeeper(chroot) as zk:
            await put_cluster(zk)
            if await live_through(zk, chroot, lives):
                break
        lives += 1
    assert lives >= 1, "the controller has made a transaction in which it could die"


async def check_end(zk: ZooKeeper, successor: BareController, ends: Ends, *, answered: bool, died_after: int) -> None:
    """Brokers carry out their requests. Then all invariants hold, and no move is incomplete."""
    await successor.check()
    await successor.finish_moves()
    await successor.check()
    for name in NAMES:
        value = successor.partition(*name)
        wanted = [end[name] for end in (ends[:1] if answered else ends)]
        assert value.replicas in wanted, f"{name} after {died_after} transactions"
        assert set(value.isr) <= set(value.replicas)
        assert value.leader in value.isr
        assert (value.adding, value.removing, value.pending_deletion) == ((), (), ())
    assert await records(zk) == set()
    for topic in ("a", "b"):
        written = await topic_json(zk, topic)
        assert (written["adding_replicas"], written["removing_replicas"]) == ({}, {})
