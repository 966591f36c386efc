"""--list: prints the moves in flight, and the moves in the controller's queue."""

from collections.abc import Mapping
from typing import Any

from kafka_reassign_rpc.client import PartitionReassignment, TopicPartition
from kafka_reassign_rpc.core.state.cluster import RPC
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.java_set_order import joined
from kafka_reassign_rpc.reassign_command.output import partition_fields

NOTHING = "No partition reassignments found."


def run(context: ActionContext) -> None:
    in_flight = context.client.list_partition_reassignments()
    context.output.line(text(in_flight))
    context.output.note(reassignments=documents(in_flight))


def text(in_flight: Mapping[TopicPartition, PartitionReassignment]) -> str:
    if not in_flight:
        return NOTHING
    return "\n".join(["Current partition reassignments:", *(_line(p, in_flight[p]) for p in sorted(in_flight))])


def documents(in_flight: Mapping[TopicPartition, PartitionReassignment]) -> list[dict[str, Any]]:
    return [
        {
            **partition_fields(partition),
            "replicas": move.replicas,
            "adding_replicas": move.adding_replicas,
            "removing_replicas": move.removing_replicas,
            "id": move.id if move.id >= 0 else None,
            "state": move.state,
            "route": move.route,
            "reason": move.reason,
        }
        for partition, move in sorted(in_flight.items(), key=lambda item: item[0])
    ]


def _line(partition: TopicPartition, move: PartitionReassignment) -> str:
    adding = f" adding: {joined(move.adding_replicas)}." if move.adding_replicas else ""
    removing = f" removing: {joined(move.removing_replicas)}." if move.removing_replicas else ""
    waiting = " waiting." if move.is_waiting else ""
    route = f" route: {move.route}." if move.route != RPC else ""
    reason = f" reason: {move.reason}" if move.reason else ""
    return f"{partition}: replicas: {joined(move.replicas)}.{adding}{removing}{waiting}{route}{reason}"
