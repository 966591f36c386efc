"""Rates of partitions over several snapshots: the highest, or the mean, of what each tells."""

from array import array
from collections.abc import Callable

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.growth_rates import MOST_PARTITIONS
from kafka_reassign_rpc.pipeline.snapshots.rate_columns import MOST_RATE, RATES
from kafka_reassign_rpc.pipeline.snapshots.rates_table import Rates
from kafka_reassign_rpc.pipeline.snapshots.snapshot_series import find_snapshots
from kafka_reassign_rpc.pipeline.store_paths import StorePath

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
        for batch in snapshot_files.record_batches(path, "partitions", also=RATES):
            columns = (batch.column(name).to_pylist() for name in ("topic", "partition", *RATES))
            for topic, partition, *rates in zip(*columns, strict=True):
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
