"""What a plan is for, with the flags that are not the defaults."""

import shlex
from collections.abc import Iterator, Mapping

from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary
from kafka_reassign_rpc.planner.goals_and_options import BatchLimits, GoalWeights, PlanOptions
from kafka_reassign_rpc.support.counted import agreeing, first_of, those

_MOST_NAMED = 10
_UNITS = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def plan_title(summary: PlanSummary) -> str:
    """`Brokers 4, 5 are drained (--headroom 0.1 --throttle 50MB)`"""
    flags = " ".join(changed_flags(summary))
    return f"{_what(summary)} ({flags})" if flags else _what(summary)


def _what(summary: PlanSummary) -> str:
    return {
        "rebalance": "Load is spread evenly over all brokers",
        "racks": "Partitions come to lie on as many racks as possible",
        "set-rf": f"Replication factors change to {summary.requested.factor}",
    }.get(summary.kind) or "; ".join(_of_brokers(summary))


def _of_brokers(summary: PlanSummary) -> Iterator[str]:
    healed, drained, new = (summary.brokers_of(goal) for goal in ("heal", "drain", "expand"))
    if healed is not None:
        lost = healed or [one.broker for one in summary.brokers if not one.live]
        yield f"Replicas of {_named('lost broker', lost)} move to live ones"
    if drained:
        yield f"{_named('broker', drained)} {agreeing(len(drained), 'are')} drained".capitalize()
    if demoted := summary.brokers_of("demote"):
        yield f"{_named('broker', demoted)} {agreeing(len(demoted), 'lead')} nothing".capitalize()
    if new:
        takes = "takes its" if len(new) == 1 else "take their"
        yield f"{_named('new broker', new)} {takes} share".capitalize()


def _named(word: str, brokers: list[int]) -> str:
    return those(brokers, word, most=_MOST_NAMED).rstrip()


def changed_flags(summary: PlanSummary) -> Iterator[str]:
    requested, options, limits = summary.requested, PlanOptions(), BatchLimits()
    if requested.topics:
        few = len(requested.topics) <= _MOST_NAMED
        yield "--topics " + (
            shlex.quote(",".join(requested.topics)) if few else first_of(requested.topics, _MOST_NAMED)
        )
    for text, given in (
        (f"--to {','.join(map(str, requested.to))}", requested.to),
        (f"--within {requested.within}s", requested.within is not None),
        ("--racks", requested.racks),
        ("--leaders-stay", requested.leaders_stay),
        ("--locality", requested.locality),
        ("--allow-fewer-racks", requested.allow_fewer_racks),
    ):
        if given:
            yield text
    for flag, value, default in (
        ("seed", requested.seed, options.seed),
        ("tolerance", requested.tolerance, options.tolerance),
        ("headroom", requested.headroom, options.headroom),
        ("max-moves-per-broker", requested.moves_per_broker, limits.moves_per_broker),
        ("max-moves-per-batch", requested.moves_per_batch, limits.moves_per_batch),
    ):
        if value != default:
            yield f"--{flag} {value:g}" if isinstance(value, float) else f"--{flag} {value}"
    weights = GoalWeights()
    for name, weight in requested.weights.items():
        if weight != getattr(weights, name, weight):
            yield f"--weight {name}={weight:g}"
    for flag, size, default in (
        ("max-bytes", requested.max_bytes, options.max_bytes),
        ("least-bytes", requested.least_bytes, 0),
        ("max-bytes-per-broker", requested.bytes_per_broker, limits.bytes_per_broker),
        ("max-bytes-per-batch", requested.bytes_per_batch, limits.bytes_per_batch),
        ("bandwidth", summary.bandwidth, options.network.bandwidth),
        ("throttle", -1 if summary.throttle is None else summary.throttle, -1),
    ):
        if size != default:
            yield f"--{flag} {_amount(size)}"
    if requested.broker_weights:
        yield "--broker-weights FILE"
    for name, of_brokers in requested.broker_max.items():
        yield from _broker_limits(name, of_brokers, len(summary.brokers))
    for broker, rate in sorted(summary.broker_bandwidth.items()):
        yield f"--broker-bandwidth {broker}={_amount(rate)}"


def _broker_limits(measure: str, limits: Mapping[int, int], brokers: int) -> Iterator[str]:
    flag, values = f"--broker-max-{measure.replace('_', '-')}", set(limits.values())
    if len(values) == 1 and len(limits) == brokers:
        yield f"{flag} {_amount(values.pop())}"
    else:
        yield from (f"{flag} {broker}={_amount(most)}" for broker, most in sorted(limits.items()))


def _amount(size: int) -> str:
    return next((f"{size // unit}{name}" for unit, name in _UNITS if size and size % unit == 0), str(size))
