"""The controller's queue. --generate-queue, --execute-queue and --verify-queue: reassignments through it (KIP-236).
`kafka-reassign hold` and `kafka-reassign release`: keep moves of it from starting, and let them start.

`--verify-queue` gives each entry of the file one of these states:

    waiting          the move to the target is in the queue
    in progress      the partition moves to the target
    completed        the partition has the target's replicas
    not as planned   the partition has other replicas, or moves or waits to move to other replicas
"""

import argparse
from functools import partial

from kafka_reassign_rpc.client import PartitionReassignment, TopicPartition
from kafka_reassign_rpc.client.move_progress import Listed, read_waiting_beside
from kafka_reassign_rpc.client.reassignment_calls import NO_QUEUE
from kafka_reassign_rpc.reassign_command import action_execute, action_generate, action_verify, set_and_clear_throttles
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, partition_fields
from kafka_reassign_rpc.reassign_command.action_verify import MOVING, NOT_AS_PLANNED, EntryState
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed, TerseFailure, nothing_matched
from kafka_reassign_rpc.reassign_command.reassignment_json import Assignment, joined, parse_reassignment, read_file
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand, broker_ids
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.typed_commands import command

WAITING = "waiting"
EXIT_NOT_AS_PLANNED, EXIT_NOT_DONE = 1, 2


def generate(context: ActionContext) -> None:
    _require_queue(context)
    listed = context.client.list_partition_reassignments()
    last = {**listed, **read_waiting_beside(context.client, listed)}
    action_generate.generate(context, {partition: move.target for partition, move in last.items()})


def execute(context: ActionContext) -> None:
    action_execute.execute(context, action_execute.of_file(context), queue=True)


def verify(context: ActionContext) -> int:
    """Returns the exit code."""
    reassignment = parse_reassignment(read_file(context.options.value("reassignment-json-file") or ""))
    if reassignment.log_dirs:
        raise CommandFailed(action_execute.NO_LOG_DIRS)
    _require_queue(context)
    targets = reassignment.targets
    in_flight = context.client.list_partition_reassignments()
    found = find_states(context, targets, in_flight, read_waiting_beside(context.client, in_flight))
    output = context.output
    output.line("\n".join(["Status of partition reassignment:", *(found[p].text for p in sorted(found))]))
    words = {one.word for one in found.values()}
    disabled = context.client.why_disabled() if WAITING in words else None
    if disabled is not None:
        output.line(disabled)
    output.collect(
        partitions=[
            {**partition_fields(p), "state": one.word, "replicas": one.replicas, "target": targets[p]}
            for p, one in sorted(found.items(), key=lambda item: item[0])
        ],
        reassignments_in_flight=len(in_flight),
        disabled=disabled,
    )
    if not in_flight and not context.options.has("preserve-throttles"):
        set_and_clear_throttles.clear(context, reassignment.target_brokers, reassignment.topics).raise_first()
    if NOT_AS_PLANNED in words:
        return EXIT_NOT_AS_PLANNED
    return EXIT_NOT_DONE if words & {WAITING, MOVING} else 0


def find_states(
    context: ActionContext, targets: Assignment, in_flight: Listed, beside: Listed
) -> dict[TopicPartition, EntryState]:
    """`beside`: moves that wait while another one of their partition is in flight. They come last, so they count."""
    resting = {partition: target for partition, target in targets.items() if partition not in in_flight}
    found = action_verify.find_states(context, resting, {})
    for partition in targets.keys() & in_flight.keys():
        last = under_way(partition, beside.get(partition, in_flight[partition]), targets[partition])
        found[partition] = last._replace(replicas=in_flight[partition].replicas)
    return found


def under_way(partition: TopicPartition, move: PartitionReassignment, target: tuple[int, ...]) -> EntryState:
    # The list does not give the order of a waiting move's target.
    as_planned = sorted(move.target) == sorted(target) if move.is_waiting else move.target == target
    doing = "waiting in the queue" if move.is_waiting else "still in progress"
    if as_planned:
        word = WAITING if move.is_waiting else MOVING
        return EntryState(word, f"Reassignment of partition {partition} is {doing}.", move.replicas)
    text = (
        f"Reassignment of partition {partition} is {doing}, but to replica set {joined(move.target)} "
        f"rather than {joined(target)}."
    )
    return EntryState(NOT_AS_PLANNED, text, move.replicas)


def _require_queue(context: ActionContext) -> None:
    if not context.client.can_queue():
        raise TerseFailure(NO_QUEUE)


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


def _hold_or_release(context: ActionContext, asked: argparse.Namespace, *, hold: bool) -> None:
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
        partial(_hold_or_release, hold=hold),
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
