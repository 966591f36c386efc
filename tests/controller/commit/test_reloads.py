"""After a foreign write the controller reads the cluster again. What happened to brokers before that is not lost."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.api.ports import AlterReassignments
from kafka_reassign_rpc.controller import controller_loop
from kafka_reassign_rpc.controller.commands.alter_reassignments_command import AlterReassignmentsCommand
from kafka_reassign_rpc.controller.commands.cluster_commands import Barrier
from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.controller.watches.zookeeper_watches import ZooKeeperWatches
from kafka_reassign_rpc.core.kafka_errors import RequestTimedOut, UnknownServerError
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveTerms
from kafka_reassign_rpc.core.writers.facts import ServersRegistered
from kafka_reassign_rpc.core.writers.reload import Reloaded
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import BareController, elected_controller, put_topic, register, state_json
from tests.controller.cluster import cluster
from tests.waiting import eventually
from tests.zookeeper.trees import delete_tree


class Brokers:
    """Registered brokers, each with a session of its own."""

    def __init__(self, connect: str) -> None:
        self._connect = connect
        self._stacks: dict[int, AsyncExitStack] = {}

    async def start(self, broker: int) -> None:
        stack = self._stacks[broker] = AsyncExitStack()
        await register(await stack.enter_async_context(ZooKeeper(self._connect)), broker)

    async def stop(self, broker: int) -> None:
        await self._stacks.pop(broker).aclose()

    async def bounce(self, broker: int) -> None:
        await self.stop(broker)
        await self.start(broker)

    async def end(self) -> None:
        for broker in list(self._stacks):
            await self.stop(broker)


@asynccontextmanager
async def three_brokers(connect: str) -> AsyncIterator[Brokers]:
    brokers = Brokers(connect)
    try:
        for broker in (1, 2, 3):
            await brokers.start(broker)
        yield brokers
    finally:
        await brokers.end()


async def write(zk: ZooKeeper, topic: str) -> None:
    """Others write a topic's znode: the controller's next write of it is refused."""
    data, _ = await zk.get(znode_paths.topic(topic))
    await zk.set(znode_paths.topic(topic), data)


def before_each_reload(controller: BareController, *steps: Callable[[], Awaitable[None]]) -> None:
    """Before the first reload the first step happens, and so on."""
    really = controller.store.reload
    left = list(steps)

    async def reload(known: Cluster) -> Reloaded:
        if left:
            await left.pop(0)()
        return await really(known)

    controller.store.reload = reload  # type: ignore[assignment, method-assign]


async def test_sv_3_a_broker_that_bounced_before_a_reload_has_failed_and_started_again(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with three_brokers(zk_connect) as brokers:
        await put_topic(zk, "t", {0: (1, 2), 1: (2, 1), 2: (1,), 3: (2, 3)})
        async with elected_controller(zk_connect) as controller:
            await brokers.bounce(1)
            await write(zk, "t")
            assert await controller.alter({("t", 3): (3, 2)}) == {("t", 3): None}

            found = {index: await state_json(zk, ("t", index)) for index in range(4)}
            assert [found[index]["isr"] for index in range(4)] == [[2], [2], [1], [2, 3]]
            assert [found[index]["leader"] for index in range(4)] == [2, 2, 1, 2]
            assert all(found[index]["leader_epoch"] > 3 for index in range(3))
            await controller.check()


async def test_sv_3_after_a_reload_brokers_learn_nothing_but_vanished_topics_before_the_decisions_are_durable(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """A bounced broker would be made to lead on what it may have lost, with its old leader epoch."""
    async with three_brokers(zk_connect) as brokers:
        await put_topic(zk, "t", {0: (1, 2), 1: (2, 3)})
        await put_topic(zk, "gone", {0: (2,)})
        async with elected_controller(zk_connect) as controller:
            really = controller.store.commit
            told: list[tuple[list[str], int]] = []

            async def commit(known: Cluster, view: RoundView) -> ReplayedChanges:
                told.append(([topic.name for topic in controller.vanished], len(controller.applied)))
                return await really(known, view)

            controller.store.commit = commit  # type: ignore[assignment, method-assign]
            rounds = len(controller.applied)
            await brokers.bounce(1)
            await write(zk, "t")
            await delete_tree(zk, znode_paths.topic("gone"))
            await controller.alter({("t", 1): (3, 2)})

            assert told == [([], rounds), (["gone"], rounds)]
            assert controller.partition("t").leader == 2


async def test_455_4_a_completed_move_whose_replica_is_pending_deletion_does_not_begin_again_at_a_reload(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2), 1: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        await controller.alter({("t", 0): (1, 3)})
        await controller.caught_up(("t", 0))
        moved = controller.partition("t", 0)
        assert moved.pending_deletion == (2,)
        for target in ((2, 3), (1, 2)):
            await write(zk, "t")
            assert await controller.alter({("t", 1): target}) == {("t", 1): None}
            assert controller.partition("t", 0) == moved
        await controller.finish_moves()
        assert controller.partition("t", 0) == replace(moved, pending_deletion=())
        await controller.check()


async def test_sv_3_a_broker_that_was_gone_at_one_reload_and_back_at_the_next_has_failed(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with three_brokers(zk_connect) as brokers:
        await put_topic(zk, "t", {0: (1, 2), 1: (2, 3)})
        async with elected_controller(zk_connect) as controller:

            async def is_gone() -> None:
                await brokers.stop(1)

            async def is_back() -> None:
                await brokers.start(1)

            before_each_reload(controller, is_gone, is_back)
            really = controller.store.commit
            foreign = ["t", "t"]

            async def commit(known: Cluster, view: RoundView) -> ReplayedChanges:
                if foreign:
                    await write(zk, foreign.pop())
                return await really(known, view)

            controller.store.commit = commit  # type: ignore[assignment, method-assign]
            assert await controller.alter({("t", 1): (3, 2)}) == {("t", 1): None}

            assert (await state_json(zk, ("t", 0)))["isr"] == [2]
            assert 1 in controller.cluster.brokers
            await controller.check()


async def test_sv_3_a_reload_is_decided_about_although_the_command_that_met_it_is_given_up(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller_loop, "ATTEMPTS", 2)
    async with three_brokers(zk_connect) as brokers:
        await put_topic(zk, "t", {0: (1, 2), 1: (2, 3)})
        async with elected_controller(zk_connect) as controller:
            await brokers.stop(1)
            really = controller.store.commit

            async def commit(known: Cluster, view: RoundView) -> ReplayedChanges:
                if ("t", 1) in view.partitions:
                    await write(zk, "t")  # whenever this move is to be written
                return await really(known, view)

            controller.store.commit = commit  # type: ignore[assignment, method-assign]
            with pytest.raises(RequestTimedOut, match="is being changed by others: try again"):
                await controller.alter({("t", 1): (3, 2)})

            await eventually(lambda: controller.partition("t").leader == 2)
            state = await state_json(zk, ("t", 0))
            assert (state["leader"], state["isr"]) == (2, [2])
            await controller.check()


async def test_sv_3_a_command_without_a_client_is_submitted_again_while_others_write(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller_loop, "ATTEMPTS", 2)
    async with three_brokers(zk_connect):
        await put_topic(zk, "t", {0: (1, 2), 1: (2, 3)})
        async with elected_controller(zk_connect) as controller:
            really = controller.store.commit
            foreign = ["t"] * 3

            async def commit(known: Cluster, view: RoundView) -> ReplayedChanges:
                if ("t", 1) in view.partitions and foreign:
                    await write(zk, foreign.pop())
                return await really(known, view)

            controller.store.commit = commit  # type: ignore[assignment, method-assign]
            submitted = []

            def make() -> AlterReassignmentsCommand:
                submitted.append(True)
                return AlterReassignmentsCommand(AlterReassignments([("t", [(1, MoveTerms((3, 2)))])]))

            assert await controller.loop.insist(make) == [("t", 1, None)]
            assert (len(submitted), foreign) == (2, [])
            assert (await state_json(zk, ("t", 1)))["isr"] == [2, 3]


class Defective(Command[None]):
    decided = 0

    def decide(self, work: Round) -> Iterator[None]:
        Defective.decided += 1
        yield
        raise ValueError("a defect")


async def test_sv_3_a_command_that_a_defect_keeps_from_being_decided_is_not_submitted_again(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1)
    await put_topic(zk, "t", {0: (1,)})
    async with elected_controller(zk_connect) as controller:
        with pytest.raises(UnknownServerError):
            await asyncio.wait_for(controller.loop.insist(Defective), 60)
        assert Defective.decided == 1


async def test_sv_3_a_broker_whose_bounce_is_seen_by_a_reload_alone_learns_its_replicas_and_joins_the_isr_again(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cluster(zk_connect, brokers=(1, 2, 3)) as world:
        await world.create_topic("t", {0: [1, 2], 1: [2, 3]})
        before = await state_json(zk, ("t", 0))

        async def blind(_: ZooKeeperWatches) -> None:
            """The watch of the brokers has fired, and what changed is not read yet."""

        monkeypatch.setattr(ZooKeeperWatches, "brokers", blind)
        await world.kill_broker(1)
        await world.start_broker(1)
        await write(zk, "t")
        await world.alter({("t", 1): (3, 2)})

        async def is_back() -> bool:
            state = await state_json(zk, ("t", 0))
            return bool(state["leader_epoch"] > before["leader_epoch"] and sorted(state["isr"]) == [1, 2])

        await eventually(is_back)
        await eventually(lambda: world.has_all(("t", 0), 1, 2))


class Noticed(Command[None]):
    """Counts how often it learns and decides."""

    def __init__(self) -> None:
        super().__init__()
        self.learnt = self.decided = 0

    def learn(self, cluster: Cluster) -> Iterator[None]:
        self.learnt += 1
        return ServersRegistered(frozenset({77})).apply(cluster)

    def decide(self, work: Round) -> Iterator[None]:
        self.decided += 1
        self.answer(None)
        yield


async def test_sv_3_a_fact_is_learnt_once_also_where_its_round_decides_twice(zk: ZooKeeper, zk_connect: str) -> None:
    """What was read again is newer than it."""
    async with three_brokers(zk_connect):
        await put_topic(zk, "t", {0: (1, 2)})
        async with elected_controller(zk_connect) as controller:
            await write(zk, "t")
            noticed = Noticed()
            done = controller.loop.submit(noticed)
            assert await controller.alter({("t", 0): (2, 1)}) == {("t", 0): None}
            await done
            assert (noticed.learnt, noticed.decided) == (1, 2)
            assert 77 not in controller.cluster.servers
            await controller.check()


async def test_sv_3_a_fact_without_a_command_waits_for_the_end_of_the_round_under_way(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with three_brokers(zk_connect):
        await put_topic(zk, "t", {0: (1, 2)})
        async with elected_controller(zk_connect) as controller:
            loop, seen = controller.loop, list[frozenset[int]]()

            class Interrupted(Command[None]):
                def decide(self, work: Round) -> Iterator[None]:
                    loop.learn(ServersRegistered(frozenset({78})))
                    seen.append(work.view.cluster.servers)
                    self.answer(None)
                    yield

            await loop.submit(Interrupted())
            await loop.submit(Barrier())
            assert seen == [frozenset()]
            assert loop.cluster.servers == {78}
            loop.learn(ServersRegistered(frozenset({79})))
            assert loop.cluster.servers == {79}, "no round is under way"
