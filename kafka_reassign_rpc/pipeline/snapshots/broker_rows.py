"""The brokers of a snapshot, as planner and verifier read them. What contradicts itself is not known, what no cluster
can show is refused.
"""

from typing import Any

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath

Row = dict[str, Any]


def read_broker_rows(path: StorePath) -> list[Row]:
    """Without the sizes that `disk_notes` names. Raises BadInput for a broker that occurs twice or has no id."""
    rows: list[Row] = snapshot_files.read(path, "brokers").to_pylist()
    seen = set[int]()
    for row in rows:
        broker, table = row["broker"], snapshot_files.table_path(path, "brokers")
        if broker is None or broker < 0:
            raise BadInput(f"{table}: there is no broker {broker}")
        if broker in seen:
            raise BadInput(f"{table}: broker {broker} occurs twice")
        seen.add(broker)
    unknown = dict.fromkeys(("capacity_bytes", "free_bytes"))
    return [row | unknown if _oddity(row) else row for row in rows]


def disk_notes(path: StorePath) -> list[str]:
    """Names brokers whose sizes contradict each other: their disks count as unknown."""
    return [
        f"broker {row['broker']} tells {why}: the plan takes the size of its disks as not known"
        for row in snapshot_files.read(path, "brokers").to_pylist()
        if (why := _oddity(row))
    ]


def _oddity(row: Row) -> str:
    size, free = row["capacity_bytes"], row["free_bytes"]
    if size is None and free is not None:
        return f"{free} bytes free, and not of how many"
    if min(size or 0, free or 0) < 0 or (size is not None and free is not None and free > size):
        return f"{free} bytes free of {size}"
    return ""
