"""The newest events of all servers: which are read, and what is said of servers that do not answer."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from kafka_reassign_rpc.status_page import events
from kafka_reassign_rpc.status_page.events import EventFeed, EventReader, EventsUnknown, LogPage
from kafka_reassign_rpc.status_page.requests import EventsRequest


class Log:
    """The log of a server, two events a page."""

    def __init__(self, *recorded: dict[str, Any]) -> None:
        self.recorded = [json.dumps(one) for one in recorded]
        self.fault: BaseException | None = None
        self.asked: list[int] = []

    async def page(self, first: int, max_bytes: int) -> LogPage:
        self.asked.append(first)
        if isinstance(self.fault, TimeoutError):
            await asyncio.Event().wait()
        if self.fault is not None:
            raise self.fault
        found = [] if first < 0 else self.recorded[first : first + 2]
        return LogPage(found, len(self.recorded) if first < 0 else first + len(found))


def event(at: int, **more: Any) -> dict[str, Any]:
    return {"at": at, "event": "move.started", **more}


def feed_of(logs: Mapping[int, EventReader]) -> EventFeed:
    async def readers() -> Mapping[int, EventReader]:
        return logs

    return EventFeed(readers)


async def times(feed: EventFeed, query: str = "") -> list[int]:
    return [one["at"] for one in (await feed.newest(EventsRequest(query), 0)).events]


@pytest.fixture(autouse=True)
def reads_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "EVERY_S", 0.0)


async def test_sv_11_folded_rates_of_one_request_are_one_event_of_the_limit_and_only_where_asked() -> None:
    def rate(at: int, broker: int) -> dict[str, Any]:
        return {"at": at, "event": "throttle.set", "bytes": 700, "broker": broker}

    feed = feed_of({1: Log(event(5), rate(10, 2), rate(11, 1), rate(12, 2), event(20, broker=4))})
    found = (await feed.newest(EventsRequest("folded=yes&limit=2"), 0)).events
    assert found == [event(20, broker=4), {"at": 12, "event": "throttle.set", "bytes": 700, "brokers": [1, 2]}]
    assert await times(feed, "limit=3") == [20, 12, 11]
    assert await times(feed, "folded=yes&broker=1") == [11]


async def test_sv_11_events_of_all_servers_are_merged_the_newest_first_and_only_new_ones_are_read() -> None:
    first, second = Log(*[event(10 * n) for n in range(5)]), Log(event(15), event(35))
    feed = feed_of({1: first, 2: second})
    assert await times(feed) == [40, 35, 30, 20, 15, 10, 0]
    second.recorded.append(json.dumps(event(50)))
    first.asked.clear()
    assert await times(feed, "limit=2") == [50, 40]
    assert first.asked == [-1], "nothing is new there"


async def test_sv_11_events_of_a_server_of_an_earlier_release_have_null_for_what_they_do_not_know() -> None:
    feed = feed_of({1: Log(event(0, server=1, epoch=-1), event(10, server=1, epoch=None))})
    found = (await feed.newest(EventsRequest(""), 0)).events
    assert [(one["server"], one["epoch"]) for one in found] == [(1, None), (1, None)]


NOW, A_YEAR = 1_767_225_600_000, 31_536_000_000


@pytest.mark.parametrize(
    "jump",
    [(), (-A_YEAR,), (A_YEAR,), (A_YEAR, -A_YEAR), (A_YEAR,) * 20],
    ids=["none", "back", "ahead", "both", "long"],
)
async def test_sv_11_a_server_whose_clock_jumped_hides_no_events_of_others_and_none_of_its_own(
    jump: tuple[int, ...],
) -> None:
    jumped = Log(*[event(NOW - one) for one in (90, 80)], *[event(NOW + one) for one in jump], event(NOW - 30))
    feed = feed_of({1: jumped, 2: Log(*[event(NOW - one) for one in (70, 60, 20)])})

    async def newest(query: str) -> list[int]:
        return [one["at"] - NOW for one in (await feed.newest(EventsRequest(query), NOW)).events]

    assert await newest("limit=4") == [-20, -30, -60, -70]
    assert await newest("limit=500") == [-20, -30, -60, -70, *reversed(jump), -80, -90]
    assert await newest(f"limit=500&since={NOW - 65}") == [-20, -30, -60, *[one for one in reversed(jump) if one > 0]]
    jumped.recorded.append(json.dumps(event(NOW - A_YEAR)))
    assert await newest(f"limit=3&since={NOW - 65}") == [-20, -A_YEAR, -30], "it was recorded after one of then"
    assert await newest("limit=4") == [-20, -A_YEAR, -30, -60]


async def test_sv_11_events_of_a_server_whose_clock_was_never_right_are_shown_until_there_are_newer_ones() -> None:
    ahead, right = Log(event(NOW + A_YEAR), event(NOW + A_YEAR + 1)), Log(event(NOW - 5))
    feed = feed_of({1: ahead, 2: right})
    found = (await feed.newest(EventsRequest("limit=2"), NOW)).events
    assert [one["at"] for one in found] == [NOW + A_YEAR + 1, NOW + A_YEAR]
    right.recorded.append(json.dumps(event(NOW + 5000)))
    found = (await feed.newest(EventsRequest("limit=2"), NOW + 6000)).events
    assert [one["at"] for one in found] == [NOW + 5000, NOW + A_YEAR + 1]


async def test_sv_11_no_more_events_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEPT", 4)
    log = Log(*[event(n) for n in range(100)])
    feed = feed_of({1: log})
    assert await times(feed) == [99, 98, 97, 96]
    assert log.asked == [-1, 96, 98], "older ones are not even read"
    log.recorded += [json.dumps(event(n)) for n in range(100, 200)]
    assert await times(feed) == [199, 198, 197, 196]


async def test_sv_11_a_server_that_does_not_answer_is_named_and_the_others_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events, "ANSWER_S", 0.05)
    faults = {2: EventsUnknown("it keeps no event log"), 3: TimeoutError(), 4: ConnectionRefusedError(111, "Refused")}
    logs = {1: Log(event(1)), **{number: Log(event(2)) for number in faults}}
    for number, fault in faults.items():
        logs[number].fault = fault
    feed = feed_of(logs)
    found = await feed.newest(EventsRequest(""), 0)
    assert [one["at"] for one in found.events] == [1]
    assert {one.server: one.why for one in found.missing} == {
        2: "it keeps no event log", 3: "no answer", 4: "connection refused",
    }  # fmt: skip
    logs[2].asked.clear()
    await times(feed)
    assert logs[2].asked == [], "it is left in peace for a while"
    logs[2].fault = None
    monkeypatch.setattr(events, "SILENT_S", 0.0)
    feed = feed_of(logs)
    assert await times(feed) == [2, 1]


async def test_sv_11_a_log_that_begins_anew_and_one_with_garbage_do_no_harm() -> None:
    log = Log(*[event(n) for n in range(3)])
    feed = feed_of({1: log})
    assert await times(feed) == [2, 1, 0]
    log.recorded = [json.dumps(event(7)), "garbage", "[]", '{"at":"x","event":"y"}', '{"event":"y"}']
    log.recorded = log.recorded[:1]
    assert await times(feed) == [7]
    log.recorded += ["garbage", "[]", '{"at":"x","event":"y"}', '{"event":"y"}', json.dumps(event(8, target="x"))]
    assert await times(feed) == [8, 7]
    assert await times(feed, "broker=1") == []


async def test_sv_11_events_are_filtered_by_topic_broker_requester_and_time() -> None:
    log = Log(
        event(1, topic="orders", partition=0, target=[1, 2], who="User:a from x", principal="User:a"),
        event(2, topic="audit", original=[3], who="znode /admin/x"),
        event(3, broker=2),
    )
    feed = feed_of({1: log})
    assert await times(feed, "topic=rder") == [1]
    assert await times(feed, "broker=2") == [3, 1]
    assert await times(feed, "broker=3") == [2]
    assert await times(feed, "principal=User:a") == [1]
    assert await times(feed, "principal=znode") == [2]
    assert await times(feed, "since=2") == [3, 2]
