"""Produce rates: how fast partitions have grown since an earlier snapshot; over several, the highest, or the mean, of
what each tells; and the file of `export --rates`, which docs/pipeline.md describes. Does not import PySpark.
"""

import io
import math
from array import array
from collections.abc import Callable, Collection, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import find_snapshots
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import MOST_RATE, RATES
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.counted import first_of

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
        for batch in snapshot_files.record_batches(path, "partitions", ("topic", "partition", "bytes")):
            for topic, partition, size in zip(*(column.to_pylist() for column in batch.columns), strict=True):
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


_RATES = ("bytes_in", "bytes_out", "messages_in", "cpu")
_COLUMNS = {"topic": pa.string(), "partition": pa.int32(), **dict.fromkeys(_RATES, pa.float64())}
_NAMED = 20

Rates = tuple[float | None, float | None, float | None, float | None]
"""Bytes in, bytes out, messages in, and microseconds of CPU, per second; None: not known."""
NO_RATES: Rates = (None, None, None, None)


class RatesTable:
    def __init__(self, path: StorePath) -> None:
        """Raises BadInput, which names the rows."""
        self._path = path
        self._rates: dict[str, dict[int | None, Rates]] = {}
        wrong = [f"{name} {fault}" for name, fault in self._faults()]
        if wrong:
            raise BadInput(f"{path}: {first_of(wrong, _NAMED, between='; ')}")
        self._unseen = {(topic, index) for topic, rows in self._rates.items() for index in rows}

    def _faults(self) -> Iterator[tuple[str, str]]:
        for topic, index, *rates in zip(*_columns(self._path), strict=True):
            name = f"{topic}-{index}" if index is not None else f"{topic}"
            of_topic = self._rates.setdefault(topic or "", {})
            if not topic:
                yield "a row", "has no topic"
            elif index is not None and index < 0:
                yield name, "is no partition"
            elif index in of_topic:
                yield name, "occurs twice"
            elif of_topic and (index is None or None in of_topic):
                yield topic, "has a rate of its own and rates of partitions: give one or the others"
            elif any(one is not None and not (math.isfinite(one) and 0 <= one < MOST_RATE) for one in rates):
                yield name, "has a rate that is negative, too large or no number"
            of_topic[index] = (rates[0], rates[1], rates[2], rates[3])

    def take(self, topic: str, partitions: Collection[int]) -> dict[int, Rates]:
        given = self._rates.get(topic, {})
        if None in given and partitions:
            self._unseen.discard((topic, None))
            each = [None if one is None else one / len(partitions) for one in given[None]]
            return dict.fromkeys(partitions, (each[0], each[1], each[2], each[3]))
        found = {index: given[index] for index in partitions if index in given}
        self._unseen -= {(topic, index) for index in found}
        return found

    def require_all_taken(self) -> None:
        """Raises BadInput for topics and partitions that the cluster does not have."""
        left = sorted(topic if index is None else f"{topic}-{index}" for topic, index in self._unseen)
        if left:
            raise BadInput(f"{self._path}: the cluster does not have {first_of(left, _NAMED)}")


def _columns(path: StorePath) -> list[list[Any]]:
    try:
        data = path.read_bytes()
        if data[:4] == b"PAR1":
            table = pa.parquet.read_table(io.BytesIO(data))
        else:
            convert = pa.csv.ConvertOptions(column_types=_COLUMNS, null_values=[""], strings_can_be_null=True)
            table = pa.csv.read_csv(io.BytesIO(data), convert_options=convert)
        odd = [name for name in table.column_names if name not in _COLUMNS]
        if odd or "topic" not in table.column_names or len({*table.column_names}) < len(table.column_names):
            names = ",".join(table.column_names)
            raise BadInput(f"{path}: expected columns of {', '.join(_COLUMNS)}, got {names!r}")
        missing: list[Any] = [None] * table.num_rows
        return [
            table.column(name).cast(kind).to_pylist() if name in table.column_names else missing
            for name, kind in _COLUMNS.items()
        ]
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{path}: {error}") from None


HIGHEST, MEAN = "max", "mean"
_UNTOLD = -1.0
_Sums = tuple["array[float]", "array[int]"]
"""By partition: the highest rate or the sum of all, and how many snapshots tell it."""


class RatesOverTime:
    """Takes 64 bytes of memory for each partition, whatever the number of snapshots. A topic that was made again is
    another one, where its id is known.
    """

    def __init__(self, directory: StorePath, how: str) -> None:
        """Raises BadInput for unreadable snapshots, or those of several clusters."""
        self._directory, self._is_mean = directory, how == MEAN
        self._topics: dict[str, dict[str, list[_Sums]]] = {}
        found = find_snapshots(directory)
        self._cluster = found[0].meta.cluster_id
        for one in found:
            self._add(one.path)

    def require_cluster(self, cluster_id: str) -> None:
        if self._cluster != cluster_id:
            raise BadInput(f"{self._directory}: is of cluster {self._cluster}, this is cluster {cluster_id}")

    def _add(self, path: StorePath) -> None:
        ids = snapshot_files.topic_ids(path)
        for batch in snapshot_files.record_batches(path, "partitions", ("topic", "partition", *RATES)):
            for topic, partition, *rates in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if not 0 <= partition < MOST_PARTITIONS:
                    raise BadInput(f"{path}: {topic}-{partition} is no partition")
                by_id = self._topics.setdefault(topic, {})
                sums = by_id.setdefault(ids.get(topic, ""), [(array("d"), array("q")) for _ in RATES])
                for rate, of_rate in zip(rates, sums, strict=True):
                    if rate is not None and not 0 <= rate < MOST_RATE:
                        raise BadInput(
                            f"{path}: {topic}-{partition} has a rate that is negative, no number or too large"
                        )
                    if rate is not None:
                        self._count(of_rate, partition, rate)

    def _count(self, sums: _Sums, partition: int, rate: float) -> None:
        known, counts = sums
        more = partition + 1 - len(counts)
        if more > 0:
            known.extend([_UNTOLD] * more)
            counts.extend([0] * more)
        if not counts[partition]:
            known[partition] = rate
        else:
            known[partition] = known[partition] + rate if self._is_mean else max(known[partition], rate)
        counts[partition] += 1

    def of(self, topic: str, topic_id: str | None) -> Callable[[int, Rates], Rates]:
        """A function of a partition and its rates of now, which returns those over time."""
        by_id = self._topics.get(topic, {})
        known = [sums for one, sums in by_id.items() if not topic_id or one in ("", topic_id)]

        def rates(partition: int, now: Rates) -> Rates:
            found = [self._merged([of[place] for of in known], partition, rate) for place, rate in enumerate(now)]
            return found[0], found[1], found[2], found[3]

        return rates

    def _merged(self, known: list[_Sums], partition: int, now: float | None) -> float | None:
        told = [(of[partition], counts[partition]) for of, counts in known if partition < len(counts)]
        told = [(value, count) for value, count in told if count] + ([] if now is None else [(now, 1)])
        if not told:
            return None
        if not self._is_mean:
            return max(value for value, _ in told)
        return sum(value for value, _ in told) / sum(count for _, count in told)
