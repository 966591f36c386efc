"""How many refusals are recorded one by one: of an address, of all addresses, of ZooKeeper."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.controller.telemetry.event_recorder import (
    COUNTED,
    KEPT,
    NAMED,
    OF_ALL_ADDRESSES,
    OF_AN_ADDRESS,
    RefusalLimit,
)
from kafka_reassign_rpc.core.events.decided_events import Event

NOW = 1_800_000_000_000


def refusal(address: str | None, count: int | None = None) -> Event:
    return Event("move.refused", "t", 0, address=address, count=count)


def admitted(limit: RefusalLimit, address: str | None, times: int, now: int = NOW) -> int:
    return sum(limit.admits(refusal(address), now) for _ in range(times))


def test_sv_7_an_address_may_have_a_number_of_refusals_at_once_and_some_each_second() -> None:
    limit = RefusalLimit()
    assert admitted(limit, "a", 1_000) == 100
    assert admitted(limit, "a", 1_000, NOW + 2_000) == 2 * 5
    assert admitted(limit, "a", 1_000, NOW + 10**9) == 100, "it saves no more than that"
    assert admitted(limit, "a", 1_000, NOW) == 0, "a clock that goes back gives nothing"


def test_sv_7_one_address_takes_nothing_from_another_and_clients_take_nothing_from_znodes() -> None:
    limit = RefusalLimit()
    admitted(limit, "a", 10_000)
    assert admitted(limit, "b", 10) == 10
    limit = RefusalLimit()
    assert sum(limit.admits(refusal(f"{number}"), NOW) for number in range(10_000)) == 500
    assert admitted(limit, "c", 1) == 0, "all addresses together have a limit too"
    assert sum(limit.admits(refusal(f"{number}"), NOW + 2_000) for number in range(10_000)) == 2 * 25
    assert admitted(limit, None, 2_000) == 1_000
    assert admitted(limit, None, 2_000, NOW + 2_000) == 2 * 25


def test_sv_7_the_event_of_what_was_left_out_names_the_addresses_with_the_most() -> None:
    limit = RefusalLimit()
    assert limit.left_out() is None
    for number in range(1, 9):
        admitted(limit, f"a{number}", OF_AN_ADDRESS.at_once + number, NOW + number * 10**6)
    limit.admits(refusal("a8", 99_000), NOW + 8 * 10**6)
    told = limit.left_out()
    assert told is not None
    assert told.count == 36 + 99_000
    assert told.reason == "99008 from a8, 7 from a7, 6 from a6, 5 from a5, 4 from a4, 6 from others"
    assert limit.left_out() is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 300), st.integers(0, 5_000)), max_size=20))
def test_sv_7_every_refusal_is_admitted_or_counted_and_never_more_than_the_rate_allows(
    steps: list[tuple[int, int, int]],
) -> None:
    limit, now, let_in, asked = RefusalLimit(), NOW, 0, 0
    for address, times, later in steps:
        now += later
        asked += times
        let_in += admitted(limit, f"a{address}", times, now)
    told = limit.left_out()
    assert let_in + (0 if told is None else told.count or 0) == asked
    assert let_in <= OF_ALL_ADDRESSES.at_once + (now - NOW) / 1000 * OF_ALL_ADDRESSES.per_second


def test_sv_7_a_million_addresses_take_bounded_memory_and_one_short_event() -> None:
    limit = RefusalLimit()
    for number in range(100_000):
        limit.admits(refusal(f"2001:db8::{number:x}"), NOW + number)
    assert len(limit._addresses) <= KEPT + 1
    assert len(limit._left_out) <= COUNTED + 1
    told = limit.left_out()
    assert told is not None
    assert (told.reason or "").count(" from ") == NAMED + 1
    assert len(told.reason or "") < 300
