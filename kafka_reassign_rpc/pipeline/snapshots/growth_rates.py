"""Produce rates: how fast partitions have grown since an earlier snapshot."""

from array import array

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath

_UNKNOWN = -1
MOST_PARTITIONS = 2**24
"""The znode of a topic with so many would be a hundred times larger than ZooKeeper allows."""


class EarlierSizes:
    """Takes eight bytes of memory for each partition."""

    def __init__(self, path: StorePath) -> None:
        """Raises BadInput."""
        self._path = path
        self._meta = snapshot_files.check(path)
        self._sizes: dict[str, array[int]] = {}
        for batch in snapshot_files.record_batches(path, "partitions"):
            columns = (batch.column(name).to_pylist() for name in ("topic", "partition", "bytes"))
            for topic, partition, size in zip(*columns, strict=True):
                if not 0 <= partition < MOST_PARTITIONS:
                    raise BadInput(f"{path}: {topic}-{partition} is no partition")
                sizes = self._sizes.setdefault(topic, array("q"))
                if partition >= len(sizes):
                    sizes.extend([_UNKNOWN] * (partition + 1 - len(sizes)))
                sizes[partition] = _UNKNOWN if size is None else size

    def require_earlier(self, cluster_id: str, at: int) -> None:
        """Raises BadInput for a snapshot of another cluster or not older than `at`."""
        if self._meta.cluster_id != cluster_id:
            raise BadInput(f"{self._path}: is of cluster {self._meta.cluster_id}, this is cluster {cluster_id}")
        if self._meta.at >= at:
            raise BadInput(f"{self._path}: is not older than what is exported now")

    def rate(self, topic: str, partition: int, size: int | None, at: int) -> float | None:
        """Bytes/s; None if a size is unknown, or data was deleted in between."""
        sizes = self._sizes.get(topic)
        before = _UNKNOWN if sizes is None or partition >= len(sizes) else sizes[partition]
        if size is None or before == _UNKNOWN or size < before:
            return None
        return (size - before) / ((at - self._meta.at) / 1000)
