"""The brokers of a snapshot for the planner: their volumes, and what moves in flight have yet to copy to them."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker, Volume

_KEY = ("topic", "partition", "broker")


class Arriving(NamedTuple):
    """What moves will bring to a broker: bytes that are not copied yet, and the number of replicas of unknown size.

    waiting    the part of moves that wait: the snapshot does not list their replicas yet
    """

    bytes: int
    unknown: int
    waiting_bytes: int
    waiting_unknown: int


def read_brokers(path: StorePath) -> dict[int, PlannerBroker]:
    """The brokers that the snapshot lists, without what is on its way to them. Raises BadInput."""
    volumes = _volumes(snapshot_files.read(path, "log_dirs").to_pylist())
    found: dict[int, PlannerBroker] = {}
    for row in snapshot_files.read(path, "brokers").to_pylist():
        broker = row["broker"]
        if broker in found:
            raise BadInput(f"{snapshot_files.table_path(path, 'brokers')}: broker {broker} occurs twice")
        capacity, free = (UNKNOWN if row[name] is None else row[name] for name in ("capacity_bytes", "free_bytes"))
        known = volumes.get(broker, ()) if free != UNKNOWN else ()
        found[broker] = PlannerBroker(broker, row["rack"], row["live"], capacity, free, volumes=known)
    return found


def _volumes(log_dirs: Iterable[dict[str, Any]]) -> dict[int, tuple[Volume, ...]]:
    """The volumes of brokers that tell all of theirs. Log dirs of one volume tell much the same: the least is safe."""
    found: dict[int, dict[int | None, Volume]] = {}
    for row in log_dirs:
        if row["online"]:
            of_broker = found.setdefault(row["broker"], {})
            size, free = row["volume_bytes"] or 0, row["free_bytes"] or 0
            known = of_broker.get(row["volume"])
            of_broker[row["volume"]] = Volume(size, free if known is None else min(free, known.free))
    return {broker: tuple(of[number] for number in sorted(of)) for broker, of in found.items() if None not in of}  # type: ignore[type-var]


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
