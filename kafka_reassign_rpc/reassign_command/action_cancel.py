"""--cancel: cancels the moves of a file, or all moves in flight and in the queue; then clears the throttles."""

from collections.abc import Collection, Iterable, Mapping

from kafka_reassign_rpc.client import KafkaError, TopicPartition
from kafka_reassign_rpc.client.reassignment_calls import Results
from kafka_reassign_rpc.core.kafka_errors import NoReassignmentInProgress
from kafka_reassign_rpc.reassign_command import action_list, log_dir_moves, set_and_clear_throttles
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure
from kafka_reassign_rpc.reassign_command.java_set_order import joined
from kafka_reassign_rpc.reassign_command.output import partition_fields
from kafka_reassign_rpc.reassign_command.reassignment_json import ReassignmentFile, parse_reassignment, read_file
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
        _tell(context, active, _cancel(context, active))
    else:
        output.line("None of the specified partition reassignments are active.")
        output.note(cancelled=[])
    moving = {
        replica: state.found.current
        for replica, state in log_dir_moves.states(context, reassignment.log_dirs).items()
        if state.is_moving and state.found.current is not None
    }
    if moving:
        log_dir_moves.start(context, moving, timeout_ms)
    else:
        output.line("None of the specified partition moves are active.")
    _clear(
        context,
        partitions,
        reassignment.target_brokers,
        reassignment.topics,
    )


def _cancel_everything(context: ActionContext) -> None:
    in_flight = context.client.list_partition_reassignments()
    if not in_flight:
        context.output.line(action_list.NOTHING)
        context.output.note(cancelled=[])
        return
    failed = _cancel(context, list(in_flight))
    ended = {partition for partition, error in failed.items() if isinstance(error, NoReassignmentInProgress)}
    failed = {partition: error for partition, error in failed.items() if partition not in ended}
    brokers = (b for move in in_flight.values() for b in (*move.replicas, *move.adding_replicas))
    try:
        _tell(context, [partition for partition in in_flight if partition not in ended], failed)
    finally:  # a repeated command would not find what is over by now
        _clear(context, in_flight.keys() - failed.keys(), brokers, (partition.topic for partition in in_flight))


def _clear(
    context: ActionContext, cancelled: Collection[TopicPartition], brokers: Iterable[int], topics: Iterable[str]
) -> None:
    """Clear the throttles, except those that other moves in flight need."""
    if not context.options.has("preserve-throttles"):
        in_flight = context.client.list_partition_reassignments()
        others = {partition: move for partition, move in in_flight.items() if partition not in cancelled}
        set_and_clear_throttles.clear(context, brokers, topics, others)


def _cancel(context: ActionContext, partitions: list[TopicPartition]) -> dict[TopicPartition, KafkaError]:
    """Cancel; returns what could not be cancelled, with the reasons."""
    try:
        results: Results = context.client.cancel_partition_reassignments(partitions)
    except KafkaError as error:
        results = dict.fromkeys(partitions, error)
    return {partition: error for partition, error in results.items() if error is not None}


def _tell(
    context: ActionContext, partitions: list[TopicPartition], failed: Mapping[TopicPartition, KafkaError]
) -> None:
    """Print what was cancelled of these. Raises TerseFailure with what was not."""
    context.output.note(
        cancelled=[partition_fields(partition) for partition in sorted(partitions) if partition not in failed]
    )
    if failed:
        lines = [f"{partition}: {failed[partition].message}" for partition in sorted(failed)]
        raise TerseFailure("\n".join([f"Error cancelling partition reassignment{plural(len(failed))} for:", *lines]))
    done = f"Successfully cancelled partition reassignment{plural(len(partitions))} for: {joined(sorted(partitions))}"
    context.output.line(done if partitions else action_list.NOTHING)
