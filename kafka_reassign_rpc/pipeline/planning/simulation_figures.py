from collections.abc import Sequence

import msgspec

from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BatchFigures,
    BottleneckFigures,
    BrokerTraffic,
    TimelineFigures,
)
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.scheduling.copy_table import Bound
from kafka_reassign_rpc.planner.scheduling.plan_simulation import Simulated


def with_times(batches: Sequence[BatchFigures], seconds: Sequence[float]) -> list[BatchFigures]:
    found, now = [], 0.0
    for batch, takes in zip(batches, seconds, strict=True):
        found.append(msgspec.structs.replace(batch, starts_after_seconds=now, expected_seconds=takes))
        now += takes
    return found


def bottleneck_figures(bound: Bound, network: NetworkLimits) -> BottleneckFigures | None:
    """None if nothing is copied."""
    if bound.broker is None:
        return None
    return BottleneckFigures(bound.broker, bound.sends, bound.bytes, network.rate(bound.broker))


def timeline_figures(simulated: Simulated) -> TimelineFigures | None:
    """Whole bytes until the end; None if nothing is copied."""
    timeline = simulated.timeline
    if not simulated.seconds:
        return None
    spans = min(len(timeline.sent), -(-simulated.seconds // timeline.seconds))
    sent, received = (of[: int(spans)].round().astype(int).T.tolist() for of in (timeline.sent, timeline.received))
    brokers = [BrokerTraffic(broker, sent[at], received[at]) for at, broker in enumerate(timeline.brokers)]
    return TimelineFigures(timeline.seconds, brokers)
