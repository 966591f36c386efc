"""The audit job: tables from snapshots taken over time. docs/results.md has the columns.

A partition whose move is in flight or waits counts with its target. The rack rule ignores brokers without a rack.
"""

from collections.abc import Sequence
from functools import partial

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 (as every Spark program does)

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.pipeline.auditing.ending_configs import ending_configs
from kafka_reassign_rpc.pipeline.auditing.load_spread import RATE_MEASURES
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.possible_figures import MOST_BYTES
from kafka_reassign_rpc.pipeline.snapshots.rate_columns import RATES
from kafka_reassign_rpc.pipeline.snapshots.snapshot_series import FoundSnapshot
from kafka_reassign_rpc.pipeline.spark_session import is_small
from kafka_reassign_rpc.pipeline.store_paths import StorePath

PARTITION = ("topic", "partition")
_BROKER = ("at", "broker", "rack", "live", "capacity_bytes", "free_bytes")
_OF_LEADERS = {"fetch": "fetch_rate", "bytes_in": "produce_rate", "messages_in": "message_rate", "cpu": "cpu_rate"}
_TARGET_EVENTS = (catalogue.MOVE_STARTED, catalogue.MOVE_RETARGETED)


def audit_tables(spark: SparkSession, found: Sequence[FoundSnapshot], events: StorePath | None) -> dict[str, DataFrame]:
    """Raises BadInput for unreadable events, and for a partition that stands twice in a snapshot: it would count
    twice. Later errors come from Spark.
    """
    metas = {one.path: one.meta for one in found}
    last = {found[-1].path: found[-1].meta}
    rows = sum(snapshot_files.count_partitions(path) for path in metas)
    small = is_small(spark.sparkContext.master, rows)
    read = partial(snapshot_files.small_data_frame_of_all if small else snapshot_files.data_frame_of_all, spark)
    partitions, last_partitions = (_partitions(read(of, "partitions")) for of in (metas, last))
    snapshot_files.require_once(partitions, metas)
    brokers, last_brokers = (read(of, "brokers").select(*_BROKER) for of in (metas, last))
    sizes = read(metas, "replicas").where(~F.col("future"))
    requests = None
    if events is not None:
        event_files.check(events)
        requests = event_files.data_frame(spark, events)
    return {
        "brokers": _loads(partitions, brokers, sizes),
        "drift": _drift(partitions, requests),
        "mixed": _mixed(last_partitions),
        "rack_violations": _rack_violations(last_partitions, last_brokers),
        "under_replicated": _under_replicated(partitions, last_partitions),
        "ending_configs": ending_configs(spark, read(last, "configs"), last_brokers),
    }


def _partitions(rows: DataFrame) -> DataFrame:
    return rows.select(
        "at",
        *PARTITION,
        F.array_except(F.array_union("replicas", "adding"), "removing").alias("replicas"),
        "adding",
        "leader",
        "isr",
        "bytes",
        *RATES,
    )


def _loads(partitions: DataFrame, brokers: DataFrame, sizes: DataFrame) -> DataFrame:
    replicas = F.explode("replicas").alias("broker")
    assigned = partitions.select("at", *PARTITION, replicas, "adding", "leader", "bytes", *RATES)
    replica_sizes = sizes.groupBy("at", *PARTITION, "broker").agg(F.max("bytes").alias("replica_bytes"))
    leads = F.col("leader") == F.col("broker")
    to_come = F.array_contains("adding", F.col("broker")) & F.col("replica_bytes").isNull()
    held = assigned.join(replica_sizes, ["at", *PARTITION, "broker"], "left").select(
        "at",
        "broker",
        F.coalesce("replica_bytes", "bytes").alias("size"),
        leads.cast("long").alias("leads"),
        F.when(to_come, F.col("bytes")).alias("comes"),
        F.col("produce_rate").alias("produce"),
        F.col("fetch_rate").alias("potential_out"),
        *(F.when(leads, F.col(rate)).alias(name) for name, rate in _OF_LEADERS.items()),
    )
    sums = held.groupBy("at", "broker").agg(
        F.coalesce(F.sum("size"), F.lit(0)).alias("bytes"),
        F.count("*").alias("replicas"),
        F.sum("leads").alias("leaders"),
        F.sum(F.col("size").isNull().cast("long")).alias("unknown"),
        F.coalesce(F.sum("comes"), F.lit(0)).alias("comes"),
        *(F.sum(name).alias(name) for name in RATE_MEASURES),
    )
    every = brokers.join(sums, ["at", "broker"], "left")
    every = every.na.fill(0, ["bytes", "replicas", "leaders", "unknown", "comes"])
    capacity, free = F.col("capacity_bytes"), F.col("free_bytes")
    contradicts = (capacity < 0) | (free < 0) | (free > capacity)
    is_disk = ~F.coalesce(contradicts, F.lit(False))
    # A network file system tells almost 2**63: sums would not fit. `least` alone takes null for the largest.
    room = F.when(free.isNotNull(), F.least(free, F.lit(4 * MOST_BYTES)))
    return every.select(
        *("at", "broker", "rack", "live", "bytes", "replicas", "leaders", "unknown"),
        F.when(is_disk, capacity).alias("capacity"),
        F.when(is_disk, F.coalesce(F.col("bytes") - F.col("comes") + room, capacity)).alias("holdable"),
        *RATE_MEASURES,
    ).orderBy("at", "broker")


def _drift(partitions: DataFrame, events: DataFrame | None) -> DataFrame:
    over_time = Window.partitionBy(*PARTITION).orderBy("at")
    factors = partitions.select("at", *PARTITION, F.size("replicas").alias("factor"))
    changed = (
        factors.withColumn("before", F.lag("factor").over(over_time))
        .withColumn("after", F.col("factor"))
        .withColumn("seen_before", F.lag("at").over(over_time))
        .where("before is not null and before != after")
        .select(*PARTITION, "before", "after", "seen_before", F.col("at").alias("seen"))
    )
    if events is None:
        unknown = [F.lit(None).cast(kind).alias(name) for name, kind in _REQUEST.items()]
        return changed.select("*", *unknown).orderBy("seen", *PARTITION)
    requests = events.where(
        F.col("event").isin(*_TARGET_EVENTS) & F.col("target").isNotNull() & (F.size("target") != F.size("original"))
    ).select(
        *PARTITION,
        F.col("at").alias("when"),
        "who",
        "route",
        "reason",
        F.size("target").alias("after"),
        F.struct(*event_files.ORDER).alias("order"),
    )
    joined = changed.join(requests, [*PARTITION, "after"], "left").withColumn(
        "between", F.col("when").between(F.col("seen_before"), F.col("seen"))
    )
    found = joined.groupBy(*PARTITION, "before", "after", "seen_before", "seen").agg(
        F.max_by(F.when(F.col("between"), F.struct("when", "who", "route", "reason")),
                 F.when(F.col("between"), F.col("order"))).alias("request")
    )  # fmt: skip
    known = [F.col(f"request.{name}").alias(name) for name in _REQUEST]
    return found.select(*PARTITION, "before", "after", "seen_before", "seen", *known).orderBy("seen", *PARTITION)


_REQUEST = {"when": "long", "who": "string", "route": "string", "reason": "string"}


def _mixed(partitions: DataFrame) -> DataFrame:
    factors = partitions.select("topic", F.size("replicas").alias("factor"))
    grouped = factors.groupBy("topic").agg(
        F.min("factor").alias("least"), F.max("factor").alias("most"), F.count("*").alias("partitions")
    )
    return grouped.where("least != most").orderBy("topic")


def _rack_violations(partitions: DataFrame, brokers: DataFrame) -> DataFrame:
    """Partitions on fewer racks than both their replicas and the cluster's racks, or with more replicas in one rack
    than needed (⌈replicas / racks⌉, more where racks have too few live brokers).
    """
    racks = brokers.where("rack is not null").select("broker", "rack")
    sizes = brokers.where("live and rack is not null").groupBy("rack").agg(F.count("*").alias("size"))
    live_racks = sizes.agg(F.count("*").alias("rack_count"), F.collect_list("size").alias("sizes")).select(
        "rack_count",
        F.expr(
            "transform(sequence(1, coalesce(array_max(sizes), 1)), "
            "most -> aggregate(sizes, 0L, (sum, size) -> sum + least(size, most)))"
        ).alias("room"),
    )
    placed = (
        partitions.select(*PARTITION, "replicas", F.posexplode("replicas").alias("place", "broker"))
        .join(F.broadcast(racks), "broker", "left")
        .groupBy(*PARTITION, "replicas")
        .agg(
            F.count_distinct("rack").alias("on_racks"),
            F.sum(F.col("rack").isNull().cast("int")).alias("without"),
            F.array_sort(F.collect_list(F.struct("place", "rack"))).rack.alias("racks"),
        )
    )
    in_one = "array_max(transform(array_distinct(racks), rack -> size(filter(racks, other -> other = rack))))"
    compared = placed.crossJoin(F.broadcast(live_racks)).select(
        *PARTITION,
        "replicas",
        "racks",
        "on_racks",
        F.least(F.size("replicas"), F.col("rack_count")).alias("possible"),
        F.expr(in_one).alias("in_one"),
        F.expr("1 + size(filter(room, holds -> holds < size(replicas)))").alias("needed"),
        "without",
    )
    violated = "without = 0 and (on_racks < possible or in_one > needed)"
    return compared.where(violated).drop("without").orderBy(*PARTITION)


def _under_replicated(partitions: DataFrame, last_partitions: DataFrame) -> DataFrame:
    """`since`: the first of the snapshots in a row that show it. An adding replica outside the ISR does not count."""
    now = _with_missing(last_partitions).where("size(missing) > 0")
    earlier = _with_missing(partitions).join(now.select(*PARTITION), [*PARTITION], "left_semi")
    seen = earlier.groupBy(*PARTITION).agg(
        F.max(F.when(F.size("missing") == 0, F.col("at"))).alias("in_sync"),
        F.collect_list(F.when(F.size("missing") > 0, F.col("at"))).alias("behind"),
    )
    after_in_sync = F.filter("behind", lambda at: F.col("in_sync").isNull() | (at > F.col("in_sync")))
    since = seen.select(*PARTITION, F.array_min(after_in_sync).alias("since"))
    return now.join(since, [*PARTITION]).select(*PARTITION, "replicas", "isr", "missing", "since").orderBy(*PARTITION)


def _with_missing(partitions: DataFrame) -> DataFrame:
    missing = F.array_except(F.array_except("replicas", "adding"), "isr")
    return partitions.select("at", *PARTITION, "replicas", "isr", missing.alias("missing"))
