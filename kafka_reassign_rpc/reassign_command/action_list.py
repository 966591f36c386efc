"""--list: prints the moves in flight, and the moves in the controller's queue."""

from typing import Any

from kafka_reassign_rpc.client import PartitionReassignment, TopicPartition
from kafka_reassign_rpc.client.move_progress import Listed, read_waiting_beside
from kafka_reassign_rpc.core.reassignment.move_sums import FOR_APPROVAL
from kafka_reassign_rpc.core.state.partition import RPC
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, partition_fields
from kafka_reassign_rpc.reassign_command.reassignment_json import joined
from kafka_reassign_rpc.support.bounded_text import printable

NOTHING = "No partition reassignments found."
NO_MOVES: Listed = {}


def run(context: ActionContext) -> None:
    listed = context.client.list_partition_reassignments()
    beside = read_waiting_beside(context.client, listed)
    context.output.line(text(listed, beside))
    context.output.collect(reassignments=documents(listed, beside))


def rows(listed: Listed, beside: Listed) -> list[tuple[TopicPartition, PartitionReassignment]]:
    """Moves of `beside` wait while another one of their partition is in flight: they follow that one."""
    return sorted([*listed.items(), *beside.items()], key=lambda row: row[0])


def text(listed: Listed, beside: Listed = NO_MOVES) -> str:
    if not listed:
        return NOTHING
    return "\n".join(["Current partition reassignments:", *(_line(*row) for row in rows(listed, beside))])


def documents(listed: Listed, beside: Listed = NO_MOVES) -> list[dict[str, Any]]:
    return [
        {
            **partition_fields(partition),
            "replicas": move.replicas,
            "adding_replicas": move.adding_replicas,
            "removing_replicas": move.removing_replicas,
            "id": move.id,
            "state": move.state,
            "route": move.route,
            "reason": move.reason,
            **({"held": move.held} if move.held else {}),
        }
        for partition, move in rows(listed, beside)
    ]


def _line(partition: TopicPartition, move: PartitionReassignment) -> str:
    adding = f" adding: {joined(move.adding_replicas)}." if move.adding_replicas else ""
    removing = f" removing: {joined(move.removing_replicas)}." if move.removing_replicas else ""
    order = "" if move.waiting_target is None or adding or removing else f" order: {joined(move.waiting_target)}."
    waiting = "" if not move.is_waiting else f" {_how_held(move)}." if move.held else " waiting."
    route = f" route: {move.route}." if move.route != RPC else ""
    reason = f" reason: {printable(move.reason)}" if move.reason else ""
    return f"{partition}: replicas: {joined(move.replicas)}.{adding}{removing}{order}{waiting}{route}{reason}"


def _how_held(move: PartitionReassignment) -> str:
    return f"{'waiting' if move.held.startswith(FOR_APPROVAL) else 'held'} {printable(move.held)}"
