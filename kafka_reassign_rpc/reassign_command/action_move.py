"""`kafka-reassign move TOPIC -p 0:4,5,6`: --execute and --execute-queue without a file."""

import argparse
from collections.abc import Sequence
from contextlib import closing

from kafka_reassign_rpc.client import TopicPartition
from kafka_reassign_rpc.core.config_values import INT32, INT64
from kafka_reassign_rpc.core.events.catalogue import MOVE_COMPLETED
from kafka_reassign_rpc.reassign_command import action_events, action_execute, move_leaders
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure
from kafka_reassign_rpc.reassign_command.merged_events import MergedEvents
from kafka_reassign_rpc.reassign_command.nothing_matched import existing_topic
from kafka_reassign_rpc.reassign_command.options import BY_NAME
from kafka_reassign_rpc.reassign_command.reassignment_json import Assignment, ReassignmentFile
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.human_units import without_unit
from kafka_reassign_rpc.support.secrecy import told

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
        type=_move_id,
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
        move_leaders.run(context, targets)
        return
    if found.undo is not None:
        targets, expected = _way_back(context, found.topic, found.undo)
        context.options.values["expect-current"] = []
    reassignment = ReassignmentFile([*targets.items()], {}, expected)
    action_execute.execute(context, reassignment, queue=found.queue)


def _move_id(text: str) -> int:
    found = whole_number(text, 0, INT64)
    if found is None:
        raise argparse.ArgumentTypeError(f"expected the id of a move, got {told(text)}")
    return found


def _way_back(context: ActionContext, topic: str, id_: int) -> tuple[Assignment, Assignment]:
    """By partition: the replicas before the move, and those after it, which are expected. Raises TerseFailure."""
    before: Assignment = {}
    after: Assignment = {}
    with closing(MergedEvents(context.client, context.client_of, action_events.say)) as events:
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
)
