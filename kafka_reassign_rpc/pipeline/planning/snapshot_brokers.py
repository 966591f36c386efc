from collections.abc import Iterable
from typing import Any

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.log_dir_rows import read_log_dirs
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker, Volume


def read_brokers(path: StorePath) -> dict[int, PlannerBroker]:
    """Without what is on its way to them. Raises BadInput."""
    volumes = _volumes(read_log_dirs(path))
    found: dict[int, PlannerBroker] = {}
    for row in snapshot_files.read(path, "brokers").to_pylist():
        broker = row["broker"]
        if broker in found:
            raise BadInput(f"{snapshot_files.table_path(path, 'brokers')}: broker {broker} occurs twice")
        if broker < 0:
            raise BadInput(f"{snapshot_files.table_path(path, 'brokers')}: there is no broker {broker}")
        capacity, free = (UNKNOWN if row[name] is None else row[name] for name in ("capacity_bytes", "free_bytes"))
        if not _is_disk(row):
            capacity = free = UNKNOWN
        known = volumes.get(broker, ()) if free != UNKNOWN else ()
        closed = bool(row["cordoned"])
        found[broker] = PlannerBroker(
            broker, row["rack"] or None, row["live"], capacity, free, volumes=known, cordoned=closed
        )
    return found


def disk_notes(path: StorePath) -> list[str]:
    """Names brokers whose sizes contradict each other: their disks count as unknown."""
    return [
        f"broker {row['broker']} tells {row['free_bytes']} bytes free of {row['capacity_bytes']}: "
        "the plan takes the size of its disks as not known"
        for row in snapshot_files.read(path, "brokers").to_pylist()
        if not _is_disk(row)
    ]


def _is_disk(row: dict[str, Any]) -> bool:
    capacity, free = row["capacity_bytes"], row["free_bytes"]
    if capacity is None or free is None:
        return (capacity or 0) >= 0 and (free or 0) >= 0
    return bool(0 <= free <= capacity)


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
