"""Partitions of a snapshot in packed chunks. Tasks import this module."""

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark import RDD, StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline.planning.rounds_on_spark import merge_chunks, pack
from kafka_reassign_rpc.pipeline.planning.snapshot_chunks import (
    NO_RATE,
    PIECE_PARTITIONS,
    ClusterFacts,
    SnapshotSurvey,
    surveyed_chunks,
)
from kafka_reassign_rpc.pipeline.snapshots.rate_columns import MOST_RATE, RATES
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN

PackedChunk = tuple[bytes, SnapshotSurvey]
"""A packed list[PlannerTopic], and the survey of the rows since the chunk before."""


def read_chunks(partitions: DataFrame, facts: ClusterFacts, tasks: int) -> RDD[PackedChunk]:
    """They stay in memory or on the executors' disks."""
    broadcast = partitions.sparkSession.sparkContext.broadcast(facts)
    wanted = partitions.select(
        *("topic", "partition", "replicas", "leader", "isr"),
        ((f.size("adding") + f.size("removing") > 0) | f.coalesce("waiting", f.lit(False))).alias("moving"),
        f.coalesce("bytes", f.lit(UNKNOWN)).alias("bytes"),
        *(_whole_number(name) for name in RATES),
        f.array_except(f.array_union("replicas", "adding"), "removing").alias("destination"),
    )
    piece = f.floor(f.col("partition") / PIECE_PARTITIONS)
    rows = wanted.repartition(tasks, "topic", piece).sortWithinPartitions("topic", "partition").rdd

    def chunks_of_task(found: Iterable[Any]) -> Iterator[PackedChunk]:
        return ((pack(chunk), survey) for chunk, survey in surveyed_chunks(found, broadcast.value))

    return rows.mapPartitions(chunks_of_task, preservesPartitioning=True).persist(StorageLevel.MEMORY_AND_DISK)


def survey_chunks(chunks: RDD[PackedChunk]) -> SnapshotSurvey:
    return merge_chunks(chunks, _survey_of, SnapshotSurvey.nothing, SnapshotSurvey.merge)


def _survey_of(chunk: PackedChunk) -> SnapshotSurvey:
    return chunk[1]


def _whole_number(rate: str) -> Column:
    """As `whole_rate`: in Spark NaN is greater than every number, and casting it ends the job."""
    value = f.col(rate)
    is_rate = (value >= 0) & (value < MOST_RATE)
    return f.when(value.isNull(), 0).when(is_rate, value.cast("bigint")).otherwise(NO_RATE).alias(rate)
