"""The controller dies between any two transactions; the next controller completes its work.

What was answered has its effect; what was not may have had it or not, but nothing in between stays.
"""

from typing import NamedTuple

import pytest

from kafka_reassign_rpc.controller.commands import leadership_commands
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.zookeeper import transactions, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import (
    BareController,
    Name,
    elected_controller,
    put_topic,
    records,
    register,
    state_json,
)
from tests.controller.crash_points import (
    FIRST,
    NAMES,
    ORIGIN,
    SECOND,
    Ends,
    Step,
    cancel,
    check_end,
    complete,
    every_death,
    put_cluster,
)


async def start(controller: BareController) -> object:
    return await controller.alter(FIRST)


async def retarget(controller: BareController) -> object:
    return await controller.alter(SECOND)


async def half_way(controller: BareController) -> object:
    """Some adding replicas are in sync and lead: the hardest state to cancel."""
    await controller.isr(("a", 0), (2, 1, 3))
    await controller.isr(("b", 0), (1,))
    return None


async def original_is_sick(controller: BareController) -> object:
    """A change of target keeps replicas that have joined the ISR (KIP-236)."""
    await controller.isr(("a", 0), (2, 3))
    return None


async def newcomer_leads(controller: BareController) -> object:
    """Preferred elections follow the target, also before the move reaches it."""
    await half_way(controller)
    await controller.loop.submit(leadership_commands.ElectLeadersCommand([TopicPartition("a", 0)], unclean=False))
    assert controller.partition("a", 0).leader == 3
    return None


async def delete_logs(controller: BareController) -> object:
    for name in NAMES:
        await controller.stopped(name)
    return None


class Story(NamedTuple):
    """The steps before, the step in which the controller dies, and the states in which partitions may end."""

    before: tuple[Step, ...]
    dies_in: Step
    ends: Ends


STORIES = {
    "start": Story((), start, (FIRST, ORIGIN)),
    "retarget": Story((start,), retarget, (SECOND, FIRST)),
    "retarget-half-way": Story((start, half_way), retarget, (SECOND, FIRST)),
    "retarget-with-a-sick-original": Story((start, original_is_sick), retarget, (SECOND, FIRST)),
    "retarget-with-another-leader": Story((start, newcomer_leads), retarget, (SECOND, FIRST)),
    "and-back": Story((start, original_is_sick, retarget), start, (FIRST, SECOND)),
    "and-cancelled": Story((start, original_is_sick, retarget), cancel, (ORIGIN, SECOND)),
    "and-completed": Story((start, original_is_sick, retarget), complete, (SECOND,)),
    "cancel": Story((start,), cancel, (ORIGIN, FIRST)),
    "cancel-half-way": Story((start, half_way), cancel, (ORIGIN, FIRST)),
    "cancel-of-a-retarget": Story((start, retarget), cancel, (ORIGIN, SECOND)),
    "completion": Story((start,), complete, (FIRST,)),
    "completion-of-a-retarget": Story((start, half_way, retarget), complete, (SECOND,)),
    "deletion-of-logs": Story((start, complete), delete_logs, (FIRST,)),
    "restart-after-cancel": Story((start, cancel), start, (FIRST, ORIGIN)),
}


async def epochs(zk: ZooKeeper) -> dict[Name, tuple[int, int, int]]:
    """Leader, partition and controller epoch of each partition, as ZooKeeper has them."""
    found = {}
    for name in NAMES:
        state = await state_json(zk, name)
        _, stat = await zk.get(znode_paths.partition_state(*name))
        found[name] = (state["leader_epoch"], stat.version, state["controller_epoch"])
    return found


async def live_through(zk: ZooKeeper, connect: str, story: Story, lives: int) -> bool:
    """The whole story with a death after `lives` transactions. Returns whether the story had ended before."""
    answered = False
    async with elected_controller(connect) as controller:
        for step in story.before:
            await step(controller)
        standing = await epochs(zk)
        controller.zk.lives = lives
        try:
            await story.dies_in(controller)
            answered = True
        except NotController:
            pass
    async with elected_controller(connect) as successor:
        assert successor.epoch == controller.epoch + 1
        await successor.check()
        for name, values in (await epochs(zk)).items():
            assert all(new >= old for new, old in zip(values, standing[name], strict=True)), "epochs never go down"
        await check_end(zk, successor, story.ends, answered=answered, died_after=lives)
    return answered


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
async def test_sv_3_and_455_9_the_next_controller_completes_what_one_left_between_any_two_writes(
    zk_connect: str, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live(zk: ZooKeeper, connect: str, lives: int) -> bool:
        return await live_through(zk, connect, story, lives)

    await every_death(zk_connect, monkeypatch, live)


@pytest.mark.parametrize("lives", range(6))
async def test_sv_3_a_third_controller_completes_the_failover_during_which_the_second_died(
    zk: ZooKeeper, zk_connect: str, lives: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    await put_cluster(zk)
    async with elected_controller(zk_connect) as controller:
        await start(controller)
        await half_way(controller)
        controller.zk.lives = 4
        with pytest.raises(NotController):
            await retarget(controller)
    for path in await records(zk):
        await zk.delete(znode_paths.reassignment(*path))  # as a stock controller in between would leave it

    with pytest.raises(NotController):
        async with elected_controller(zk_connect, lives=lives):
            pytest.fail("taken over in fewer transactions")

    async with elected_controller(zk_connect) as successor:
        await successor.check()
        await successor.finish_moves()
        for name in NAMES:
            assert successor.partition(*name).replicas in (FIRST[name], SECOND[name])
        assert await records(zk) == set()


async def test_sv_3_a_controller_that_was_replaced_unnoticed_cannot_write(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)})

    async with elected_controller(zk_connect) as old, elected_controller(zk_connect) as new:
        assert new.epoch == old.epoch + 1
        before = await zk.get(znode_paths.topic("t"))

        with pytest.raises(NotController):
            await old.alter({("t", 0): (2, 3)})

        assert await zk.get(znode_paths.topic("t")) == before
        assert await records(zk) == set()
        assert await new.alter({("t", 0): (3, 1)}) == {("t", 0): None}
        with pytest.raises(NotController):
            await old.alter({("t", 0): None})
        assert await records(zk) == {("t", 0)}


async def test_sv_3_a_controller_without_its_session_cannot_write_even_under_the_same_epoch(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)})

    async with elected_controller(zk_connect) as controller:
        await controller.zk.close()
        with pytest.raises(NotController):
            await controller.alter({("t", 0): (2, 3)})

    assert await records(zk) == set()
