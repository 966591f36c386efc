"""The moves of a plan in batches, as the simulation takes them."""

from collections import Counter
from collections.abc import Iterable, Sequence

from kafka_reassign_rpc.planner.goals_and_options import BatchLimits
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import PlannedMove, sender_and_receivers
from kafka_reassign_rpc.planner.scheduling.copy_table import CopyTable
from kafka_reassign_rpc.planner.scheduling.move_batching import into_batches


def batched(moves: Iterable[PlannedMove], network: NetworkLimits) -> CopyTable:
    """The moves, which come in this order, in batches of the default limits."""
    return _table(batch.moves for batch in into_batches(moves, BatchLimits(), network))


def batched_as_they_come(moves: Iterable[PlannedMove]) -> CopyTable:
    """To compare with: each move in the first batch of its priority that has room, whatever the time."""
    limits, batches = BatchLimits(), list[tuple[int, list[PlannedMove], Counter[int]]]()
    for move in moves:
        sender, receivers, _ = sender_and_receivers(move)
        brokers = {*receivers, sender} - {-1} if receivers else set()
        for priority, held, counts in batches:
            fits = all(counts[broker] < limits.moves_per_broker for broker in brokers)
            if fits and priority == move.priority and len(held) < limits.moves_per_batch:
                break
        else:
            held, counts = [], Counter()
            batches.append((move.priority, held, counts))
        held.append(move)
        counts.update(brokers)
    return _table(held for _, held, _ in batches)


def _table(batches: Iterable[Sequence[PlannedMove]]) -> CopyTable:
    table = CopyTable()
    for moves in batches:
        for move in moves:
            table.add(move)
        table.end_batch()
    return table
