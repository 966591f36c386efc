"""Whether brokers have room for what a plan brings to them, from the text in docs/pipeline.md.

It shares nothing with the planner. Sizes that the snapshot does not know count as nothing here.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath

_ROOMS = pa.schema([("broker", pa.int32()), ("rooms", pa.list_(pa.int64()))])


class BrokerSpace(NamedTuple):
    """The bytes that a plan may bring to a broker: to all its volumes together, and to each."""

    total: int
    volumes: tuple[int, ...]


def overfull_brokers(spark: SparkSession, path: StorePath, moves: DataFrame, headroom: float) -> dict[int, str]:
    """The brokers to which more comes than fits, with what comes and fits.

    path        the snapshot
    moves       `to_replicas`, `from_replicas`, and `size`: bytes of one replica, null if not known
    headroom    the share of each volume that has to stay free
    """
    spaces = broker_spaces(spark, path, headroom)
    new = f.explode(f.array_except("to_replicas", "from_replicas"))
    arriving = moves.where("size > 0").select(new.alias("broker"), "size")
    found = {
        row["broker"]: f"gets {row['bytes']} bytes, has room for {spaces[row['broker']].total}"
        for row in arriving.groupBy("broker").agg(f.sum("size").alias("bytes")).collect()
        if row["broker"] in spaces and row["bytes"] > spaces[row["broker"]].total
    }
    several = {broker: space.volumes for broker, space in spaces.items() if len(space.volumes) > 1}
    return (_without_places(spark, arriving, several) if several else {}) | found


def _without_places(spark: SparkSession, arriving: DataFrame, volumes: Mapping[int, tuple[int, ...]]) -> dict[int, str]:
    """Brokers on whose volumes the replicas that arrive cannot lie, because none is divided.

    For each size: a volume holds no more replicas of at least this size than the size goes into its room.
    """
    rooms = spark.createDataFrame(pa.table([list(volumes), [list(held) for held in volumes.values()]], _ROOMS))
    larger_first = Window.partitionBy("broker").orderBy(f.desc("size"))
    counted = arriving.groupBy("broker", "size").count().withColumn("as_large", f.sum("count").over(larger_first))
    placed = counted.join(f.broadcast(rooms), "broker").withColumn(
        "places", f.expr("aggregate(rooms, 0L, (sum, room) -> sum + room div size)")
    )
    worst = (
        placed.where("as_large > places")
        .groupBy("broker")
        .agg(f.max_by(f.struct("size", "as_large", "places"), "size").alias("worst"))
    )
    return {
        row["broker"]: "gets {as_large} replicas of {size} bytes or more, its volumes have places for {places}".format(
            **row["worst"].asDict()
        )
        for row in worst.collect()
    }


def broker_spaces(spark: SparkSession, path: StorePath, headroom: float) -> dict[int, BrokerSpace]:
    """The space of each broker of which it is known."""
    partitions = snapshot_files.data_frame(spark, path, "partitions")
    brokers = snapshot_files.read(path, "brokers").to_pylist()
    is_known = all(row["free_bytes"] is not None and row["capacity_bytes"] is not None for row in brokers)
    held = {} if is_known else _held(partitions)
    coming = _still_coming(partitions, snapshot_files.data_frame(spark, path, "replicas"))
    volumes = _volumes(snapshot_files.read(path, "log_dirs").to_pylist())
    spaces = {}
    for row in brokers:
        broker, size, free = row["broker"], row["capacity_bytes"], row["free_bytes"]
        if free is None:
            if size is not None:
                room = size - held.get(broker, 0) - int(size * headroom)  # `held` has what waits as well
                spaces[broker] = BrokerSpace(room, (room,))
            continue
        one = [(free + held.get(broker, 0) if size is None else size, free)]
        rooms = [max(0, free - int(size * headroom)) for size, free in volumes.get(broker, one)]
        spaces[broker] = BrokerSpace(sum(rooms) - coming.get(broker, 0), tuple(rooms))
    return spaces


def _held(partitions: DataFrame) -> dict[int, int]:
    """By broker: the bytes of its replicas, and of those that moves will bring."""
    all_of_them = f.array_union("replicas", "adding")
    replicas = partitions.select(f.explode(all_of_them).alias("broker"), "bytes")
    rows = replicas.groupBy("broker").agg(f.coalesce(f.sum("bytes"), f.lit(0)).alias("bytes")).collect()
    return {row["broker"]: row["bytes"] for row in rows}


def _volumes(log_dirs: list[dict[str, Any]]) -> dict[int, list[tuple[int, int]]]:
    """Size and free bytes of each volume, by broker; without brokers that have a log dir whose volume is not known."""
    found: dict[int, dict[int | None, tuple[int, int]]] = {}
    for row in log_dirs:
        if row["online"]:
            found.setdefault(row["broker"], {})[row["volume"]] = (row["volume_bytes"], row["free_bytes"])
    return {broker: list(held.values()) for broker, held in found.items() if None not in held}


def _still_coming(partitions: DataFrame, replicas: DataFrame) -> dict[int, int]:
    """By broker: the bytes that adding replicas lack of their leader's, whether their moves are in flight or wait."""
    adding = partitions.where("size(adding) > 0 and bytes is not null").select(
        "topic", "partition", f.explode("adding").alias("broker"), "bytes"
    )
    whole = {
        row["broker"]: row["bytes"] for row in adding.groupBy("broker").agg(f.sum("bytes").alias("bytes")).collect()
    }
    if not whole:
        return {}
    there = replicas.where("not future and bytes is not null").select(
        "topic", "partition", "broker", f.col("bytes").alias("copied")
    )
    copied = (
        there.join(f.broadcast(adding), ["topic", "partition", "broker"])
        .groupBy("broker")
        .agg(f.sum(f.least("copied", "bytes")).alias("copied"))
        .collect()
    )
    return whole | {row["broker"]: whole[row["broker"]] - row["copied"] for row in copied}
