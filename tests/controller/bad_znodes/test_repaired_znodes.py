"""Znodes that could not be read are read again once they are repaired, in the same term."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest

from kafka_reassign_rpc.controller.commands.leadership_commands import ElectLeadersCommand
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest, ElectLeadersRequest
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bad_znodes.test_garbage import (
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_SERVER_ERROR,
    brokers,
    no_defect,
    rests,
    serving,
)
from tests.controller.bare_controller import BareController, elected_controller, put_topic, register, state_json
from tests.controller.bare_watches import watches_of
from tests.controller.commit.test_vanished_topics import reload
from tests.faults.cluster import Address, alter, alter_request, ask, metadata
from tests.waiting import eventually

HALF = znode_paths.partition_state("half", 1)
STATE = znode_paths.partition_state("t", 0)
NAME = ("t", 0)


async def refusal(address: Address, name: tuple[str, int], target: list[int] | None) -> tuple[int, str]:
    answer = await ask(address, alter_request({name: target}), 0)
    (topic,) = answer.responses
    (found,) = topic.partitions
    return found.error_code, found.error_message or ""


async def test_sv_3_a_state_that_could_not_be_read_is_controlled_again_once_it_is_repaired(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Meanwhile each answer names path and reason. The repaired state is older than what brokers know."""
    await put_topic(zk, "half", {0: (1, 2), 1: (1, 2)}, topic_id=UUID(int=6))
    await put_topic(zk, "bad", {0: (1, 2)}, topic_id=UUID(int=7))
    good, bad = (await zk.get(HALF))[0], (await zk.get(znode_paths.topic("bad")))[0]
    await zk.set(HALF, b"garbage")
    await zk.set(znode_paths.topic("bad"), b"garbage")
    await zk.ensure_path(znode_paths.BROKER_IDS)
    await zk.create(znode_paths.broker(9), b"garbage", ephemeral=True)
    async with serving(zk_connect) as address, brokers(zk_connect, 1, 2, 3):
        for target in ([2, 3], None):
            code, text = await refusal(address, ("half", 1), target)
            assert code == UNKNOWN_SERVER_ERROR
            assert text.startswith(f"{HALF}: ")
            assert "Repair this znode" in text
        part = ElectLeadersRequest.TopicPartitions(version=1, topic="half", partitions=[1])
        elect = ElectLeadersRequest(version=1, election_type=0, topic_partitions=[part], timeout_ms=5_000)
        ((elected,),) = [one.partition_result for one in (await ask(address, elect, 1)).replica_election_results]
        assert elected.error_code == UNKNOWN_SERVER_ERROR
        assert elected.error_message.startswith(f"{HALF}: ")

        await zk.set(HALF, b"other garbage")
        await zk.set(HALF, good)
        assert await refusal(address, ("half", 1), [2, 3]) == (0, "")
        await eventually(lambda: rests(zk, ("half", 1), [2, 3]))
        assert (await state_json(zk, ("half", 1)))["leader_epoch"] > 3

        await zk.set(znode_paths.topic("bad"), bad)
        await eventually(lambda: accepted(address, ("bad", 0), [2, 3]))
        registration = (await zk.get(znode_paths.broker(1)))[0]
        await zk.set(znode_paths.broker(9), registration)
        await eventually(lambda: has_broker(address, 9))
        no_defect(caplog)


async def test_sv_4_a_leader_that_lost_its_replica_while_the_state_was_unreadable_stops_once_that_is_repaired(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Until then it is not known who leads, so that no broker is made to stop."""
    path = znode_paths.topic("t")
    await put_topic(zk, "t", {0: (1, 3)}, topic_id=UUID(int=6))
    async with serving(zk_connect), brokers(zk_connect, 1, 2, 3) as fleet:
        replicas = fleet.brokers[1]._table.online

        async def leads() -> bool:
            state = await state_json(zk, ("t", 0))
            return state["leader"] == 1 and sorted(state["isr"]) == [1, 3] and TopicPartition("t", 0) in replicas

        await eventually(leads)
        good = (await zk.get(STATE))[0]
        await zk.set(STATE, b"garbage")
        edited = topic_znodes.decode_topic((await zk.get(path))[0], path)
        data = topic_znodes.encode_topic(edited.id, {0: ((2, 3), (), ())}, edited.extra, edited.missing)
        await zk.set(path, data)

        await eventually(lambda: f"{STATE}: JSON is malformed" in caplog.text)
        assert replicas[TopicPartition("t", 0)].leader == 1
        await zk.set(STATE, good)
        await eventually(lambda: replicas[TopicPartition("t", 0)].leader == 3, within=15)


async def accepted(address: Address, name: tuple[str, int], target: list[int]) -> bool:
    return await alter(address, {name: target}) == {name: 0}


async def has_broker(address: Address, broker: int) -> bool:
    return broker in {one.node_id for one in (await metadata(address)).brokers}


async def test_sv_3_the_name_of_an_unreadable_topic_is_free_once_its_znode_is_gone(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await zk.ensure_path(znode_paths.TOPICS)
    await zk.create(znode_paths.topic("taken"), b"garbage")
    topic = CreateTopicsRequest.CreatableTopic(
        name="taken", num_partitions=1, replication_factor=2, assignments=[], configs=[]
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=5_000, validate_only=False)
    async with serving(zk_connect) as address, brokers(zk_connect, 1, 2):

        async def created() -> bool:
            return bool((await ask(address, request, 4)).topics[0].error_code == 0)

        assert (await ask(address, request, 4)).topics[0].error_code == TOPIC_ALREADY_EXISTS
        await zk.delete(znode_paths.topic("taken"))
        await eventually(created)


async def test_sv_10_configs_that_could_not_be_read_hold_once_they_are_repaired_without_an_announcement(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 2)})
    await zk.ensure_path(znode_paths.CONFIG_CHANGES)
    await zk.ensure_path(znode_paths.config_type("brokers"))
    paths = [znode_paths.config_topic("t"), znode_paths.config_broker("<default>"), znode_paths.config_broker("1")]
    for path in paths:
        await zk.create(path, b"garbage")
    good = znode_contents.encode_config({"unclean.leader.election.enable": "true"})
    async with elected_controller(zk_connect) as controller:
        cluster, fired = controller.cluster, watched(controller)
        await fired()
        assert len(cluster.unreadable_configs) == len(paths)
        assert not cluster.topic_configs
        assert not cluster.broker_configs
        for path in paths[:2]:
            await zk.set(path, good)
        await zk.delete(paths[2])

        async def held() -> bool:
            await fired()
            return not cluster.unreadable_configs

        await eventually(held)
        assert cluster.topic_configs == {"t": {"unclean.leader.election.enable": "true"}}
        assert cluster.default_configs == {"unclean.leader.election.enable": "true"}


def watched(controller: BareController) -> Callable[[], Awaitable[None]]:
    """What follows when watches of unreadable znodes have fired."""
    watches = watches_of(controller)
    controller.zk.on_watch(watches.watch_fired)

    async def read() -> None:
        await watches.unreadable()
        await watches._loop_has_caught_up()

    return read


@pytest.mark.parametrize(
    "isr", [[], [9], [8, 9]], ids=["no ISR", "a broker that has no replica", "brokers without a replica"]
)
@pytest.mark.parametrize("leader_epoch", [3, 20])
async def test_hm_2_an_isr_without_any_replica_of_the_partition_is_not_believed_over_what_the_controller_knew(
    zk: ZooKeeper, zk_connect: str, isr: list[int], leader_epoch: int
) -> None:
    """3 is not in sync: it would lose records as the leader."""
    await register(zk, 1, 2, 3, 4)
    await put_topic(zk, "t", {0: (3, 1, 2)})
    await put_topic(zk, "u", {0: (1, 2)}, topic_id=UUID(int=9))
    async with elected_controller(zk_connect) as controller:
        await controller.alter({NAME: (1, 2, 3)})
        await controller.loop.submit(ElectLeadersCommand(None, unclean=False))
        assert not isinstance(await controller.isr(NAME, (1, 2)), Exception)
        before = controller.partition(*NAME)
        assert (before.leader, before.isr) == (1, (1, 2))

        edited = topic_znodes.encode_state(isr[0] if isr else -1, leader_epoch, isr, 1)
        await zk.set(znode_paths.partition_state(*NAME), edited)
        await controller.alter({NAME: (1, 2, 4)})
        now = controller.partition(*NAME)
        assert (now.leader, now.isr) == (1, (1, 2))
        assert now.leader_epoch > max(before.leader_epoch, leader_epoch)
        assert now.partition_epoch > before.partition_epoch
        await controller.check()


@pytest.mark.parametrize("by_reload", [False, True], ids=["by watches", "by reloads"])
async def test_hm_2_a_state_that_becomes_unreadable_in_a_term_and_is_repaired_from_a_backup_goes_on_as_it_was(
    zk: ZooKeeper, zk_connect: str, by_reload: bool
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2, 3)})
    await put_topic(zk, "u", {0: (1, 2)}, topic_id=UUID(int=9))
    path = znode_paths.partition_state(*NAME)
    backup = (await zk.get(path))[0]
    async with elected_controller(zk_connect) as controller:
        fired = watched(controller)
        assert not isinstance(await controller.isr(NAME, (1, 2)), Exception)
        before = controller.partition(*NAME)
        await zk.set(path, b"garbage")
        await reload(zk, controller)
        assert controller.cluster.why_unreadable(*NAME) is not None
        await controller.alter({("u", 0): (1, 2)})
        await fired()
        await zk.set(path, backup)

        async def repaired() -> bool:
            await fired()
            return controller.cluster.why_unreadable(*NAME) is None

        if by_reload:
            await reload(zk, controller)
        else:
            await eventually(repaired)
        now = controller.partition(*NAME)
        assert (now.leader, now.isr) == (1, (1, 2)), "3 was in sync when the backup was made"
        assert now.leader_epoch > before.leader_epoch
        assert now.partition_epoch > before.partition_epoch
        await controller.check()
