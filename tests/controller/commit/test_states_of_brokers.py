"""Brokers (inter.broker.protocol.version < 2.7) write states while the controller decides: what they wrote counts."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.api.ports import AlterReassignments
from kafka_reassign_rpc.controller.commands.alter_reassignments_command import AlterReassignmentsCommand
from kafka_reassign_rpc.controller.commands.cluster_commands import StatesRead, StopsConfirmed
from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.controller.commands.topic_commands import TopicsRead
from kafka_reassign_rpc.controller.loading import load_topics
from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.reassignment_algebra import LoadedState
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.partition import MoveTerms, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.topic_facts import TopicsFound
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import SERVER, BareController, elected_controller, put_topic, register, state_json
from tests.controller.commit.test_foreign_writes import write_foreign_field
from tests.core.build import TOPIC, cluster, moving, not_moving

NAME = TopicPartition(TOPIC, 0)
Read = Callable[[ZooKeeper], Awaitable[Command[None]]]


async def write_isr(zk: ZooKeeper, isr: tuple[int, ...]) -> None:
    """The leader writes its ISR, under the version that it knows."""
    path = znode_paths.partition_state(*NAME)
    data, stat = await zk.get(path)
    state = topic_znodes.decode_state(data, path)
    written = topic_znodes.encode_state(state.leader, state.leader_epoch, isr, state.controller_epoch)
    await zk.set(path, written, stat.version)


async def states_read(zk: ZooKeeper) -> StatesRead:
    found, _ = await load_topics.read_states(zk, [NAME])
    return StatesRead({name: state for name, state in found.items() if state is not None}, lambda _: None)


async def topics_read(zk: ZooKeeper) -> TopicsRead:
    await write_foreign_field(zk, TOPIC, 1)
    found, unreadable, _ = await load_topics.read_topics(zk, [TOPIC])
    return TopicsRead(TopicsFound(found, unreadable, {}), SERVER, appeared=lambda _: None)


async def is_as_written(controller: BareController, zk: ZooKeeper, isr: tuple[int, ...]) -> None:
    assert controller.partition(*NAME).isr == isr
    assert (await state_json(zk, NAME))["isr"] == list(isr)
    await controller.check()


async def move_off_broker_2(controller: BareController) -> Partition:
    """The partition once that move is complete. Broker 2 has not confirmed yet that it has deleted its replica."""
    await controller.alter({NAME: (1, 3)})
    await controller.isr(NAME, (1, 2, 3))
    moved = controller.partition(*NAME)
    assert moved.pending_deletion == (2,)
    return moved


@pytest.mark.parametrize("read", [states_read, topics_read])
async def test_sv_10_an_isr_that_a_leader_wrote_is_not_overwritten_by_a_move_of_the_same_round(
    zk: ZooKeeper, zk_connect: str, read: Read
) -> None:
    await register(zk, 1, 2, 3, 4)
    await put_topic(zk, TOPIC, {0: (1, 2, 3)})
    async with elected_controller(zk_connect) as controller:
        await write_isr(zk, (1,))
        command = await read(zk)
        move = AlterReassignmentsCommand(AlterReassignments([(TOPIC, [(0, MoveTerms((1, 2, 4)))])]))
        await asyncio.gather(controller.loop.submit(move), controller.loop.submit(command))
        assert controller.partition(*NAME).adding == (4,)
        await is_as_written(controller, zk, (1,))


@pytest.mark.parametrize("read", [states_read, topics_read])
async def test_sv_10_an_isr_that_a_leader_wrote_is_known_after_a_round_that_writes_no_state(
    zk: ZooKeeper, zk_connect: str, read: Read
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, TOPIC, {0: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        moved = await move_off_broker_2(controller)
        await write_isr(zk, (1,))
        command = await read(zk)
        created = controller.cluster.topics[TOPIC].created
        confirmed = StopsConfirmed(2, {NAME: StopReplicaState(moved.leader_epoch, delete=True, created=created)})
        await asyncio.gather(controller.loop.submit(confirmed), controller.loop.submit(command))
        await is_as_written(controller, zk, (1,))


@pytest.mark.parametrize("isr", [(1, 3), (1,)])
async def test_455_4_a_completed_move_whose_replica_is_pending_deletion_does_not_begin_again_when_its_topic_is_read(
    zk: ZooKeeper, zk_connect: str, isr: tuple[int, ...]
) -> None:
    """The topic znode shows the move until the broker, whose log dir may have failed, confirms its StopReplica."""
    await register(zk, 1, 2, 3)
    await put_topic(zk, TOPIC, {0: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        moved = await move_off_broker_2(controller)
        rounds = len(controller.applied)
        if isr != moved.isr:
            await write_isr(zk, isr)
        await controller.loop.submit(await topics_read(zk))

        known = controller.partition(*NAME)
        assert (known.replicas, known.pending_deletion, known.is_moving) == ((1, 3), (2,), False)
        assert (known.isr, known.leader_epoch) == (isr, moved.leader_epoch)
        assert [change for applied in controller.applied[rounds:] for change in applied.partitions] == []
        assert controller.cluster.moving == {}
        await controller.stopped(NAME)
        await controller.check()


async def test_sv_10_a_move_that_a_leader_has_brought_in_sync_ends_although_its_round_is_decided_twice() -> None:
    here = cluster(moving((1, 2), (1, 3)))
    told: list[TopicPartition] = []
    command = StatesRead({NAME: LoadedState(1, 6, (1, 2, 3), 1, 13)}, told.extend)
    await Pace().through(command.learn(here))
    for refused in ((), ("other",)):  # the first decision does not fit into the znode of another topic
        view = RoundView(here, refused)
        for _ in command.decide(Round(view, {})):
            pass
        assert view.partitions[NAME].value.replicas == (1, 3)
    command.durable()
    assert told == [NAME]


async def test_sv_10_a_state_of_another_topic_of_the_same_name_is_not_taken_for_that_of_the_known_one() -> None:
    known = replace(not_moving(1, 2), created=40)
    here = cluster(known)
    newer = known.partition_epoch + 1
    for created, isr in ((41, (1, 2)), (40, (1,))):
        command = StatesRead({NAME: LoadedState(1, 5, (1,), 1, newer, created=created)}, lambda _: None)
        await Pace().through(command.learn(here))
        found = here.get(*NAME)
        assert found is not None
        assert found.isr == isr
