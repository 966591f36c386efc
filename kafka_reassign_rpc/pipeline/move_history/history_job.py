"""The history job: tables from the events of moves. docs/results.md has the columns.

A move starts with a partition's move.started (or when it joined the queue) and ends before the next one. Events are
ordered by controller epoch and sequence number, not by the servers' clocks.

`bytes` are those that a move has copied: from its last event if the controller had sampled it; else, for a completed
move, the partition's size in the snapshot for each added replica. Otherwise unknown: a cancelled move stops anywhere.
"""

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.store_paths import StorePath

PARTITION = ("topic", "partition")
_MOVE = (*PARTITION, "number")
_START_EVENTS = (catalogue.MOVE_STARTED, catalogue.MOVE_WAITING, catalogue.MOVE_RETARGETED)
_END_EVENTS = (catalogue.MOVE_COMPLETED, catalogue.MOVE_CANCELLED)
_QUEUE_EVENTS = (catalogue.MOVE_WAITING, catalogue.MOVE_WITHDRAWN)
_STALL_EVENTS = (catalogue.MOVE_STALLED, catalogue.MOVE_RESUMED, *_END_EVENTS)
_BRIEF_COLUMNS = (*PARTITION, "original", "target", "outcome", "started", "waited_seconds", "seconds", "bytes")
_REQUESTER = ("who", "principal", "reason")
"""In lists of moves; `moves` has all."""


def history_tables(events: DataFrame, sizes: DataFrame | None) -> dict[str, DataFrame]:
    """They depend neither on the order of rows nor on tasks: sums are of whole numbers, rows have one order."""
    found = moves(events, sizes)
    found.unpersist()  # else Spark would use the cached events of an earlier read of the same directory
    found.cache()
    ended = found.where(F.col("outcome").isin("completed", "cancelled"))
    return {
        "outcomes": _outcomes(found),
        "slowest": ended.orderBy(F.desc("seconds"), *_MOVE).select(*_BRIEF_COLUMNS, "bytes_per_second", *_REQUESTER),
        "stalled": found.where("stalls > 0")
        .orderBy(F.expr("outcome = 'stalled'").desc(), F.desc("stalled_seconds"), *_MOVE)
        .select(*_BRIEF_COLUMNS, "stalls", "stalled_seconds", *_REQUESTER),
        "throttles": _throttles(events, found),
        "refusals": _refusals(events),
        "moves": found.orderBy("started", *_MOVE).drop("number", "waited_ms"),
    }


def partition_sizes(spark: SparkSession, path: StorePath) -> DataFrame:
    """Raises BadInput, also for a partition that stands twice: its moves would count twice."""
    metas = {path: snapshot_files.check(path)}
    partitions = snapshot_files.data_frame_of_all(spark, metas, "partitions")
    snapshot_files.require_once(partitions, metas)
    return partitions.select(*PARTITION, F.col("bytes").alias("size"))


def moves(events: DataFrame, sizes: DataFrame | None) -> DataFrame:
    """`number` counts the moves of a partition."""
    order = Window.partitionBy(*PARTITION).orderBy(*event_files.ORDER)
    is_move = F.col("event").startswith(catalogue.MOVE_PREFIX) & (F.col("event") != catalogue.MOVE_REFUSED)
    of_moves = events.where(is_move & F.col("topic").isNotNull() & F.col("partition").isNotNull())
    starts_so_far = F.sum((F.col("event") == catalogue.MOVE_STARTED).cast("int")).over(order)
    numbered = of_moves.withColumn("number", starts_so_far + F.col("event").isin(*_QUEUE_EVENTS).cast("int"))
    stall_order = Window.partitionBy(*PARTITION, F.col("event").isin(*_STALL_EVENTS)).orderBy(*event_files.ORDER)
    numbered = numbered.withColumn("until", F.lead("at").over(stall_order))
    order_of_event = F.struct(*event_files.ORDER)

    def is_(*names: str) -> Column:
        return F.col("event").isin(*names)

    def first(column: str, when: Column) -> Column:
        return F.min_by(F.when(when, F.col(column)), F.when(when & F.col(column).isNotNull(), order_of_event)).alias(
            column
        )

    def last(column: str, when: Column) -> Column:
        return F.max_by(F.when(when, F.col(column)), F.when(when & F.col(column).isNotNull(), order_of_event)).alias(
            column
        )

    starts = is_(*_START_EVENTS)
    grouped = numbered.groupBy(*PARTITION, "number").agg(
        F.max("id").alias("id"),
        first("route", starts),
        first("who", starts),
        first("principal", starts),
        first("reason", starts),
        first("original", F.lit(True)),
        last("target", is_(*_START_EVENTS, *_END_EVENTS)),
        F.max(F.when(is_(catalogue.MOVE_WAITING), F.col("at"))).alias("waiting"),
        F.max_by("event", F.when(F.col("event").isin(*_QUEUE_EVENTS), order_of_event)).alias("last_queue_event"),
        F.min(F.when(is_(catalogue.MOVE_STARTED), F.col("at"))).alias("started"),
        F.max(F.when(is_(*_END_EVENTS), F.col("at"))).alias("ended"),
        F.max_by(F.when(is_(*_END_EVENTS), F.col("event")),
                 F.when(is_(*_END_EVENTS), order_of_event)).alias("ending"),
        F.max_by("event", F.when(F.col("event").isin(*_STALL_EVENTS), order_of_event)).alias("last_stall_event"),
        F.sum(is_(catalogue.MOVE_RETARGETED).cast("int")).alias("retargets"),
        F.sum(is_(catalogue.MOVE_STALLED).cast("int")).alias("stalls"),
        F.sum(F.when(is_(catalogue.MOVE_STALLED), F.coalesce(F.col("until"), F.col("at")) - F.col("at")).otherwise(0))
        .alias("stalled_ms"),
        last("copied", is_(*_END_EVENTS)),
    )  # fmt: skip
    outcome = (
        F.when(F.col("ending").isNotNull(), F.substring_index("ending", ".", -1))
        .when(F.col("last_stall_event") == catalogue.MOVE_STALLED, "stalled")
        .when(F.col("started").isNull() & (F.col("last_queue_event") == catalogue.MOVE_WITHDRAWN), "withdrawn")
        .when(F.col("started").isNull() & F.col("waiting").isNotNull(), "waiting")
        .otherwise("moving")
    )
    known = grouped if sizes is None else grouped.join(sizes, [*PARTITION], "left")
    size = F.lit(None).cast("long") if sizes is None else F.col("size")
    copies = F.size(F.array_except("target", "original"))
    seconds = (F.col("ended") - F.col("started")) / 1000
    copied = F.coalesce("copied", F.when(F.col("ending") == catalogue.MOVE_COMPLETED, size * copies))
    return known.select(
        *_MOVE,
        "id",
        "route",
        "who",
        "principal",
        "reason",
        "original",
        "target",
        outcome.alias("outcome"),
        "started",
        "ended",
        (F.col("started") - F.col("waiting")).alias("waited_ms"),
        ((F.col("started") - F.col("waiting")) / 1000).alias("waited_seconds"),
        seconds.alias("seconds"),
        copied.alias("bytes"),
        F.when((seconds > 0) & (F.col("ending") == catalogue.MOVE_COMPLETED), copied / seconds).alias(
            "bytes_per_second"
        ),
        "retargets",
        "stalls",
        (F.col("stalled_ms") / 1000).alias("stalled_seconds"),
    )


def _outcomes(found: DataFrame) -> DataFrame:
    return (
        found.groupBy("outcome", F.coalesce("route", F.lit("unknown")).alias("route"))
        .agg(
            F.count("*").alias("moves"),
            F.percentile("seconds", 0.5).alias("median_seconds"),
            F.percentile("seconds", 0.95).alias("p95_seconds"),
            F.max("seconds").alias("longest_seconds"),
            (F.sum("waited_ms") / F.count("waited_ms") / 1000).alias("mean_waited_seconds"),
            F.sum("bytes").alias("bytes"),
            F.percentile("bytes_per_second", 0.5).alias("median_bytes_per_second"),
        )
        .orderBy("outcome", "route")
    )


def _throttles(events: DataFrame, found: DataFrame) -> DataFrame:
    """A row for each rate of a broker until its next change. `efficiency` is the share of the rate that moves to it
    used; of a rate of 0 there is none.

    Bytes count for the rate in force while they came. An event tells only the total that a move has copied, so the sum
    is unknown where a move began before the rate was set, went on afterwards, or has no known total.
    """
    of_broker = Window.partitionBy("broker").orderBy(*event_files.ORDER)
    last = events.agg(F.max("at").alias("last"))
    changes = events.where(
        F.col("event").isin(catalogue.THROTTLE_SET, catalogue.THROTTLE_RESTORED) & F.col("broker").isNotNull()
    )
    spans = (
        changes.withColumn("next", F.lead("at").over(of_broker))
        .crossJoin(F.broadcast(last))
        .where((F.col("event") == catalogue.THROTTLE_SET) & F.col("bytes").isNotNull())
        .select(
            "broker",
            F.col("at").alias("started"),
            F.coalesce("next", "last").alias("ended"),
            F.col("bytes").alias("rate"),
        )
        .where("ended > started")
    )
    added = F.array_except("target", "original")
    arriving = found.where("started is not null").select(
        F.explode(added).alias("broker"),
        F.col("started").alias("from"),
        F.col("ended").alias("to"),
        (F.col("bytes") / F.size(added)).alias("size"),
    )
    overlap = F.least(F.coalesce("to", "ended"), "ended") - F.greatest("from", "started")
    is_within = (F.col("from") >= F.col("started")) & (F.col("to") <= F.col("ended"))
    is_known = F.col("size").isNotNull() & (F.coalesce(is_within, F.lit(False)) | (F.col("size") == 0))
    # Whole bytes: the sum of fractions depends on the order in which tasks end
    share = F.round("size").cast("long")
    sums = (
        spans.join(arriving, "broker", "left")
        .groupBy("broker", "started", "ended", "rate")
        .agg(
            F.sum(F.when(overlap > 0, share)).alias("known"),
            F.count(F.when((overlap > 0) & ~is_known, 1)).alias("unknown"),
        )
    )
    rate = F.col("bytes") / ((F.col("ended") - F.col("started")) / 1000)
    used = rate / F.when(F.col("rate") > 0, F.col("rate"))
    return (
        sums.withColumn("bytes", F.when(F.col("unknown") == 0, F.coalesce("known", F.lit(0))))
        .drop("known", "unknown")
        .select("*", rate.alias("bytes_per_second"), used.alias("efficiency"))
        .orderBy("started", "broker", "ended", "rate")
    )


def _refusals(events: DataFrame) -> DataFrame:
    refused = events.where(F.col("event").isin(catalogue.MOVE_REFUSED, catalogue.ENTRY_REFUSED))
    grouped = refused.groupBy("event", "reason").agg(F.count("*").alias("events"), F.max("at").alias("when"))
    return grouped.orderBy(F.desc("events"), "event", "reason")
