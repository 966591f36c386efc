"""--describe: shows each move in flight as KIP-240 describes it, with its progress; then the moves in the queue."""

from datetime import UTC, datetime
from typing import Any

from kafka_reassign_rpc.client import (
    NO_THROTTLE,
    KafkaError,
    LogDirProgressTracker,
    PartitionReassignment,
    Progress,
    ReassignmentDescription,
    TopicPartition,
    UnsupportedHere,
    text_format,
)
from kafka_reassign_rpc.client.move_progress import read_progress
from kafka_reassign_rpc.reassign_command import action_list
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure, from_server
from kafka_reassign_rpc.reassign_command.output import partition_fields

_HEADING = (
    "PARTITION",
    "ID",
    "STARTED (UTC)",
    "ROUTE",
    "LEADER",
    "LEADER THROTTLE",
    "COPIED",
    "NEW REPLICAS (THROTTLE)",
)


def run(context: ActionContext) -> None:
    client, output = context.client, context.output
    try:
        found = [one for one in client.describe_reassignments().values() if one is not None]
    except UnsupportedHere as error:
        raise TerseFailure(f"{error.message} --list and --watch work here.") from None
    except KafkaError as error:
        raise from_server(error) from None
    found.sort(key=lambda one: one.reassignment.topic_partition)
    listed, snapshot = read_progress(client, LogDirProgressTracker(), 0.0)
    waiting = {partition: move for partition, move in sorted(listed.items()) if move.is_waiting}
    sizes = snapshot.moves
    if not found and not waiting:
        output.line(action_list.NOTHING)
    else:
        rows = [_HEADING, *(_row(one, sizes.get(one.reassignment.topic_partition)) for one in found)]
        rows += [_waiting_row(partition, move) for partition, move in waiting.items()]
        output.line("\n".join(text_format.table(rows)))
        for partition, move in sorted(listed.items()):
            if move.reason:
                output.line(f"{partition} moves for this reason: {move.reason}")
        for partition, progress in sorted(sizes.items()):
            if progress.stalled is not None:
                output.line(f"{partition} is stalled: {progress.stalled}")
    output.note(
        reassignments=[_document(one, sizes.get(one.reassignment.topic_partition)) for one in found],
        waiting=action_list.documents(waiting),
    )


def _row(one: ReassignmentDescription, progress: Progress | None) -> tuple[str, ...]:
    started = datetime.fromtimestamp(one.start_time / 1000, UTC)
    copied = "-"
    if progress is not None and progress.total is not None:
        copied = f"{text_format.size(progress.done)} of {text_format.size(progress.total)}"
        if progress.remaining_seconds is not None:
            copied += f", {text_format.duration(progress.remaining_seconds)} left"
    return (
        str(one.reassignment.topic_partition),
        str(one.reassignment.id),
        f"{started:%Y-%m-%d %H:%M:%S}",
        one.route,
        str(one.current_leader) if one.current_leader >= 0 else "none",
        text_format.throttle(one.leader_throttle),
        copied,
        ", ".join(f"{broker} ({text_format.throttle(rate)})" for broker, rate in one.new_assigned_throttles.items()),
    )


def _waiting_row(partition: TopicPartition, move: PartitionReassignment) -> tuple[str, ...]:
    coming = ", ".join(map(str, move.adding_replicas)) or "-"
    return (str(partition), "-", "waiting", move.route, "-", "-", "-", coming)


def _rate(bytes_per_second: int) -> int | None:
    return None if bytes_per_second >= NO_THROTTLE else bytes_per_second


def _document(one: ReassignmentDescription, progress: Progress | None) -> dict[str, Any]:
    return {
        **partition_fields(one.reassignment.topic_partition),
        "id": one.reassignment.id,
        "start_time_ms": one.start_time,
        "leader": one.current_leader,
        "leader_throttle": _rate(one.leader_throttle),
        "new_assigned": [
            {
                "broker": broker,
                "throttle": _rate(rate),
                "copied_bytes": progress.copied.get(broker) if progress else None,
            }
            for broker, rate in one.new_assigned_throttles.items()
        ],
        "total_bytes": progress.total if progress else None,
        "bytes_per_second": progress.rate if progress else None,
        "remaining_seconds": progress.remaining_seconds if progress else None,
        "stalled": progress.stalled if progress else None,
        "route": one.route,
        "reason": one.reason,
    }
