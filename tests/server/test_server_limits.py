"""The bookkeeping of limits, without a clock or a socket; and the choice of the event loop."""

import asyncio

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.quotas.connection_quotas import UNLIMITED
from kafka_reassign_rpc.server.connection_times import IdleWheel
from kafka_reassign_rpc.server.open_connections import AddressRates, ConnectionCounts
from kafka_reassign_rpc.server.process_limits import LoopName, run
from kafka_reassign_rpc.server.server_limits import ServerLimits, most_per_ip


def test_sv_6_defaults_are_kafkas_where_an_admin_server_needs_no_other() -> None:
    limits = ServerLimits()
    assert limits.connections_max_idle_ms == 600_000
    assert limits.queued_max_requests == 500
    assert limits.max_connections == limits.max_connections_per_ip == limits.max_connection_creation_rate == UNLIMITED
    assert limits.socket_request_max_bytes == 10 * 1024 * 1024


def test_sv_6_counts_forget_addresses_without_connections() -> None:
    limits = ServerLimits(max_connections=3, max_connections_per_ip=1, max_connections_per_ip_overrides={"b": 2})
    counts = ConnectionCounts(limits)
    assert counts.over_of("a") is None
    counts.add("a")
    assert "max.connections.per.ip" in (counts.over_of("a") or "")
    counts.add("b")
    assert counts.over_of("b") is None
    assert counts.over is None
    counts.add("c")
    assert "max.connections=3" in (counts.over or "")
    counts.remove("a")
    assert counts.over_of("a") is None
    assert counts.over is None
    assert counts.total == 2


@given(st.integers(1, 20), st.lists(st.floats(0, 0.5), min_size=1, max_size=200))
def test_sv_6_an_address_opens_at_most_twice_its_rate_in_a_second_and_others_do_not_suffer(
    per_second: int, gaps: list[float]
) -> None:
    """The share of one second at once, and the second's own."""
    rates, now, admitted = AddressRates(), 0.0, []
    for gap in gaps:
        now += gap
        if rates.admits("a", now, per_second):
            admitted.append(now)
    assert rates.admits("b", now, per_second)
    for start in admitted:
        assert sum(start <= other < start + 1 for other in admitted) <= 2 * per_second + 1
    assert len(admitted) == len(gaps) or len(admitted) >= per_second


def test_sv_6_a_slow_newcomer_is_admitted_at_any_rate_and_addresses_are_forgotten() -> None:
    rates = AddressRates()
    assert [rates.admits("a", 10.0, 2) for _ in range(3)] == [True, True, False]
    assert rates.admits("a", 10.6, 2)
    rates.forget(11.0)
    assert len(rates) == 1
    rates.forget(11.6)
    assert len(rates) == 0
    assert all(AddressRates().admits("a", 0.0, UNLIMITED) for _ in range(10))


def test_sv_6_one_address_gets_a_quarter_of_all_connections() -> None:
    assert most_per_ip(20_000) == 5_000
    assert most_per_ip(40) == 100, "the limit in all is the lower one then"


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
