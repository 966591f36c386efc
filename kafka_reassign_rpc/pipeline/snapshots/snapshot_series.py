"""Snapshots that were taken over time, in one directory. Does not import PySpark, which takes seconds."""

from typing import NamedTuple

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import META, SnapshotMeta
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.secrecy import told_path


class FoundSnapshot(NamedTuple):
    path: StorePath
    meta: SnapshotMeta


def find_snapshots(directory: StorePath) -> list[FoundSnapshot]:
    """The oldest comes first; the directory itself may be one. Raises BadInput if there is none, one is unreadable, or
    they are of several clusters.
    """
    if not directory.is_dir():
        raise BadInput(f"{told_path(str(directory))}: no such directory")
    paths = [directory] if (directory / META).exists() else _directories_inside(directory)
    if not paths:
        raise BadInput(f"{directory}: no snapshots there; `kafka-reassign-rpc export` writes them")
    found = sorted((_checked(path, len(paths) > 1) for path in paths), key=lambda one: (one.meta.at, one.path))
    first = found[0]
    for one in found:
        if one.meta.cluster_id != first.meta.cluster_id:
            raise BadInput(
                f"{directory}: snapshots of different clusters: {first.path.name} is of {first.meta.cluster_id}, "
                f"{one.path.name} of {one.meta.cluster_id}"
            )
        if one is not first and one.meta.at == first.meta.at:
            raise BadInput(f"{directory}: {first.path.name} and {one.path.name} were taken at the same time")
        first = one
    return found


def _checked(path: StorePath, is_one_of_several: bool) -> FoundSnapshot:
    try:
        return FoundSnapshot(path, snapshot_files.check(path))
    except BadInput as error:
        if not is_one_of_several:
            raise
        raise BadInput(f"{error}; or move {path.name} out of {path.parent}, to do without it") from None


def _directories_inside(directory: StorePath) -> list[StorePath]:
    """A hidden directory belongs to an unfinished export."""
    inside = [path for path in directory.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return [path for path in inside if (path / META).exists() or (path / "partitions").exists()]
