"""`kafka-reassign-rpc log`: prints the state log of a cluster in KRaft mode."""

import argparse
import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from kafka_reassign_rpc.cli.pipeline_jobs import say
from kafka_reassign_rpc.kraft.state_log import TOPIC
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.support.bounded_text import printable, whole_number
from kafka_reassign_rpc.support.connection_flags import add_bootstrap_server, add_command_config
from kafka_reassign_rpc.support.human_units import iso_time
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.support.standard_output import write_out

if TYPE_CHECKING:
    from kafka_reassign_rpc.client.client_settings import ClientSettings
    from kafka_reassign_rpc.kraft.state_log.log_reading import Read

HELP = "print the state log of a cluster in KRaft mode: who led when, and what was decided"
DESCRIPTION = """\
Prints the records of the topic in which servers in front of a KRaft cluster keep what they decide: offset, term
(producer id/epoch, and the offset of its claim), time, kind and payload. A snapshot replaces all that came before it,
and the records before it are deleted. What does not count is shown as left out, with the reason: records of a leader
that was replaced, unfinished commits, records of strangers. It changes nothing, and needs READ and DESCRIBE on the
topic.

Text shows the beginning of long payloads. --json has all: an object on each line, a payload that is no JSON as Base64.
"""
EPILOG = """\
exit codes: 0 the log was printed, 1 there is none, it cannot be read or no broker answers, 2 wrong flags
example:    kafka-reassign-rpc log --bootstrap-server broker1:9092 --from 120 --follow
"""
START, END = "start", "end"
LONGEST_PAYLOAD = 160
PATIENCE_MS = 10_000
"""How long the cluster may take to answer at first, unless --command-config says otherwise."""
_MOST_OFFSET = (1 << 63) - 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_bootstrap_server(parser, required=True)
    add_command_config(parser)
    parser.add_argument("--topic", default=TOPIC, help="the topic of the state log (default: %(default)s)")
    parser.add_argument(
        "--from",
        default=START,
        metavar="OFFSET",
        help="the first offset to print, or start or end (default: %(default)s)",
    )
    parser.add_argument("--follow", action="store_true", help="go on with each record as it comes, until Ctrl-C")
    parser.add_argument("--heartbeats", action="store_true", help="print heartbeats too")
    parser.add_argument("--json", action="store_true", help="print a JSON object on each line instead of text")


def run(arguments: argparse.Namespace) -> int:
    from kafka_reassign_rpc.core.kafka_errors import KafkaError
    from kafka_reassign_rpc.kraft.state_log.log_errors import LogError

    first = _first(vars(arguments)["from"])
    if first is None and not arguments.follow:
        raise UsageError("--from end: nothing is there yet, so it needs --follow")
    settings = _settings(arguments)
    try:
        asyncio.run(_print(arguments, settings, first))
    except (LogError, KafkaError) as error:
        sys.stdout.flush()
        say(f"kafka-reassign-rpc log: {error}")
        return 1
    except KeyboardInterrupt:
        return 0 if arguments.follow else 130
    return 0


def _first(text: str) -> int | None:
    """None: the end."""
    if text in (START, END):
        return 0 if text == START else None
    found = whole_number(text, 0, _MOST_OFFSET)
    if found is None:
        raise UsageError(f"--from: expected an offset, {START} or {END}")
    return found


def _settings(arguments: argparse.Namespace) -> "ClientSettings":
    from kafka_reassign_rpc.client import client_configs, load_properties
    from kafka_reassign_rpc.client.client_settings import client_settings

    def warn(text: str) -> None:
        say(f"warning: {text}")

    try:
        properties = load_properties(arguments.command_config, warn)
        properties = {"default.api.timeout.ms": str(PATIENCE_MS), **properties}
        configs = client_configs(arguments.bootstrap_server, properties, warn)
        return client_settings({"client_id": "kafka-reassign-log", **configs})
    except BadSetting as error:
        raise UsageError(str(error)) from None


async def _print(arguments: argparse.Namespace, settings: "ClientSettings", first: int | None) -> None:
    from kafka_reassign_rpc.kraft.state_log.state_log import StateLog

    log = StateLog(settings, topic=arguments.topic)
    await log.open(to_read=True)
    try:
        start = await log.end() if first is None else first
        shown = _json_lines if arguments.json else _lines
        if not arguments.json:
            write_out(sys.stdout, _line("OFFSET", "TERM", "TIME", "KIND", "PAYLOAD"))
        async with aclosing(log.read(to_end=not arguments.follow)) as reads:
            async for some in reads:
                wanted = [one for one in some if one.next_offset > start and _is_wanted(one, arguments.heartbeats)]
                if wanted:
                    write_out(sys.stdout, "".join(shown(wanted)))
    finally:
        await log.close()


def _is_wanted(read: "Read", heartbeats: bool) -> bool:
    return heartbeats or getattr(read, "kind", None) != "heartbeat"


def _lines(some: Iterable["Read"]) -> Iterator[str]:
    from kafka_reassign_rpc.kraft.state_log.log_reading import LogRecord

    for one in some:
        time = _time(one.timestamp_ms)
        if not isinstance(one, LogRecord):
            yield _line(str(one.offset), f"{one.producer_id}/{one.epoch}", time, "left out", one.why)
            continue
        term = f"{one.term.producer_id}/{one.term.epoch}@{one.term.claim_offset}"
        for number, payload in enumerate(one.payloads, 1):
            of = f" {number}/{len(one.payloads)}" if len(one.payloads) > 1 else ""
            yield _line(str(one.offset), term, time, f"{one.kind}{of}", _text(payload))


def _line(offset: str, term: str, time: str, kind: str, payload: str) -> str:
    return f"{offset:>10}  {term:<12}  {time:<24}  {kind:<10}  {payload}".rstrip() + "\n"


def _time(milliseconds: int) -> str:
    """A stranger's record may have any."""
    try:
        return iso_time(milliseconds)
    except (ValueError, OverflowError, OSError):
        return "unknown"


def _text(payload: bytes) -> str:
    start = payload[: 4 * LONGEST_PAYLOAD].decode(errors="backslashreplace")
    short = start[:LONGEST_PAYLOAD]
    return printable(short) + (f"… ({len(payload)} bytes)" if len(short) < len(start) else "")


def _json_lines(some: Sequence["Read"]) -> Iterator[str]:
    import msgspec

    from kafka_reassign_rpc.kraft.state_log.log_reading import LogRecord

    for one in some:
        found: dict[str, Any] = {"offset": one.offset, "next_offset": one.next_offset, "time": one.timestamp_ms}
        if isinstance(one, LogRecord):
            term = one.term
            found["term"] = {"producer_id": term.producer_id, "epoch": term.epoch, "claim_offset": term.claim_offset}
            found |= {"kind": str(one.kind), "payloads": [_json(payload) for payload in one.payloads]}
        else:
            term_of = {"producer_id": one.producer_id, "epoch": one.epoch, "claim_offset": None}
            found |= {"term": term_of, "kind": "left out", "why": one.why}
        yield msgspec.json.encode(found).decode() + "\n"


def _json(payload: bytes) -> Any:
    """The document itself; Base64 of anything else."""
    import msgspec

    if not payload:
        return None
    try:
        msgspec.json.decode(payload)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return {"base64": payload}
    return msgspec.Raw(payload)
