"""`kafka-reassign events`: prints the events that all running servers have recorded, as one stream, by time.

Each server records what it decides, so after a failover the history is on two. The events of one server come in the
order of its log, even if its clock was set back: see `LogClock`.
"""

import argparse
import heapq
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from kafka_reassign_rpc.client import ClusterNode, Event, KafkaError, ReassignmentClient, Unreachable, text_format
from kafka_reassign_rpc.client.blocking_client import Connect, ServerClients, running_servers
from kafka_reassign_rpc.client.server_calls import FROM_NOW_ON, EventCursor
from kafka_reassign_rpc.core.events.catalogue import EVENTS
from kafka_reassign_rpc.core.events.event_lines import LogClock, as_one, folded, is_about
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, say
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed, nothing_matched
from kafka_reassign_rpc.reassign_command.options import ParsedOptions
from kafka_reassign_rpc.reassign_command.reassignment_json import compact
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand
from kafka_reassign_rpc.support.bounded_text import printable, whole_number, word
from kafka_reassign_rpc.support.error_text import meant, unknown_names
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.human_units import iso_time, parse_duration_ms, utc_time
from kafka_reassign_rpc.support.secrecy import told

Say = Callable[[str], None]
Recorded = tuple[int, Event]
"""An event, and when it was recorded (ms since 1970)."""


class MergedEvents:
    """Each call of `new` gives what running servers have recorded since the call before. A server that does not answer
    is named once, and asked again in the next call.

    since  ms since 1970: older events are left out. What a server records after its log was read to its end is new,
           by any clock
    clock  ms since 1970
    """

    def __init__(
        self,
        client: ReassignmentClient,
        connect: Connect,
        say: Say,
        *,
        since: int | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._client = client
        self._since = since
        self._clock = clock
        self._is_past = since is None or since <= clock()
        self._clocks: dict[int, LogClock] = {}
        self._read: set[int] = set()
        """Servers whose logs were read to their ends."""
        self._say = say
        self._cursors: dict[int, EventCursor] = {}
        self._clients = ServerClients(client, connect)
        self._silent: set[int] = set()

    def new(self) -> Iterator[Event]:
        """Events come by time. Raises the errors of `event_page`, but nothing for a server that does not answer."""
        controller, nodes = running_servers(self._client)
        now = self._clock()
        logs = (self._wanted(server, self._events(server, nodes[server], controller), now) for server in nodes)
        for _, event in heapq.merge(*logs, key=time_of):
            yield event

    def close(self) -> None:
        self._clients.close()

    def _wanted(self, server: int, events: Iterable[Event], now: int) -> Iterator[Recorded]:
        since, is_new = self._since, self._is_past and server in self._read
        for recorded, event in with_times(self._clocks.setdefault(server, LogClock()), events, now):
            if since is None or is_new or max(recorded, event["at"]) >= since:
                yield recorded, event

    def _events(self, server: int, node: ClusterNode | None, controller: int) -> Iterator[Event]:
        """Events after those that were read. `node`: None for the controller, which does not say where it is
        itself.
        """
        cursor = self._cursors.setdefault(server, EventCursor(0))
        try:
            client = self._clients.of(node)
            while (found := cursor.take(client.event_page(cursor.seq, server=server))) is not None:
                yield from found
        except KafkaError as error:
            if server == controller and not isinstance(error, Unreachable):
                raise
            if server not in self._silent:
                self._silent.add(server)
                self._say(_missing(server, node, error))
        else:
            self._silent.discard(server)
            self._read.add(server)


def _missing(server: int, node: ClusterNode | None, error: KafkaError) -> str:
    at = "" if node is None else f" at {Address(node.host, node.port)}"
    return f"Events of server {server}{at} are missing: {error.message}"


def newest_events(client: ReassignmentClient, connect: Connect, say: Say, most: int) -> list[Event]:
    """The newest of all running servers that answer, by time, at most `most` of each. Others are named. Raises
    KafkaError where the controller does not say which servers run.
    """
    controller, nodes = running_servers(client)
    found: list[list[Event]] = []
    with closing(ServerClients(client, connect)) as clients:
        for server, node in nodes.items():
            try:
                found.append(_last(clients.of(None if server == controller else node), server, most))
            except KafkaError as error:
                if server == controller:
                    raise
                say(_missing(server, node, error))
    now = time.time_ns() // 1_000_000
    return [event for _, event in heapq.merge(*(with_times(LogClock(), log, now) for log in found), key=time_of)]


def _last(client: ReassignmentClient, server: int, most: int) -> list[Event]:
    page = client.event_page(FROM_NOW_ON, server=server)
    end, first = page.next_seq, max(page.oldest_seq, page.next_seq - most)
    found: list[Event] = []
    while first < end:
        page = client.event_page(first, server=server)
        found += page.events
        if page.next_seq <= first:
            break
        first = page.next_seq
    return found


def with_times(clock: LogClock, log: Iterable[Event], now: int) -> Iterator[Recorded]:
    """An unknown time counts as the earliest."""
    for event in log:
        yield clock.recorded_at(event["at"], now) or 0, event


def time_of(recorded: Recorded) -> tuple[int, int, int, int]:
    at, event = recorded
    return at, event["at"], -1 if event["server"] is None else event["server"], event["seq"]


LONGEST_TOPIC = 249
"""Kafka's limit, in characters."""
POLL_S = 1.0
_IN_FRONT = ("at", "event", "topic", "partition", "seq", "epoch", "server")
_IN_WHO = ("principal", "client_id", "address", "listener", "mechanism")
"""Fields that only documents have: `who` has most of them too."""
_SHOWN: dict[str, Callable[[Any], str]] = {
    "bytes": lambda rate: f"{text_format.size(rate)}/s".replace(" ", ""),
    "copied": lambda count: text_format.size(count).replace(" ", ""),
    "started": lambda ms: utc_time(ms).replace(" ", "T"),
}
"""How a line shows fields that are no plain values, without blanks."""

Filter = Callable[[Event], bool]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="show events from this time on (2026-11-22T10:00, UTC), or from this long ago (90s, 20min, 2h, 1d)",
    )
    parser.add_argument("--topic", metavar="TOPIC", help="show events of this topic alone")
    parser.add_argument(
        "--broker", metavar="ID", help="show events of this broker, and of moves with a replica on it, alone"
    )
    parser.add_argument(
        "--principal",
        metavar="User:NAME",
        help="show what this principal asked for, and what became of its moves, alone",
    )
    parser.add_argument(
        "--event",
        metavar="NAME",
        help="show events of this name alone (move.stalled), or of all names that begin so (heal.*)",
    )
    parser.add_argument(
        "--follow",
        action="store_true",
        help="wait for new events and show them, also after a failover of the controller",
    )


def run(context: ActionContext) -> None:
    since = since_ms(context.options, time.time())
    wanted = event_filter(context.options)
    follow = context.options.has("follow")
    events = MergedEvents(context.client, context.client_of, say, since=since)
    principals: set[str] = set()
    with closing(events):
        while True:
            shown = _print(context, filter(wanted, _noting(principals, events.new())))
            if not follow:
                if not shown:
                    _fail_if_filtered(context, principals)
                return
            time.sleep(POLL_S)


def _print(context: ActionContext, events: Iterator[Event]) -> int:
    """Returns how many."""
    count = 0
    for group in folded(events):
        context.output.line(line(as_one(group)))
        for event in group:
            context.output.document({"time": iso_time(event["at"]), **event})
        count += len(group)
    return count


def _noting(principals: set[str], events: Iterator[Event]) -> Iterator[Event]:
    for event in events:
        if "principal" in event:
            principals.add(event["principal"])
        yield event


def _fail_if_filtered(context: ActionContext, principals: Collection[str]) -> None:
    options = context.options
    topic, broker, principal = options.value("topic"), _broker(options), _principal(options)
    if all(one is None for one in (topic, broker, principal, options.value("event"))):
        return
    raise nothing_matched(
        context.client,
        "No such event is recorded",
        topics=[] if topic is None else [topic],
        brokers=[] if broker is None else [broker],
        others=[] if principal is None else unknown_names("principal with events", [principal], principals),
    )


def since_ms(options: ParsedOptions, now_s: float) -> int | None:
    """The time of --since, ms since 1970; None without it. `now_s`: seconds since 1970. Raises CommandFailed."""
    since = options.value("since")
    return None if since is None else _since(since, now_s)


def event_filter(options: ParsedOptions) -> Filter:
    """What --topic, --broker, --principal and --event leave. Raises CommandFailed."""
    topic, broker = options.value("topic"), _broker(options)
    principal, name = _principal(options), _name(options)

    def wanted(event: Event) -> bool:
        return (
            (topic is None or event.get("topic") == topic)
            and (broker is None or is_about(event, broker))
            and (principal is None or _is_of(event, principal))
            and (name is None or fnmatchcase(event["event"], name))
        )

    return wanted


def _broker(options: ParsedOptions) -> int | None:
    text = options.value("broker")
    found = None if text is None else whole_number(text, 0, 2**31 - 1)
    if text is not None and found is None:
        raise CommandFailed(f"--broker: expected the id of a broker, got {told(text)}")
    return found


def _principal(options: ParsedOptions) -> str | None:
    text = options.value("principal")
    return text if text is None or ":" in text else f"User:{text}"


def _is_of(event: Event, principal: str) -> bool:
    """Whether the principal asked for this, or for the move that has ended."""
    before = event.get("requested_by", "")
    return event.get("principal") == principal or before == principal or before.startswith(f"{principal} ")


def _name(options: ParsedOptions) -> str | None:
    name = options.value("event")
    if name is not None and not any(fnmatchcase(one, name) for one in EVENTS):
        raise CommandFailed(f"--event: there is no such event{meant(name, EVENTS)}")
    return name


def _since(text: str, now_s: float) -> int:
    """Ms since 1970 of a time (UTC unless it says otherwise), or of a time span ago."""
    ago = None if text.isdigit() else parse_duration_ms(text)
    if ago is not None:
        return int(now_s * 1000) - ago
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise CommandFailed(
            f"--since: expected a time such as 2026-11-22T10:00 (UTC), or how long ago, such as 20min, got {told(text)}"
        ) from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def line(event: Event) -> str:
    """Time, name, topic and partition come first, then other fields."""
    of = f" {word(event['topic'], LONGEST_TOPIC)}" if "topic" in event else ""
    if "partition" in event:
        of += f"-{event['partition']}"
    rest = "".join(
        f" {name}={_SHOWN.get(name, compact)(value)}"
        for name, value in event.items()
        if name not in (*_IN_FRONT, *_IN_WHO)
    )
    return printable(f"{utc_time(event['at'])} {event['event']}{of}{rest}")


COMMAND = OurCommand(
    "events",
    "show recorded events",
    "Shows the events that all running servers have recorded, oldest first: decisions and their results.",
    lambda context, _: run(context),
    _add_arguments,
)
