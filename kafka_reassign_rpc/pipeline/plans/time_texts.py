from collections.abc import Iterator

from kafka_reassign_rpc.pipeline.plans.plan_summary import GainFigures, PlanSummary
from kafka_reassign_rpc.planner.scheduling.plan_estimate import WORTH
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.human_units import duration, size


def network_text(summary: PlanSummary) -> str:
    """`100.0 MB/s for each broker (4: 25.0 MB/s), throttled to 50.0 MB/s`"""
    text = f"{size(summary.bandwidth)}/s for each broker"
    if summary.broker_bandwidth:
        own = [f"{broker}: {size(rate)}/s" for broker, rate in sorted(summary.broker_bandwidth.items())]
        text += f" ({', '.join(own[:5])}{', …' if len(own) > 5 else ''})"
    return text + (f", throttled to {size(summary.throttle)}/s" if summary.throttle is not None else "")


def pace_text(summary: PlanSummary) -> str:
    at_a_time = summary.moves_at_a_time
    if at_a_time is None or at_a_time == summary.requested.moves_per_broker:
        return network_text(summary)
    return f"{network_text(summary)}, {counted(at_a_time, 'move')} to and as many from a broker at a time"


def time_lines(summary: PlanSummary) -> Iterator[tuple[str, str]]:
    """What is behind the expected time: least, batches, gain."""
    held = summary.bottleneck
    if held is None:
        return
    does = "sends" if held.sends else "receives"
    factor = summary.expected_seconds / summary.bound_seconds
    least = f"{duration(summary.bound_seconds)}: broker {held.broker} {does} {size(held.bytes)} at {size(held.rate)}/s"
    yield "least", f"{least}; the plan takes {factor:.2f} times as long"
    if len(summary.batches) > 1:
        yield "batches", f"{duration(summary.batches_seconds)} one after the other"
    for gain in summary.gains:
        if gain.seconds < WORTH * summary.expected_seconds:
            yield "gain", f"{duration(gain.seconds)} with {_other(gain)}"


def _other(gain: GainFigures) -> str:
    if gain.setting == "throttle":
        return f"{size(gain.value)}/s of throttle"
    return f"{counted(gain.value, 'move')} {'in all' if gain.setting == 'moves_per_batch' else 'per broker'}"
