"""`kafka-reassign describe-topic TOPIC`: where the partitions of a topic are, and what moves. Works with any Kafka."""

import argparse

from kafka_reassign_rpc.client import PartitionReassignment, TopicPartition, text_format
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, partition_fields
from kafka_reassign_rpc.reassign_command.command_errors import existing_topic
from kafka_reassign_rpc.reassign_command.log_dir_moves import leader_sizes
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand
from kafka_reassign_rpc.support import text_table
from kafka_reassign_rpc.support.counted import counted

_HEADING = ("Partition", "Leader", "Replicas", "In sync", "Size", "Moves")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", metavar="TOPIC", help="its name")


def _run(context: ActionContext, asked: argparse.Namespace) -> None:
    topic = asked.topic
    known = existing_topic(context.client, topic)
    found = {TopicPartition(topic, index): one for index, one in known.items()}
    moves = context.client.list_partition_reassignments(found)
    sizes = leader_sizes(context.client, {name: one.leader for name, one in found.items()})
    rows: list[tuple[str, ...]] = [_HEADING]
    documents = []
    for name, one in sorted(found.items()):
        size, move = sizes.get(name), moves.get(name)
        rows.append(
            (
                str(name),
                str(one.leader) if one.leader >= 0 else "none",
                brokers(one.replicas),
                brokers(one.isr),
                "unknown" if size is None else text_format.size(size),
                "" if move is None else comes_and_goes(move),
            )
        )
        documents.append(
            {
                **partition_fields(name),
                "leader": one.leader if one.leader >= 0 else None,
                "replicas": one.replicas,
                "isr": one.isr,
                "bytes": size,
                "adding_replicas": move.adding_replicas if move else (),
                "removing_replicas": move.removing_replicas if move else (),
            }
        )
    context.output.line(f"{topic}: {counted(len(found), 'partition')}")
    context.output.lines(text_table.table(rows, text_table.columns_of(context.output.stream)))
    context.output.collect(partitions=documents)


def brokers(ids: tuple[int, ...]) -> str:
    return ",".join(map(str, ids)) or "none"


def comes_and_goes(move: PartitionReassignment) -> str:
    parts = [
        *([f"adds {brokers(move.adding_replicas)}"] if move.adding_replicas else []),
        *([f"removes {brokers(move.removing_replicas)}"] if move.removing_replicas else []),
    ]
    text = ", ".join(parts) or "another order"
    return f"waits: {text}" if move.is_waiting else text


COMMAND = OurCommand(
    "describe-topic",
    "show where the partitions of a topic are",
    "Shows the partitions of a topic: leader, replicas, in-sync replicas, size, and which replicas a move adds and "
    "removes.",
    _run,
    _add_arguments,
    is_ours=False,
)
