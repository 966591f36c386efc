from collections.abc import Iterable
from typing import Any

from kafka_reassign_rpc.pipeline.snapshots.broker_rows import read_broker_rows
from kafka_reassign_rpc.pipeline.snapshots.log_dir_rows import read_log_dirs
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker, Volume


def read_brokers(path: StorePath) -> dict[int, PlannerBroker]:
    """Without what is on its way to them. Raises BadInput."""
    volumes = _volumes(read_log_dirs(path))
    found: dict[int, PlannerBroker] = {}
    for row in read_broker_rows(path):
        broker = row["broker"]
        capacity, free = (UNKNOWN if row[name] is None else row[name] for name in ("capacity_bytes", "free_bytes"))
        known = volumes.get(broker, ()) if free != UNKNOWN else ()
        closed = bool(row["cordoned"])
        found[broker] = PlannerBroker(
            broker, row["rack"] or None, row["live"], capacity, free, volumes=known, cordoned=closed
        )
    return found


def _volumes(log_dirs: Iterable[dict[str, Any]]) -> dict[int, tuple[Volume, ...]]:
    """Without brokers that do not report all volumes. Log dirs of one volume report almost the same: the least is
    safe.
    """
    found: dict[int, dict[int | None, Volume]] = {}
    for row in log_dirs:
        if row["online"]:
            of_broker = found.setdefault(row["broker"], {})
            size, free = row["volume_bytes"] or 0, row["free_bytes"] or 0
            known = of_broker.get(row["volume"])
            of_broker[row["volume"]] = Volume(size, free if known is None else min(free, known.free))
    return {broker: tuple(of[number] for number in sorted(of)) for broker, of in found.items() if None not in of}  # type: ignore[type-var]
