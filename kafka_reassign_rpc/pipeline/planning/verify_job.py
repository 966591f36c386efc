"""The verify job: checks a plan against its snapshot, every hard rule.

It shares no code with the planner. The rules are joins and column expressions over the files of plan and snapshot. A
plan that breaks no rule gives an empty list.
"""

from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans import plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, PlanSummary
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files

_NAMED_ROWS = 20
_NO_RACK = "\0"
_BATCH_FILE = (
    "partitions array<struct<topic: string, partition: int, replicas: array<int>, expected_replicas: array<int>>>"
)


class RuleViolation(NamedTuple):
    """A rule, and the row that breaks it. `name`: of a partition, a broker or a batch."""

    rule: str
    name: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.name}: {self.detail}"


def verify(spark: SparkSession, path: Path, plan: Path) -> list[RuleViolation]:
    """The rules that the plan breaks, with the first rows for each. Raises BadInput for unreadable files."""
    meta, summary = snapshot_files.check(path), plan_writer.check(plan)
    if (meta.cluster_id, meta.at) != (summary.cluster_id, summary.at):
        raise BadInput(f"{plan}: was made from another snapshot than {path} (cluster {summary.cluster_id})")
    brokers = snapshot_files.read(path, "brokers").to_pylist()
    snapshot_partitions = snapshot_files.data_frame(spark, path, "partitions").select(
        "topic",
        "partition",
        f.col("replicas").alias("replicas_in_snapshot"),
        f.col("leader").alias("leader_in_snapshot"),
        ((f.size("adding") + f.size("removing") > 0) | f.coalesce("waiting", f.lit(False))).alias("in_flight"),
        f.col("bytes").alias("size"),
    )
    moves = spark.read.schema(parquet_files.spark_schema(plan_writer.MOVES_SCHEMA)).parquet(
        str(plan / plan_writer.MOVES)
    )
    joined = moves.join(snapshot_partitions, ["topic", "partition"], "left").persist()
    try:
        found = _check_moves(joined, brokers, summary)
        found += _check_moved_once(joined)
        found += _check_room(joined, snapshot_partitions, brokers)
        found += _check_broker_limits(joined, summary)
        found += _check_batches(joined, summary)
        found += _check_files(spark, joined, plan, BATCHES, "to_replicas", "from_replicas")
        found += _check_files(spark, joined, plan, plan_writer.ROLLBACK, "from_replicas", "to_replicas")
    finally:
        joined.unpersist()
    return found


def _check_moves(joined: DataFrame, brokers: list[dict[str, Any]], summary: PlanSummary) -> list[RuleViolation]:
    """The rules that concern each move by itself."""
    named_brokers = summary.requested.brokers
    live = [broker["broker"] for broker in brokers if broker["live"]]
    usable = [broker for broker in live if not (summary.kind == "drain" and broker in named_brokers)]
    racks = _racks(brokers, live)
    rack_of = f.create_map(*[f.lit(part) for pair in racks.items() for part in pair])
    to, original = f.col("to_replicas"), f.col("from_replicas")
    new = f.array_except(to, original)
    reach = len({racks[broker] for broker in (named_brokers if summary.kind == "expand" else usable)})

    def spread(replicas: Column) -> Column:
        named = f.transform(replicas, lambda broker: f.coalesce(f.element_at(rack_of, broker), f.lit(_NO_RACK)))
        return f.size(f.array_distinct(named))

    rules = {
        "unknown-partition": f.col("replicas_in_snapshot").isNull(),
        "stale": f.col("replicas_in_snapshot") != original,
        "no-move": to == original,
        "in-flight": f.col("in_flight"),
        "distinct-replicas": f.size(f.array_distinct(to)) != f.size(to),
        # a replica may stay on a lost broker only where the plan heals other, named brokers
        "live-brokers": f.size(f.array_except(new if summary.kind == "heal" and named_brokers else to, _ids(usable)))
        > 0,
        "racks": spread(to) < f.least(spread(original), f.size(to), f.lit(reach)),
        "replication-factor": f.size(to)
        != (f.lit(summary.requested.factor) if summary.kind == "set-rf" else f.size(original)),
        "bytes": f.col("bytes") != f.col("size") * f.size(new),
    }
    if summary.kind == "set-rf":
        rules["leader"] = (f.col("leader_in_snapshot") >= 0) & ~f.array_contains(to, f.col("leader_in_snapshot"))
    if summary.kind in ("drain", "heal") and named_brokers:
        rules["leaves-brokers"] = f.size(f.array_intersect(to, _ids(named_brokers))) > 0
    if summary.kind == "expand":
        rules["only-to-new-brokers"] = f.size(f.array_except(new, _ids(named_brokers))) > 0
    flags = joined.select(
        "topic", "partition", "from_replicas", "to_replicas", *[broken.alias(rule) for rule, broken in rules.items()]
    ).persist()
    try:
        counts = flags.select([f.sum(f.col(f"`{rule}`").cast("int")).alias(rule) for rule in rules]).collect()[0]
        return [one for rule in rules if counts[rule] for one in _named(flags.where(f.col(f"`{rule}`")), rule)]
    finally:
        flags.unpersist()


def _racks(brokers: list[dict[str, Any]], live: list[int]) -> dict[int, str]:
    """The rack of each broker. Brokers without a rack count as one rack; where no live broker has one, all do."""
    named = {broker["broker"]: broker["rack"] or _NO_RACK for broker in brokers}
    aware = any(named[broker] != _NO_RACK for broker in live)
    return named if aware else dict.fromkeys(named, _NO_RACK)


def _ids(brokers: list[int]) -> Column:
    return f.array(*[f.lit(broker) for broker in brokers]).cast("array<int>")


def _named(rows: DataFrame, rule: str) -> list[RuleViolation]:
    found = rows.select("topic", "partition", "from_replicas", "to_replicas").orderBy("topic", "partition")
    return [
        RuleViolation(rule, f"{row['topic']}-{row['partition']}", f"{row['from_replicas']} to {row['to_replicas']}")
        for row in found.limit(_NAMED_ROWS).collect()
    ]


def _check_moved_once(joined: DataFrame) -> list[RuleViolation]:
    found = joined.groupBy("topic", "partition").count().where("count > 1").orderBy("topic", "partition")
    return [
        RuleViolation("moved-twice", f"{row['topic']}-{row['partition']}", f"{row['count']} rows")
        for row in found.limit(_NAMED_ROWS).collect()
    ]


def _check_room(
    joined: DataFrame, snapshot_partitions: DataFrame, brokers: list[dict[str, Any]]
) -> list[RuleViolation]:
    """No broker gets more bytes than it has room for now: room that moves will make does not count."""
    rooms = {broker["broker"]: broker["free_bytes"] for broker in brokers if broker["free_bytes"] is not None}
    sized = {
        broker["broker"]: broker["capacity_bytes"]
        for broker in brokers
        if broker["free_bytes"] is None and broker["capacity_bytes"] is not None
    }
    if sized:
        held = (
            snapshot_partitions.select(f.explode("replicas_in_snapshot").alias("broker"), "size")
            .groupBy("broker")
            .agg(f.sum("size").alias("size"))
        )
        held_bytes = {row["broker"]: row["size"] or 0 for row in held.collect()}
        rooms |= {broker: capacity - held_bytes.get(broker, 0) for broker, capacity in sized.items()}
    new = joined.select(f.explode(f.array_except("to_replicas", "from_replicas")).alias("broker"), "size")
    arriving = new.groupBy("broker").agg(f.sum("size").alias("size")).orderBy("broker").collect()
    return [
        RuleViolation(
            "capacity", f"broker {row['broker']}", f"gets {row['size']} bytes, has room for {rooms[row['broker']]}"
        )
        for row in arriving
        if row["size"] and row["broker"] in rooms and row["size"] > rooms[row["broker"]]
    ]


def _check_broker_limits(joined: DataFrame, summary: PlanSummary) -> list[RuleViolation]:
    """The limits of each broker in each batch; a single move may be larger than a limit on bytes."""
    requested = summary.requested
    new = f.array_except("to_replicas", "from_replicas")
    copying = joined.where(f.size(new) > 0)
    receiving = copying.select(
        "batch", f.explode(new).alias("broker"), f.floor(f.col("bytes") / f.size(new)).alias("got")
    )
    sending = copying.where("leader >= 0").select(
        "batch", f.col("leader").alias("broker"), f.col("bytes").alias("sent")
    )
    both = receiving.withColumn("sent", f.lit(None)).unionByName(sending.withColumn("got", f.lit(None)))
    sums = both.groupBy("batch", "broker").agg(
        f.count("*").alias("moves"),
        *[f.sum(name).alias(name) for name in ("got", "sent")],
        *[f.count(name).alias(f"{name}_moves") for name in ("got", "sent")],
    )
    broken = f.col("moves") > requested.moves_per_broker if requested.moves_per_broker >= 0 else f.lit(False)
    if requested.bytes_per_broker >= 0:
        for name in ("got", "sent"):
            broken |= (f.col(name) > requested.bytes_per_broker) & (f.col(f"{name}_moves") > 1)
    return [
        RuleViolation(
            "limits-of-a-broker",
            f"batch {row['batch']}",
            f"broker {row['broker']} has {row['moves']} moves, receives {row['got']} and sends {row['sent']} bytes",
        )
        for row in sums.where(broken).orderBy("batch", "broker").limit(_NAMED_ROWS).collect()
    ]


def _check_batches(joined: DataFrame, summary: PlanSummary) -> list[RuleViolation]:
    """The limits of each batch, the order of batches, and their figures in the summary."""
    requested, found = summary.requested, []
    rows = (
        joined.groupBy("batch")
        .agg(
            f.count("*").alias("moves"),
            f.sum("bytes").alias("bytes"),
            f.min("priority").alias("first"),
            f.max("priority").alias("last"),
            f.sum((f.col("bytes") > 0).cast("int")).alias("copying"),
        )
        .orderBy("batch")
        .collect()
    )
    before = -1
    for row in rows:
        name = f"batch {row['batch']}"
        if 0 <= requested.bytes_per_batch < row["bytes"] and row["copying"] > 1:
            found.append(RuleViolation("limits-of-a-batch", name, f"{row['bytes']} bytes"))
        if 0 <= requested.moves_per_batch < row["moves"]:
            found.append(RuleViolation("limits-of-a-batch", name, f"{row['moves']} moves"))
        if row["first"] < before:
            found.append(RuleViolation("order", name, f"has priority {row['first']} after priority {before}"))
        before = row["last"]
    in_summary = [(one.batch, one.moves, one.bytes) for one in summary.batches]
    in_moves = [(row["batch"], row["moves"], row["bytes"]) for row in rows]
    if in_summary != in_moves or [one[0] for one in in_summary] != list(range(1, len(in_summary) + 1)):
        found.append(RuleViolation("summary", "batches", "do not match the table of moves"))
    if (summary.moves, summary.bytes) != (sum(one[1] for one in in_moves), sum(one[2] for one in in_moves)):
        found.append(
            RuleViolation(
                "summary", "moves", f"{summary.moves} moves of {summary.bytes} bytes do not match the table of moves"
            )
        )
    if 0 <= requested.max_bytes < summary.bytes and summary.kind in ("rebalance", "expand"):
        found.append(RuleViolation("max-bytes", "plan", f"copies {summary.bytes} bytes"))
    return found[:_NAMED_ROWS]


def _check_files(
    spark: SparkSession, joined: DataFrame, plan: Path, directory: str, replicas: str, expected: str
) -> list[RuleViolation]:
    """The JSON files hold the same as the table of moves: the batches forward, the rollback back."""
    files = spark.read.schema(_BATCH_FILE).option("multiLine", True).json(str(plan / directory))
    number = f.regexp_extract(f.input_file_name(), r"-(\d+)\.json$", 1).cast("int")
    entries = files.select(number.alias("number"), f.explode("partitions").alias("entry")).select(
        f.col("entry.topic").alias("topic"),
        f.col("entry.partition").alias("partition"),
        "number",
        f.col("entry.replicas").alias("replicas"),
        f.col("entry.expected_replicas").alias("expected"),
    )
    both = joined.select("topic", "partition", "batch", replicas, expected).join(
        entries, ["topic", "partition"], "full"
    )
    same = (
        f.col("batch").eqNullSafe(f.col("number"))
        & f.col(replicas).eqNullSafe(f.col("replicas"))
        & f.col(expected).eqNullSafe(f.col("expected"))
    )
    return [
        RuleViolation(directory, f"{row['topic']}-{row['partition']}", f"batch {row['batch']}, file {row['number']}")
        for row in both.where(~same).orderBy("topic", "partition").limit(_NAMED_ROWS).collect()
    ]
