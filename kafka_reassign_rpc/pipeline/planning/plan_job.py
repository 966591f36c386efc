"""The plan job: reads a snapshot, plans, writes the plan, verifies and publishes it. This process sees sums of the
table of partitions, and the moves.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from kafka_reassign_rpc.core.brokers.departure import BrokerFacts, Losses
from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.core.reassignment_algebra import MIN_INSYNC_REPLICAS
from kafka_reassign_rpc.pipeline.arrow_tasks import no_search_for_cycles
from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from kafka_reassign_rpc.pipeline.planning import plan_input
from kafka_reassign_rpc.pipeline.planning.chunk_callers import CallsHere, CallsOnSpark
from kafka_reassign_rpc.pipeline.planning.plan_figures import Written, plan_summary
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob, read_brokers
from kafka_reassign_rpc.pipeline.planning.planning_rounds import ChunkCaller, FoundMoves, PlanningRounds, arriving_at
from kafka_reassign_rpc.pipeline.planning.snapshot_chunks import surveyed_chunk
from kafka_reassign_rpc.pipeline.planning.snapshot_survey import (
    NAMED_ROWS,
    ClusterFacts,
    RowFaults,
    SnapshotSurvey,
    with_arriving,
)
from kafka_reassign_rpc.pipeline.planning.verify_job import verify
from kafka_reassign_rpc.pipeline.plans.plan_impact import ImpactCount
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BatchFigures,
    LeftOutFigures,
    PlanSummary,
    StayingFigures,
)
from kafka_reassign_rpc.pipeline.plans.plan_writer import PlanWriter
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.broker_rows import disk_notes, size_notes, stricter_rate_notes
from kafka_reassign_rpc.pipeline.snapshots.possible_figures import MOST_BYTES, require_possible_figures, too_many_bytes
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.topic_pieces import CallHere, CallOnSpark, PieceCaller
from kafka_reassign_rpc.planner.brokers.rack_rule import live_racks
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanError
from kafka_reassign_rpc.planner.plan_result import LeftOut, PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker
from kafka_reassign_rpc.planner.round_coordinator import RoundCoordinator
from kafka_reassign_rpc.planner.scheduling.copy_table import CopyTable
from kafka_reassign_rpc.planner.scheduling.move_batching import in_sooner_order, into_batches
from kafka_reassign_rpc.planner.scheduling.plan_simulation import estimate
from kafka_reassign_rpc.planner.scheduling.queue_order import in_start_order
from kafka_reassign_rpc.planner.scheduling.time_budget import moves_beyond
from kafka_reassign_rpc.support.counted import agreeing, counted, first_of, those
from kafka_reassign_rpc.support.human_units import duration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Status = Callable[[str], None]


def run(spark: "SparkSession", job: PlanJob, show_status: Status = lambda _: None) -> PlanSummary:
    """Raises BadInput for unusable input, JobFailed if verification fails."""
    from kafka_reassign_rpc.pipeline.executor_probe import checkpoint_directory, require_executors

    meta = plan_input.check(job)
    require_executors(spark, job.snapshot, out=job.out)
    with checkpoint_directory(spark, job.out) as forget:
        pieces = CallOnSpark(spark, snapshot_files.count_partitions(job.snapshot))
        return _run(job, meta, CallsOnSpark(pieces, job.snapshot, forget), pieces, show_status)


def run_here(job: PlanJob, show_status: Status = lambda _: None) -> PlanSummary:
    """In this process alone. Raises as `run`."""
    meta = plan_input.check(job)
    return _run(job, meta, CallsHere(job.snapshot), CallHere(), show_status)


@no_search_for_cycles()
def _run(
    job: PlanJob, meta: SnapshotMeta, caller: ChunkCaller, to_verify: PieceCaller, show_status: Status
) -> PlanSummary:
    require_possible_figures(job.snapshot)
    listed = read_brokers(job.snapshot)
    job = plan_input.with_every_broker(job, listed)
    live = frozenset(broker.id for broker in listed.values() if broker.live)
    min_isrs = snapshot_files.min_isrs(job.snapshot)
    show_status(f"reading {counted(snapshot_files.count_partitions(job.snapshot), 'partition')}")
    rebalances = job.goal.kind is GoalKind.REBALANCE
    racks = live_racks(listed.values()) if rebalances else None  # no other goal needs to know what they allow
    facts = ClusterFacts(job.goal, frozenset(listed), live, *min_isrs, _departing(job, listed), racks)
    found = caller.divide(surveyed_chunk, facts, SnapshotSurvey.merge)
    brokers = with_arriving(listed, arriving_at(caller, found.coming))
    throttle = job.options.network.throttle
    notes = [
        *disk_notes(job.snapshot),
        *size_notes(job.snapshot),
        *_name_cordoned(brokers.values()),
        *_check_rows(found, brokers, job),
        *_name_unknown_sizes(found),
        *_departure_notes(job, found.losses),
        *stricter_rate_notes(job.snapshot, None if throttle < 0 else throttle, sorted(live)),
        *_what_submit_does(job.goal, live),
    ]
    with PlanWriter(job.out, meta.at) as writer:
        rounds = PlanningRounds(caller)
        try:
            coordinator = RoundCoordinator(brokers.values(), job.goal, job.options)
            coordinator.notes += notes
            coordinator.begin(found.survey)
            _decide(coordinator, rounds, show_status)
            if job.within is not None:
                show_status("finding what can be done in time")
                _withdraw_beyond(job, coordinator, rounds, job.within)
                _decide(coordinator, rounds, show_status)
            show_status("writing moves and batches")
            params = coordinator.round_parameters()
            made = rounds.found(params, job.options.network)
        except PlanError as error:
            raise BadInput(str(error)) from None
        caller.close()
        impact = ImpactCount({one: brokers[one].rack for one in sorted(live)}, *min_isrs)
        written = _write(writer, made, job, params.leaving, impact, show_status)
        figures = coordinator.summary(written.moves, written.bytes, sum(one.partitions for one in written.left_out))
        show_status("simulating the plan")
        simulated = estimate(written.copies, job.options.network, _caps_of(job), chooses_cap=job.chooses_cap)
        summary = plan_summary(job, meta, brokers, found, figures, written, simulated)
        writer.write_summary(summary)
        show_status("verifying")
        violations = verify(to_verify, job.snapshot, writer.hidden)
        if violations:
            raise JobFailed(
                f"the plan breaks rules and was deleted. This is a defect of kafka-reassign-rpc: "
                f"{'; '.join(map(str, violations[:3]))}"
            )
        writer.publish()
    return summary


def _decide(coordinator: RoundCoordinator, rounds: PlanningRounds, show_status: Status) -> None:
    while (params := coordinator.next_round()) is not None:
        proposed = rounds.propose(params)
        thresholds = coordinator.decide(proposed)
        accepted = rounds.accept(thresholds)
        coordinator.take(accepted)
        show_status(f"round {params.round_number + 1}: {proposed.proposals} proposals, {accepted.accepted} accepted")


# -- input -------------------------------------------------------------------------------------------------------------


def _check_rows(found: SnapshotSurvey, brokers: dict[int, PlannerBroker], job: PlanJob) -> list[str]:
    """Notes on what the plan makes of odd rows. Adds brokers that the snapshot does not list, as lost. Raises BadInput
    for rows that no cluster can show.
    """
    if found.faults.total:
        raise BadInput(f"{snapshot_files.table_path(job.snapshot, 'partitions')}: {_named(found.faults)}")
    _require_possible_sizes(found, job)
    notes = []
    if found.unusable.total:
        them = agreeing(found.unusable.total, "them")
        stay = counted(found.unusable.total, "partition", "stay")
        notes.append(f"{stay} as the cluster shows {them}, since no change can begin there: {_named(found.unusable)}")
    for broker, names in sorted(found.unlisted.items()):
        brokers[broker] = PlannerBroker(broker, None, False)
        notes.append(
            f"broker {broker} holds replicas, but the snapshot does not list it: the plan takes it for lost "
            f"({', '.join(names[:5])}{', …' * (len(names) > 5)})"
        )
    return notes


def _require_possible_sizes(found: SnapshotSurvey, job: PlanJob) -> None:
    """Counts unknown sizes as the planner does. Larger sums would not fit into columns."""
    survey = found.survey
    usual = survey.known_bytes // max(1, survey.known_sizes)
    held = sum(load.bytes for _, load in survey.loads.items()) + usual * sum(survey.unknown.values())
    if held > MOST_BYTES:
        path, (size, name) = snapshot_files.table_path(job.snapshot, "partitions"), found.largest[:2]
        raise BadInput(f"{path}: {too_many_bytes(held, name, size)}")


def _named(faults: RowFaults) -> str:
    return first_of(faults.first, NAMED_ROWS, of=faults.total, between="; ")


def _name_cordoned(brokers: Iterable[PlannerBroker]) -> list[str]:
    closed = [one.id for one in brokers if one.live and one.cordoned]
    return [f"{those(closed, verb='are')} cordoned: the plan brings no replica there"] if closed else []


def _what_submit_does(goal: Goal, live: Collection[int]) -> Iterator[str]:
    if not goal.drained or goal.topics:
        return
    named = those(goal.drained)
    yield f"`submit` cordons {named} first where the controller is a kafka-reassign-rpc server (--no-cordon: not)"
    if lost := set(goal.drained).difference(live):
        them = agreeing(len(lost), "them")
        are_lost = f"{those(lost, verb='are')} lost"
        yield f"{are_lost}: the cordon keeps {them} empty after a return, until somebody opens {them}"


def _name_unknown_sizes(found: SnapshotSurvey) -> list[str]:
    count, named = found.survey.unknown_sizes, [f"{topic}-{index}" for topic, index in found.unsized]
    return [f"no size is known of {first_of(named, NAMED_ROWS, of=count)}"] if count else []


def _departing(job: PlanJob, brokers: Mapping[int, PlannerBroker]) -> dict[int, BrokerFacts] | None:
    if not job.goal.drained:
        return None
    return {broker.id: BrokerFacts(live=True, rack=broker.rack) for broker in brokers.values() if broker.live}


def _departure_notes(job: PlanJob, losses: Losses | None) -> Iterator[str]:
    """What would be lost if drained brokers went before the plan is carried out."""
    if losses is None:
        return
    brokers = job.goal.drained
    whose, them = ("its", "it") if len(brokers) == 1 else ("their", "them")
    who = those(brokers)
    for lost, verb, what in (
        (losses.last_in_sync, "lose", "the last in-sync replica"),
        (losses.below_min_isr, "fall", f"under {MIN_INSYNC_REPLICAS}"),
    ):
        if lost.count:
            yield (
                f"{who} may not go before the plan has moved {whose} replicas:"
                f" {counted(lost.count, 'partition', verb)} {what} without {them} ({lost.text(NAMED_ROWS)})"
            )


# -- output ------------------------------------------------------------------------------------------------------------


def _write(
    writer: PlanWriter,
    made: FoundMoves,
    job: PlanJob,
    leaving: frozenset[int],
    impact: ImpactCount,
    show_status: Status,
) -> Written:
    copies, topic_ids = CopyTable(), snapshot_files.topic_ids(job.snapshot)
    figures: list[BatchFigures] = []
    start = 0
    show_status("ordering the moves")
    moves = in_sooner_order(made.moves, job.options.network, job.limits, _caps_of(job), chooses_cap=job.chooses_cap)
    for batch in into_batches(moves, job.limits, job.options.network):
        sizes = (len(batch.moves), batch.bytes, 0.0, 0.0)
        figures.append(BatchFigures(batch.number, batch.priority, *sizes, *batch.busiest()))
        writer.write_batch(
            batch.number,
            [(move.topic, move.partition, move.original, move.target, move.first_leader) for move in batch.moves],
            topic_ids,
        )
        for move in batch.moves:
            copies.add(move)
            leaders = {"leader": move.leader, "first_leader": move.first_leader}
            impact.add(move.topic, move.original, move.target, **leaders, copied=move.bytes)
            start += 1
            leader, first_leader = (None if one < 0 else one for one in (move.leader, move.first_leader))
            named = (move.topic, move.partition, move.original, move.target, leader, move.bytes)
            writer.moves.add((*named, move.reason, move.rule, batch.number, move.priority, first_leader, start))
        copies.end_batch()
        show_status(f"batch {batch.number}: {counted(len(batch.moves), 'move')}")
    left_out, missed = _write_left_out(writer, made.left_out, leaving)
    moved, copied = sum(one.moves for one in figures), sum(one.bytes for one in figures)
    return Written(moved, copied, figures, left_out, missed, copies, impact.figures())


def _write_left_out(
    writer: PlanWriter, left_out: Iterable[LeftOut], leaving: frozenset[int]
) -> tuple[list[LeftOutFigures], int]:
    """Also returns how many miss the goal."""
    figures: dict[str, LeftOutFigures] = {}
    all_missed = 0
    for one in left_out:
        all_missed += one.missed
        size = max(0, one.bytes)
        writer.left_out.add((*one[:4], None if one.bytes == UNKNOWN else one.bytes))
        found = figures.get(one.reason, LeftOutFigures(one.reason, 0, [], 0))
        if len(found.first) < NAMED_ROWS:
            found.first.append(f"{one.topic}-{one.partition}")
        for broker in leaving.intersection(one.replicas):
            stays = found.brokers.get(broker, StayingFigures())
            found.brokers[broker] = StayingFigures(stays.replicas + 1, stays.bytes + size)
        figures[one.reason] = msgspec.structs.replace(
            found, partitions=found.partitions + 1, bytes=(found.bytes or 0) + size
        )
    return sorted(figures.values(), key=lambda one: (-one.partitions, one.reason)), all_missed


def _caps_of(job: PlanJob) -> PlanCaps:
    return PlanCaps(job.limits.moves_per_broker, job.limits.moves_per_batch)


def _withdraw_beyond(job: PlanJob, coordinator: RoundCoordinator, rounds: PlanningRounds, seconds: int) -> None:
    """`plan --within`: leaves out what cannot be done in time, what is worth least first. All moves are in memory."""
    found = rounds.found(coordinator.round_parameters(), job.options.network)
    moves = coordinator.worth_first([*found.moves])
    beyond = moves_beyond(moves, job.options.network, seconds, lambda kept: _simulated(job, kept))
    coordinator.withdraw(beyond, f"there is no time for it within {duration(seconds)} (--within)")


def _simulated(job: PlanJob, moves: Sequence[PlannedMove]) -> float:
    network, copies = job.options.network, CopyTable()
    ordered = in_start_order(moves, network)
    sooner = in_sooner_order(iter(ordered), network, job.limits, _caps_of(job), chooses_cap=job.chooses_cap)
    for batch in into_batches(sooner, job.limits, network):
        for move in batch.moves:
            copies.add(move)
        copies.end_batch()
    return estimate(copies, network, _caps_of(job), chooses_cap=job.chooses_cap).carried_out.seconds
