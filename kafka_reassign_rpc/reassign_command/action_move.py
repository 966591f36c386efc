"""`kafka-reassign move TOPIC -p 0:4,5,6`: --execute and --execute-queue without a file."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import closing

from kafka_reassign_rpc.client import MoveTerms, PartitionInfo, TopicPartition
from kafka_reassign_rpc.core.config_values import INT32, INT64
from kafka_reassign_rpc.core.events.catalogue import MOVE_COMPLETED
from kafka_reassign_rpc.reassign_command import action_execute
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, partition_fields, say
from kafka_reassign_rpc.reassign_command.action_describe_topic import brokers
from kafka_reassign_rpc.reassign_command.action_events import MergedEvents
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure, existing_topic, failure_of
from kafka_reassign_rpc.reassign_command.execute_reports import NOTHING_CHANGED, started_lines, waiting_of
from kafka_reassign_rpc.reassign_command.options import BY_NAME, PROGRAM
from kafka_reassign_rpc.reassign_command.reassignment_json import Assignment, ReassignmentFile
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand, number_of
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.human_units import without_unit

_OF_EXECUTE = (
    *("dry-run", "watch", "throttle", "lease", "lift-stricter", "reason", "additional"),
    "disallow-replication-factor-change",
)
"""Options that mean the same as with --execute."""
_NOT_WITH_LEADERS = ("undo", "queue", "expect-current", *({*_OF_EXECUTE} - {"dry-run", "reason"}))
_FORM = "expected PARTITION:BROKER,BROKER,…, such as 0:4,5,6"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "kafka-reassign move TOPIC {-p 0:4,5,6 [-p …] [--leaders] | --undo ID} [options] --bootstrap-server HOST:PORT"
    )
    parser.add_argument("topic", metavar="TOPIC", help="the topic whose partitions move")
    parser.add_argument(
        "-p",
        "--partition",
        action="append",
        default=[],
        metavar="PARTITION:BROKER,…",
        help="a partition and the brokers that are to have its replicas, the preferred leader first; can be repeated",
    )
    parser.add_argument(
        "--undo",
        type=number_of("the id of a move", INT64),
        metavar="ID",
        help="back to the replicas before the move with this id, which has ended (`events` shows ids); refused where "
        "the partition has other replicas by now",
    )
    parser.add_argument(
        "--leaders",
        action="store_true",
        help="the broker of each -p becomes the preferred leader of its partition, and leads: the replicas only change "
        "their order, and nothing is copied. Refused if it is no replica, or is not in sync",
    )
    when = parser.add_mutually_exclusive_group()
    when.add_argument(
        "--queue", action="store_true", help="put the moves into the controller's queue, as --execute-queue does"
    )
    parser.add_argument(
        "--expect-current",
        metavar="FILE",
        help="refuse each partition that does not have the replicas of this file, in order",
    )
    for option in (BY_NAME[name] for name in _OF_EXECUTE):
        if option.value is None:
            group = when if option.name == "additional" else parser  # what waits for its turn is additional anyway
            group.add_argument(f"--{option.name}", action="store_true", help=option.help)
        else:
            parser.add_argument(f"--{option.name}", metavar=option.value.upper(), help=option.help)


def _problem(found: argparse.Namespace) -> str | None:
    if bool(found.partition) == (found.undo is not None):
        return "give -p, or --undo ID"
    if found.undo is not None and found.expect_current is not None:
        return "--expect-current goes with -p: --undo expects what the move has made"
    if found.leaders:
        for name in _NOT_WITH_LEADERS:
            if getattr(found, name.replace("-", "_")) not in {None, False}:
                return f"--{name} does not go with --leaders"
    try:
        _targets(found.topic, found.partition)
    except ValueError as error:
        return str(error)
    problem = found.throttle is not None and without_unit(found.throttle)
    return f"--throttle: {problem}" if problem else None


def _run(context: ActionContext, found: argparse.Namespace) -> None:
    existing_topic(context.client, found.topic)
    targets, expected = _targets(found.topic, found.partition), Assignment()
    if found.leaders:
        _lead(context, targets)
        return
    if found.undo is not None:
        targets, expected = _way_back(context, found.topic, found.undo)
        context.options.values["expect-current"] = []
    reassignment = ReassignmentFile([*targets.items()], {}, expected)
    action_execute.execute(context, reassignment, queue=found.queue)


def _way_back(context: ActionContext, topic: str, id_: int) -> tuple[Assignment, Assignment]:
    """By partition: the replicas before the move, and those after it, which are expected. Raises TerseFailure."""
    before: Assignment = {}
    after: Assignment = {}
    with closing(MergedEvents(context.client, context.client_of, say)) as events:
        for one in events.new():
            if one["event"] == MOVE_COMPLETED and (one.get("topic"), one.get("id")) == (topic, id_):
                name = TopicPartition(topic, one["partition"])
                before[name], after[name] = tuple(one["original"]), tuple(one["target"])
    if not before:
        raise TerseFailure(
            f"No event says that a move of {topic} with the id {id_} has ended. One that is in flight goes back by"
            " --cancel"
        )
    return before, after


def _targets(topic: str, given: Sequence[str]) -> Assignment:
    """Raises ValueError, which names the wrong -p."""
    targets: Assignment = {}
    for text in given:
        partition, separator, brokers = text.partition(":")
        if not separator:
            raise _wrong(text, _FORM)
        name = TopicPartition(topic, _number(partition, text))
        replicas = tuple(_number(broker, text) for broker in brokers.split(","))
        if name in targets:
            raise _wrong(text, f"another -p names partition {name.partition}")
        twice = next((broker for broker in replicas if replicas.count(broker) > 1), None)
        if twice is not None:
            raise _wrong(text, f"broker {twice} is named twice")
        targets[name] = replicas
    return targets


def _number(text: str, given: str) -> int:
    found = whole_number(text, 0, INT32)
    if found is None:
        raise _wrong(given, _FORM)
    return found


def _wrong(text: str, why: str) -> ValueError:
    return ValueError(f"-p {text}: {why}")


def _lead(context: ActionContext, wanted: Assignment) -> None:
    """--leaders: replicas change their order, so that others lead. Nothing is copied, and any Kafka does it.

    `wanted`, of one topic: all replicas in their new order, or the one that is to lead. Raises TerseFailure,
    CommandFailed.
    """
    context.assignment_of(list(wanted))
    found = context.partitions({name.topic for name in wanted})
    targets = {name: _order(found[name].replicas, first) for name, first in wanted.items()}
    moving = context.client.list_partition_reassignments(targets)
    _fail("Nothing was changed", {name: why for name in targets if (why := _why_not_led(found[name], targets[name]))})
    _fail("Nothing was changed", dict.fromkeys(moving, "it moves: its move says who leads in the end"))
    for name, target in sorted(targets.items()):
        context.output.line(_leader_line(name, found[name], target))
    if context.options.has("dry-run"):
        context.output.line(NOTHING_CHANGED)
        context.output.collect(dry_run=[_document(name, found[name], targets[name]) for name in sorted(targets)])
        return
    waiting = _put_in_order(context, found, targets)
    elected = context.client.elect_preferred_leaders([name for name in targets if name not in waiting])
    _fail("No election", {name: error.message for name, error in elected.items() if error is not None})
    for name in sorted(elected):
        context.output.line(f"{name}: broker {targets[name][0]} leads")
    if changed := sorted(name for name in elected if targets[name] != found[name].replicas):
        back = " ".join(f"-p {name.partition}:{brokers(found[name].replicas)}" for name in changed)
        context.output.line(f"The way back: {PROGRAM} move {changed[0].topic} {back} --leaders")
    context.output.collect(leaders=[_document(name, found[name], targets[name]) for name in sorted(elected)])


def _put_in_order(
    context: ActionContext, found: Mapping[TopicPartition, PartitionInfo], targets: Assignment
) -> frozenset[TopicPartition]:
    """Returns which wait for their new order in the controller's queue: until then, others are preferred."""
    changed = {name: target for name, target in targets.items() if target != found[name].replicas}
    if not changed:
        return frozenset()
    compares, reason = context.client.can_compare_replicas(), context.options.value("reason") or ""
    moves = {
        name: MoveTerms(target, reason=reason, expected=found[name].replicas if compares else None)
        for name, target in changed.items()
    }
    wanted = action_execute.Wanted(moves)
    unsupported = action_execute.unsupported_option(context.client, wanted)
    if unsupported is not None:
        raise TerseFailure(unsupported)
    results = action_execute.start(context, wanted)
    _fail(action_execute.REFUSED, {name: error.message for name, error in results.items() if error})
    waiting = waiting_of(context.client, list(changed))
    if waiting.moves:
        context.output.lines(started_lines(waiting.moves, waiting))
    return frozenset(waiting.moves)


def _order(replicas: tuple[int, ...], first: tuple[int, ...]) -> tuple[int, ...]:
    return (*first, *(broker for broker in replicas if broker not in first)) if len(first) == 1 else first


def _why_not_led(found: PartitionInfo, target: tuple[int, ...]) -> str | None:
    if sorted(target) != sorted(found.replicas):
        strange = [broker for broker in target if broker not in found.replicas]
        which = brokers(tuple(strange)) if strange else f"only {brokers(target)}"
        return f"its replicas are {brokers(found.replicas)}, not {which}: --leaders copies nothing"
    if target[0] not in found.isr:
        return f"broker {target[0]} is not in sync (in sync: {brokers(found.isr)})"
    return None


def _leader_line(name: TopicPartition, found: PartitionInfo, target: tuple[int, ...]) -> str:
    leads = f"{target[0]} leads" if found.leader == target[0] else f"leader {found.leader} -> {target[0]}"
    if target == found.replicas:
        return f"{name}: {leads}, and {target[0]} is preferred already"
    return f"{name}: {leads}, replicas {brokers(found.replicas)} -> {brokers(target)}: another order"


def _document(name: TopicPartition, found: PartitionInfo, target: tuple[int, ...]) -> dict[str, object]:
    return {**partition_fields(name), "leader": found.leader, "replicas": found.replicas, "target": target}


def _fail(what: str, reasons: Mapping[TopicPartition, str]) -> None:
    if reasons:
        raise failure_of(what, reasons)


COMMAND = OurCommand(
    "move",
    "move partitions without a file",
    "Moves partitions of a topic to other brokers, as --execute does, without a JSON file.\n"
    "`kafka-reassign describe-topic TOPIC` shows where they are.",
    _run,
    _add_arguments,
    _problem,
    "examples:\n"
    "  kafka-reassign move payments -p 0:4,5,6 --dry-run --bootstrap-server localhost:9092\n"
    "  kafka-reassign move payments -p 0:5 --leaders --bootstrap-server localhost:9092\n"
    "  kafka-reassign move payments -p 0:4,5,6 -p 1:1,2,3 --throttle 50MB --lease --watch \\\n"
    "      --bootstrap-server localhost:9092",
    is_ours=False,
)
