"""--cancel: cancels the moves of a file, or all moves in flight and in the queue; then clears the throttles.

Throttles that could not be cleared, such as those of a dead broker, are named last, and are a failure, as of --verify
and of the stock tool: they hold back what moves next. All that can be cleared is.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.client import KafkaError, TopicPartition
from kafka_reassign_rpc.client.reassignment_calls import Results
from kafka_reassign_rpc.core.kafka_errors import NoReassignmentInProgress
from kafka_reassign_rpc.reassign_command import action_list, log_dir_moves, set_and_clear_throttles
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, partition_fields
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed, TerseFailure, failure_of
from kafka_reassign_rpc.reassign_command.reassignment_json import (
    ReassignmentFile,
    joined,
    parse_reassignment,
    read_file,
)
from kafka_reassign_rpc.support.counted import plural


def run(context: ActionContext) -> None:
    path = context.options.value("reassignment-json-file")
    timeout_ms = context.options.number("timeout")
    if path is None:
        _cancel_everything(context)
    else:
        _cancel_listed(context, parse_reassignment(read_file(path)), timeout_ms)


def _cancel_listed(context: ActionContext, reassignment: ReassignmentFile, timeout_ms: int) -> None:
    output = context.output
    partitions = list(reassignment.targets)
    # A server that is asked for no partitions lists none.
    active = list(context.client.list_partition_reassignments(partitions)) if partitions else []
    if active:
        _report(context, _cancel(context, active))
    else:
        output.line("None of the specified partition reassignments are active.")
        output.collect(cancelled=[])
    moving = {
        replica: state.found.current
        for replica, state in log_dir_moves.states(context, reassignment.log_dirs).items()
        if state.is_moving and state.found.current is not None
    }
    if moving:
        log_dir_moves.start(context, moving, timeout_ms)
    else:
        output.line("None of the specified partition moves are active.")
    if problem := _clear(context, partitions, reassignment.target_brokers, reassignment.topics):
        raise TerseFailure(problem)


def _cancel_everything(context: ActionContext) -> None:
    in_flight = context.client.list_partition_reassignments()
    if not in_flight:
        context.output.line(action_list.NOTHING)
        context.output.collect(cancelled=[])
        return
    cancel = _cancel(context, list(in_flight))
    brokers = (b for move in in_flight.values() for b in (*move.replicas, *move.adding_replicas))
    problems = []
    try:
        _report(context, cancel)
    except TerseFailure as failure:  # a repeated command would not find what is over by now
        problems.append(str(failure))
    ended, topics = in_flight.keys() - cancel.failed.keys(), (partition.topic for partition in in_flight)
    if left := _clear(context, ended, brokers, topics):
        problems.append(left)
    if problems:
        raise TerseFailure("\n".join(problems))


def _clear(
    context: ActionContext, cancelled: Collection[TopicPartition], brokers: Iterable[int], topics: Iterable[str]
) -> str:
    """Keeps the throttles that other moves in flight need. Returns which could not be cleared, "" if all are."""
    if context.options.has("preserve-throttles"):
        return ""
    try:
        in_flight = context.client.list_partition_reassignments()
        others = {partition: move for partition, move in in_flight.items() if partition not in cancelled}
        left = set_and_clear_throttles.clear(context, brokers, topics, others)
    except (KafkaError, CommandFailed) as error:
        why = error.message if isinstance(error, KafkaError) else str(error)
        context.output.collect(throttles_error=why)
        return f"Could not clear all throttles: {why} Some may be left: --verify with the moves clears them."
    return "\n".join(left.lines())


class _Cancel(NamedTuple):
    """A move that has ended meanwhile is in neither field."""

    done: list[TopicPartition]
    failed: Mapping[TopicPartition, KafkaError]


def _cancel(context: ActionContext, partitions: list[TopicPartition]) -> _Cancel:
    try:
        results: Results = context.client.cancel_partition_reassignments(partitions)
    except KafkaError as error:
        results = dict.fromkeys(partitions, error)
    failed = {
        partition: error
        for partition, error in results.items()
        if error is not None and not isinstance(error, NoReassignmentInProgress)
    }
    return _Cancel(sorted(partition for partition, error in results.items() if error is None), failed)


def _report(context: ActionContext, cancel: _Cancel) -> None:
    """Raises TerseFailure with what could not be cancelled."""
    done, failed = cancel
    context.output.collect(cancelled=[partition_fields(partition) for partition in done])
    if failed:
        what = f"Error cancelling partition reassignment{plural(len(failed))} for"
        raise failure_of(what, {name: error.message for name, error in failed.items()})
    said = f"Successfully cancelled partition reassignment{plural(len(done))} for: {joined(done)}"
    context.output.line(said if done else action_list.NOTHING)
