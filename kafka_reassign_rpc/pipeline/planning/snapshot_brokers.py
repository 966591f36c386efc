"""The brokers of a snapshot for the planner, and their volumes."""

from collections.abc import Iterable
from typing import Any

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker, Volume


def read_brokers(path: StorePath) -> dict[int, PlannerBroker]:
    """The brokers that the snapshot lists, without what is on its way to them. Raises BadInput."""
    volumes = _volumes(snapshot_files.read(path, "log_dirs").to_pylist())
    found: dict[int, PlannerBroker] = {}
    for row in snapshot_files.read(path, "brokers").to_pylist():
        broker = row["broker"]
        if broker in found:
            raise BadInput(f"{snapshot_files.table_path(path, 'brokers')}: broker {broker} occurs twice")
        capacity, free = (UNKNOWN if row[name] is None else row[name] for name in ("capacity_bytes", "free_bytes"))
        known = volumes.get(broker, ()) if free != UNKNOWN else ()
        found[broker] = PlannerBroker(broker, row["rack"], row["live"], capacity, free, volumes=known)
    return found


def _volumes(log_dirs: Iterable[dict[str, Any]]) -> dict[int, tuple[Volume, ...]]:
    """The volumes of brokers that tell all of theirs. Log dirs of one volume tell much the same: the least is safe."""
    found: dict[int, dict[int | None, Volume]] = {}
    for row in log_dirs:
        if row["online"]:
            of_broker = found.setdefault(row["broker"], {})
            size, free = row["volume_bytes"] or 0, row["free_bytes"] or 0
            known = of_broker.get(row["volume"])
            of_broker[row["volume"]] = Volume(size, free if known is None else min(free, known.free))
    return {broker: tuple(of[number] for number in sorted(of)) for broker, of in found.items() if None not in of}  # type: ignore[type-var]
