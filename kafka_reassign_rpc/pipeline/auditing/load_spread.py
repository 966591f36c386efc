"""How evenly the load lies on the brokers of a snapshot, compared with the targets that plans have."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import sqrt
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES as PLANNED
from kafka_reassign_rpc.planner.brokers.broker_shares import broker_shares
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker

RATE_MEASURES = ("produce", "fetch", "bytes_in", "potential_out", "messages_in", "cpu")
MEASURES = ("bytes", "leaders", "replicas", *RATE_MEASURES)
BrokerWeights = Mapping[int, Mapping[str, float]]
"""By broker and measure (`plan --broker-weights`)."""


class Spread(NamedTuple):
    """One measure over the live brokers of a snapshot. If each is at its target, `worst` is 1.0 and `deviation` 0.0.

    fullest      holds most for its target; among equals the lowest id
    target       what the fullest should hold
    worst        what it holds, as a multiple of that
    deviation    root of the mean square of all distances from targets, as shares of these
    """

    at: int
    measure: str
    brokers: int
    least: float
    most: float
    mean: float
    fullest: int
    target: float
    worst: float
    deviation: float


SPREAD_SCHEMA = pa.schema([
    pa.field("at", pa.int64()),
    pa.field("measure", pa.string()),
    pa.field("brokers", pa.int64()),
    *(pa.field(name, pa.float64()) for name in ("least", "most", "mean")),
    pa.field("fullest", pa.int32()),
    *(pa.field(name, pa.float64()) for name in ("target", "worst", "deviation")),
])  # fmt: skip


def spread_of_loads(brokers: Iterable[Any], weights: BrokerWeights | None = None) -> list[Spread]:
    """`brokers`: rows of `audit_job`'s table, by time."""
    live = [row for row in brokers if row["live"]]
    return [
        _of_measure(at, measure, {row["broker"]: row[measure] or 0 for row in rows}, targets[measure])
        for at, of_snapshot in groupby(live, itemgetter("at"))
        for rows in [list(of_snapshot)]
        for targets in [targets_of(rows, weights)]
        for measure in targets
    ]


def targets_of(live: Sequence[Any], weights: BrokerWeights | None = None) -> dict[str, dict[int, float]]:
    """By known measure and broker: the share that a plan would aim at, as far as racks allow it. `live`: of one
    snapshot.
    """
    brokers = [PlannerBroker(row["broker"], None, True, _or_unknown(row["capacity"])) for row in live]
    holdable = {row["broker"]: _or_unknown(row["holdable"]) for row in live}
    shares = dict(zip(PLANNED, broker_shares(brokers, holdable, weights or {}), strict=True))
    targets = {}
    for name in MEASURES:
        if name in RATE_MEASURES and all(row[name] is None for row in live):
            continue
        load, whole = sum(row[name] or 0 for row in live), sum(shares[name].values())
        targets[name] = {broker: load * share / whole for broker, share in shares[name].items()}
    return targets


def _or_unknown(size: int | None) -> int:
    return UNKNOWN if size is None else size


def _of_measure(at: int, measure: str, loads: Mapping[int, float], targets: Mapping[int, float]) -> Spread:
    values = sorted(loads.values())
    mean = sum(values) / len(values)
    parts = {broker: loads[broker] / target if target else 1.0 for broker, target in targets.items()}
    fullest = max(sorted(parts), key=parts.__getitem__)
    deviation = sqrt(sum((part - 1) ** 2 for part in parts.values()) / len(parts))
    ends = (float(values[0]), float(values[-1]), mean)
    return Spread(at, measure, len(values), *ends, fullest, targets[fullest], parts[fullest], deviation)
