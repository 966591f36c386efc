"""--generate-queue, --execute-queue and --verify-queue: moves that wait for their turn (KIP-236).

What `--verify-queue` says of each entry of the file:

    waiting          it is in the queue
    in progress      it moves there
    completed        it stands there
    not as planned   none of these: it stands, moves, or waits to move, elsewhere
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.client import PartitionReassignment, TopicPartition
from kafka_reassign_rpc.client.reassignment_calls import NO_QUEUE
from kafka_reassign_rpc.reassign_command import action_execute, action_generate, action_verify, throttle_changes
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import Failed, Terse
from kafka_reassign_rpc.reassign_command.java_set_order import joined
from kafka_reassign_rpc.reassign_command.output import named
from kafka_reassign_rpc.reassign_command.reassignment_json import Assignment, parse_plan, read_file

WAITING, MOVING, COMPLETED, OTHERWISE = "waiting", "in progress", "completed", "not as planned"
SOME_ARE_NEITHER, SOME_ARE_NOT_DONE = 1, 2


class QueueVerification(NamedTuple):
    """What was found of one entry: the word, the sentence, the replicas that the partition has now."""

    word: str
    text: str
    replicas: tuple[int, ...]


def generate(session: ActionContext) -> None:
    _require_queue(session)
    coming = {partition: move.target for partition, move in session.client.list_partition_reassignments().items()}
    action_generate.generate(session, coming)


def execute(session: ActionContext) -> None:
    action_execute.execute(session, queue=True)


def verify(session: ActionContext) -> int:
    """Exit code."""
    plan = parse_plan(read_file(session.given.value("reassignment-json-file") or ""))
    if plan.log_dirs:
        raise Failed(action_execute.NO_LOG_DIRS)
    _require_queue(session)
    targets = plan.targets
    in_flight = session.client.list_partition_reassignments()
    found = find(session, targets, in_flight)
    output = session.output
    output.line("\n".join(["Status of partition reassignment:", *(found[p].text for p in sorted(found))]))
    words = {one.word for one in found.values()}
    closed = session.client.why_disabled() if WAITING in words else None
    if closed is not None:
        output.line(closed)
    output.note(
        partitions=[
            {**named(p), "state": one.word, "replicas": one.replicas, "target": targets[p]}
            for p, one in sorted(found.items(), key=lambda item: item[0])
        ],
        reassignments_in_flight=len(in_flight),
        disabled=closed,
    )
    if not in_flight and not session.given.has("preserve-throttles"):
        throttle_changes.clear(session, (broker for _, replicas in plan.entries for broker in replicas), plan.topics)
    if OTHERWISE in words:
        return SOME_ARE_NEITHER
    return SOME_ARE_NOT_DONE if words & {WAITING, MOVING} else 0


def find(
    session: ActionContext, targets: Assignment, in_flight: Mapping[TopicPartition, PartitionReassignment]
) -> dict[TopicPartition, QueueVerification]:
    resting = {partition: target for partition, target in targets.items() if partition not in in_flight}
    found = {}
    for partition, state in action_verify.find_states(session, resting, {}).items():
        word = COMPLETED if state.current == state.target else OTHERWISE
        found[partition] = QueueVerification(word, state.text(partition), state.current)
    for partition in targets.keys() & in_flight.keys():
        found[partition] = under_way(partition, in_flight[partition], targets[partition])
    return found


def under_way(partition: TopicPartition, move: PartitionReassignment, target: tuple[int, ...]) -> QueueVerification:
    """Of an entry whose partition moves or waits."""
    # The list does not tell the order that a waiting move will give its replicas.
    as_planned = sorted(move.target) == sorted(target) if move.is_waiting else move.target == target
    doing = "waiting in the queue" if move.is_waiting else "still in progress"
    if as_planned:
        word = WAITING if move.is_waiting else MOVING
        return QueueVerification(word, f"Reassignment of partition {partition} is {doing}.", move.replicas)
    text = (
        f"Reassignment of partition {partition} is {doing}, but to replica set {joined(move.target)} "
        f"rather than {joined(target)}."
    )
    return QueueVerification(OTHERWISE, text, move.replicas)


def _require_queue(session: ActionContext) -> None:
    if not session.client.can_queue():
        raise Terse(NO_QUEUE)
