"""`kafka-reassign heal`: brokers that are lost, what becomes of them, what an operator can do about it (KIP-46)."""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from kafka_reassign_rpc.client import HealingStatus, Repair, UnsupportedHere, text_format
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import OptionError, Terse
from kafka_reassign_rpc.reassign_command.options import Option, ParsedOptions
from kafka_reassign_rpc.reassign_command.output import plural

COMMAND = "heal"
SHOWN = 20
"""Moves that a dry run shows one by one as text."""


class _Usage(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise _Usage(message)


def _parser() -> _Parser:
    parser = _Parser(
        prog="kafka-reassign heal",
        description="Brokers that are lost: show them, heal one of them now, pause healing. Needs a "
        "kafka-reassign-rpc server as the controller.",
        epilog="Healing is switched on for the cluster with the config failure.interval.ms (milliseconds for which a "
        "broker has to be gone; -1, the default: never).",
    )
    parser.add_argument("--bootstrap-server", required=True, help="the server(s) to use for bootstrapping")
    parser.add_argument("--command-config", metavar="FILE", help="property file for the client")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="show the moves of a repair (of --now, or of every lost broker), do nothing",
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--status", action="store_true", help="lost brokers, and how far their repairs are (default)")
    action.add_argument(
        "--now",
        type=int,
        metavar="BROKER",
        help="move the replicas of this lost broker elsewhere, whatever the interval",
    )
    action.add_argument("--pause", action="store_true", help="start no repair, until --resume")
    action.add_argument("--resume", action="store_true", help="undo --pause")
    return parser


def options() -> list[Option]:
    """Those that follow the word `heal`."""
    return [
        Option(action.option_strings[-1].removeprefix("--"), action.help or "", _value(action), ours=True)
        for action in _parser()._actions
    ]


def _value(action: argparse.Action) -> str | None:
    if action.nargs == 0:
        return None
    return "property file" if action.metavar == "FILE" else str(action.metavar or action.dest).lower().replace("_", " ")


class Wanted:
    """What was asked for. `given`: as the other actions have it. Raises OptionError for what cannot be read."""

    def __init__(self, arguments: Sequence[str]) -> None:
        try:
            found = _parser().parse_args(arguments)
        except _Usage as error:
            raise OptionError(f"kafka-reassign heal: {error}\n{_parser().format_usage().rstrip()}") from None
        if found.dry_run and (found.pause or found.resume):
            raise OptionError("kafka-reassign heal: --dry-run goes with --now, or alone")
        values = {"bootstrap-server": [found.bootstrap_server]}
        if found.command_config is not None:
            values["command-config"] = [found.command_config]
        if found.json:
            values["json"] = []
        self.given = ParsedOptions(values)
        self._found = found

    def run(self, session: ActionContext) -> None:
        found = self._found
        try:
            if found.pause or found.resume:
                _switch(session, paused=found.pause)
            elif found.dry_run:
                _dry_run(session, found.now)
            elif found.now is not None:
                _heal(session, found.now)
            else:
                _status(session)
        except UnsupportedHere as error:
            raise Terse(error.message) from None


def _switch(session: ActionContext, *, paused: bool) -> None:
    session.client.pause_healing() if paused else session.client.resume_healing()
    session.output.note(paused=paused)
    session.output.line(
        "Healing is paused: no repair starts until --resume. What is queued or under way goes on."
        if paused
        else "Healing goes on."
    )


def _status(session: ActionContext) -> None:
    status = session.client.healing_status()
    session.output.note(
        intervalMs=status.interval_ms,
        paused=status.paused,
        heldBack=status.held_back,
        waitingMoves=status.waiting,
        activeMoves=status.moving,
        failedBrokers=[
            {"broker": one.broker, "since": one.since, "healAt": one.heal_at, "replicas": one.replicas}
            for one in status.failed
        ],
        problems=list(status.problems),
    )
    for line in _lines(status):
        session.output.line(line)


def _lines(status: HealingStatus) -> list[str]:
    if status.interval_ms is None:
        lines = ["Healing is off (failure.interval.ms=-1)."]
    else:
        lines = [f"A broker that is gone for {status.interval_ms / 1000:g} s is healed (failure.interval.ms)."]
    if status.paused:
        lines.append("Healing is paused.")
    for one in status.failed:
        line = f"Broker {one.broker}: gone since {_time(one.since)}, {one.replicas} replica{plural(one.replicas)}"
        lines.append(f"{line}, healed at {_time(one.heal_at)}" if one.heal_at is not None else line)
    if not status.failed:
        lines.append("No broker that holds replicas is lost.")
    if status.held_back is not None:
        lines.append(f"Held back: {status.held_back}.")
    lines += [f"Problem: {problem}." for problem in status.problems]
    if status.waiting or status.moving:
        lines.append(f"Repairs: {status.moving} moves under way, {status.waiting} waiting.")
    return lines


def _dry_run(session: ActionContext, broker: int | None) -> None:
    brokers = [broker] if broker is not None else [one.broker for one in session.client.healing_status().failed]
    repairs = {one: session.client.heal_broker(one, dry_run=True) for one in brokers}
    session.output.note(repairs=[_json(one, repair) for one, repair in repairs.items()], dryRun=True)
    if not repairs:
        session.output.line("No broker that holds replicas is lost.")
    for one, repair in repairs.items():
        session.output.line(f"Broker {one}: {_summary(repair)}")
        for move in repair.moves[:SHOWN]:
            session.output.line(f"  {move.partition}: {list(move.replicas)} -> {list(move.target)}")
        if len(repair.moves) > SHOWN:
            session.output.line(f"  … and {len(repair.moves) - SHOWN} more (--json shows all)")
        _show_left_out(session, repair)


def _heal(session: ActionContext, broker: int) -> None:
    repair = session.client.heal_broker(broker)
    session.output.note(repairs=[_json(broker, repair)], dryRun=False)
    session.output.line(f"Broker {broker}: {_summary(repair)} joined the queue.")
    _show_left_out(session, repair)


def _summary(repair: Repair) -> str:
    size = "" if repair.bytes is None else f", {text_format.size(repair.bytes)} to copy"
    return f"{len(repair.moves)} move{plural(len(repair.moves))}{size}"


def _show_left_out(session: ActionContext, repair: Repair) -> None:
    for partition, reason in list(repair.left_out.items())[:SHOWN]:
        session.output.line(f"  {partition} stays as it is: {reason}")
    if len(repair.left_out) > SHOWN:
        session.output.line(f"  … and {len(repair.left_out) - SHOWN} more")


def _json(broker: int, repair: Repair) -> dict[str, object]:
    return {
        "broker": broker,
        "bytes": repair.bytes,
        "moves": [
            {
                "topic": move.partition.topic,
                "partition": move.partition.partition,
                "replicas": list(move.replicas),
                "target": list(move.target),
            }
            for move in repair.moves
        ],
        "leftOut": [
            {"topic": partition.topic, "partition": partition.partition, "reason": reason}
            for partition, reason in repair.left_out.items()
        ],
    }


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
