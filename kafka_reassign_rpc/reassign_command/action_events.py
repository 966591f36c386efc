"""`kafka-reassign events`: prints the events that all running servers have recorded, by time."""

import argparse
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from kafka_reassign_rpc.client import Event, UnsupportedHere, text_format
from kafka_reassign_rpc.core.events.catalogue import EVENTS
from kafka_reassign_rpc.core.events.listed_events import as_one, folded, is_about
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed, TerseFailure
from kafka_reassign_rpc.reassign_command.merged_events import MergedEvents
from kafka_reassign_rpc.reassign_command.nothing_matched import nothing_matched
from kafka_reassign_rpc.reassign_command.options import ParsedOptions
from kafka_reassign_rpc.reassign_command.reassignment_json import compact
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand
from kafka_reassign_rpc.support.bounded_text import printable, whole_number, word
from kafka_reassign_rpc.support.human_units import iso_time, parse_duration_ms, utc_time
from kafka_reassign_rpc.support.nearest_name import meant, unknown_names
from kafka_reassign_rpc.support.secrecy import told

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
        try:
            while True:
                shown = _print(context, filter(wanted, _noting(principals, events.new())))
                if not follow:
                    if not shown:
                        _fail_if_filtered(context, principals)
                    return
                time.sleep(POLL_S)
        except UnsupportedHere as error:
            raise TerseFailure(error.message) from None


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


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
    "Shows the events that all running servers have recorded, oldest first: decisions and their results. Needs a "
    "kafka-reassign-rpc server as the controller.",
    lambda context, _: run(context),
    _add_arguments,
)
