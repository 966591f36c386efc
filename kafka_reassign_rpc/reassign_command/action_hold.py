"""`kafka-reassign hold` and `kafka-reassign release`: keep moves of the queue from starting, and let them start."""

import argparse
from functools import partial

from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import nothing_matched
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand, broker_ids
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.typed_commands import command


def _add_arguments(parser: argparse.ArgumentParser, *, hold: bool) -> None:
    parser.add_argument("--all", action="store_true", help="all moves of the queue")
    parser.add_argument("--topic", action="append", metavar="TOPIC", help="moves of this topic; may be repeated")
    parser.add_argument(
        "--broker",
        type=broker_ids,
        metavar="3,7",
        help="moves with a replica on one of these, old or new",
    )
    parser.add_argument(
        "--request",
        action="append",
        metavar="REASON",
        help="moves that were asked for with this reason (--reason), such as those of one plan; may be repeated",
    )
    if hold:
        parser.add_argument("--reason", metavar="TEXT", default="", help="why; it is shown with each move")


def _problem(found: argparse.Namespace) -> str | None:
    names_some = any(one is not None for one in (found.topic, found.broker, found.request))
    return "give --all, or some of --topic, --broker and --request" if found.all == names_some else None


def _run(context: ActionContext, asked: argparse.Namespace, *, hold: bool) -> None:
    client, output = context.client, context.output
    named = {"topics": asked.topic, "brokers": asked.broker, "requests": asked.request}
    found = client.hold(**named, reason=asked.reason) if hold else client.release(**named)
    done = "held" if hold else "released"
    output.collect(**{done: found.changed}, unchanged=found.unchanged, in_flight=found.in_flight)
    if not asked.all and not (found.changed or found.unchanged or found.in_flight):
        raise nothing_matched(client, "No such move is in the queue", **named)
    already = "held already" if hold else "not held"
    others = f", {found.unchanged} {already}" if found.unchanged else ""
    output.line(f"{counted(found.changed, 'move')} {done}{others}.")
    if hold and found.in_flight:
        output.line(f"{counted(found.in_flight, 'move')} in flight: a hold does not stop them (--cancel does).")
    if not hold and (unapproved := client.healing_status().unapproved):
        output.collect(unapproved=unapproved)
        output.line(
            f"{counted(unapproved, 'move')} of repairs {agreeing(unapproved, 'wait')} for approval as well:"
            f" {command('kafka-reassign heal', '--approve')}"
        )


def _command(name: str, about: str, description: str, *, hold: bool) -> OurCommand:
    return OurCommand(
        name,
        about,
        f"{description} Name all moves, or those that all the given options name.",
        partial(_run, hold=hold),
        partial(_add_arguments, hold=hold),
        _problem,
        "Moves in flight go on: brokers cannot pause a copy and keep what they have copied. --cancel takes them back; "
        "what they have copied is deleted.",
    )


HOLD = _command(
    "hold",
    "hold moves of the queue",
    "Held moves of the queue keep their place and do not start before they are released. A move that joins the queue "
    "later is not held.",
    hold=True,
)
RELEASE = _command(
    "release",
    "release moves that are held",
    "Held moves may start again, each when it is its turn. One whose partition has other replicas by now than when it "
    "was held does not start: it leaves the queue, with an event.",
    hold=False,
)
