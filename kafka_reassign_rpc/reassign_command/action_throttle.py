"""`kafka-reassign throttle`: another throttle for moves in flight and moves that wait, at once."""

import argparse
from collections.abc import Collection

from kafka_reassign_rpc.client import ReassignmentClient
from kafka_reassign_rpc.client.standing_rates import rated_window
from kafka_reassign_rpc.core.config_values import INT32, INT64
from kafka_reassign_rpc.core.settings import healing_settings
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import nothing_matched
from kafka_reassign_rpc.reassign_command.set_and_clear_throttles import former_leases, limits_that_go_on
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.human_units import parse_size, without_unit
from kafka_reassign_rpc.support.secrecy import told
from kafka_reassign_rpc.support.typed_commands import command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "rate", type=_rate, metavar="RATE", help="bytes per second on each broker: 40MB, 500kB; 0: no throttle"
    )
    parser.add_argument("--topics", type=_topics, metavar="a,b", default=[], help="only the moves of these topics")
    parser.add_argument(
        "--partitions", type=_partitions, metavar="a-0,b-3", default=[], help="only the moves of these partitions"
    )


def _rate(text: str) -> int:
    if problem := without_unit(text):
        raise argparse.ArgumentTypeError(problem)
    found = whole_number(text, 0, INT64)
    found = parse_size(text) if found is None else found
    if found is None or not 0 <= found <= INT64:
        raise argparse.ArgumentTypeError(f"expected bytes per second, such as 40MB or 0, got {told(text)}")
    return found


def _topics(text: str) -> list[str]:
    found = [name for name in text.split(",") if name]
    if not found:
        raise argparse.ArgumentTypeError(f"expected names of topics with commas between them, got {told(text)}")
    return found


def _partitions(text: str) -> list[TopicPartition]:
    found = []
    for name in _topics(text):
        topic, _, number = name.rpartition("-")
        partition = whole_number(number, 0, INT32)
        if not topic or partition is None:
            raise argparse.ArgumentTypeError(f"expected partitions such as orders-0, got {told(name)}")
        found.append(TopicPartition(topic, partition))
    return found


def _run(context: ActionContext, asked: argparse.Namespace) -> None:
    client, output = context.client, context.output
    are_all = not asked.topics and not asked.partitions
    former = former_leases(client)
    found = client.alter_throttles(
        asked.rate,
        topics=None if are_all else asked.topics,
        partitions=None if are_all else asked.partitions,
    )
    output.collect(throttle=asked.rate, moving=found.moving, waiting=found.waiting, repairs=found.repairs)
    if not are_all and not (found.moving or found.waiting or found.repairs):
        what = "No such move is in flight or waits"
        raise nothing_matched(client, what, topics=asked.topics, partitions=asked.partitions)
    if found.moving or found.waiting:
        moves = f"{counted(found.moving, 'move')} in flight and {counted(found.waiting, 'waiting move')}"
        rate = f"{asked.rate} B/s on each broker" if asked.rate else "no throttle of their own any more"
        output.line(f"{moves}: {rate}.")
        output.lines(limits_that_go_on(client, _brokers(client, asked), former, asked.rate))
        window = rated_window(client) if asked.rate else None
        if window is not None:
            output.line(f"The rate of the window goes before it: {window.now}.")
    else:
        output.line("There is no such move.")
    if found.repairs:
        repairs = f"{counted(found.repairs, 'move')} of repairs {agreeing(found.repairs, 'follow')}"
        change = command("kafka-reassign settings", "--set", f"{healing_settings.THROTTLE}={asked.rate or -1}")
        output.line(f"{repairs} {healing_settings.THROTTLE} instead: `{change}` changes them.")


def _brokers(client: ReassignmentClient, asked: argparse.Namespace) -> Collection[int]:
    moves = client.list_partition_reassignments()
    return {
        broker
        for name, one in moves.items()
        if (not asked.topics and not asked.partitions) or name.topic in asked.topics or name in asked.partitions
        for broker in one.replicas
    }


COMMAND = OurCommand(
    "throttle",
    "change the throttle of moves",
    "Gives moves that are in flight, and moves that wait in the queue, another throttle, at once and without a JSON "
    "file: all moves, or those of --topics and --partitions. The throttle is a lease: the controller takes it away "
    "when the moves end. Moves keep their targets, ids, reasons and places in the queue.",
    _run,
    _add_arguments,
    epilog=f"Repairs of lost brokers follow {healing_settings.THROTTLE} instead: "
    f"`{command('kafka-reassign settings', '--set', f'{healing_settings.THROTTLE}=40MB')}` "
    "changes those in flight and those that wait, too.",
)
