"""Marks in `/admin/delete_topics`: they delete the topic that they were made for, and no topic that comes later."""

import asyncio
from collections.abc import Collection
from random import Random
from uuid import uuid4

import pytest

from kafka_reassign_rpc.api.ports import CreatedTopic, NewTopic
from kafka_reassign_rpc.controller.commands.topic_commands import CreateTopicsCommand, DeleteTopicsCommand
from kafka_reassign_rpc.controller.duties import topic_deletion
from kafka_reassign_rpc.controller.store import ControllerMoved
from kafka_reassign_rpc.controller.watches.zookeeper_watches import ZooKeeperWatches
from kafka_reassign_rpc.core.kafka_errors import KafkaError, TopicAlreadyExists
from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest
from kafka_reassign_rpc.zookeeper import transactions, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import BareController, elected_controller, put_topic, register
from tests.controller.cluster import cluster
from tests.waiting import eventually
from tests.zookeeper.trees import delete_tree

TOPIC_ALREADY_EXISTS = 36


async def marks(zk: ZooKeeper) -> set[str]:
    return set(await zk.children(znode_paths.DELETE_TOPICS))


async def no_marks(zk: ZooKeeper) -> bool:
    return not await marks(zk)


async def topics(zk: ZooKeeper) -> set[str]:
    return set(await zk.children(znode_paths.TOPICS))


async def mark(zk: ZooKeeper, *names: str) -> None:
    await zk.ensure_path(znode_paths.DELETE_TOPICS)
    for name in names:
        await zk.create(znode_paths.delete_topic(name))


async def create(controller: BareController, name: str) -> CreatedTopic | KafkaError:
    command = CreateTopicsCommand(
        [NewTopic(name, assignments={0: (1, 2)})], validate_only=False, new_id=uuid4, random=Random(1)
    )
    return (await controller.loop.submit(command))[name]


async def test_sv_10_marks_without_a_topic_are_removed_at_a_takeover_and_while_the_controller_runs(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await mark(zk, "before", "with-children")
    await zk.create(znode_paths.delete_topic("with-children") + "/x")
    async with cluster(zk_connect, brokers=(1,)) as world:
        await eventually(lambda: no_marks(zk))
        await world.create_topic("before", {0: [1]})

        await mark(zk, "later")
        await eventually(lambda: no_marks(zk))
        await world.create_topic("later", {0: [1]})

        await world.create_topic("doomed", {0: [1]})
        await world.delete_topic("doomed")
        await eventually(lambda: is_gone(zk, "doomed"))
        await world.stop_server()
        await world.start_server()
        assert await topics(zk) == {"before", "later"}


async def is_gone(zk: ZooKeeper, name: str) -> bool:
    return name not in await topics(zk) and name not in await marks(zk)


async def test_sv_10_a_mark_that_is_older_than_the_topic_goes_and_the_topic_stays(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await mark(zk, "t", "u")
    await put_topic(zk, "t", {0: (1,)})
    async with cluster(zk_connect, brokers=(1,)) as world:
        await eventually(lambda: no_marks(zk))
        await mark(zk, "v")
        await put_topic(zk, "v", {0: (1,)}, topic_id=uuid4())
        await eventually(lambda: no_marks(zk))
        await eventually(lambda: world.led_by(("v", 0), 1))
        await eventually(lambda: world.has_all(("t", 0), 1))
        assert {"t", "v"} == await topics(zk)


async def test_sv_10_a_topic_that_others_create_and_mark_at_once_is_deleted(zk: ZooKeeper, zk_connect: str) -> None:
    async with cluster(zk_connect, brokers=(1,)):
        for number in range(20):
            name = f"t{number}"
            await zk.multi(
                [Create(znode_paths.topic(name), ONE_REPLICA), Create(znode_paths.delete_topic(f"u{number}"))]
            )
            await mark(zk, name)
        await eventually(lambda: no_marks(zk))
        assert await topics(zk) == set()


ONE_REPLICA = b'{"version":3,"topic_id":"ERERESIiMzNERFVVVVVVVQ","partitions":{"0":[1]}}'


async def test_sv_10_no_topic_is_created_while_there_is_a_mark_of_its_name(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "other", {0: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        await mark(zk, "x")  # after the cluster was read, and not yet shown by a watch

        refused = await create(controller, "x")
        assert isinstance(refused, TopicAlreadyExists)
        assert refused.message == "Topic 'x' is marked for deletion."
        assert await topics(zk) == {"other"}
        assert controller.cluster.stale_marks == {"x"}

        await topic_deletion.remove_marks(controller.zk, controller.store, ["x"])
        assert await no_marks(zk)
    async with elected_controller(zk_connect) as controller:
        assert isinstance(await create(controller, "x"), CreatedTopic)
        assert await no_marks(zk)
        await controller.check()


async def test_sv_10_a_client_gets_kafkas_answer_while_there_is_a_mark(zk: ZooKeeper, zk_connect: str) -> None:
    """A broker that is down keeps the deletion waiting."""
    async with cluster(zk_connect, brokers=(1, 2)) as world:
        await world.create_topic("t", {0: [1, 2]})
        await world.kill_broker(2)
        await world.delete_topic("t")
        topic = CreateTopicsRequest.CreatableTopic(
            name="t", num_partitions=1, replication_factor=1, assignments=[], configs=[]
        )
        answer = await world.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000, validate_only=False), 5)
        (result,) = answer.topics
        assert (result.error_code, result.error_message) == (
            TOPIC_ALREADY_EXISTS,
            "Topic 't' is marked for deletion.",
        )


@pytest.mark.parametrize("is_reloaded", [False, True], ids=["by a watch", "by a reload"])
async def test_sv_10_the_mark_of_a_topic_that_is_removed_by_hand_in_its_deletion_goes_too(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch, is_reloaded: bool
) -> None:
    """A broker that is down keeps the deletion waiting."""
    async with cluster(zk_connect, brokers=(1, 2, 3)) as world:
        await world.create_topic("t", {0: [1, 2]})
        await world.create_topic("u", {0: [1]})
        await world.kill_broker(2)
        await world.delete_topic("t")
        if is_reloaded:
            really, later = ZooKeeperWatches.topics, asyncio.Event()

            async def topics(watches: ZooKeeperWatches) -> None:
                await later.wait()
                await really(watches)

            monkeypatch.setattr(ZooKeeperWatches, "topics", topics)
            await delete_tree(zk, znode_paths.topic("t"))
            await zk.set(znode_paths.topic("u"), (await zk.get(znode_paths.topic("u")))[0])
            await world.alter({("u", 0): (1, 3)})
            later.set()
        else:
            await delete_tree(zk, znode_paths.topic("t"))
        await eventually(lambda: no_marks(zk))
        await world.create_topic("t", {0: [1]})


async def test_sv_10_a_mark_stays_where_its_topic_has_come_in_between(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "other", {0: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        await put_topic(zk, "x", {0: (1, 2)})
        await mark(zk, "x", "y")
        await topic_deletion.remove_marks(controller.zk, controller.store, ["x", "y", "z"])
        assert await marks(zk) == {"x"}


async def test_sv_10_a_deletion_does_not_begin_for_a_topic_that_is_gone(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        await delete_tree(zk, znode_paths.topic("t"))
        answer = await controller.loop.submit(DeleteTopicsCommand(["t"]))
        assert isinstance(answer["t"], KafkaError)
        assert await no_marks(zk)


@pytest.mark.parametrize("operations", [1, 4, 1000])
async def test_sv_10_a_removal_that_dies_anywhere_leaves_the_topic_and_its_mark_or_neither(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch, operations: int
) -> None:
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", operations)
    lives, ended = 0, False
    while not ended:
        chroot = f"{zk_connect}/{lives}"
        async with ZooKeeper(chroot) as zk:
            await register(zk, 1, 2)
            await put_topic(zk, "t", dict.fromkeys(range(3), (1, 2)))
            await zk.ensure_path(znode_paths.reassignment("t", 1))
            await zk.ensure_path(znode_paths.config_topic("t"))
            await mark(zk, "t")
            async with elected_controller(chroot) as controller:
                controller.zk.lives = lives
                try:
                    await topic_deletion.remove_topic(controller.zk, controller.store, controller.cluster.topics["t"])
                    ended = True
                except ControllerMoved:
                    pass
            left: Collection[str] = await topics(zk)
            assert left == await marks(zk), f"after {lives} transactions"
            assert bool(left) != ended
            if ended:
                assert await zk.exists(znode_paths.config_topic("t")) is None
                assert await zk.exists(znode_paths.reassignment_topic("t")) is None
        lives += 1
    assert lives > 1 or operations == 1000


async def test_sv_10_a_removal_spares_another_topic_of_the_same_name(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 2)})
    await mark(zk, "t")
    async with elected_controller(zk_connect) as controller:
        known = controller.cluster.topics["t"]
        await delete_tree(zk, znode_paths.topic("t"))
        await put_topic(zk, "t", {0: (2, 1)})
        await topic_deletion.remove_topic(controller.zk, controller.store, known)
        assert await topics(zk) == {"t"}
        assert await zk.exists(znode_paths.partition_state("t", 0)) is not None


async def test_sv_10_a_removal_whose_mark_was_removed_by_hand_ends_with_neither(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 2)})
    await mark(zk, "t")
    async with elected_controller(zk_connect) as controller:
        await zk.delete(znode_paths.delete_topic("t"))
        await topic_deletion.remove_topic(controller.zk, controller.store, controller.cluster.topics["t"])
        assert (await topics(zk), await marks(zk)) == (set(), set())
