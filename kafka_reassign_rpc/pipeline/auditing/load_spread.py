"""How evenly the load is spread over the brokers of a snapshot. The driver makes these few rows."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from math import sqrt
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa

MEASURES = ("bytes", "leaders", "replicas")


class Spread(NamedTuple):
    """One measure over the live brokers of a snapshot. Perfectly even: `worst` 1.0, `deviation` 0.0.

    fullest             the broker with the most; among equals the lowest id
    stddev              of the population
    worst, deviation    `most` and `stddev` as multiples of `mean`
    """

    at: int
    measure: str
    brokers: int
    least: float
    most: float
    mean: float
    fullest: int
    stddev: float
    worst: float
    deviation: float


SPREAD_SCHEMA = pa.schema([
    pa.field("at", pa.int64()),
    pa.field("measure", pa.string()),
    pa.field("brokers", pa.int64()),
    *(pa.field(name, pa.float64()) for name in ("least", "most", "mean")),
    pa.field("fullest", pa.int32()),
    *(pa.field(name, pa.float64()) for name in ("stddev", "worst", "deviation")),
])  # fmt: skip


def spread_of_loads(brokers: Iterable[Any]) -> list[Spread]:
    """`brokers`: rows of the table of `audit_job`, by time."""
    live = [row for row in brokers if row["live"]]
    return [
        _of_measure(at, measure, {row["broker"]: row[measure] for row in rows})
        for at, of_snapshot in groupby(live, itemgetter("at"))
        for rows in [list(of_snapshot)]
        for measure in MEASURES
    ]


def _of_measure(at: int, measure: str, loads: Mapping[int, int]) -> Spread:
    values = sorted(loads.values())
    mean = sum(values) / len(values)
    stddev = sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    fullest = min(broker for broker, value in loads.items() if value == values[-1])
    worst, deviation = (values[-1] / mean, stddev / mean) if mean else (1.0, 0.0)
    return Spread(
        *(at, measure, len(values), float(values[0]), float(values[-1]), mean, fullest, stddev, worst, deviation)
    )
