"""What summary.json says of a plan, from what planner, files and simulation tell."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.planning.snapshot_survey import SnapshotSurvey
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BatchFigures,
    BottleneckFigures,
    BrokerFigures,
    BrokerTraffic,
    GainFigures,
    ImpactFigures,
    LargestFigures,
    LeftOutFigures,
    LoadFigures,
    PlanRequest,
    PlanSummary,
    RackFigures,
    TimelineFigures,
    TopicFigures,
)
from kafka_reassign_rpc.pipeline.plans.why_not_better import filled_brokers, shortfalls
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.goals_and_options import GoalKind
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import PlannerSummary
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker
from kafka_reassign_rpc.planner.scheduling.copy_table import Bound, CopyTable
from kafka_reassign_rpc.planner.scheduling.plan_simulation import PlanEstimate, Simulated

_AS_THE_PLANNER_SAYS = (
    *("moves", "bytes", "lower_bound", "unknown_sizes"),
    *("imbalance_before", "imbalance_after", "furthest_before", "furthest_after"),
)


class Written(NamedTuple):
    """What a plan's files have."""

    moves: int
    bytes: int
    batches: list[BatchFigures]
    left_out: list[LeftOutFigures]
    missed: int
    copies: CopyTable
    impact: ImpactFigures


def plan_summary(
    job: PlanJob,
    meta: SnapshotMeta,
    brokers: dict[int, PlannerBroker],
    found: SnapshotSurvey,
    figures: PlannerSummary,
    written: Written,
    simulated: PlanEstimate,
) -> PlanSummary:
    goal, options, limits, network = job.goal, job.options, job.limits, job.options.network
    listed = [_broker_figures(brokers[broker], figures) for broker in sorted(brokers)]
    requested = PlanRequest(
        brokers=list(goal.brokers),
        parts={str(kind): list(brokers) for kind, brokers in goal.parts.items()},
        topics=list(goal.topics),
        factor=goal.factor or None,
        racks=goal.racks,
        to=list(goal.to),
        within=job.within,
        leaders_stay=not options.lead_first,
        weights=msgspec.structs.asdict(options.weights),
        broker_weights={broker: dict(by_measure) for broker, by_measure in options.broker_weights.items()},
        broker_max={name: dict(by_broker) for name, by_broker in options.broker_max.items()},
        allow_fewer_racks=job.allow_fewer_racks,
        least_bytes=goal.least_bytes,
        **{name: getattr(options, name) for name in ("seed", "tolerance", "headroom", "max_bytes", "locality")},
        **msgspec.structs.asdict(limits),
    )
    summary = PlanSummary(
        kind=str(goal.kind),
        cluster_id=meta.cluster_id,
        at=meta.at,
        requested=requested,
        partitions=found.survey.partitions,
        other_topics=found.other_topics,
        too_small=found.too_small,
        topics_before=_topic_figures(job, figures.topics_before),
        topics_after=_topic_figures(job, figures.topics_after),
        brokers=listed,
        racks=_rack_figures(listed),
        batches=_with_times(written.batches, simulated.in_batches.batches),
        left_out=written.left_out,
        notes=list(figures.notes),
        bandwidth=network.bandwidth,
        broker_bandwidth=dict(network.by_broker),
        throttle=None if network.throttle < 0 else network.throttle,
        moves_at_a_time=simulated.caps.per_broker,
        expected_seconds=simulated.carried_out.seconds,
        batches_seconds=simulated.in_batches.seconds,
        bound_seconds=simulated.bound.seconds,
        bottleneck=_bottleneck_figures(simulated.bound, network),
        gains=[GainFigures(*gain) for gain in simulated.gains],
        timeline=_timeline_figures(simulated.carried_out),
        complete=not written.missed,
        missed=written.missed,
        impact=written.impact,
        searched=figures.searched and job.within is None,
        reachable={name: dict(of) for name, of in figures.reachable.items()},
        largest=LargestFigures(found.largest[1], found.largest[0]) if found.largest[0] else None,
        **{name: getattr(figures, name) for name in _AS_THE_PLANNER_SAYS},
    )
    summary = msgspec.structs.replace(summary, filled=filled_brokers(summary))
    return msgspec.structs.replace(summary, why_not_better=shortfalls(summary))


def _topic_figures(job: PlanJob, excess: Load) -> TopicFigures | None:
    is_asked = job.options.weights.spread_topics and job.goal.kind is GoalKind.REBALANCE
    return TopicFigures(excess.replicas, excess.leaders) if is_asked else None


def _broker_figures(broker: PlannerBroker, figures: PlannerSummary) -> BrokerFigures:
    target = figures.targets.get(broker.id, (0.0,) * len(MEASURES))
    capacity = None if broker.capacity == UNKNOWN else broker.capacity
    return BrokerFigures(
        broker.id,
        broker.rack,
        broker.live,
        capacity,
        LoadFigures(*figures.before[broker.id]),
        LoadFigures(*figures.after[broker.id]),
        LoadFigures(*target),
        None if broker.free == UNKNOWN else broker.free,
        broker.cordoned,
    )


def _rack_figures(listed: list[BrokerFigures]) -> list[RackFigures]:
    racks: dict[str, list[BrokerFigures]] = {}
    for broker in listed:
        racks.setdefault(broker.rack or "", []).append(broker)
    return [
        RackFigures(
            rack or None,
            len(inside),
            LoadFigures(*_sum([broker.before for broker in inside])),
            LoadFigures(*_sum([broker.after for broker in inside])),
        )
        for rack, inside in sorted(racks.items())
    ]


def _sum(loads: list[LoadFigures]) -> list[float]:
    return [sum(getattr(load, name) for load in loads) for name in Load._fields]


def _with_times(batches: Sequence[BatchFigures], seconds: Sequence[float]) -> list[BatchFigures]:
    found, now = [], 0.0
    for batch, takes in zip(batches, seconds, strict=True):
        found.append(msgspec.structs.replace(batch, starts_after_seconds=now, expected_seconds=takes))
        now += takes
    return found


def _bottleneck_figures(bound: Bound, network: NetworkLimits) -> BottleneckFigures | None:
    """None if nothing is copied."""
    if bound.broker is None:
        return None
    return BottleneckFigures(bound.broker, bound.sends, bound.bytes, network.rate(bound.broker))


def _timeline_figures(simulated: Simulated) -> TimelineFigures | None:
    """Whole bytes until the end; None if nothing is copied."""
    timeline = simulated.timeline
    if not simulated.seconds:
        return None
    spans = min(len(timeline.sent), -(-simulated.seconds // timeline.seconds))
    sent, received = (of[: int(spans)].round().astype(int).T.tolist() for of in (timeline.sent, timeline.received))
    brokers = [BrokerTraffic(broker, sent[at], received[at]) for at, broker in enumerate(timeline.brokers)]
    return TimelineFigures(timeline.seconds, brokers)
