"""What the events of moves tell: how long they waited and took, at what rate, which stalled, what throttles cost.

    moves        one row for each move, from its start (or when it joined the queue) to its end (or its withdrawal)
    outcomes     how many ended how, by route, with the times of the middle one, the 95th of a hundred and the longest
    slowest      the moves that took longest
    stalled      the moves that have stalled, those that still do first
    throttles    for each broker and each rate that was set: how much of it was used
    refusals     why moves were refused

A move is what lies between a move.started of a partition and the next one. Events are ordered by controller epoch and
number, not by the clocks of servers. A size is the one in an event, or the partition's in the snapshot that is given.
"""

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.pipeline.snapshots import export_events, snapshot_files

PARTITION = ("topic", "partition")
_ENDS = (catalogue.MOVE_COMPLETED, catalogue.MOVE_CANCELLED)
_QUEUED = (catalogue.MOVE_WAITING, catalogue.MOVE_WITHDRAWN)
_STOPS = (catalogue.MOVE_STALLED, catalogue.MOVE_RESUMED, *_ENDS)
_BRIEFLY = (*PARTITION, "original", "target", "outcome", "started", "waited_seconds", "seconds", "bytes")
"""What of a move is said where many are listed; `moves` has the rest."""


def read(spark: SparkSession, directory: Path) -> DataFrame:
    """The events of a directory; call eventlog.check before."""
    return spark.read.schema(export_events.spark_schema()).parquet(str(directory))


def history(events: DataFrame, sizes: DataFrame | None) -> dict[str, DataFrame]:
    """The tables; `sizes` are the partitions of a snapshot."""
    found = moves(events, sizes)
    found.unpersist()  # Spark takes events that were read from the same directory before for the same events
    found.cache()
    ended = found.where(F.col("outcome").isin("completed", "cancelled"))
    return {
        "outcomes": _outcomes(found),
        "slowest": ended.orderBy(F.desc("seconds"), *PARTITION, "started").select(*_BRIEFLY, "bytes_per_second", "who"),
        "stalled": found.where("stalls > 0")
        .orderBy(F.expr("outcome = 'stalled'").desc(), F.desc("stalled_seconds"))
        .select(*_BRIEFLY, "stalls", "stalled_seconds", "who"),
        "throttles": _throttles(events, found),
        "refusals": _refusals(events),
        "moves": found.orderBy("started", *PARTITION),
    }


def sizes_of(spark: SparkSession, path: Path) -> DataFrame:
    """What `history` wants of a snapshot. Raises BadInput."""
    snapshot_files.check(path)
    return snapshot_files.frame(spark, path, "partitions").select(*PARTITION, F.col("bytes").alias("size"))


def moves(events: DataFrame, sizes: DataFrame | None) -> DataFrame:
    """One row for each move."""
    order = Window.partitionBy(*PARTITION).orderBy("epoch", "seq")
    is_move = F.col("event").startswith(catalogue.MOVE_PREFIX) & (F.col("event") != catalogue.MOVE_REFUSED)
    of_moves = events.where(is_move & F.col("topic").isNotNull() & F.col("partition").isNotNull())
    begun = F.sum((F.col("event") == catalogue.MOVE_STARTED).cast("int")).over(order)
    numbered = of_moves.withColumn("number", begun + F.col("event").isin(*_QUEUED).cast("int"))
    stops = Window.partitionBy(*PARTITION, F.col("event").isin(*_STOPS)).orderBy("epoch", "seq")
    numbered = numbered.withColumn("until", F.lead("at").over(stops))
    place = F.struct("epoch", "seq")

    def is_(*names: str) -> Column:
        return F.col("event").isin(*[f"move.{name}" for name in names])

    def first(column: str, when: Column) -> Column:
        return F.min_by(F.when(when, F.col(column)), F.when(when & F.col(column).isNotNull(), place)).alias(column)

    def last(column: str, when: Column) -> Column:
        return F.max_by(F.when(when, F.col(column)), F.when(when & F.col(column).isNotNull(), place)).alias(column)

    starts = is_("started", "waiting", "retargeted")
    grouped = numbered.groupBy(*PARTITION, "number").agg(
        F.max("id").alias("id"),
        first("route", starts),
        first("who", starts),
        first("reason", starts),
        first("original", F.lit(True)),
        last("target", is_("started", "waiting", "retargeted", "completed", "cancelled")),
        F.max(F.when(is_("waiting"), F.col("at"))).alias("waiting"),
        F.max_by("event", F.when(F.col("event").isin(*_QUEUED), place)).alias("queued"),
        F.min(F.when(is_("started"), F.col("at"))).alias("started"),
        F.max(F.when(is_("completed", "cancelled"), F.col("at"))).alias("ended"),
        F.max_by(F.when(is_("completed", "cancelled"), F.col("event")),
                 F.when(is_("completed", "cancelled"), place)).alias("ending"),
        F.max_by("event", F.when(F.col("event").isin(*_STOPS), place)).alias("stopped"),
        F.sum(is_("retargeted").cast("int")).alias("retargets"),
        F.sum(is_("stalled").cast("int")).alias("stalls"),
        F.sum(F.when(is_("stalled"), F.coalesce(F.col("until"), F.col("at")) - F.col("at")).otherwise(0)).alias("held"),
        F.max("bytes").alias("said"),
    )  # fmt: skip
    outcome = (
        F.when(F.col("ending").isNotNull(), F.substring_index("ending", ".", -1))
        .when(F.col("stopped") == catalogue.MOVE_STALLED, "stalled")
        .when(F.col("started").isNull() & (F.col("queued") == catalogue.MOVE_WITHDRAWN), "withdrawn")
        .when(F.col("started").isNull() & F.col("waiting").isNotNull(), "waiting")
        .otherwise("moving")
    )
    known = grouped if sizes is None else grouped.join(sizes, [*PARTITION], "left")
    size = F.lit(None).cast("long") if sizes is None else F.col("size")
    copies = F.size(F.array_except("target", "original"))
    seconds = (F.col("ended") - F.col("started")) / 1000
    copied = F.coalesce(F.col("said"), size * copies)
    return known.select(
        *PARTITION,
        "id",
        "route",
        "who",
        "reason",
        "original",
        "target",
        outcome.alias("outcome"),
        "started",
        "ended",
        ((F.col("started") - F.col("waiting")) / 1000).alias("waited_seconds"),
        seconds.alias("seconds"),
        copied.alias("bytes"),
        F.when((seconds > 0) & (F.col("ending") == catalogue.MOVE_COMPLETED), copied / seconds).alias(
            "bytes_per_second"
        ),
        "retargets",
        "stalls",
        (F.col("held") / 1000).alias("stalled_seconds"),
    )


def _outcomes(found: DataFrame) -> DataFrame:
    return (
        found.groupBy("outcome", F.coalesce("route", F.lit("unknown")).alias("route"))
        .agg(
            F.count("*").alias("moves"),
            F.percentile("seconds", 0.5).alias("median_seconds"),
            F.percentile("seconds", 0.95).alias("p95_seconds"),
            F.max("seconds").alias("longest_seconds"),
            F.avg("waited_seconds").alias("mean_waited_seconds"),
            F.sum("bytes").alias("bytes"),
            F.percentile("bytes_per_second", 0.5).alias("median_bytes_per_second"),
        )
        .orderBy("outcome", "route")
    )


def _throttles(events: DataFrame, found: DataFrame) -> DataFrame:
    """A rate of a broker counts from when it was set to the next change of it; what arrived there is spread over the
    time of each move."""
    of_broker = Window.partitionBy("broker").orderBy("epoch", "seq")
    last = events.agg(F.max("at").alias("last"))
    changes = events.where(
        F.col("event").isin(catalogue.THROTTLE_SET, catalogue.THROTTLE_RESTORED) & F.col("broker").isNotNull()
    )
    spans = (
        changes.withColumn("next", F.lead("at").over(of_broker))
        .crossJoin(F.broadcast(last))
        .where("event = 'throttle.set' and bytes is not null")
        .select(
            "broker",
            F.col("at").alias("started"),
            F.coalesce("next", "last").alias("ended"),
            F.col("bytes").alias("rate"),
        )
        .where("ended > started")
    )
    arriving = found.where("bytes is not null and seconds > 0").select(
        F.explode(F.array_except("target", "original")).alias("broker"),
        F.col("started").alias("from"),
        F.col("ended").alias("to"),
        (F.col("bytes") / F.size(F.array_except("target", "original"))).alias("size"),
    )
    overlap = F.least("to", "ended") - F.greatest("from", "started")
    shared = spans.join(arriving, "broker", "left").withColumn(
        "part", F.when(overlap > 0, F.col("size") * overlap / (F.col("to") - F.col("from")))
    )
    seconds = (F.col("ended") - F.col("started")) / 1000
    return (
        shared.groupBy("broker", "started", "ended", "rate")
        .agg(F.sum("part").alias("bytes"))
        .select("*", (F.col("bytes") / seconds).alias("bytes_per_second"),
                (F.col("bytes") / seconds / F.col("rate")).alias("efficiency"))
        .orderBy("started", "broker")
    )  # fmt: skip


def _refusals(events: DataFrame) -> DataFrame:
    refused = events.where(F.col("event").isin(catalogue.MOVE_REFUSED, catalogue.ENTRY_REFUSED))
    grouped = refused.groupBy("event", "reason").agg(F.count("*").alias("events"), F.max("at").alias("when"))
    return grouped.orderBy(F.desc("events"), "reason")
