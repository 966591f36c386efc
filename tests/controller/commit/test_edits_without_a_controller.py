"""Others edit topics by hand while no controller runs: brokers still know what the last one has told them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafka_reassign_rpc.core.state.partition import topic_id_text
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from tests.controller.bare_controller import state_json
from tests.controller.cluster import Cluster, cluster
from tests.waiting import eventually

OTHER = UUID(int=77)


async def stored_id(world: Cluster, topic: str = "t") -> UUID | None:
    path = znode_paths.topic(topic)
    return topic_znodes.decode_topic((await world.zk.get(path))[0], path).id


async def has_id(world: Cluster, wanted: UUID | None) -> bool:
    return wanted is not None and await stored_id(world) == wanted


async def is_older_than_the_last_mark(world: Cluster) -> bool:
    topic, mark = [await world.zk.exists(path) for path in (znode_paths.topic("t"), znode_paths.LAST_CONTROL)]
    return topic is not None and mark is not None and topic.czxid < mark.mzxid


async def named(world: Cluster) -> list[dict[str, Any]]:
    return [one for one in await world.events() if one["event"] == "topic.id_edited"]


async def has_epochs(world: Cluster, *wanted: tuple[int, int]) -> bool:
    """Leader and leader epoch of each partition."""
    states = [await state_json(world.zk, ("t", index)) for index in range(len(wanted))]
    return [(one["leader"], one["leader_epoch"]) for one in states] == [*wanted]


async def edit(world: Cluster, path: str, change: Callable[[dict[str, Any]], object]) -> None:
    found = json.loads((await world.zk.get(path))[0])
    change(found)
    await world.zk.set(path, json.dumps(found).encode())


async def test_hm_2_a_topic_that_loses_its_id_while_no_controller_runs_gets_the_one_that_brokers_know(
    zk_connect: str,
) -> None:
    async with cluster(zk_connect, brokers=(1, 2)) as world:
        await world.create_topic("t", {0: (1, 2)})
        before = await stored_id(world)
        await world.stop_server()
        await edit(world, znode_paths.topic("t"), lambda found: found.pop("topic_id"))
        await world.start_server()
        await eventually(lambda: has_id(world, before))


async def test_hm_2_an_id_that_was_edited_while_no_controller_ran_is_named_with_the_one_that_brokers_know(
    zk_connect: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is guessed: the znode may be right."""
    async with cluster(zk_connect, brokers=(1, 2), event_log=tmp_path) as world:
        await world.create_topic("t", {0: (1, 2)})
        before = await stored_id(world)
        assert before is not None
        await world.stop_server()
        await world.start_server()
        await eventually(lambda: is_older_than_the_last_mark(world))
        await world.stop_server()
        await edit(world, znode_paths.topic("t"), lambda found: found.update(topic_id=topic_id_text(OTHER)))
        await world.start_server()
        await eventually(lambda: named(world))
        (event,) = await named(world)
        assert await stored_id(world) == OTHER
        assert event["topic"] == "t"
        assert topic_id_text(before) in event["reason"]
        assert topic_id_text(OTHER) in event["reason"]
        assert "the topic_id of /brokers/topics/t was edited" in caplog.text


async def test_hm_2_brokers_act_on_a_leader_that_is_written_by_hand_while_no_controller_runs(zk_connect: str) -> None:
    """In the epoch that they know they go on with the former one, and clients are sent to the one that was written."""
    async with cluster(zk_connect, brokers=(1, 2)) as world:
        await world.create_topic("t", {0: (1, 2), 1: (1, 2)})
        assert await has_epochs(world, (1, 0), (1, 0))
        await world.stop_server()
        await edit(world, znode_paths.partition_state("t", 0), lambda found: found.update(leader=2))
        await world.start_server()
        await eventually(lambda: has_epochs(world, (2, 1), (1, 0)))
