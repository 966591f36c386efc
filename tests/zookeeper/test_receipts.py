"""Transactions whose answers are lost with the connection: the client finds out what became of each, and goes on."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Delete, Op, Result, SetData, Stat
from kafka_reassign_rpc.zookeeper.transactions import transact, transact_many
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import (
    BadVersion,
    BatchesFailed,
    Fenced,
    NodeExists,
    NotSent,
    SessionOver,
    TooBig,
    TransactionFailed,
    Unknown,
)
from tests.waiting import eventually
from tests.zookeeper.conftest import Clock
from tests.zookeeper.helpers import Events, until
from tests.zookeeper.proxy import Proxy

CUTS: Sequence[Callable[[Proxy], None]] = (Proxy.rst, Proxy.fin)


async def written(zk: ZooKeeper, path: str, version: int) -> None:
    """Wait until ZooKeeper has carried out the write that gives this version."""

    async def is_there() -> bool:
        stat = await zk.exists(path)
        return stat is not None and stat.version >= version

    await eventually(is_there)


@pytest.mark.parametrize("cut", CUTS)
async def test_hm_3_a_transaction_whose_answer_is_lost_is_answered_as_zookeeper_has_answered(
    proxy: Proxy, through_proxy: ZooKeeper, zk: ZooKeeper, cut: Callable[[Proxy], None]
) -> None:
    events = Events(through_proxy)
    for path in ("/a", "/b", "/c"):
        await zk.create(path)
    ops: list[Op] = [Create("/new", b"1"), Check("/a", 0), SetData("/a", b"22", 0), SetData("/b", b"3"), Delete("/c")]
    await transact(through_proxy, [])
    for attempt in range(2):
        proxy.mute()
        work = asyncio.create_task(transact(through_proxy, ops))
        await written(zk, "/a", 1)
        cut(proxy)
        proxy.heal()
        new, checked, a, b, deleted = await work

        assert isinstance(new, tuple)
        found = [await zk.exists(path) for path in ("/new", "/a", "/b")]
        assert [new[1], a, b] == found
        assert (new[0], checked, deleted) == ("/new", None, None)
        assert await zk.exists("/c") is None
        if attempt == 0:
            await zk.multi([Delete("/new"), Delete("/a"), Create("/a"), Create("/c")])
    assert "over" not in events.names


@pytest.mark.parametrize("cut", CUTS)
async def test_hm_3_a_transaction_that_is_lost_with_the_connection_is_sent_once_more(
    proxy: Proxy, through_proxy: ZooKeeper, zk: ZooKeeper, cut: Callable[[Proxy], None]
) -> None:
    await zk.create("/a")
    await transact(through_proxy, [SetData("/a", b"0")])
    for number in range(3):
        proxy.silence()
        work = asyncio.create_task(transact(through_proxy, [SetData("/a", b"%d" % number)]))
        await until(lambda: through_proxy._session.connection().bytes_in_flight > 0)
        await asyncio.sleep(0)
        cut(proxy)
        proxy.heal()
        [stat] = await work
        assert isinstance(stat, Stat)
        assert stat.version == number + 2
        assert (await zk.get("/a")) == (b"%d" % number, stat)


async def test_hm_3_a_sequence_of_which_a_part_was_carried_out_goes_on_behind_it(
    proxy: Proxy, through_proxy: ZooKeeper, zk: ZooKeeper
) -> None:
    """The connection is lost again and again, each time with other transactions under way."""
    await zk.create("/a")
    session = through_proxy.session_id
    batches: list[list[Op]] = [[SetData("/a", b"%d" % number, number), Create(f"/n{number}")] for number in range(60)]
    work = asyncio.create_task(transact_many(through_proxy, batches, session))
    for cut in range(12):
        await asyncio.sleep(0)
        (proxy.mute if cut % 2 else proxy.silence)()
        await asyncio.sleep(0.005 * (cut % 4))
        (proxy.rst if cut % 3 else proxy.fin)()
        proxy.heal()
        await until(lambda: through_proxy.connected)
    results = await work
    for number, (a, new) in enumerate(results):
        assert isinstance(a, Stat)
        assert isinstance(new, tuple)
        made = await zk.exists(f"/n{number}")
        assert made is not None
        assert (a.version, new) == (number + 1, (f"/n{number}", made))
        assert a.mzxid == made.czxid
    assert through_proxy.session_id == session


async def test_hm_3_a_connection_that_is_lost_in_the_middle_of_finding_out_is_waited_for_again(
    proxy: Proxy, through_proxy: ZooKeeper, zk: ZooKeeper
) -> None:
    await zk.create("/a")
    await transact(through_proxy, [SetData("/a", b"0")])
    proxy.mute()
    work = asyncio.create_task(transact(through_proxy, [SetData("/a", b"1")]))
    await written(zk, "/a", 2)
    for round_ in range(4):
        before = proxy.accepted
        proxy.rst()
        proxy.heal()
        await until(lambda before=before: proxy.accepted > before)  # type: ignore[misc]
        for _ in range(round_ * 3):
            await asyncio.sleep(0.001)
    [stat] = await work
    assert stat == await zk.exists("/a")
    assert isinstance(stat, Stat)
    assert stat.version == 2


async def test_hm_3_a_refusal_is_known_although_its_answer_is_lost(
    proxy: Proxy, through_proxy: ZooKeeper, zk: ZooKeeper
) -> None:
    """What is behind it was carried out: so it was not lost on its way. It is not sent again."""
    await zk.create("/a")
    await zk.create("/there")
    batches: list[list[Op]] = [[SetData("/a", b"1", 0)], [Create("/there")], [SetData("/a", b"2", 1)]]
    await transact_many(through_proxy, [[] for _ in batches])
    proxy.mute()
    work = asyncio.create_task(transact_many(through_proxy, batches))
    await written(zk, "/a", 2)
    await zk.delete("/there")
    proxy.rst()
    proxy.heal()
    with pytest.raises(BatchesFailed) as caught:
        await work
    assert sorted(caught.value.done) == [0, 2]
    assert list(caught.value.refused) == [1]
    assert isinstance(caught.value.first, TransactionFailed)
    assert await zk.exists("/there") is None


async def test_hm_3_what_is_sent_once_more_is_refused_where_another_writer_was_faster(
    proxy: Proxy, through_proxy: ZooKeeper, zk: ZooKeeper
) -> None:
    await zk.create("/a")
    await transact(through_proxy, [Check("/a", 0)])
    proxy.silence()
    work = asyncio.create_task(transact_many(through_proxy, [[SetData("/a", b"ours", 0)], [Create("/b")]]))
    await until(lambda: through_proxy._session.connection().bytes_in_flight > 0)
    await zk.set("/a", b"theirs")
    proxy.rst()
    proxy.heal()
    with pytest.raises(BatchesFailed) as caught:
        await work
    first = caught.value.first
    assert isinstance(first, TransactionFailed)
    assert (first.index, type(first.error)) == (0, BadVersion)
    assert (await zk.get("/a"))[0] == b"theirs"


async def test_hm_3_a_request_of_a_former_connection_that_comes_late_is_not_carried_out_a_second_time(
    proxy: Proxy, through_proxy: ZooKeeper, zk: ZooKeeper
) -> None:
    """As from a server that was frozen with the request: it arrives after the client has sent it over another one."""
    await zk.create("/a")
    late: list[Sequence[Op]] = []
    send = through_proxy.submit_multi

    def held(ops: Sequence[Op], session: int | None = None) -> "asyncio.Future[list[Result]]":
        late.append(ops)
        through_proxy.submit_multi = send  # type: ignore[method-assign]
        lost: asyncio.Future[list[Result]] = asyncio.get_running_loop().create_future()
        lost.set_exception(Unknown("the server is frozen"))
        return lost

    for number in range(2):
        through_proxy.submit_multi = held  # type: ignore[method-assign]
        await transact(through_proxy, [SetData("/a", b"%d" % number)])
        before = await zk.get("/a")
        with pytest.raises(TransactionFailed) as caught:
            await through_proxy.multi(late.pop())
        assert (caught.value.index, type(caught.value.error)) == (0, BadVersion)
        assert await zk.get("/a") == before


async def test_hm_3_the_fence_and_the_end_of_the_session_end_what_waits_for_the_connection(
    proxy: Proxy, through_proxy: ZooKeeper, zk_connect: str, zk: ZooKeeper, clock: Clock
) -> None:
    await zk.create("/controller_epoch")
    fence = Check("/controller_epoch", 0)
    session = through_proxy.session_id
    await transact_many(through_proxy, [[Create("/a")]], session, fence)

    proxy.silence()
    work = asyncio.create_task(transact_many(through_proxy, [[Create("/b")]], session, fence))
    await until(lambda: through_proxy._session.connection().bytes_in_flight > 0)
    await zk.set("/controller_epoch", b"")
    proxy.rst()
    proxy.heal()
    with pytest.raises(BatchesFailed) as caught:
        await work
    assert isinstance(caught.value.first, Fenced)

    proxy.silence()
    waiting = [
        asyncio.create_task(transact(through_proxy, [Create("/b")], session)),
        asyncio.create_task(through_proxy.reading(lambda: through_proxy.get("/a"), session)),
    ]
    proxy.rst()
    await until(lambda: not through_proxy.connected)
    clock.move(through_proxy, 1)
    for one in waiting:
        with pytest.raises(SessionOver):
            await one
    with pytest.raises(NotSent):
        await transact(through_proxy, [Create("/b")])
    async with ZooKeeper(zk_connect) as other:
        assert await other.exists("/b") is None


async def test_hm_3_receipts_that_others_have_changed_show_nothing(
    proxy: Proxy, through_proxy: ZooKeeper, zk: ZooKeeper
) -> None:
    await zk.create("/a")
    for number, spoil in enumerate((zk.set, zk.delete)):
        await transact(through_proxy, [SetData("/a", b"")])
        proxy.mute()
        work = asyncio.create_task(transact(through_proxy, [SetData("/a", b"1")]))
        await written(zk, "/a", 2 * number + 2)
        for name in await zk.children(znode_paths.RECEIPTS):
            path = f"{znode_paths.RECEIPTS}/{name}"
            await (spoil(path, b"x") if spoil == zk.set else zk.delete(path))
        proxy.rst()
        proxy.heal()
        with pytest.raises(Unknown, match="somebody has changed"):
            await work
    for name in await zk.children(znode_paths.RECEIPTS):
        await zk.delete(f"{znode_paths.RECEIPTS}/{name}")
    await transact(through_proxy, [SetData("/a", b"")])


async def test_hm_3_receipts_are_few_and_go_with_the_session(zk: ZooKeeper, zk_connect: str) -> None:
    async with ZooKeeper(zk_connect) as client:
        for number in range(5):
            await transact_many(client, [[Create(f"/{number}-{index}")] for index in range(40)])
            await asyncio.gather(*(transact(client, [Create(f"/s{number}-{index}")]) for index in range(3)))
        with pytest.raises(TransactionFailed) as caught:
            await transact(client, [Check("/0-0", 0), Create("/0-0")])
        assert (caught.value.index, type(caught.value.error)) == (1, NodeExists)
        with pytest.raises(TooBig):
            await transact(client, [Create("/big", b"x" * 2_000_000)])
        await transact(client, [Create("/last")])
        assert len(await zk.children(znode_paths.RECEIPTS)) == 4
        assert await transact_many(client, []) == []
    assert await zk.children(znode_paths.RECEIPTS) == []
