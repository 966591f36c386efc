"""Two topics with one id: the one that had it first is served, the other is left alone, loudly, until that is cured."""

import json
from pathlib import Path

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest, DeleteTopicsRequest, MetadataRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import topic_json
from tests.controller.cluster import Cluster, cluster
from tests.waiting import eventually
from tests.zookeeper.trees import delete_tree

UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC, TOPIC_ALREADY_EXISTS = 3, 17, 36


async def served(world: Cluster) -> set[str]:
    answer = await world.ask(MetadataRequest(topics=None), 8)
    return {one.name for one in answer.topics if not one.error_code}


async def serves(world: Cluster, *names: str) -> bool:
    return await served(world) == set(names)


async def give_id(zk: ZooKeeper, topic: str, id_: str) -> None:
    znode = await topic_json(zk, topic)
    await zk.set(znode_paths.topic(topic), json.dumps(znode | {"topic_id": id_}).encode())


async def copy_topic(zk: ZooKeeper, topic: str, to: str) -> None:
    """As an operator does who wants a topic by another name."""
    data, _ = await zk.get(znode_paths.topic(topic))
    await zk.create(znode_paths.topic(to), data)


async def told(world: Cluster, kind: str) -> list[str]:
    return [one["topic"] for one in await world.events() if one["event"] == kind]


async def left_alone(world: Cluster, *names: str) -> bool:
    return set(await told(world, catalogue.TOPIC_LEFT_ALONE)) == set(names)


async def refused(world: Cluster, topic: str) -> tuple[int, str | None]:
    return (await world.alter({(topic, 0): (2, 3)}))[topic, 0]


async def test_sv_4_the_topic_that_had_an_id_first_is_served_and_the_other_is_left_alone_until_it_has_its_own(
    zk_connect: str, tmp_path: Path
) -> None:
    async with cluster(zk_connect, brokers=(1, 2, 3), event_log=tmp_path) as world:
        zk = world.zk
        await world.create_topic("a.b", {0: (1, 2)})
        await world.create_topic("own", {0: (1, 2)})
        first, own = [(await topic_json(zk, name))["topic_id"] for name in ("a.b", "own")]

        # One that comes with the id of another, and one that gets it while it is served.
        await copy_topic(zk, "a.b", "copy")
        await give_id(zk, "own", first)
        await eventually(lambda: left_alone(world, "copy", "own"))
        assert await serves(world, "a.b", "own"), "brokers know this one by an id of its own"
        before = len(await told(world, catalogue.TOPIC_LEFT_ALONE))
        await world.stop_server()
        await world.start_server()
        assert await serves(world, "a.b"), "its znode was created first"
        assert sorted((await told(world, catalogue.TOPIC_LEFT_ALONE))[before:]) == ["copy", "own"]

        code, text = await refused(world, "copy")
        assert code == UNKNOWN_TOPIC_OR_PARTITION, "as a stock controller answers that meets a twin"
        assert f"its topic id {first} is that of topic a.b, which had it first" in (text or "")
        assert await world.alter({("a.b", 0): (2, 3)}) == {("a.b", 0): (0, None)}
        await eventually(lambda: world.has(("a.b", 0, (2, 3))))
        assert (await topic_json(zk, "copy"))["partitions"] == {"0": [1, 2]}
        assert await zk.exists(znode_paths.partitions("copy")) is None
        assert await world.has_all(("own", 0), 1, 2), "no log is deleted"

        # Each is taken up when it is cured: by an id of its own, or when no other topic has the id any longer.
        await give_id(zk, "own", own)
        await eventually(lambda: serves(world, "a.b", "own"))
        assert await world.alter({("own", 0): (2, 3)}) == {("own", 0): (0, None)}
        await eventually(lambda: world.has(("own", 0, (2, 3))))
        await world.delete_topic("a.b")
        await eventually(lambda: serves(world, "copy", "own"))
        await eventually(lambda: world.led_by(("copy", 0), 1))
        assert await told(world, catalogue.TOPIC_TAKEN_UP) == ["own", "copy"]
        assert (await topic_json(zk, "copy"))["topic_id"] == first


async def test_sv_4_names_of_topics_that_are_left_alone_are_taken_until_their_znodes_are_gone(
    zk_connect: str, tmp_path: Path
) -> None:
    async with cluster(zk_connect, brokers=(1, 2, 3), event_log=tmp_path) as world:
        zk = world.zk
        await world.create_topic("a", {0: (1, 2)})
        await copy_topic(zk, "a", "a.b")
        await zk.create(znode_paths.topic("c.d"), b"garbage")
        await eventually(lambda: left_alone(world, "a.b", "c.d"))

        async def created(name: str) -> int:
            topic = CreateTopicsRequest.CreatableTopic(
                name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[]
            )
            answer = await world.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000, validate_only=False), 5)
            return int(answer.topics[0].error_code)

        assert [await created(name) for name in ("a.b", "c.d")] == [TOPIC_ALREADY_EXISTS] * 2
        assert [await created(name) for name in ("a_b", "c_d")] == [INVALID_TOPIC] * 2
        deleted = await world.ask(DeleteTopicsRequest(topic_names=["a.b"], timeout_ms=5_000), 4)
        assert [one.error_code for one in deleted.responses] != [0]
        for name in ("a.b", "c.d"):
            await zk.delete(znode_paths.topic(name))

        async def is_free() -> bool:
            return [await created(name) for name in ("a.b", "c.d")] == [0, 0]

        await eventually(is_free)
        assert sorted(await told(world, catalogue.TOPIC_TAKEN_UP)) == ["a.b", "c.d"]


async def test_sv_4_topics_that_are_put_back_without_ids_never_get_one_id(zk_connect: str, tmp_path: Path) -> None:
    """Both have had it, one after the other."""
    async with cluster(zk_connect, brokers=(1, 2, 3), event_log=tmp_path) as world:
        zk = world.zk
        await world.create_topic("a", {0: (1, 2)})
        first = (await topic_json(zk, "a"))["topic_id"]
        await copy_topic(zk, "a", "b")
        await eventually(lambda: left_alone(world, "b"))
        await delete_tree(zk, znode_paths.topic("a"))
        await eventually(lambda: serves(world, "b"))
        await eventually(lambda: world.led_by(("b", 0), 1))
        await delete_tree(zk, znode_paths.topic("b"))
        await eventually(lambda: serves(world))
        no_id = json.dumps({"version": 3, "partitions": {"0": [1, 2]}}).encode()
        await zk.multi([Create(znode_paths.topic(name), no_id) for name in ("a", "b")])
        await eventually(lambda: serves(world, "a", "b"))
        ids = [(await topic_json(zk, name))["topic_id"] for name in ("a", "b")]
        assert len(set(ids)) == 2
        assert first in ids
