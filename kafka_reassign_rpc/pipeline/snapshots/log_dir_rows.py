"""The log dirs of a snapshot. What contradicts itself is not known, what no cluster can show is refused."""

from collections.abc import Iterable, Iterator
from typing import Any

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.counted import first_of

_NAMED = 20
_SIZES = ("volume_bytes", "free_bytes")
Row = dict[str, Any]


def read_log_dirs(path: StorePath) -> list[Row]:
    """Without the sizes that `size_notes` names. Raises BadInput for a log dir that occurs twice, or is of a broker
    that the snapshot does not list.
    """
    rows: list[Row] = snapshot_files.read(path, "log_dirs").to_pylist()
    brokers = set(snapshot_files.read(path, "brokers")["broker"].to_pylist())
    if wrong := [f"{_name(row)} {fault}" for row, fault in _faults(rows, brokers)]:
        table = snapshot_files.table_path(path, "log_dirs")
        raise BadInput(f"{table}: {first_of(sorted(wrong), _NAMED, between='; ')}")
    unknown = dict.fromkeys((*_SIZES, "volume"))
    odd = {id(row) for row, _ in _contradictions(rows)}
    return [row | unknown if id(row) in odd else row for row in rows]


def size_notes(path: StorePath) -> list[str]:
    found = [f"{_name(row)} {why}" for row, why in _contradictions(snapshot_files.read(path, "log_dirs").to_pylist())]
    return [f"the sizes of log dirs contradict each other, and count as not known: {first_of(found, 5)}"] * bool(found)


def _faults(rows: Iterable[Row], brokers: set[int]) -> Iterator[tuple[Row, str]]:
    seen = set[tuple[int, str]]()
    for row in rows:
        name = row["broker"], row["log_dir"]
        if row["broker"] not in brokers:
            yield row, "is of a broker that the snapshot does not list"
        elif name in seen:
            yield row, "occurs twice"
        seen.add(name)


def _contradictions(rows: Iterable[Row]) -> Iterator[tuple[Row, str]]:
    """All log dirs of a volume are odd where one of them is: nobody knows which is right."""
    volumes: dict[tuple[object, object], list[Row]] = {}
    for row in rows:
        number = row["log_dir"] if row["volume"] is None else row["volume"]
        volumes.setdefault((row["broker"], number), []).append(row)
    for of_volume in volumes.values():
        sizes = sorted({row["volume_bytes"] for row in of_volume} - {None})
        odd = [_oddity(row) for row in of_volume]
        for row, why in zip(of_volume, odd, strict=True):
            if why:
                yield row, why
            elif len(sizes) > 1:
                yield row, f"lies on a volume of {sizes[0]} and of {sizes[-1]} bytes"
            elif any(odd):
                yield row, "shares its volume with one of them"


def _oddity(row: Row) -> str:
    size, free = (row[name] for name in _SIZES)
    if min(size or 0, free or 0) < 0 or (size is not None and free is not None and free > size):
        return f"tells {free} bytes free of {size}"
    return ""


def _name(row: Row) -> str:
    return f"{row['log_dir']} of broker {row['broker']}"
