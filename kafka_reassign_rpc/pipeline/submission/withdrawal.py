"""Takes back the moves that wait in the controller's queue: where submit stops, nothing more is to begin."""

import threading
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from kafka_reassign_rpc.client import KafkaError, TopicPartition
from kafka_reassign_rpc.core.kafka_errors import NoReassignmentInProgress
from kafka_reassign_rpc.pipeline.submission.patient_cluster import Listed, PatientCluster
from kafka_reassign_rpc.pipeline.submission.submit_settings import UnderWay

NO_ANSWER = "the cluster does not answer"


class Withdrawal(NamedTuple):
    """gone: the moves that will not start. waiting: those that wait still, with the controller's reason."""

    gone: frozenset[TopicPartition]
    waiting: dict[TopicPartition, KafkaError]

    @property
    def taken_back(self) -> int:
        return len(self.gone)


def withdraw(cluster: PatientCluster, listed: Listed) -> Withdrawal:
    """Cancel those of the listed moves that wait. Raises KafkaError."""
    waiting = [name for name, move in listed.items() if move.is_waiting]
    if not waiting:
        return Withdrawal(frozenset(), {})
    results = cluster.ask(lambda: cluster.client.cancel_partition_reassignments(waiting))
    kept = {
        name: error
        for name, error in results.items()
        if error is not None and not isinstance(error, NoReassignmentInProgress)
    }
    return Withdrawal(frozenset(waiting) - kept.keys(), kept)


def withdraw_in_time(cluster: PatientCluster, under_way: UnderWay, seen: Collection[TopicPartition]) -> None:
    """After an interrupt: take back what waits, and note in `under_way` what goes on. It takes ten seconds at the most,
    and raises nothing: the operator waits for the end of the command.

    seen    the moves that the controller is known to have. Others of `under_way` may have been asked for just now
    """
    if not under_way.moves:
        return
    brief = replace(cluster, intervals=replace(cluster.intervals, patience=cluster.intervals.withdrawal))
    under_way.why_not = NO_ANSWER

    def work() -> None:
        try:
            _note(brief, under_way, frozenset(seen))
        except KafkaError as error:
            under_way.why_not = error.message

    # In a thread of its own, for a call may hang for longer than that.
    thread = threading.Thread(target=work, name="withdrawal", daemon=True)
    thread.start()
    try:
        thread.join(cluster.intervals.withdrawal)
    except (KeyboardInterrupt, SystemExit):
        under_way.why_not = "interrupted again"


def _note(cluster: PatientCluster, under_way: UnderWay, seen: Collection[TopicPartition]) -> None:
    moves = under_way.moves
    listed = cluster.moves(moves.keys())
    under_way.moves = {name: entry for name, entry in moves.items() if name in listed or name not in seen}
    under_way.waiting = sum(move.is_waiting for move in listed.values())
    under_way.is_known = listed.keys() >= under_way.moves.keys()
    found = withdraw(cluster, listed)
    under_way.moves = {name: entry for name, entry in under_way.moves.items() if name not in found.gone}
    under_way.taken_back, under_way.waiting = found.taken_back, len(found.waiting)
    under_way.why_not = next((error.message for error in found.waiting.values()), "")
