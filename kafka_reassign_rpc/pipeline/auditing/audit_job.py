"""What snapshots taken over time tell: who holds how much, what breaks the rules, what has changed.

    spread             how even bytes, replicas and leaders lie on the live brokers, for each snapshot
    brokers            what lies on each broker, for each snapshot
    drift              replication factors that changed from one snapshot to the next, and who asked, from the events
    mixed              topics whose partitions do not all have the same replication factor, in the last snapshot
    rack_violations    partitions of the last snapshot on fewer racks than they could be
    under_replicated   partitions of the last snapshot with replicas out of sync, and since when

A moving partition counts with its target: what is to be removed is no replica any more. Brokers without a rack do not
take part in the rule of racks.
"""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 (as every Spark program does)

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import export_events, snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import Meta

MEASURES = ("bytes", "replicas", "leaders")
PARTITION = ("topic", "partition")


class SnapshotTaken(NamedTuple):
    """A snapshot of a directory of them."""

    path: Path
    meta: Meta


def find(directory: Path) -> list[SnapshotTaken]:
    """The snapshots in a directory (or the one that it is), the oldest first.

    Raises BadInput for none, for one that cannot be read, and for snapshots of several clusters.
    """
    if not directory.is_dir():
        raise BadInput(f"{directory}: no such directory")
    paths = [directory] if (directory / snapshot_files.META).exists() else _inside(directory)
    if not paths:
        raise BadInput(f"{directory}: no snapshots there; `kafka-reassign-rpc export` writes them")
    found = sorted(
        (SnapshotTaken(path, snapshot_files.check(path)) for path in paths), key=lambda one: (one.meta.at, one.path)
    )
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


def _inside(directory: Path) -> list[Path]:
    """Directories that look like snapshots, whole or not. Beginnings with a dot are exports that have not ended."""
    inside = [path for path in directory.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return [path for path in inside if (path / snapshot_files.META).exists() or (path / "partitions").exists()]


def audit(spark: SparkSession, taken: Sequence[SnapshotTaken], events: Path | None) -> dict[str, DataFrame]:
    """The tables. Raises BadInput for events that cannot be read; what Spark finds out later is an error of Spark's."""
    partitions = _all(spark, taken, "partitions")
    standing = partitions.select(
        "at",
        *PARTITION,
        F.array_except("replicas", "removing").alias("replicas"),
        "adding",
        "leader",
        "isr",
        "bytes",
    ).cache()
    brokers = _all(spark, taken, "brokers").select("at", "broker", "rack", "live")
    sizes = _all(spark, taken, "replicas").where(~F.col("future"))
    loads = _loads(standing, brokers, sizes).cache()
    last = F.col("at") == taken[-1].meta.at
    asked = None
    if events is not None:
        export_events.check(events)
        asked = spark.read.schema(export_events.spark_schema()).parquet(str(events))
    return {
        "spread": _spread(loads),
        "brokers": loads,
        "drift": _drift(standing, asked),
        "mixed": _mixed(standing.where(last)),
        "rack_violations": _rack_violations(standing.where(last), brokers.where(last)),
        "under_replicated": _under_replicated(standing, taken[-1].meta.at),
    }


def _all(spark: SparkSession, taken: Sequence[SnapshotTaken], table: str) -> DataFrame:
    """A table of all snapshots, each row with the time of its own."""
    frames = [
        snapshot_files.frame(spark, one.path, table).withColumn("at", F.lit(one.meta.at).cast("long")) for one in taken
    ]
    return reduce(DataFrame.unionByName, frames)


def _loads(standing: DataFrame, brokers: DataFrame, sizes: DataFrame) -> DataFrame:
    """One row for each broker of each snapshot; `unknown`: its replicas whose size is not known."""
    assigned = standing.select("at", *PARTITION, F.explode("replicas").alias("broker"), "leader", "bytes")
    own = sizes.select("at", *PARTITION, "broker", F.col("bytes").alias("own"))
    held = assigned.join(own, ["at", *PARTITION, "broker"], "left").select(
        "at",
        "broker",
        F.coalesce("own", "bytes").alias("size"),
        (F.col("leader") == F.col("broker")).cast("long").alias("leads"),
    )
    sums = held.groupBy("at", "broker").agg(
        F.coalesce(F.sum("size"), F.lit(0)).alias("bytes"),
        F.count("*").alias("replicas"),
        F.sum("leads").alias("leaders"),
        F.sum(F.col("size").isNull().cast("long")).alias("unknown"),
    )
    every = brokers.join(sums, ["at", "broker"], "left")
    return every.na.fill(0, [*MEASURES, "unknown"]).orderBy("at", "broker")


def _spread(loads: DataFrame) -> DataFrame:
    """For each snapshot and measure, over the live brokers: 1.0 as `worst` and 0.0 as `deviation` is even."""
    measured = loads.where("live").select(
        "at", "broker", F.explode(F.create_map(*_pairs(MEASURES))).alias("measure", "value")
    )
    grouped = measured.groupBy("at", "measure").agg(
        F.count("*").alias("brokers"),
        F.min("value").alias("least"),
        F.max("value").alias("most"),
        F.avg("value").alias("mean"),
        F.max_by("broker", "value").alias("fullest"),
        F.stddev_pop("value").alias("stddev"),
    )
    return grouped.select(
        "*",
        F.when(F.col("mean") > 0, F.col("most") / F.col("mean")).otherwise(1.0).alias("worst"),
        F.when(F.col("mean") > 0, F.col("stddev") / F.col("mean")).otherwise(0.0).alias("deviation"),
    ).orderBy("at", "measure")


def _pairs(names: Sequence[str]) -> list[Column]:
    return [column for name in names for column in (F.lit(name), F.col(name).cast("double"))]


def _drift(standing: DataFrame, events: DataFrame | None) -> DataFrame:
    """Changes of replication factors: between which snapshots and, where the events tell, when and by whom."""
    over_time = Window.partitionBy(*PARTITION).orderBy("at")
    factors = standing.select("at", *PARTITION, F.size("replicas").alias("factor"))
    changed = (
        factors.withColumn("before", F.lag("factor").over(over_time))
        .withColumn("after", F.col("factor"))
        .withColumn("seen_before", F.lag("at").over(over_time))
        .where("before is not null and before != after")
        .select(*PARTITION, "before", "after", "seen_before", F.col("at").alias("seen"))
    )
    if events is None:
        nobody = [F.lit(None).cast(kind).alias(name) for name, kind in _ASKED.items()]
        return changed.select("*", *nobody).orderBy("seen", *PARTITION)
    asked = events.where(
        F.col("event").isin(catalogue.MOVE_STARTED, catalogue.MOVE_RETARGETED)
        & F.col("target").isNotNull()
        & (F.size("target") != F.size("original"))
    ).select(
        *PARTITION,
        F.col("at").alias("when"),
        "who",
        "route",
        "reason",
        F.size("target").alias("after"),
        F.struct("epoch", "seq").alias("order"),
    )
    joined = changed.join(asked, [*PARTITION, "after"], "left").withColumn(
        "between", F.col("when").between(F.col("seen_before"), F.col("seen"))
    )
    found = joined.groupBy(*PARTITION, "before", "after", "seen_before", "seen").agg(
        F.max_by(F.when(F.col("between"), F.struct("when", "who", "route", "reason")),
                 F.when(F.col("between"), F.col("order"))).alias("asked")
    )  # fmt: skip
    known = [F.col(f"asked.{name}").alias(name) for name in _ASKED]
    return found.select(*PARTITION, "before", "after", "seen_before", "seen", *known).orderBy("seen", *PARTITION)


_ASKED = {"when": "long", "who": "string", "route": "string", "reason": "string"}


def _mixed(standing: DataFrame) -> DataFrame:
    factors = standing.select("topic", F.size("replicas").alias("factor"))
    grouped = factors.groupBy("topic").agg(
        F.min("factor").alias("least"), F.max("factor").alias("most"), F.count("*").alias("partitions")
    )
    return grouped.where("least != most").orderBy("topic")


def _rack_violations(standing: DataFrame, brokers: DataFrame) -> DataFrame:
    """Partitions on fewer racks than they have replicas or the cluster has racks."""
    racks = brokers.where("rack is not null").select("broker", "rack")
    there = brokers.where("live and rack is not null").agg(F.count_distinct("rack").alias("racks"))
    placed = (
        standing.select(*PARTITION, "replicas", F.explode("replicas").alias("broker"))
        .join(F.broadcast(racks), "broker", "left")
        .groupBy(*PARTITION, "replicas")
        .agg(
            F.count_distinct("rack").alias("on_racks"),
            F.sum(F.col("rack").isNull().cast("int")).alias("without"),
            F.collect_list("rack").alias("names"),
        )
    )
    possible = F.least(F.size("replicas"), F.col("racks"))
    judged = placed.crossJoin(F.broadcast(there)).select(
        *PARTITION, "replicas", F.array_sort("names").alias("racks"), "on_racks", possible.alias("possible"), "without"
    )
    return judged.where("without = 0 and on_racks < possible").drop("without").orderBy(*PARTITION)


def _under_replicated(standing: DataFrame, last: int) -> DataFrame:
    """Partitions that are behind in the last snapshot; `since`: the first of the snapshots in a row in which they are.

    A replica that a move brings in is not behind, it is on its way.
    """
    missing = F.array_except(F.array_except("replicas", "adding"), "isr").alias("missing")
    seen = standing.select("at", *PARTITION, "replicas", "isr", missing)
    behind = F.size("missing") > 0
    well = seen.groupBy(*PARTITION).agg(F.max(F.when(~behind, F.col("at"))).alias("well"))
    late = seen.where(behind).join(well, [*PARTITION])
    since = (
        late.where(F.col("well").isNull() | (F.col("at") > F.col("well")))
        .groupBy(*PARTITION)
        .agg(F.min("at").alias("since"))
    )
    now = seen.where(behind & (F.col("at") == last)).drop("at")
    return now.join(since, [*PARTITION]).orderBy(*PARTITION)
