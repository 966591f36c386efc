"""The bookkeeping of limits, without a clock or a socket; and the choice of the event loop."""

import asyncio

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.server.event_loop import LoopName, run
from kafka_reassign_rpc.server.server_limits import (
    UNLIMITED,
    ConnectionCounts,
    CreationRate,
    IdleWheel,
    ServerLimits,
)


def test_sv_6_defaults_are_kafkas_where_an_admin_server_needs_no_other() -> None:
    limits = ServerLimits()
    assert limits.connections_max_idle_ms == 600_000
    assert limits.queued_max_requests == 500
    assert limits.max_connections == limits.max_connections_per_ip == limits.max_connection_creation_rate == UNLIMITED
    assert limits.socket_request_max_bytes == 10 * 1024 * 1024


def test_sv_6_a_second_of_connections_may_come_at_once_and_the_rest_are_spread() -> None:
    rate = CreationRate(10)
    delays = [rate.delay(100.0) for _ in range(20)]
    assert delays[:10] == pytest.approx([0.0] * 10)
    assert delays[10:] == pytest.approx([0.1 * i for i in range(1, 11)])
    assert rate.delay(200.0) == 0.0


@given(st.integers(1, 50), st.lists(st.floats(0, 2), min_size=1, max_size=200))
def test_sv_6_no_second_starts_more_connections_than_twice_the_rate(per_second: int, gaps: list[float]) -> None:
    """The burst of one second, and the second's own share."""
    rate, now, starts = CreationRate(per_second), 0.0, []
    for gap in gaps:
        now += gap
        starts.append(now + rate.delay(now))
    for start in starts:
        assert sum(start <= other < start + 1 for other in starts) <= 2 * per_second + 1


def test_sv_6_an_unlimited_rate_never_delays() -> None:
    rate = CreationRate(UNLIMITED)
    assert all(rate.delay(0.0) == 0.0 for _ in range(1000))


def test_sv_6_counts_forget_addresses_without_connections() -> None:
    counts = ConnectionCounts(ServerLimits(max_connections=3, max_connections_per_ip=1))
    assert counts.refusal("a") is None
    counts.add("a")
    assert "max.connections.per.ip" in (counts.refusal("a") or "")
    counts.add("b")
    counts.add("c")
    assert "max.connections=3" in (counts.refusal("d") or "")
    counts.remove("a")
    assert counts.refusal("a") is None
    assert counts.total == 2


def test_sv_6_the_wheel_brings_up_each_item_when_its_time_may_be_up() -> None:
    wheel: IdleWheel[str] = IdleWheel(4)
    wheel.put("soon", 1)
    wheel.put("later", 3)
    wheel.put("far", 99)
    wheel.put("gone", 2)
    wheel.discard("gone")
    wheel.discard("never there")
    assert [wheel.tick() for _ in range(4)] == [{"soon"}, set(), {"later"}, {"far"}]
    assert len(wheel) == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 20), st.booleans()), max_size=60))
def test_sv_6_the_wheel_holds_every_item_exactly_once(steps: list[tuple[int, int, bool]]) -> None:
    wheel: IdleWheel[int] = IdleWheel(7)
    held: set[int] = set()
    for item, ticks, tick in steps:
        if tick:
            due = wheel.tick()
            assert due <= held
            held -= due
        else:
            wheel.put(item, ticks)
            held.add(item)
        assert len(wheel) == len(held)
    assert set().union(*(wheel.tick() for _ in range(7))) == held


@pytest.mark.parametrize(
    ("name", "expected"), [("uvloop", uvloop.Loop), (None, uvloop.Loop), ("asyncio", asyncio.BaseEventLoop)]
)
def test_the_loop_is_uvloop_unless_asked_otherwise(name: LoopName | None, expected: type) -> None:
    async def main() -> type:
        return type(asyncio.get_running_loop())

    assert issubclass(run(main(), name), expected)
