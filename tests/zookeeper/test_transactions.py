"""Transactions: all or nothing, typed failures by the controller epoch, split and pipelined."""

import asyncio

import pytest

from kafka_reassign_rpc.zookeeper.jute import size_of
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Delete, Op, SetData, Stat
from kafka_reassign_rpc.zookeeper.tcp_connection import MAX_FRAME
from kafka_reassign_rpc.zookeeper.transactions import MAX_MULTI_BYTES, pipeline, split_ops
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import (
    BadVersion,
    BatchesFailed,
    Fenced,
    NodeExists,
    NoNode,
    NotEmpty,
    SessionOver,
    TooBig,
    TransactionFailed,
    Unknown,
)
from tests.waiting import eventually
from tests.zookeeper.helpers import Events, until
from tests.zookeeper.proxy import Proxy


@pytest.mark.both_loops
async def test_sv_3_a_transaction_gives_one_result_per_operation_in_order(zk: ZooKeeper) -> None:
    results = await zk.multi(
        [Create("/a", b"1"), Check("/a", 0), SetData("/a", b"2", 0), Create("/a/s-", sequence=True), Create("/b")],
        zk.session_id,
    )
    created, checked, written, numbered, _ = results
    assert isinstance(created, tuple)
    assert created[0] == "/a"
    assert isinstance(created[1], Stat)
    assert checked is None
    assert isinstance(written, Stat)
    assert written.version == 1
    assert isinstance(numbered, tuple)
    assert numbered[0] == "/a/s-0000000000"
    assert await zk.multi([Delete("/b", 0)]) == [None]
    data, stat = await zk.get("/a")
    assert data == b"2"
    assert (stat.czxid, stat.version, stat.num_children) == (written.czxid, 1, 1)


@pytest.mark.parametrize(
    ("ops", "index", "error"),
    [
        ([Create("/new"), Create("/there")], 1, NodeExists),
        ([Create("/there"), Create("/new")], 0, NodeExists),
        ([Create("/new"), SetData("/there", b"", 7), Create("/new2")], 1, BadVersion),
        ([Create("/new"), Create("/new2"), Delete("/gone")], 2, NoNode),
        ([Check("/gone", 0)], 0, NoNode),
        ([Create("/new"), Delete("/parent")], 1, NotEmpty),
    ],
)
async def test_sv_3_a_failed_transaction_names_the_operation_and_does_nothing(
    zk: ZooKeeper, ops: list[Create], index: int, error: type[Exception]
) -> None:
    await zk.create("/there")
    await zk.ensure_path("/parent/child")
    with pytest.raises(TransactionFailed) as caught:
        await zk.multi(ops)
    assert caught.value.index == index
    assert type(caught.value.error) is error
    assert await zk.exists("/new") is None


async def test_sv_3_a_failed_transaction_does_not_stop_the_one_behind_it(zk: ZooKeeper) -> None:
    await zk.create("/a")
    calls = [zk.multi([SetData("/a", b"1", 0)]), zk.multi([SetData("/a", b"2", 0)]), zk.multi([SetData("/a", b"3", 1)])]
    first, second, third = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(first, list)
    assert isinstance(second, TransactionFailed)
    assert isinstance(third, list)


async def test_sv_3_an_empty_transaction_is_answered_with_nothing(zk: ZooKeeper) -> None:
    assert await zk.multi([]) == []


async def test_236_14_a_request_above_the_packet_limit_is_refused_unsent(zk: ZooKeeper) -> None:
    events = Events(zk)
    await zk.create("/big")
    for call in (
        zk.multi([SetData("/big", b"x" * MAX_FRAME)]),
        zk.set("/big", b"x" * MAX_FRAME),
        zk.create("/big2", b"x" * MAX_FRAME),
    ):
        with pytest.raises(TooBig) as caught:
            await call
        assert caught.value.size > caught.value.limit == MAX_FRAME
    assert (await zk.get("/big"))[0] == b""
    assert events.seen == []


async def test_236_14_the_largest_packet_that_is_not_refused_is_taken(zk: ZooKeeper) -> None:
    overhead = len(zk.chroot + "/big") + 20
    await zk.create("/big")
    await zk.set("/big", b"x" * (MAX_FRAME - overhead))
    with pytest.raises(TooBig) as caught:
        await zk.set("/big", b"x" * (MAX_FRAME - overhead + 1))
    assert caught.value.size == MAX_FRAME + 1


def test_236_14_operations_are_split_in_order_below_the_limit() -> None:
    ops = [SetData(f"/n{n}", b"x" * (n % 900), n) for n in range(5000)]
    batches = list(split_ops(ops, 64_000, 200))
    assert [op for batch in batches for op in batch] == ops
    assert max(sum(map(size_of, batch)) for batch in batches) < 64_000
    assert max(map(len, batches)) <= 200
    assert list(split_ops([])) == []


def test_236_14_an_operation_above_the_limit_is_alone_in_its_batch() -> None:
    ops: list[Op] = [Create("/a"), SetData("/b", b"x" * MAX_MULTI_BYTES), Delete("/c")]
    assert list(split_ops(ops)) == [[ops[0]], [ops[1]], [ops[2]]]


async def test_sv_3_a_stale_controller_epoch_fences(zk: ZooKeeper) -> None:
    _, stat = await zk.create("/controller_epoch", b"1")
    session = zk.session_id
    assert session is not None
    ours = Check("/controller_epoch", stat.version)
    [made] = await pipeline(zk.submit_multi, [[Create("/a"), Create("/b")]], session, fence=ours)
    assert len(made) == 2
    with pytest.raises(BatchesFailed) as caught:
        await pipeline(zk.submit_multi, [[Create("/c"), Create("/b")]], session, fence=ours)
    assert isinstance(caught.value.first, TransactionFailed)
    assert caught.value.first.index == 1
    await zk.set("/controller_epoch", b"2")
    with pytest.raises(BatchesFailed) as caught:
        await pipeline(zk.submit_multi, [[Create("/d")]], session, fence=ours)
    assert isinstance(caught.value.first, Fenced)
    assert await zk.exists("/d") is None
    with pytest.raises(BatchesFailed) as caught:
        await pipeline(zk.submit_multi, [[Create("/d")]], session + 1, fence=Check("/controller_epoch", 1))
    assert isinstance(caught.value.first, SessionOver)


async def test_sv_3_many_transactions_are_pipelined_in_order(zk: ZooKeeper) -> None:
    await zk.create("/a")
    results = await pipeline(zk.submit_multi, ([SetData("/a", b"%d" % n, n)] for n in range(50)), zk.session_id)
    assert [batch[0].version for batch in results if isinstance(batch[0], Stat)] == list(range(1, 51))
    assert await pipeline(zk.submit_multi, []) == []


async def test_sv_3_a_sequence_of_transactions_stops_at_the_first_failure_and_says_what_is_done(zk: ZooKeeper) -> None:
    batches = [[Create(f"/n{n % 7}")] for n in range(20)]
    with pytest.raises(BatchesFailed) as caught:
        await pipeline(zk.submit_multi, batches, zk.session_id, in_flight=3)
    failure = caught.value
    assert isinstance(failure.first, TransactionFailed)
    assert sorted(failure.done) == list(range(7))
    assert min(failure.refused) == 7
    assert failure.unknown == []
    assert sorted([*failure.done, *failure.refused, *failure.unsent]) == list(range(20))


async def test_sv_3_a_fence_leads_every_transaction_of_a_sequence(zk: ZooKeeper) -> None:
    await zk.create("/controller_epoch", b"1")
    fence = Check("/controller_epoch", 0)
    assert [len(batch) for batch in await pipeline(zk.submit_multi, [[Create("/a")], []], fence=fence)] == [1, 0]
    with pytest.raises(BatchesFailed) as caught:
        await pipeline(zk.submit_multi, [[Create("/b"), Create("/a")]], fence=fence)
    assert isinstance(caught.value.first, TransactionFailed)
    assert caught.value.first.index == 1
    await zk.set("/controller_epoch", b"2")
    with pytest.raises(BatchesFailed) as caught:
        await pipeline(zk.submit_multi, [[Create("/c")], [Create("/d")]], fence=fence)
    assert isinstance(caught.value.first, Fenced)
    assert await zk.exists("/c") is None


async def test_sv_3_a_sequence_cut_by_a_lost_connection_says_what_is_unknown(
    proxy: Proxy, through_proxy: ZooKeeper, zk: ZooKeeper
) -> None:
    await through_proxy.create("/a")
    proxy.mute()
    work = asyncio.ensure_future(
        pipeline(
            through_proxy.submit_multi,
            [[SetData("/a", b"", n)] for n in range(10)],
            through_proxy.session_id,
            in_flight=4,
        )
    )

    async def four_are_written() -> bool:
        return (await zk.get("/a"))[1].version >= 4

    await eventually(four_are_written)
    proxy.rst()
    with pytest.raises(BatchesFailed) as caught:
        await work
    assert isinstance(caught.value.first, Unknown)
    assert caught.value.unknown == [0, 1, 2, 3]
    assert caught.value.unsent == [4, 5, 6, 7, 8, 9]
    proxy.heal()
    await until(lambda: through_proxy.connected)


async def test_sv_3_a_transaction_that_does_not_fit_stops_a_sequence_before_it_is_sent(zk: ZooKeeper) -> None:
    await zk.create("/a")
    batches = [[SetData("/a", b"1")], [SetData("/a", b"x" * MAX_FRAME)], [SetData("/a", b"3")]]
    with pytest.raises(BatchesFailed) as caught:
        await pipeline(zk.submit_multi, batches)
    assert (list(caught.value.done), list(caught.value.refused), caught.value.unsent) == ([0], [1], [2])
    assert (await zk.get("/a"))[0] == b"1"
