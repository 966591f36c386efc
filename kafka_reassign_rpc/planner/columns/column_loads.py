"""What changes of many partitions bring to brokers: by measure, a column or one number for all rows."""

from collections.abc import Sequence
from typing import Any

from kafka_reassign_rpc.planner.brokers.broker_load import leadership_load, replica_load
from kafka_reassign_rpc.planner.columns.exact_sums import Numbers

Loads = Sequence[Numbers | int]


def replica_loads(rows: Any, sizes: Numbers, *, leads: bool) -> Loads:
    """`rows` has the rates of a `PlannerPartition` as columns."""
    return replica_load(rows, sizes, leads=leads)  # type: ignore[arg-type]


def leadership_loads(rows: Any) -> Loads:
    return leadership_load(rows)
