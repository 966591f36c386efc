"""The session under faults: kept while it can be kept, over exactly when it is over, never silently replaced."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper.operations import Create, SetData
from kafka_reassign_rpc.zookeeper.tcp_connection import ZooKeeperConnection
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists, NotSent, SessionOver, Unknown
from tests.waiting import eventually
from tests.zookeeper.conftest import Clock
from tests.zookeeper.helpers import Events, until
from tests.zookeeper.proxy import Proxy


async def test_sv_3_an_orderly_close_is_noticed_at_once_and_the_session_kept(
    proxy: Proxy, through_proxy: ZooKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    events, session = Events(through_proxy), through_proxy.session_id
    await through_proxy.create("/mine", ephemeral=True)
    proxy.fin()
    await events.until("connected")
    assert "is back: closed by the server" in caplog.text
    assert events.seen == [("disconnected", session), ("connected", session)]
    assert await through_proxy.exists("/mine") is not None


async def test_sv_3_a_reset_ends_what_is_pending_in_unknown_and_the_session_is_kept(
    proxy: Proxy, through_proxy: ZooKeeper
) -> None:
    events, session = Events(through_proxy), through_proxy.session_id
    proxy.mute()
    pending = asyncio.ensure_future(through_proxy.create("/once"))
    await until(lambda: proxy.to_server > 60)
    await asyncio.sleep(0)
    proxy.rst()
    with pytest.raises(Unknown):
        await pending
    proxy.heal()
    await events.until("connected")
    assert through_proxy.session_id == session


async def test_sv_3_a_request_whose_answer_was_lost_is_not_sent_a_second_time(
    proxy: Proxy, through_proxy: ZooKeeper, zk: ZooKeeper
) -> None:
    events = Events(through_proxy)
    proxy.mute()
    pending = asyncio.ensure_future(through_proxy.create("/numbered-", sequence=True))
    await eventually(lambda: zk.children("/"))
    proxy.rst()
    with pytest.raises(Unknown):
        await pending
    proxy.heal()
    await events.until("connected")
    await through_proxy.sync()
    assert len(await zk.children("/")) == 1


async def test_sv_3_silence_is_taken_for_a_loss_after_two_thirds_of_the_timeout(
    proxy: Proxy, through_proxy: ZooKeeper, clock: Clock
) -> None:
    events, session = Events(through_proxy), through_proxy.session_id
    proxy.silence()
    pending = asyncio.ensure_future(through_proxy.get("/"))
    clock.move(through_proxy, 0.66)
    for _ in range(10):
        await asyncio.sleep(0)
    assert not pending.done()
    clock.move(through_proxy, 0.01)
    with pytest.raises(Unknown, match="nothing heard"):
        await pending
    proxy.heal()
    await events.until("connected")
    assert through_proxy.session_id == session


async def test_sv_3_a_lease_that_runs_out_ends_the_session_before_a_new_one_is_asked_for(
    proxy: Proxy, through_proxy: ZooKeeper, clock: Clock
) -> None:
    session = through_proxy.session_id
    assert session is not None
    await through_proxy.create("/mine", ephemeral=True)
    asked_before = []
    through_proxy.on_session_over(lambda _: asked_before.append((proxy.accepted, through_proxy.session_id)))
    events = Events(through_proxy)
    proxy.silence()
    proxy.refusing = "close"
    clock.move(through_proxy, 0.7)
    await events.until("disconnected")
    clock.move(through_proxy, 0.29)
    assert "over" not in events.names
    clock.move(through_proxy, 0.01)
    assert events.seen[-1] == ("over", session)
    assert asked_before[0][1] is None
    assert through_proxy.lease_left() == 0
    with pytest.raises(SessionOver):
        await through_proxy.set("/mine", b"late", session=session)
    with pytest.raises(NotSent):
        await through_proxy.get("/")
    proxy.heal()
    await events.until("connected")
    assert through_proxy.session_id not in (None, session)
    # What we gave up is closed, not left in our own way.
    await through_proxy.create("/mine", ephemeral=True)


@pytest.mark.parametrize("how", ["close", "swallow"])
async def test_sv_3_a_refused_handshake_does_not_cost_the_session(
    how: str, proxy: Proxy, through_proxy: ZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(through_proxy._session, "_step_seconds", lambda: 0.5)  # in place of a third of the timeout
    events, session = Events(through_proxy), through_proxy.session_id
    proxy.refusing = how
    proxy.rst()
    await events.until("disconnected")
    seen = proxy.accepted
    await until(lambda: proxy.accepted > seen)
    proxy.heal()
    await events.until("connected")
    assert events.seen == [("disconnected", session), ("connected", session)]


async def test_sv_3_a_slow_network_costs_nothing_but_time(proxy: Proxy, through_proxy: ZooKeeper) -> None:
    events = Events(through_proxy)
    proxy.delay = 0.05
    await asyncio.gather(*(through_proxy.create(f"/slow-{n}") for n in range(20)))
    assert events.seen == []


async def test_sv_3_a_session_that_ends_on_the_server_is_known_at_once(
    zookeeper: EmbeddedZooKeeper, zk: ZooKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    events, session = Events(zk), zk.session_id
    thief = ZooKeeper(zookeeper.address)
    thief._session.session_id, thief._session.password = session, zk._session.password
    await thief.start()
    await thief.close()
    await events.until("over")
    await events.until("connected")
    assert "a new one is asked for: the server has expired it" in caplog.text
    assert events.names.index("over") < len(events.names) - 1
    assert ("over", session) in events.seen
    assert events.seen[-1][1] not in (None, session)


async def test_sv_3_calls_without_a_connection_are_not_sent(proxy: Proxy, through_proxy: ZooKeeper) -> None:
    events = Events(through_proxy)
    proxy.refusing = "close"
    proxy.fin()
    await events.until("disconnected")
    for call in (
        through_proxy.get("/"),
        through_proxy.multi([SetData("/", b"")]),
        through_proxy.multi_get(["/"]),
        through_proxy.place_watches(["/"], 0),
        through_proxy.ensure_path("/a/b"),
    ):
        with pytest.raises(NotSent):
            await call


async def test_sv_3_a_hook_that_raises_does_not_stop_the_session(
    proxy: Proxy, through_proxy: ZooKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise RuntimeError("hook")

    through_proxy.on_connected(fail)
    events = Events(through_proxy)
    proxy.fin()
    await events.until("connected")
    assert await through_proxy.exists("/") is not None
    assert "a ZooKeeper session hook failed" in caplog.text


async def test_sv_3_a_server_killed_and_started_again_keeps_the_session(
    own_zookeeper: EmbeddedZooKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    async with ZooKeeper(own_zookeeper.address, session_timeout_ms=60_000) as zk:
        events, session = Events(zk), zk.session_id
        await zk.create("/mine", b"kept", ephemeral=True)
        await own_zookeeper.kill()
        await events.until("disconnected")
        (told,) = [
            one
            for one in caplog.records
            if one.getMessage().startswith("ZooKeeper connection lost, nothing is read or written until it is back: ")
        ]
        assert told.levelname == "WARNING"
        await own_zookeeper.start()
        await events.until("connected")
        assert zk.session_id == session
        assert (await zk.get("/mine"))[0] == b"kept"


async def test_sv_3_old_ephemerals_go_when_a_server_returns_that_was_away_longer_than_the_lease(
    own_zookeeper: EmbeddedZooKeeper,
) -> None:
    async with ZooKeeper(own_zookeeper.address, session_timeout_ms=2000) as zk:
        events = Events(zk)
        await zk.create("/mine", ephemeral=True)
        await own_zookeeper.kill()
        await events.until("over")
        await own_zookeeper.start()
        await events.until("connected")
        await zk.create("/mine", ephemeral=True)


async def test_sv_3_closing_ends_the_session_and_leaves_no_task(zk_connect: str, zk: ZooKeeper) -> None:
    before = asyncio.all_tasks()
    other = ZooKeeper(zk_connect)
    await other.start()
    await other.create("/theirs", ephemeral=True)
    await other.close()
    await other.close()
    assert await zk.exists("/theirs") is None
    assert asyncio.all_tasks() == before
    with pytest.raises(NotSent):
        await other.get("/")


async def test_sv_1_a_server_that_is_not_there_is_said_so_within_the_time_given() -> None:
    zk = ZooKeeper("127.0.0.1:1")
    with pytest.raises(NotSent) as said:
        await zk.start(timeout=2)
    assert str(said.value) == ("no ZooKeeper session at 127.0.0.1:1 within 2 s; last: 127.0.0.1:1: connection refused")


async def test_sv_3_a_client_closed_without_a_connection_is_closed_at_once(proxy: Proxy, zk_connect: str) -> None:
    zk = ZooKeeper(proxy.address)
    await zk.start()
    proxy.silence()
    proxy.refusing = "swallow"
    proxy.rst()
    async with asyncio.timeout(60):  # a connection would never come
        await zk.close()
    proxy.heal()


@pytest.mark.both_loops
async def test_sv_3_calls_are_carried_out_in_the_order_in_which_they_are_made(zk: ZooKeeper) -> None:
    await zk.create("/last", b"")
    calls: list[Coroutine[Any, Any, Any]] = [zk.set("/last", b"%d" % n) for n in range(200)]
    calls.insert(100, zk.multi([Create("/half-way"), SetData("/last", b"multi")]))
    results = await asyncio.gather(*calls)
    versions = [result.version for result in results if not isinstance(result, list)]
    assert versions == sorted(versions)
    assert (await zk.get("/last"))[0] == b"199"


@pytest.mark.both_loops
async def test_sv_6_what_is_in_flight_is_bounded_and_order_is_kept(zk: ZooKeeper) -> None:
    await zk.create("/big", b"")
    calls = [asyncio.ensure_future(zk.set("/big", b"%02d" % n + b"x" * 500_000)) for n in range(30)]
    await asyncio.sleep(0)
    connection = zk._session.connection()
    assert connection.bytes_in_flight <= 4 << 20
    assert connection._queued
    calls[29].cancel()
    results: list[Any] = await asyncio.gather(*calls, return_exceptions=True)
    assert [result.version for result in results[:29]] == list(range(1, 30))
    assert isinstance(results[29], asyncio.CancelledError)
    assert (await zk.get("/big"))[0][:2] == b"28"
    assert connection.bytes_in_flight == 0


async def test_sv_3_the_lease_moves_on_while_nothing_is_asked(zk: ZooKeeper, clock: Clock) -> None:
    events, whole = Events(zk), zk._session.timeout
    for _ in range(4):
        clock.move(zk, 0.4)
        await eventually(lambda: zk.lease_left() > 0.9 * whole)
    assert events.seen == []
    with pytest.raises(NodeExists):
        await zk.create("/")


async def test_sv_3_no_caller_gets_a_session_that_is_over_when_its_handshake_ends(
    zk_connect: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is stopped, for longer than the lease, just when the server has given it a session."""
    real = ZooKeeperConnection.handshake
    zk = ZooKeeper(zk_connect)
    stalls = iter([1.2 * zk._session.wanted_timeout])

    async def standing_still(connection: ZooKeeperConnection, *given: Any) -> Any:
        answer = await real(connection, *given)
        clock.now += next(stalls, 0)
        return answer

    monkeypatch.setattr(ZooKeeperConnection, "handshake", standing_still)
    events = Events(zk)
    async with zk:
        await events.until("connected")
        assert ("connected", None) not in events.seen
        assert events.seen[-1] == ("connected", zk.session_id)
        assert await zk.exists("/") is not None
