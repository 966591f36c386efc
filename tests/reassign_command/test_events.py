"""`kafka-reassign events`: those of all running servers, by time, and the options that leave some out."""

import heapq
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.client import ClusterNode, Event, EventPage, ReassignmentClient, Unreachable
from kafka_reassign_rpc.controller.lifecycle.server_config import EventLogConfig, ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.events.event_lines import LogClock, as_one, folded
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest
from kafka_reassign_rpc.reassign_command.action_events import (
    MergedEvents,
    event_filter,
    line,
    since_ms,
    time_of,
    with_times,
)
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed
from kafka_reassign_rpc.reassign_command.main import parse_command
from kafka_reassign_rpc.reassign_command.options import ParsedOptions
from kafka_reassign_rpc.reassign_command.subcommands import parsed_options
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from tests.controller.cluster import LISTENERS, cluster
from tests.reassign_command.run_command import kafka_reassign
from tests.waiting import eventually

NODES = (ClusterNode(1, "h", 1, None), ClusterNode(2, "h", 2, None))
NOW_S = 1_795_257_000.0
NOW = int(NOW_S * 1000)


def asked(options: Sequence[str]) -> ParsedOptions:
    found = parse_command(["events", "--bootstrap-server", "h:1", *options])
    assert found is not None
    return parsed_options(found[1])


def event(server: int, seq: int, at: int, **more: Any) -> Event:
    return {"seq": seq, "at": at, "server": server, "epoch": 1, "event": "move.started", **more}


class Servers:
    """Two servers: 1 is the controller. It gives a client of each."""

    def __init__(self, logs: dict[int, list[Event]]) -> None:
        self.logs = logs
        self.down: set[int] = set()
        self.connected: list[str] = []
        self.closed = 0
        self.keeps_no_log = False

    def event_page(self, from_seq: int, *, server: int | None = None) -> EventPage:
        number = server or 1
        if self.keeps_no_log:
            raise PolicyViolation("This server keeps no event log")
        if number in self.down:
            raise Unreachable("no answer")
        log = self.logs[number]
        page = () if from_seq < 0 else tuple(log[from_seq : from_seq + 2])
        after = len(log) if from_seq < 0 else from_seq + len(page)
        return EventPage(number, page, 0, after, 0, NODES if from_seq < 0 else ())

    def close(self) -> None:
        self.closed += 1

    def connect(self, address: str) -> ReassignmentClient:
        self.connected.append(address)
        return self  # type: ignore[return-value]


def test_sv_7_events_of_all_servers_are_one_stream_by_time_and_go_on() -> None:
    servers = Servers({1: [event(1, n, 10 * n) for n in range(5)], 2: [event(2, n, 10 * n + 5) for n in range(3)]})
    told: list[str] = []
    merged = MergedEvents(servers, servers.connect, told.append)  # type: ignore[arg-type]
    assert [one["at"] for one in merged.new()] == [0, 5, 10, 15, 20, 25, 30, 40]
    assert list(merged.new()) == []
    servers.logs[2].append(event(2, 3, 50))
    servers.logs[1].append(event(1, 5, 60))
    assert [one["at"] for one in merged.new()] == [50, 60]
    merged.close()
    assert (sorted(servers.connected), servers.closed, told) == (["h:1", "h:2"], 2, [])


def test_sv_7_a_server_that_does_not_answer_is_named_once_and_asked_again() -> None:
    servers = Servers({1: [event(1, 0, 10)], 2: [event(2, 0, 5)]})
    servers.down.add(2)
    told: list[str] = []
    merged = MergedEvents(servers, servers.connect, told.append)  # type: ignore[arg-type]
    assert [one["server"] for one in merged.new()] == [1]
    assert list(merged.new()) == []
    assert told == ["Events of server 2 at h:2 are missing: no answer"]
    servers.down.clear()
    assert [one["server"] for one in merged.new()] == [2]
    servers.keeps_no_log = True
    with pytest.raises(PolicyViolation):
        list(merged.new())


@pytest.mark.parametrize(
    ("options", "seqs"),
    [
        ((), [0, 1, 2, 3]),
        (("--topic", "t"), [0, 3]),
        (("--broker", "4"), [1, 2, 3]),
        (("--broker", "4", "--topic", "t"), [3]),
        (("--broker", "44"), []),
        (("--principal", "User:alice"), [0, 2]),
        (("--principal", "alice", "--topic", "u"), [2]),
        (("--principal", "User:al"), []),
        (("--event", "move.started"), [1, 2, 3]),
        (("--event", "heal.*"), [0]),
    ],
)
def test_sv_7_options_leave_events_out(options: Sequence[str], seqs: list[int]) -> None:
    found = [
        event(1, 0, 0, topic="t", target=[1, 2]) | {"principal": "User:alice", "event": "heal.done"},
        event(1, 1, 0, broker=4),
        event(1, 2, 0, topic="u", target=[4, 2], principal="User:bob", requested_by="User:alice as a from h"),
        event(1, 3, 0, topic="t", target=[1, 2], original=[4, 2]),
    ]
    assert [one["seq"] for one in found if event_filter(asked(options))(one)] == seqs


@pytest.mark.parametrize(
    ("options", "ago_ms"),
    [
        (("--since", "90s"), 90_000),
        (("--since", "1min"), 60_000),
        (("--since", "2026-11-21T10:28:59"), 61_000),
        (("--since", "2026-11-21T11:28:59+01:00"), 61_000),
    ],
)
def test_sv_7_since_is_a_time_or_a_duration_ago(options: Sequence[str], ago_ms: int) -> None:
    assert since_ms(asked(options), NOW_S) == NOW - ago_ms
    assert since_ms(asked(()), NOW_S) is None


def read(logs: dict[int, list[Event]], since: int | None = None) -> list[tuple[int, int]]:
    """Server and number of what a first look shows at the time NOW."""
    servers = Servers(logs)
    merged = MergedEvents(servers, servers.connect, print, since=since, clock=lambda: NOW)  # type: ignore[arg-type]
    return [(one["server"], one["seq"]) for one in merged.new()]


def ago(server: int, *seconds: int) -> list[Event]:
    """A log with events this long ago, in this order."""
    return [event(server, seq, NOW - 1000 * one) for seq, one in enumerate(seconds)]


A_YEAR = 365 * 86_400


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        ((50, 30, 10), (40, 20), [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2)]),
        ((50, A_YEAR, 10), (40, 20), [(1, 0), (1, 1), (2, 0), (2, 1), (1, 2)]),
        ((50, -A_YEAR, 30, 10), (40, 20), [(1, 0), (1, 1), (2, 0), (1, 2), (2, 1), (1, 3)]),
        ((-A_YEAR, 30, 10), (40, 20), [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2)]),
        ((50, 45, -A_YEAR, -A_YEAR - 1), (40, 20), [(1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 1)]),
        ((A_YEAR, A_YEAR - 1, 10), (40, 20), [(1, 0), (1, 1), (2, 0), (2, 1), (1, 2)]),
        ((-1, -2), (40, -3), [(2, 0), (1, 0), (1, 1), (2, 1)]),
    ],
    ids=["none", "back", "ahead_and_back", "ahead_at_first", "ahead", "behind_at_first", "ahead_as_far_as_is_believed"],
)
def test_sv_7_a_clock_that_jumps_moves_no_event_before_those_that_its_server_recorded_earlier(
    first: Sequence[int], second: Sequence[int], merged: list[tuple[int, int]]
) -> None:
    assert read({1: ago(1, *first), 2: ago(2, *second)}) == merged
    one_log = [(server, seq) for server, seq in read({1: ago(1, *first), 2: []})]
    assert one_log == [(1, seq) for seq in range(len(first))]


def test_sv_7_since_hides_no_event_that_was_recorded_later_by_a_clock_that_went_back_or_is_ahead() -> None:
    log = ago(1, 500, 400, -A_YEAR, 300, 90, A_YEAR, 200, 10)
    assert read({1: log, 2: []}, since=NOW - 100_000) == [(1, seq) for seq in (2, 4, 5, 6, 7)]


def test_sv_7_what_is_recorded_while_events_are_followed_is_shown_once_whatever_its_time() -> None:
    servers = Servers({1: ago(1, 500, 50), 2: ago(2, 500)})
    servers.down.add(2)
    merged = MergedEvents(servers, servers.connect, print, since=NOW - 100_000, clock=lambda: NOW)  # type: ignore[arg-type]

    def new() -> list[tuple[int, int]]:
        return [(one["server"], one["seq"]) for one in merged.new()]

    assert new() == [(1, 1)]
    servers.logs[1] += [event(1, 2, NOW - 1000 * A_YEAR), event(1, 3, NOW + 1000 * A_YEAR), event(1, 4, NOW - 400_000)]
    servers.down.clear()
    assert new() == [(1, 2), (1, 3), (1, 4)], "the old event of a server that answers only now is old"
    servers.logs[2].append(event(2, 1, NOW - 400_000))
    assert new() == [(2, 1)], "its clock is behind"
    assert new() == []


def test_sv_7_since_a_time_to_come_shows_what_is_recorded_from_then_on() -> None:
    servers, now = Servers({1: ago(1, 10), 2: []}), NOW
    merged = MergedEvents(servers, servers.connect, print, since=NOW + 60_000, clock=lambda: now)  # type: ignore[arg-type]
    assert list(merged.new()) == []
    servers.logs[1] += [event(1, 1, NOW + 59_999), event(1, 2, NOW + 60_000)]
    now += 60_000
    assert [one["seq"] for one in merged.new()] == [2]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--since", "yesterday"), "--since: expected a time such as 2026-11-22T10:00 (UTC), or how long ago"),
        (("--since", "5"), "--since: expected a time such as"),
        (("--broker", "x"), "--broker: expected the id of a broker, got [hidden]"),
        (("--broker", "-1"), "--broker: expected the id of a broker"),
        (("--event", "move.start"), "--event: there is no such event (is move.started meant?)"),
    ],
)
def test_sv_7_a_filter_that_makes_no_sense_is_refused_with_the_reason(options: Sequence[str], why: str) -> None:
    read_option = since_ms if "--since" in options else lambda found, _: event_filter(found)
    with pytest.raises(CommandFailed) as refused:
        read_option(asked(options), NOW_S)
    assert str(refused.value).startswith(why)


def test_sv_7_a_line_has_times_rates_and_sizes_for_people() -> None:
    assert line(
        event(1, 0, 1_795_257_132_502, topic="t", partition=3, started=1_795_257_100_000, copied=300_000_000)
    ) == ("2026-11-21 10:32:12 move.started t-3 started=2026-11-21T10:31:40 copied=300.0MB")
    assert line({**event(1, 0, 0, broker=5, bytes=5_000_000), "event": "throttle.set"}) == (
        "1970-01-01 00:00:00 throttle.set broker=5 bytes=5.0MB/s"
    )


def test_sv_7_the_throttles_of_one_request_are_one_line_and_those_of_others_are_not() -> None:
    def rate(seq: int, at: int, broker: int, size: int = 5_000_000, **more: Any) -> Event:
        return {**event(1, seq, at, broker=broker, bytes=size, who="controller"), "event": "throttle.set", **more}

    log = [
        *(rate(broker, 10 * broker, broker) for broker in (3, 1, 2)),
        rate(4, 40, 4, 700),
        rate(5, 50, 4, 700, reason="by somebody else"),
        rate(6, 60, 5, 700, who="User:alice"),
        rate(7, 3_000, 6, 700, who="User:alice"),
        event(1, 8, 3_001, broker=6),
        event(1, 9, 3_002, broker=7),
    ]
    groups = list(folded(log))
    assert [one for group in groups for one in group] == log
    assert [len(group) for group in groups] == [3, 1, 1, 1, 1, 1, 1]
    assert line(as_one(groups[0])) == (
        '1970-01-01 00:00:00 throttle.set brokers=[1,2,3] bytes=5.0MB/s who="controller"'
    )
    assert line(as_one(groups[1])).startswith("1970-01-01 00:00:00 throttle.set broker=4 bytes=700B/s")


def test_sv_7_a_line_is_one_line_that_no_terminal_obeys_whatever_a_client_wrote() -> None:
    odd = "\x1b[31m\x9b31m\x7f\n\u2028\u202egnp"
    found = line({**event(1, 0, 0), "who": f"User:{odd}", "reason": odd})
    assert found.isprintable()
    assert r"\u001b[31m\x9b31m\x7f\n\u2028\u202egnp" in found


async def test_sv_7_after_a_failover_the_command_shows_what_both_servers_have_recorded(
    zk_connect: str, tmp_path: Path
) -> None:
    async with cluster(zk_connect, brokers=(1, 2), event_log=tmp_path) as world:
        await world.create_topic("before", {0: (1, 2)})
        other = ServerConfig(
            zookeeper_connect=zk_connect,
            listeners=LISTENERS,
            server_id=1001,
            event_log=EventLogConfig(tmp_path / "1001"),
        )
        async with ControllerProcess(other) as standby:
            await standby.ready()
            await world.stop_server()
            await world.start_server(1000)
            host, _, port = standby.bootstrap.rpartition(":")
            wire = await RpcClient.open(host, int(port), "test", 20.0)
            created = CreateTopicsRequest.CreatableTopic(
                name="after", num_partitions=1, replication_factor=1, assignments=[], configs=[]
            )
            request = CreateTopicsRequest(topics=[created], timeout_ms=10_000, validate_only=False)
            answer = await wire.call(CreateTopicsRequest, request, 5)
            wire.close()
            assert [one.error_code for one in answer.topics] == [0]

            async def shown(*options: str) -> list[dict[str, Any]]:
                output = await kafka_reassign("--bootstrap-server", standby.bootstrap, "events", "--json", *options)
                assert (output.code, output.err) == (0, "")
                return [json.loads(text) for text in output.lines]

            async def both() -> list[dict[str, Any]]:
                found = await shown()
                created = [(one["server"], one["topic"]) for one in found if one["event"] == "topic.created"]
                return found if created == [(1000, "before"), (1001, "after")] else []

            found = await eventually(both)
            assert [one["at"] for one in found] == sorted(one["at"] for one in found)
            assert all(one["time"].endswith("Z") for one in found)
            assert {one["topic"] for one in await shown("--topic", "after", "--since", "1h")} == {"after"}
            assert await shown("--since", "2100-01-01") == []
            for named, hint in (
                (("--topic", "befor"), ": there is no topic befor (is before meant?)"),
                (("--broker", "22"), ": there is no broker 22 (is 2 meant?)"),
                (("--topic", "before", "--since", "2100-01-01"), ""),
                (("--event", "cordon.*"), ""),
                (
                    ("--principal", "ANONYMOS"),
                    ": there is no principal with events User:ANONYMOS (is User:ANONYMOUS meant?)",
                ),
            ):
                nothing = await kafka_reassign("--bootstrap-server", standby.bootstrap, "events", *named)
                assert (nothing.code, nothing.lines) == (1, [f"No such event is recorded{hint}."])


def test_kr_1_events_whose_server_is_not_known_are_merged_with_those_of_the_same_moment() -> None:
    """`watch` had the event log directory of a server before."""
    logs = ([event(1001, 1, NOW)], [{**event(1, 1, NOW), "server": None}])
    merged = heapq.merge(*(with_times(LogClock(), log, NOW) for log in logs), key=time_of)
    assert [one["server"] for _, one in merged] == [None, 1001]
