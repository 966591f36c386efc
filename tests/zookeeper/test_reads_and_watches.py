"""Single znodes, bulk reads, trees and watches against a real ZooKeeper."""

import asyncio

import pytest

from kafka_reassign_rpc.zookeeper.access import Access, always
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, SetData, WatchKind
from kafka_reassign_rpc.zookeeper.transactions import pipeline
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import (
    BadArguments,
    BadVersion,
    InvalidAcl,
    NoAuth,
    NodeExists,
    NoNode,
    NotEmpty,
)
from tests.zookeeper.helpers import Events
from tests.zookeeper.proxy import Proxy
from tests.zookeeper.trees import delete_tree


class Watches:
    def __init__(self, zk: ZooKeeper) -> None:
        self.seen: list[tuple[WatchKind, str]] = []
        zk.on_watch(lambda kind, path: self.seen.append((kind, path)))


async def test_sv_3_every_refusal_has_its_class_and_names_the_path(zk: ZooKeeper) -> None:
    await zk.ensure_path("/a/b")
    for call, error in (
        (zk.get("/gone"), NoNode),
        (zk.children("/gone"), NoNode),
        (zk.create("/a"), NodeExists),
        (zk.create("/gone/a"), NoNode),
        (zk.set("/a", b"", 9), BadVersion),
        (zk.delete("/a"), NotEmpty),
        (zk.delete("/gone"), NoNode),
        (zk.create("/a/"), BadArguments),
    ):
        with pytest.raises(error, match=r"^/(a|gone)"):
            await call
    assert await zk.exists("/gone") is None
    with pytest.raises(ValueError, match="begins with a slash"):
        await zk.get("a")


async def test_sv_3_ephemeral_and_sequential_znodes_are_made_as_asked(zk: ZooKeeper) -> None:
    path, stat = await zk.create("/s-", b"x", ephemeral=True, sequence=True)
    assert path == "/s-0000000000"
    assert stat.ephemeral_owner == zk.session_id
    assert stat.data_length == 1


@pytest.mark.both_loops
async def test_sv_3_bulk_reads_keep_the_order_and_show_gaps(zk: ZooKeeper) -> None:
    made = [f"/n{n}" for n in range(0, 3000, 2)]
    await pipeline(
        zk.submit_multi, [[Create(path, path.encode()) for path in made[at : at + 500]] for at in range(0, 1500, 500)]
    )
    asked = [f"/n{n}" for n in range(3000)]
    found = await zk.multi_get(asked)
    assert [read[0].decode() if read else None for read in found] == [
        path if n % 2 == 0 else None for n, path in enumerate(asked)
    ]
    await zk.ensure_path("/n0/x")
    assert await zk.multi_children(["/n0", "/n1", "/n2", "/"]) == [["x"], None, [], await zk.children("/")]
    assert await zk.multi_get([]) == []


async def test_sv_3_a_tree_is_removed_whole(zk: ZooKeeper) -> None:
    await zk.ensure_path("/t/a/b/c")
    await zk.multi([Create(f"/t/a/{n}") for n in range(1200)])
    tree = await zk.tree("/t")
    assert len(tree) == 1204
    assert tree[-1] == "/t"
    assert tree.index("/t/a/b/c") < tree.index("/t/a/b") < tree.index("/t/a")
    await delete_tree(zk, "/t")
    assert await zk.exists("/t") is None
    assert await zk.tree("/t") == []
    await delete_tree(zk, "/t")


async def test_sv_1_a_chroot_is_made_with_its_parents_and_never_shows(zk_connect: str) -> None:
    async with ZooKeeper(zk_connect + "/x/y") as zk:
        with pytest.raises(NoNode):
            await zk.create("/a")
        await zk.ensure_path("/")
        await zk.ensure_path("/")
        assert (await zk.create("/a"))[0] == "/a"
        assert await zk.children("/") == ["a"]
        assert await zk.tree("/") == ["/a", "/"]


async def test_sv_3_watches_report_each_kind_once_and_before_the_answer_that_shows_it(zk: ZooKeeper) -> None:
    watches = Watches(zk)
    await zk.exists("/a", watch=True)
    await zk.children("/", watch=True)
    await zk.create("/a")
    assert sorted(watches.seen) == [(WatchKind.CREATED, "/a"), (WatchKind.CHILDREN, "/")]
    watches.seen.clear()
    await zk.get("/a", watch=True)
    await zk.set("/a", b"1")
    await zk.set("/a", b"2")
    assert watches.seen == [(WatchKind.CHANGED, "/a")]
    await zk.exists("/a", watch=True)
    await zk.delete("/a")
    assert watches.seen[1:] == [(WatchKind.DELETED, "/a")]


async def test_sv_3_a_plain_read_leaves_no_watch(zk: ZooKeeper) -> None:
    await zk.create("/a")
    watches = Watches(zk)
    assert await zk.children("/") == ["a"]
    assert await zk.children("/a") == []
    assert await zk.get("/a") == (b"", await zk.exists("/a"))
    assert await zk.exists("/later") is None
    await zk.multi([Create("/a/child"), SetData("/a", b"new"), Create("/later")])
    await zk.sync()
    assert watches.seen == []


async def test_sv_3_watches_placed_in_bulk_lose_nothing_that_changed_before(zk: ZooKeeper) -> None:
    names = [f"/w{n}" for n in range(8000)]
    await pipeline(zk.submit_multi, [[Create(path) for path in names[at : at + 1000]] for at in range(0, 8000, 1000)])
    watches = Watches(zk)
    since = zk.last_zxid
    await zk.multi([SetData("/w7", b"between"), Delete("/w8")])
    await zk.place_watches(names, since)
    await zk.sync()
    assert sorted(watches.seen) == [(WatchKind.DELETED, "/w8"), (WatchKind.CHANGED, "/w7")]
    watches.seen.clear()
    await zk.multi([Create("/w9/child"), SetData("/w7999", b""), Delete("/w7998")])
    await zk.sync()
    assert sorted(watches.seen) == [
        (WatchKind.DELETED, "/w7998"),
        (WatchKind.CHANGED, "/w7999"),
    ]


async def test_sv_3_a_reconnect_calls_the_hooks_and_restores_no_watches(
    proxy: Proxy, through_proxy: ZooKeeper, zk: ZooKeeper
) -> None:
    await through_proxy.create("/a")
    watches, events = Watches(through_proxy), Events(through_proxy)
    await through_proxy.get("/a", watch=True)
    proxy.rst()
    await events.until("connected")
    await zk.set("/a", b"1")
    await through_proxy.sync()
    assert watches.seen == []


async def test_sv_3_a_watch_hook_that_raises_does_not_end_the_connection(
    zk: ZooKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: WatchKind, __: str) -> None:
        raise RuntimeError("hook")

    zk.on_watch(fail)
    watches = Watches(zk)
    await zk.exists("/a", watch=True)
    await zk.create("/a")
    assert watches.seen == [(WatchKind.CREATED, "/a")]
    assert "a watch hook failed on CREATED of /a" in caplog.text


async def test_sv_5_credentials_are_given_again_on_every_connection(
    proxy: Proxy, zk_connect: str, zk: ZooKeeper
) -> None:
    chroot = "/" + zk_connect.partition("/")[2]
    mine = always([(31, "auth", "")])
    access = Access(auth=[("digest", b"user:secret")], acl_of=mine)
    owner = ZooKeeper(proxy.address + chroot, access=access, session_timeout_ms=60_000)
    async with owner:
        events = Events(owner)
        await owner.create("/private", b"1")
        await owner.multi([Create("/private2")])
        proxy.rst()
        await events.until("connected")
        assert (await owner.get("/private"))[0] == b"1"
        for path in ("/private", "/private2"):
            with pytest.raises(NoAuth):
                await zk.get(path)
        with pytest.raises(NoAuth):
            await zk.multi_get(["/private"])
    async with ZooKeeper(zk_connect, access=Access(acl_of=mine)) as nobody:
        with pytest.raises(InvalidAcl):
            await nobody.create("/mine")


async def test_sv_3_a_cancelled_call_leaves_the_connection_in_order(zk: ZooKeeper) -> None:
    await zk.create("/a", b"1")
    calls = [asyncio.ensure_future(zk.get("/a")) for _ in range(20)]
    await asyncio.sleep(0)
    for call in calls[::2]:
        call.cancel()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [result[0] for result in results[1::2] if isinstance(result, tuple)] == [b"1"] * 10
    assert (await zk.get("/a"))[0] == b"1"
