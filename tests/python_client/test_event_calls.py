"""The client reads the events that the server has recorded."""

import asyncio
from collections.abc import Iterator

import pytest

from kafka_reassign_rpc.client import AsyncReassignmentClient, Event, EventPage, ReassignmentClient
from kafka_reassign_rpc.client.server_calls import EventCursor
from tests.python_client.test_against_our_server import TOPIC, start_slowly
from tests.waiting import eventually


def events(*numbers: int, epoch: int = 1) -> tuple[Event, ...]:
    return tuple({"seq": number, "epoch": epoch, "event": "move.started"} for number in numbers)


def test_sv_7_a_reader_goes_on_where_it_was() -> None:
    cursor = EventCursor(5)
    assert cursor.take(EventPage(1, events(7, 8), 7, 9)) == list(events(7, 8)), "5 and 6 are not kept any more"
    assert cursor.seq == 9
    assert cursor.take(EventPage(1, (), 7, 9)) is None
    assert cursor.take(EventPage(1, events(9), 7, 10)) == list(events(9))


def test_sv_7_a_reader_from_now_on_sees_nothing_that_was_before() -> None:
    cursor = EventCursor(-1)
    assert cursor.take(EventPage(1, (), 0, 20)) is None
    assert cursor.seq == 20


def test_sv_7_after_a_failover_a_reader_goes_on_with_what_the_next_controller_has_recorded_since() -> None:
    cursor = EventCursor(0)
    cursor.take(EventPage(1, events(0, 1, epoch=4), 0, 2))
    assert cursor.take(EventPage(2, events(2, epoch=3), 0, 3)) == [], "another server's numbers mean nothing here"
    assert cursor.seq == 0
    page = (*events(0, 1, epoch=3), *events(2, epoch=5))
    assert cursor.take(EventPage(2, page, 0, 3)) == list(events(2, epoch=5))
    assert cursor.take(EventPage(2, (), 0, 3)) is None


def test_sv_7_events_whose_epoch_is_not_known_are_read_but_not_again_after_a_failover() -> None:
    cursor = EventCursor(0)
    unknown: tuple[Event, ...] = ({"seq": 0, "epoch": None, "event": "access.denied"},)
    assert cursor.take(EventPage(1, (*unknown, *events(1, epoch=4)), 0, 2)) == [*unknown, *events(1, epoch=4)]
    assert cursor.take(EventPage(2, (), 0, 9)) == []
    assert cursor.take(EventPage(2, (*unknown, *events(1, epoch=5)), 0, 2)) == list(events(1, epoch=5))


def test_sv_7_a_server_that_has_begun_its_log_anew_is_read_from_its_beginning() -> None:
    cursor = EventCursor(0)
    cursor.take(EventPage(1, events(*range(10), epoch=4), 0, 10))
    assert cursor.take(EventPage(1, (), 0, 2)) == []
    assert cursor.take(EventPage(1, events(0, 1, epoch=5), 0, 2)) == list(events(0, 1, epoch=5))


def started(found: Iterator[Event] | list[Event], names: set[tuple[str, int]]) -> bool:
    return names <= {(one["topic"], one["partition"]) for one in found if one["event"] == "move.started"}


async def test_sv_7_the_client_reads_what_it_has_asked_for(client: ReassignmentClient) -> None:
    begin = client.event_page(-1)
    assert begin.events == ()
    targets = start_slowly(client, 0, 1)
    await eventually(lambda: started(client.reassignment_events(begin.next_seq), set(targets)))
    found = list(client.reassignment_events(begin.next_seq, server=begin.server))
    assert [one["seq"] for one in found] == list(range(begin.next_seq, begin.next_seq + len(found)))
    one = next(one for one in found if one["event"] == "move.started" and one["partition"] == 1)
    assert one["target"] == targets[TOPIC, 1]  # type: ignore[index]
    assert one["who"].startswith("User:ANONYMOUS as kafka-reassign-rpc")
    assert {one.id for one in client.list_reassignments()} >= {one["id"]}
    everything = list(client.reassignment_events())
    assert everything[-len(found) :] == found


async def test_sv_7_a_follower_learns_what_happens_next(bootstrap: str, client: ReassignmentClient) -> None:
    async with AsyncReassignmentClient(bootstrap_servers=bootstrap) as follower:
        begin = (await follower.event_page(-1)).next_seq

        async def refused() -> Event:
            async for event in follower.reassignment_events(begin, follow=True, poll_s=0.05):
                if event["event"] == "move.refused":
                    return event
            raise AssertionError("it ended")

        waiting = asyncio.create_task(refused())
        client.alter_partition_reassignments({("no-such-topic", 0): [1]})
        event = await asyncio.wait_for(waiting, 20)
        assert event["topic"] == "no-such-topic"
        assert event["seq"] >= begin
    with pytest.raises(RuntimeError, match="not started"):
        await follower.event_page()
