"""The moves of a plan in batches, as the simulation takes them."""

from collections.abc import Iterable

from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.scheduling.copy_table import CopyTable
from kafka_reassign_rpc.planner.scheduling.move_batching import BatchLimits, into_batches


def batched(moves: Iterable[PlannedMove]) -> CopyTable:
    """The moves in this order, in batches of the default limits."""
    table = CopyTable()
    for batch in into_batches(moves, BatchLimits()):
        for move in batch.moves:
            table.add(move)
        table.end_batch()
    return table
