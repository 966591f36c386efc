"""Topics that clusters before 2.8, or tools that write to ZooKeeper, have created get ids (KIP-516)."""

from uuid import UUID

import pytest

from kafka_reassign_rpc.controller.commands.topic_commands import TopicsRead
from kafka_reassign_rpc.controller.loading import load_topics
from kafka_reassign_rpc.core.writers.topic_facts import TopicsFound
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import SERVER, BareController, elected_controller, put_topic, register
from tests.controller.commit.test_vanished_topics import reload


async def stored_id(zk: ZooKeeper, topic: str) -> UUID | None:
    path = znode_paths.topic(topic)
    data, _ = await zk.get(path)
    return topic_znodes.decode_topic(data, path).id


async def read_again(controller: BareController, *names: str) -> list[str]:
    """What the watches do when others have changed topics. Returns the names that appeared."""
    appeared: list[str] = []
    found, unreadable, _ = await load_topics.read_topics(controller.zk, names)
    await controller.loop.submit(TopicsRead(TopicsFound(found, unreadable, {}), SERVER, appeared=appeared.extend))
    return appeared


async def test_sv_4_a_topic_without_an_id_gets_one_from_the_next_controller_and_keeps_it(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "old", {0: (1, 2)}, topic_id=None)
    await put_topic(zk, "older", {0: (2, 3)}, topic_id=None, note="kept")

    async with elected_controller(zk_connect) as controller:
        given = {name: await stored_id(zk, name) for name in ("old", "older")}
        assert None not in given.values()
        assert len(set(given.values())) == 2
        assert {name: topic.id for name, topic in controller.cluster.topics.items()} == given
        assert {name: id_ for id_, name in controller.cluster.topic_names.items()} == given
        assert b'"note":"kept"' in (await zk.get(znode_paths.topic("older")))[0].replace(b" ", b"")

    async with elected_controller(zk_connect):
        assert {name: await stored_id(zk, name) for name in given} == given


async def test_sv_4_a_topic_that_a_tool_creates_without_an_id_gets_one(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2, 3)

    async with elected_controller(zk_connect) as controller:
        await put_topic(zk, "new", {0: (1, 2)}, topic_id=None)
        await read_again(controller, "new")

        stored = await stored_id(zk, "new")
        assert stored is not None
        assert controller.cluster.topics["new"].id == stored


async def test_sv_4_a_topic_that_gets_its_id_from_another_controller_is_the_same_topic(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)}, topic_id=None)

    async with elected_controller(zk_connect) as controller:
        controller.cluster.topics["t"].id = None  # as if this controller had not been able to write one
        await zk.set(znode_paths.topic("t"), topic_znodes.encode_topic(UUID(int=7), {0: ((1, 2), (), ())}))
        assert await read_again(controller, "t") == ["t"]
        assert controller.cluster.topics["t"].id == UUID(int=7)


@pytest.mark.parametrize("by_reload", [False, True])
async def test_hm_2_a_topic_whose_id_a_tool_of_before_2_8_leaves_out_gets_it_back(
    zk: ZooKeeper, zk_connect: str, by_reload: bool
) -> None:
    """As `kafka-topics.sh --zookeeper --alter --partitions` (KAFKA-14190). Brokers refuse their logs under another."""
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)})
    await put_topic(zk, "u", {0: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        before = await stored_id(zk, "t")
        await zk.set(znode_paths.topic("t"), b'{"version":1,"partitions":{"0":[1,2],"1":[2,3]}}')
        if by_reload:
            await reload(zk, controller)
        else:
            await read_again(controller, "t")
        assert await stored_id(zk, "t") == before is not None
        assert controller.cluster.topics["t"].id == before
        assert controller.cluster.topic_names[before] == "t"
        assert controller.partition("t", 1).leader == 2
        await controller.check()


async def test_hm_2_a_topic_gets_its_id_back_although_the_round_is_decided_again_after_a_reload(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """The failover that follows a reload and the command of the watch give it an id in one round."""
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2), 1: (2, 3)})
    async with elected_controller(zk_connect) as controller:
        before = await stored_id(zk, "t")
        await zk.delete(znode_paths.partition_state("t", 1))
        await zk.set(znode_paths.topic("t"), b'{"version":1,"partitions":{"0":[1,2],"1":[2]}}')
        controller.zk.refuses = 0
        await read_again(controller, "t")
        assert await stored_id(zk, "t") == before
        assert controller.cluster.topics["t"].id == before
        assert [event.event for event in controller.events if event.event == "topic.vanished"] == []
        await controller.check()
