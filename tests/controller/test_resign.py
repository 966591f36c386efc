"""A controller gives the controllership back by deleting `/controller`: its own znode, and no other."""

import asyncio
from collections.abc import Iterator, Sequence

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.controller.controller_election import Leadership
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Op, Result
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, put_topic, register


async def elected(zk: ZooKeeper, server: int) -> Leadership:
    current = await controller_election.owner(zk)
    found = await controller_election.campaign(zk, server, (), lambda: 0, seize=current)
    assert found is not None
    return found


async def test_sv_3_a_controller_that_resigns_deletes_the_znode_and_leaves_the_epoch(zk: ZooKeeper) -> None:
    leadership = await elected(zk, 1000)

    assert await controller_election.resign(zk)

    assert await controller_election.owner(zk) is None
    assert (await zk.get(znode_paths.CONTROLLER_EPOCH))[1].version == leadership.epoch_version
    assert not await controller_election.resign(zk)


async def test_sv_3_a_server_that_is_no_longer_the_controller_deletes_nothing(zk: ZooKeeper, zk_connect: str) -> None:
    assert not await controller_election.resign(zk), "there is no epoch yet"
    await elected(zk, 1000)
    async with ZooKeeper(zk_connect) as other:
        await elected(other, 1001)

        assert not await controller_election.resign(zk)

        current = await controller_election.owner(zk)
        assert current is not None
        assert current.id == 1001


class Overtaken(ZooKeeper):
    """Before its next transaction arrives, `rival` is elected, with a znode of the same version."""

    rival: ZooKeeper | None = None

    async def multi(self, ops: Sequence[Op], session: int | None = None) -> list[Result]:
        rival, self.rival = self.rival, None
        if rival is not None:
            await elected(rival, 1001)
        return await super().multi(ops, session)


async def test_sv_3_a_controller_that_resigns_while_another_is_elected_leaves_the_others_znode(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with Overtaken(zk_connect) as overtaken:
        await elected(overtaken, 1000)
        before = await controller_election.owner(zk)
        overtaken.rival = zk

        assert not await controller_election.resign(overtaken)

        current = await controller_election.owner(zk)
        assert before is not None
        assert current is not None
        assert (current.id, current.version) == (1001, before.version)


async def test_sv_3_a_server_without_a_session_has_nothing_to_give_back(zk_connect: str) -> None:
    async with ZooKeeper(zk_connect) as zk:
        await elected(zk, 1000)
    assert not await controller_election.resign(zk)


async def test_sv_3_a_controller_that_resigns_first_waits_for_the_answers_to_what_was_submitted_but_not_for_long(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        answer = asyncio.ensure_future(controller.isr(("t", 0), (1,)))
        await asyncio.sleep(0)  # it is submitted

        await controller.loop.wait_for_answers(20)

        assert controller.partition("t").isr == (1,)
        await answer
        never = Undecided()
        controller.loop.submit(never)
        async with asyncio.timeout(60):
            await controller.loop.wait_for_answers(0.01)
        assert not never.future.done()


class Undecided(Command[None]):
    """A command whose decision takes forever."""

    def decide(self, work: Round) -> Iterator[None]:
        while True:
            yield
