"""What moves in flight, and moves that wait, have yet to copy to each broker of a snapshot."""

from typing import NamedTuple

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker

_KEY = ("topic", "partition", "broker")


class Arriving(NamedTuple):
    """What moves will bring to a broker: bytes that are not copied yet, and the number of replicas of unknown size.

    waiting    the part of moves that wait: the snapshot does not list their replicas yet
    """

    bytes: int
    unknown: int
    waiting_bytes: int
    waiting_unknown: int


def with_arriving(spark: SparkSession, path: StorePath, brokers: dict[int, PlannerBroker]) -> dict[int, PlannerBroker]:
    """The brokers, each with what moves in flight and waiting moves will bring to it."""
    found = _arriving(
        snapshot_files.data_frame(spark, path, "partitions"), snapshot_files.data_frame(spark, path, "replicas")
    )
    return {broker: _with(one, found[broker]) if broker in found else one for broker, one in brokers.items()}


def _with(broker: PlannerBroker, arriving: Arriving) -> PlannerBroker:
    """Free bytes show what is copied, replicas what is in flight: see PlannerBroker."""
    only_waiting = broker.free == UNKNOWN
    return msgspec.structs.replace(
        broker,
        arriving=arriving.waiting_bytes if only_waiting else arriving.bytes,
        arriving_unknown=arriving.waiting_unknown if only_waiting else arriving.unknown,
    )


def _arriving(partitions: DataFrame, replicas: DataFrame) -> dict[int, Arriving]:
    """By broker. A replica has what DescribeLogDirs tells of it, at most the size of its leader's."""
    adding = partitions.where(f.size("adding") > 0).select(
        "topic", "partition", "replicas", f.explode("adding").alias("broker"), "bytes"
    )
    waits = ~f.array_contains("replicas", f.col("broker"))
    is_unknown = f.col("bytes").isNull()
    sums = adding.groupBy("broker").agg(
        f.sum(f.coalesce("bytes", f.lit(0))).alias("bytes"),
        f.count_if(is_unknown).alias("unknown"),
        f.sum(f.when(waits & ~is_unknown, f.col("bytes")).otherwise(0)).alias("waiting_bytes"),
        f.count_if(waits & is_unknown).alias("waiting_unknown"),
    )
    found = {row["broker"]: Arriving(*row[1:]) for row in sums.collect()}
    if found:
        held = replicas.where(~f.col("future")).select(*_KEY, f.col("bytes").alias("held"))
        copied = (
            held.join(f.broadcast(adding.select(*_KEY, "bytes")), [*_KEY])
            .groupBy("broker")
            .agg(f.sum(f.least("held", "bytes")).alias("copied"))
        )
        for row in copied.collect():
            one = found[row["broker"]]
            found[row["broker"]] = one._replace(bytes=one.bytes - (row["copied"] or 0))
    return found
