"""--cancel: take back what moves or waits, that of a file or all of it; then the throttles."""

from collections.abc import Collection, Iterable

from kafka_reassign_rpc.client import KafkaError, TopicPartition
from kafka_reassign_rpc.client.reassignment_calls import Results
from kafka_reassign_rpc.reassign_command import action_list, log_dir_moves, throttle_changes
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import Terse
from kafka_reassign_rpc.reassign_command.java_set_order import joined
from kafka_reassign_rpc.reassign_command.output import named, plural
from kafka_reassign_rpc.reassign_command.reassignment_json import ReassignmentFile, parse_plan, read_file


def run(session: ActionContext) -> None:
    path = session.given.value("reassignment-json-file")
    timeout_ms = session.given.number("timeout")
    if path is None:
        _cancel_everything(session)
    else:
        _cancel_planned(session, parse_plan(read_file(path)), timeout_ms)


def _cancel_planned(session: ActionContext, plan: ReassignmentFile, timeout_ms: int) -> None:
    output = session.output
    partitions = list(plan.targets)
    # Asked for no partition, the server would list none.
    active = list(session.client.list_partition_reassignments(partitions)) if partitions else []
    if active:
        _cancel(session, active)
    else:
        output.line("None of the specified partition reassignments are active.")
        output.note(cancelled=[])
    moving = {
        replica: state.found.current
        for replica, state in log_dir_moves.states(session, plan.log_dirs).items()
        if state.is_moving and state.found.current is not None
    }
    if moving:
        log_dir_moves.start(session, moving, timeout_ms)
    else:
        output.write("None of the specified partition moves are active.")  # the stock tool ends no line here
    _clear(session, partitions, (broker for _, replicas in plan.entries for broker in replicas), plan.topics)


def _cancel_everything(session: ActionContext) -> None:
    in_flight = session.client.list_partition_reassignments()
    if not in_flight:
        session.output.line(action_list.NOTHING)
        session.output.note(cancelled=[])
        return
    _cancel(session, list(in_flight))
    brokers = (b for move in in_flight.values() for b in (*move.replicas, *move.adding_replicas))
    _clear(session, in_flight, brokers, (partition.topic for partition in in_flight))


def _clear(
    session: ActionContext, cancelled: Collection[TopicPartition], brokers: Iterable[int], topics: Iterable[str]
) -> None:
    """The throttles go, but for those that moves of others need."""
    if not session.given.has("preserve-throttles"):
        in_flight = session.client.list_partition_reassignments()
        others = {partition: move for partition, move in in_flight.items() if partition not in cancelled}
        throttle_changes.clear(session, brokers, topics, others)


def _cancel(session: ActionContext, partitions: list[TopicPartition]) -> None:
    try:
        results: Results = session.client.cancel_partition_reassignments(partitions)
    except KafkaError as error:
        results = dict.fromkeys(partitions, error)
    failed = {partition: error for partition, error in results.items() if error is not None}
    session.output.note(cancelled=[named(partition) for partition in sorted(partitions) if partition not in failed])
    if failed:
        lines = [f"{partition}: {failed[partition].message}" for partition in sorted(failed)]
        raise Terse("\n".join([f"Error cancelling partition reassignment{plural(len(failed))} for:", *lines]))
    session.output.line(
        f"Successfully cancelled partition reassignment{plural(len(partitions))} for: {joined(sorted(partitions))}"
    )
