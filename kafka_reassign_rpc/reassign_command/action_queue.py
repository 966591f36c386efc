"""--generate-queue, --execute-queue and --verify-queue: reassignments through the controller's queue (KIP-236).

`--verify-queue` gives each entry of the file one of these states:

    waiting          the move to the target is in the queue
    in progress      the partition moves to the target
    completed        the partition has the target's replicas
    not as planned   the partition has other replicas, or moves or waits to move to other replicas
"""

from kafka_reassign_rpc.client import PartitionReassignment, TopicPartition
from kafka_reassign_rpc.client.move_progress import Listed, read_waiting_beside
from kafka_reassign_rpc.client.reassignment_calls import NO_QUEUE
from kafka_reassign_rpc.reassign_command import action_execute, action_generate, action_verify, set_and_clear_throttles
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, partition_fields
from kafka_reassign_rpc.reassign_command.action_verify import MOVING, NOT_AS_PLANNED, EntryState
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed, TerseFailure
from kafka_reassign_rpc.reassign_command.reassignment_json import Assignment, joined, parse_reassignment, read_file

WAITING = "waiting"
EXIT_NOT_AS_PLANNED, EXIT_NOT_DONE = 1, 2


def generate(context: ActionContext) -> None:
    _require_queue(context)
    listed = context.client.list_partition_reassignments()
    last = {**listed, **read_waiting_beside(context.client, listed)}
    action_generate.generate(context, {partition: move.target for partition, move in last.items()})


def execute(context: ActionContext) -> None:
    action_execute.execute(context, action_execute.of_file(context), queue=True)


def verify(context: ActionContext) -> int:
    """Returns the exit code."""
    reassignment = parse_reassignment(read_file(context.options.value("reassignment-json-file") or ""))
    if reassignment.log_dirs:
        raise CommandFailed(action_execute.NO_LOG_DIRS)
    _require_queue(context)
    targets = reassignment.targets
    in_flight = context.client.list_partition_reassignments()
    found = find_states(context, targets, in_flight, read_waiting_beside(context.client, in_flight))
    output = context.output
    output.line("\n".join(["Status of partition reassignment:", *(found[p].text for p in sorted(found))]))
    words = {one.word for one in found.values()}
    disabled = context.client.why_disabled() if WAITING in words else None
    if disabled is not None:
        output.line(disabled)
    output.collect(
        partitions=[
            {**partition_fields(p), "state": one.word, "replicas": one.replicas, "target": targets[p]}
            for p, one in sorted(found.items(), key=lambda item: item[0])
        ],
        reassignments_in_flight=len(in_flight),
        disabled=disabled,
    )
    if not in_flight and not context.options.has("preserve-throttles"):
        set_and_clear_throttles.clear(context, reassignment.target_brokers, reassignment.topics).raise_first()
    if NOT_AS_PLANNED in words:
        return EXIT_NOT_AS_PLANNED
    return EXIT_NOT_DONE if words & {WAITING, MOVING} else 0


def find_states(
    context: ActionContext, targets: Assignment, in_flight: Listed, beside: Listed
) -> dict[TopicPartition, EntryState]:
    """`beside`: moves that wait while another one of their partition is in flight. They come last, so they count."""
    resting = {partition: target for partition, target in targets.items() if partition not in in_flight}
    found = action_verify.find_states(context, resting, {})
    for partition in targets.keys() & in_flight.keys():
        last = under_way(partition, beside.get(partition, in_flight[partition]), targets[partition])
        found[partition] = last._replace(replicas=in_flight[partition].replicas)
    return found


def under_way(partition: TopicPartition, move: PartitionReassignment, target: tuple[int, ...]) -> EntryState:
    # The list does not give the order of a waiting move's target.
    as_planned = sorted(move.target) == sorted(target) if move.is_waiting else move.target == target
    doing = "waiting in the queue" if move.is_waiting else "still in progress"
    if as_planned:
        word = WAITING if move.is_waiting else MOVING
        return EntryState(word, f"Reassignment of partition {partition} is {doing}.", move.replicas)
    text = (
        f"Reassignment of partition {partition} is {doing}, but to replica set {joined(move.target)} "
        f"rather than {joined(target)}."
    )
    return EntryState(NOT_AS_PLANNED, text, move.replicas)


def _require_queue(context: ActionContext) -> None:
    if not context.client.can_queue():
        raise TerseFailure(NO_QUEUE)
