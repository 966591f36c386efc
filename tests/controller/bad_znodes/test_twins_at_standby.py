"""A server that does not control shows no two topics by one id: clients would fetch the records of another topic."""

import json
from collections.abc import Collection
from typing import Any, cast
from uuid import UUID

from kafka_reassign_rpc.controller.lifecycle.standby import Standby
from kafka_reassign_rpc.core.state.partition import topic_id_text
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import put_topic, topic_json
from tests.zookeeper.trees import delete_tree

X, Y, Z = UUID(int=101), UUID(int=102), UUID(int=103)


def standby(zk: ZooKeeper) -> Standby:
    return Standby(zk, cast(Any, None))


async def shown(server: Standby, names: Collection[str] | None = None) -> dict[str, UUID | None]:
    return {name: topic.id for name, topic in (await server.topics(names)).items()}


async def give(zk: ZooKeeper, topic: str, id_: UUID) -> None:
    znode = await topic_json(zk, topic) | {"topic_id": topic_id_text(id_)}
    await zk.set(znode_paths.topic(topic), json.dumps(znode).encode())


async def test_sv_4_a_standby_shows_a_topic_with_anothers_id_by_its_own_and_leaves_it_out_where_it_knows_none(
    zk: ZooKeeper,
) -> None:
    for name, id_ in (("a", X), ("b", Y)):
        await put_topic(zk, name, {0: (1, 2)}, topic_id=id_)
    server = standby(zk)
    assert await shown(server, ["a"]) == {"a": X}
    await give(zk, "b", X)
    # It has seen which one had the id first, also where it is asked about the other one alone.
    assert await shown(server, ["b"]) == {"b": Y}
    assert await shown(server) == {"a": X, "b": Y}
    started = standby(zk)
    assert await shown(started, ["b"]) == {}
    assert await shown(started) == {"a": X}, "its znode was created first"
    await give(zk, "b", Y)
    for one in (server, started):
        assert await shown(one, ["b"]) == {"b": Y}
        assert await shown(one) == {"a": X, "b": Y}


async def test_sv_4_a_standby_takes_an_id_for_free_once_its_holder_is_gone_or_has_another(zk: ZooKeeper) -> None:
    for name, id_ in (("a", X), ("b", Y), ("c", Z)):
        await put_topic(zk, name, {0: (1, 2)}, topic_id=id_)
    server = standby(zk)
    assert await shown(server) == {"a": X, "b": Y, "c": Z}
    await delete_tree(zk, znode_paths.topic("a"))
    await give(zk, "b", X)
    assert await shown(server, ["b"]) == {"b": X}
    await give(zk, "c", Y)
    assert await shown(server, ["c"]) == {"c": Y}
    # Two topics change their ids for each other's: neither is a twin.
    await give(zk, "b", Y)
    await give(zk, "c", X)
    assert await shown(server, ["c", "b"]) == {"b": Y, "c": X}


async def test_sv_4_a_standby_knows_of_topics_that_appear_and_of_names_that_are_given_again(zk: ZooKeeper) -> None:
    await put_topic(zk, "a", {0: (1, 2)}, topic_id=X)
    server = standby(zk)
    assert await shown(server) == {"a": X}
    await put_topic(zk, "copy", {0: (1, 2)}, topic_id=X)
    assert await shown(server, ["copy"]) == {}
    await put_topic(zk, "b", {0: (1, 2)}, topic_id=Y)
    assert await shown(server, ["a"]) == {"a": X}
    await give(zk, "a", Y)
    assert await shown(server, ["a"]) == {"a": X}, "b had that id first, though no request has asked about it"
    await delete_tree(zk, znode_paths.topic("b"))
    await put_topic(zk, "b", {0: (1, 2)}, topic_id=Z)
    assert await shown(server, ["a", "b"]) == {"a": Y, "b": Z}
    await zk.set(znode_paths.topic("b"), b"garbage")
    assert await shown(server) == {"a": Y, "copy": X}
