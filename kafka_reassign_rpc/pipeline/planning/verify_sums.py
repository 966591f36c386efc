"""What the figures of a plan are compared with: sums over the whole snapshot, by Spark."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline.planning.verify_figures import SnapshotSums
from kafka_reassign_rpc.pipeline.planning.verify_rows import BrokerDelta


def sums_of(partitions: DataFrame) -> SnapshotSums:
    """In one pass: a row for each broker, and one without a broker for all partitions."""
    rows = partitions.withColumn("usable", is_usable()).select("usable", "bytes", "replicas", *whole_rates())
    zero, usable = f.lit(0).cast("bigint"), f.col("usable")
    nobody = f.array(f.lit(None).cast("int"))
    brokers = f.concat(nobody, f.when(usable, f.col("replicas")).otherwise(f.array().cast("array<int>")))
    each = rows.select("*", f.posexplode(brokers).alias("place", "broker"))
    size, leads = f.coalesce("bytes", zero), f.col("place") == 1
    known, alone = usable & f.col("bytes").isNotNull(), f.col("broker").isNull()
    found = each.groupBy("broker").agg(
        f.sum(f.when(usable, size).otherwise(zero)).alias("bytes"),
        f.count("*").alias("replicas"),
        f.count_if(leads).alias("leaders"),
        f.sum("produce").alias("produce"),
        f.sum(f.when(leads, f.col("fetch")).otherwise(zero)).alias("fetch"),
        f.count_if(usable & f.col("bytes").isNull()).alias("unknown"),
        f.count_if(known).alias("known"),
        f.max(f.when(alone & (f.col("bytes") > 0), f.col("bytes"))).alias("largest"),
    )
    sums = SnapshotSums()
    for row in found.collect():
        if row["broker"] is not None:
            sums.loads[row["broker"]] = BrokerDelta(*(row[name] for name in BrokerDelta._fields))
            continue
        sums.partitions, sums.unknown_sizes = row["replicas"], row["unknown"]
        sums.known, sums.known_bytes = row["known"], row["bytes"]
        sums.largest = row["largest"]
    return sums


def is_usable() -> Column:
    """A change can begin at the partition: it has replicas, each once, and leader and ISR are among them."""
    strangers = f.array_except(f.array_union("isr", f.array("leader")), f.concat("replicas", f.array(f.lit(-1))))
    distinct = f.size(f.array_distinct("replicas")) == f.size("replicas")
    return (f.size("replicas") > 0) & distinct & (f.size(strangers) == 0)


def whole_rates() -> tuple[Column, Column]:
    """Whole bytes per second; 0: not measured."""
    produce, fetch = (
        f.coalesce(f.col(f"{name}_rate"), f.lit(0.0)).cast("bigint").alias(name) for name in ("produce", "fetch")
    )
    return produce, fetch
