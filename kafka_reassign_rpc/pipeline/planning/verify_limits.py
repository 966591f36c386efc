from collections.abc import Iterator, Mapping

from kafka_reassign_rpc.pipeline.planning.verify_facts import EXPAND, RuleViolation
from kafka_reassign_rpc.pipeline.planning.verify_sums import BatchSums, BrokerSums
from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanRequest, PlanSummary
from kafka_reassign_rpc.support.counted import counted


def brokers_over_limits(sums: Mapping[tuple[int, int], BrokerSums], requested: PlanRequest) -> Iterator[RuleViolation]:
    """A single move may exceed a limit on bytes. `sums`: by batch number and broker id."""
    for (batch, broker), one in sorted(sums.items()):
        moves = one.receives + one.sends
        too_many = 0 <= requested.moves_per_broker < moves
        too_large = requested.bytes_per_broker >= 0 and any(
            count > 1 and size > requested.bytes_per_broker
            for count, size in ((one.receives, one.got), (one.sends, one.sent))
        )
        if too_many or too_large:
            yield RuleViolation(
                "limits-of-a-broker",
                f"batch {batch}",
                f"broker {broker} has {counted(moves, 'move')}, receives {one.got} and sends {one.sent} bytes",
            )


def faults_of_batches(sums: Mapping[int, BatchSums], summary: PlanSummary) -> list[RuleViolation]:
    """The limits of batches, their order, and their figures."""
    requested, found = summary.requested, []
    before = -1
    for batch, one in sorted(sums.items()):
        name = f"batch {batch}"
        if 0 <= requested.bytes_per_batch < one.bytes and one.copying > 1:
            found.append(RuleViolation("limits-of-a-batch", name, f"{one.bytes} bytes"))
        if 0 <= requested.moves_per_batch < one.moves:
            found.append(RuleViolation("limits-of-a-batch", name, counted(one.moves, "move")))
        if one.first < before:
            found.append(RuleViolation("order", name, f"has priority {one.first} after priority {before}"))
        before = one.last
    in_summary = [(one.batch, one.moves, one.bytes) for one in summary.batches]
    in_moves = [(batch, one.moves, one.bytes) for batch, one in sorted(sums.items())]
    if in_summary != in_moves or [one[0] for one in in_summary] != list(range(1, len(in_summary) + 1)):
        found.append(RuleViolation("summary", "batches", "do not match the table of moves"))
    if (summary.moves, summary.bytes) != (sum(one[1] for one in in_moves), sum(one[2] for one in in_moves)):
        told = f"{counted(summary.moves, 'move')} of {summary.bytes} bytes"
        found.append(RuleViolation("summary", "moves", f"{told} do not match the table of moves"))
    if 0 <= requested.max_bytes < summary.bytes and summary.kind in ("rebalance", EXPAND):
        found.append(RuleViolation("max-bytes", "plan", f"copies {summary.bytes} bytes"))
    return found
