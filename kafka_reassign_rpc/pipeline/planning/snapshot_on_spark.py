"""A snapshot for the plan job on Spark. The driver never collects the partition table."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline.executor_probe import checkpoint_directory
from kafka_reassign_rpc.pipeline.planning import chunks_on_spark
from kafka_reassign_rpc.pipeline.planning.rounds_on_spark import RoundsOnSpark
from kafka_reassign_rpc.pipeline.planning.snapshot_chunks import ClusterFacts, SnapshotSurvey
from kafka_reassign_rpc.pipeline.planning.snapshot_to_plan import Arriving
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath

_EXACT = "decimal(38,0)"
"""Sums of sizes that the survey refuses later still fit."""
_KEY = ("topic", "partition", "broker")
_ROWS_PER_TASK = 50_000


class SnapshotOnSpark:
    """If executors can be lost, rounds are kept beside the path `beside`."""

    _chunks: RDD[chunks_on_spark.PackedChunk]
    _found: SnapshotSurvey

    def __init__(self, spark: SparkSession, path: StorePath, beside: StorePath) -> None:
        self._spark = spark
        self._path = path
        self._beside = beside
        self._table = snapshot_files.data_frame(spark, path, "partitions")
        self.partitions = snapshot_files.count_partitions(path)

    def arriving(self) -> dict[int, Arriving]:
        return _arriving(self._table, snapshot_files.data_frame(self._spark, self._path, "replicas"))

    def survey(self, facts: ClusterFacts) -> SnapshotSurvey:
        self._chunks = chunks_on_spark.read_chunks(self._table, facts, self._tasks(self.partitions))
        self._found = chunks_on_spark.survey_chunks(self._chunks)
        return self._found

    def first_of_unknown_size(self, count: int) -> list[str]:
        unknown = self._table.where("bytes is null").select("topic", "partition")
        first = unknown.orderBy("topic", "partition").limit(count).collect()
        return [f"{row['topic']}-{row['partition']}" for row in first]

    @contextmanager
    def rounds(self) -> Iterator[RoundsOnSpark]:
        with checkpoint_directory(self._spark, self._beside) as forget:
            rounds = RoundsOnSpark(self._chunks, tasks=self._tasks(self._found.kept), forget=forget)
            try:
                yield rounds
            finally:
                rounds.close()

    def _tasks(self, partitions: int) -> int:
        least: int = self._spark.sparkContext.defaultParallelism
        return max(least, -(-partitions // _ROWS_PER_TASK))


def _arriving(partitions: DataFrame, replicas: DataFrame) -> dict[int, Arriving]:
    """A replica has the size that DescribeLogDirs tells, at most its leader's."""
    adding = partitions.where(f.size("adding") > 0).select(
        "topic",
        "partition",
        "replicas",
        f.explode("adding").alias("broker"),
        f.col("bytes").cast(_EXACT).alias("bytes"),
    )
    waits = ~f.array_contains("replicas", f.col("broker"))
    is_unknown = f.col("bytes").isNull()
    sums = adding.groupBy("broker").agg(
        f.sum(f.coalesce("bytes", f.lit(0))).alias("bytes"),
        f.count_if(is_unknown).alias("unknown"),
        f.sum(f.when(waits & ~is_unknown, f.col("bytes")).otherwise(0)).alias("waiting_bytes"),
        f.count_if(waits & is_unknown).alias("waiting_unknown"),
    )
    found = {row["broker"]: Arriving(*map(int, row[1:])) for row in sums.collect()}
    if found:
        held = replicas.where("not future and bytes is not null").select(*_KEY, f.col("bytes").alias("held"))
        copied = (
            held.join(f.broadcast(adding.where(~is_unknown).select(*_KEY, "bytes")), [*_KEY])
            .groupBy("broker")
            .agg(f.sum(f.least("held", "bytes")).alias("copied"))
        )
        for row in copied.collect():
            one = found[row["broker"]]
            found[row["broker"]] = one._replace(bytes=one.bytes - int(row["copied"]))
    return found
