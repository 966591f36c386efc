"""What --execute says of moves that the controller has taken: which are under way, and which wait and until when."""

from collections.abc import Collection
from typing import NamedTuple

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient, TopicPartition
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.java_set_order import joined
from kafka_reassign_rpc.reassign_command.output import partition_fields
from kafka_reassign_rpc.support.counted import agreeing, counted, plural

FOR_ROOM = "the caps on moves in flight let no more start now"


class Waiting(NamedTuple):
    """Moves that were not asked to wait, and why they do."""

    moves: Collection[TopicPartition] = ()
    why: str = ""


def waiting_of(client: ReassignmentClient, moves: Collection[TopicPartition]) -> Waiting:
    """Where the controller has no queue, none waits."""
    try:
        if not moves or not client.can_queue():
            return Waiting()
        listed = client.list_partition_reassignments(moves)
        found = sorted(name for name, move in listed.items() if move.is_waiting and name in moves)
        return Waiting(found, _why(client)) if found else Waiting()
    except KafkaError:  # the moves were accepted: that they are is what has to be said
        return Waiting()


def _why(client: ReassignmentClient) -> str:
    window = client.status().window
    return FOR_ROOM if window is None or window.open else window.now


def report(context: ActionContext, accepted: Collection[TopicPartition], *, queued: bool) -> None:
    """`queued`: they were asked to wait."""
    if queued:
        context.output.line(
            f"Successfully queued partition reassignment{plural(len(accepted))} for {joined(sorted(accepted))}"
        )
        return
    waiting = waiting_of(context.client, accepted)
    if waiting.moves:
        started = [partition_fields(name) for name in sorted(accepted) if name not in waiting.moves]
        moves = [partition_fields(name) for name in waiting.moves]
        context.output.collect(started=started, waiting=moves, waits_for=waiting.why)
    for line in lines(accepted, waiting):
        context.output.line(line)


def lines(accepted: Collection[TopicPartition], waiting: Waiting) -> list[str]:
    started = [name for name in sorted(accepted) if name not in waiting.moves]
    found = []
    if started:
        found.append(f"Successfully started partition reassignment{plural(len(started))} for {joined(started)}")
    if waiting.moves:
        count = len(waiting.moves)
        found.append(
            f"{counted(count, 'partition reassignment')} {agreeing(count, 'wait')} in the controller's queue for"
            f" {joined(waiting.moves)}: {waiting.why}"
        )
    return found
