"""`plan --within`: leaves out what cannot be done in time, what is worth least first."""

from collections.abc import Sequence

from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.planning.snapshot_to_plan import PlanningRounds
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from kafka_reassign_rpc.planner.round_coordinator import RoundCoordinator
from kafka_reassign_rpc.planner.scheduling.copy_table import CopyTable
from kafka_reassign_rpc.planner.scheduling.move_batching import into_batches
from kafka_reassign_rpc.planner.scheduling.order_search import in_sooner_order
from kafka_reassign_rpc.planner.scheduling.plan_estimate import estimate
from kafka_reassign_rpc.planner.scheduling.queue_order import in_start_order
from kafka_reassign_rpc.planner.scheduling.time_budget import moves_beyond
from kafka_reassign_rpc.support.human_units import duration


def caps_of(job: PlanJob) -> PlanCaps:
    return PlanCaps(job.limits.moves_per_broker, job.limits.moves_per_batch)


def withdraw_beyond(job: PlanJob, coordinator: RoundCoordinator, rounds: PlanningRounds, seconds: int) -> None:
    """Holds the moves of the plan in memory."""
    found = rounds.found(coordinator.round_parameters(), job.options.network)
    moves = coordinator.worth_first([*found.moves])
    beyond = moves_beyond(moves, job.options.network, seconds, lambda kept: _simulated(job, kept))
    coordinator.withdraw(beyond, f"there is no time for it within {duration(seconds)} (--within)")


def _simulated(job: PlanJob, moves: Sequence[PlannedMove]) -> float:
    network, copies = job.options.network, CopyTable()
    ordered = in_start_order(moves, network)
    sooner = in_sooner_order(iter(ordered), network, job.limits, caps_of(job), chooses_cap=job.chooses_cap)
    for batch in into_batches(sooner, job.limits, network):
        for move in batch.moves:
            copies.add(move)
        copies.end_batch()
    return estimate(copies, network, caps_of(job), chooses_cap=job.chooses_cap).carried_out.seconds
