"""Dynamic configs: written where Kafka looks for them, announced as Kafka expects."""

import asyncio
import json
from collections.abc import Callable, Mapping

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper


def put(**wanted: str) -> Callable[[Mapping[str, str]], Mapping[str, str]]:
    def change(standing: Mapping[str, str]) -> Mapping[str, str]:
        return {**standing, **wanted}

    return change


async def test_236_11_a_change_is_written_and_announced_as_kafka_does(zk: ZooKeeper) -> None:
    store = ConfigStore(zk)
    assert await store.get("topics", "t") == {}
    await store.alter("topics", "t", put(a="1"))
    await store.alter("topics", "t", put(b="2"))
    assert await store.get("topics", "t") == {"a": "1", "b": "2"}
    data, stat = await zk.get("/config/topics/t")
    assert json.loads(data) == {"version": 1, "config": {"a": "1", "b": "2"}}
    assert stat.version == 1
    names = sorted(await zk.children("/config/changes"))
    assert names == ["config_change_0000000000", "config_change_0000000001"]
    assert json.loads((await zk.get(f"/config/changes/{names[1]}"))[0]) == {"version": 2, "entity_path": "topics/t"}


async def test_236_11_a_change_that_changes_nothing_is_announced_anyway(zk: ZooKeeper) -> None:
    store = ConfigStore(zk)
    await store.alter("brokers", "<default>", put(a="1"))
    await store.alter("brokers", "<default>", put(a="1"))
    assert len(await zk.children("/config/changes")) == 2


async def test_236_11_an_error_of_the_change_function_is_passed_on_and_nothing_is_written(zk: ZooKeeper) -> None:
    def refuse(_: Mapping[str, str]) -> Mapping[str, str]:
        raise LookupError("no")

    with pytest.raises(LookupError):
        await ConfigStore(zk).alter("topics", "t", refuse)
    assert await zk.exists("/config") is None


async def test_236_11_changes_made_at_once_are_all_kept(zk: ZooKeeper) -> None:
    store = ConfigStore(zk)
    await asyncio.gather(*(store.alter("topics", "t", put(**{f"k{n}": "v"})) for n in range(10)))
    assert len(await store.get("topics", "t")) == 10


async def test_sv_4_changes_are_read_from_where_one_was(zk: ZooKeeper) -> None:
    store = ConfigStore(zk)
    assert await store.changes_since(-1) == (-1, [], [])
    for name in ("a", "b", "a"):
        await store.alter("topics", name, put(**{f"k{len(name)}{id(object())}": "v"}))
    await zk.create(znode_paths.CONFIG_CHANGE_PREFIX, b"garbage", sequence=True)
    fired = []
    zk.on_watch(lambda kind, path: fired.append(path))
    changes = await store.changes_since(-1, watch=True)
    assert changes.entities == ["topics/a", "topics/b"]
    assert [bad.path for bad in changes.bad] == ["/config/changes/config_change_0000000003"]
    assert changes.last == 3
    await store.alter("brokers", "1", put(x="y"))
    assert fired == ["/config/changes"]
    assert await store.changes_since(changes.last) == (4, ["brokers/1"], [])


async def test_sv_4_old_announcements_are_removed(zk: ZooKeeper) -> None:
    store = ConfigStore(zk)
    await store.purge_changes(0)
    await store.alter("topics", "t", put(a="1"))
    written = (await zk.get("/config/changes/config_change_0000000000"))[1].ctime
    await store.purge_changes(written + 15 * 60 * 1000)
    assert len(await zk.children("/config/changes")) == 1
    await store.purge_changes(written + 15 * 60 * 1000 + 1)
    assert await zk.children("/config/changes") == []


async def test_sv_6_garbage_in_a_config_znode_is_reported(zk: ZooKeeper) -> None:
    await zk.ensure_path("/config/topics")
    await zk.create("/config/topics/t", b'{"version":1,"config":{"a":1}}')
    store = ConfigStore(zk)
    with pytest.raises(BadZnode, match=r"^/config/topics/t: "):
        await store.get("topics", "t")
    await zk.ensure_path("/config/brokers")
    await zk.create("/config/brokers/<default>", b"garbage")
    assert await store.get("brokers", "<default>") == {}, "brokers go on without it too"
    for change in (store.alter("brokers", "<default>", put(a="1")), store.read("brokers", "<default>")):
        with pytest.raises(BadZnode, match=r"^/config/brokers/<default>: "):
            await change
    found, bad = await store.get_all("topics")
    assert (found, [one.path for one in bad]) == ({}, ["/config/topics/t"])


async def test_sv_3_changes_are_seen_after_somebody_has_deleted_their_parent(zk: ZooKeeper) -> None:
    """Its numbers begin again when it is made again, as the next change does."""
    store = ConfigStore(zk)
    fired: list[str] = []
    zk.on_watch(lambda _, path: fired.append(path))
    for value in "123":
        await store.alter("topics", "t", put(a=value))
    last = (await store.changes_since(-1)).last
    for is_noticed in (True, False):
        for path in sorted(await zk.tree(znode_paths.CONFIG_CHANGES), reverse=True):
            await zk.delete(path)
        if is_noticed:
            last = (await store.changes_since(last, watch=True)).last
        await zk.ensure_path(znode_paths.CONFIG_CHANGES)
        await store.alter("topics", "t", put(a=f"{is_noticed}"))
        changes = await store.changes_since(last)
        assert changes.entities == ["topics/t"]
        last = 2
    assert fired == [znode_paths.CONFIG_CHANGES], "of its creation"
