from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline.planning.verify_figures import SnapshotSums
from kafka_reassign_rpc.pipeline.planning.verify_rows import BrokerDelta

_RATES = {"produce": "produce_rate", "fetch": "fetch_rate", "messages": "message_rate", "cpu": "cpu_rate"}
_OF_LEADERS = {"fetch": "fetch", "bytes_in": "produce", "messages_in": "messages", "cpu": "cpu"}
"""Figures of the leader alone, and the rates that they sum."""


def sums_of(partitions: DataFrame) -> SnapshotSums:
    """One pass: a row for each broker, and one without a broker for all partitions."""
    name = f.concat("topic", f.lit("-"), f.col("partition").cast("string")).alias("name")
    rows = partitions.withColumn("usable", is_usable()).select("usable", "bytes", "replicas", name, *whole_rates())
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
        *(f.sum(f.when(leads, f.col(rate)).otherwise(zero)).alias(name) for name, rate in _OF_LEADERS.items()),
        f.sum("fetch").alias("potential_out"),
        f.count_if(usable & f.col("bytes").isNull()).alias("unknown"),
        f.count_if(known).alias("known"),
        f.max(f.when(alone & (f.col("bytes") > 0), f.struct("bytes", "name"))).alias("largest"),
    )
    sums = SnapshotSums()
    for row in found.collect():
        if row["broker"] is not None:
            sums.loads[row["broker"]] = BrokerDelta(*(row[name] for name in BrokerDelta._fields))
            continue
        sums.partitions, sums.unknown_sizes = row["replicas"], row["unknown"]
        sums.known, sums.known_bytes = row["known"], row["bytes"]
        sums.largest = None if row["largest"] is None else tuple(row["largest"])
    return sums


def is_usable() -> Column:
    """As `SnapshotRows.usable`."""
    strangers = f.array_except(f.array_union("isr", f.array("leader")), f.concat("replicas", f.array(f.lit(-1))))
    distinct = f.size(f.array_distinct("replicas")) == f.size("replicas")
    return (f.size("replicas") > 0) & distinct & (f.size(strangers) == 0)


def whole_rates() -> list[Column]:
    return [f.coalesce(f.col(of), f.lit(0.0)).cast("bigint").alias(name) for name, of in _RATES.items()]
