"""The verify job: checks a plan against its snapshot, every hard rule.

It shares no code with the planner. What concerns a move by itself is in `plan_rules`, the room of brokers in
`verify_room`; the rest are joins and sums over the files of plan and snapshot. A plan that breaks no rule gives an
empty list.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from heapq import merge
from itertools import chain, islice
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.planning.plan_rules import (
    DRAIN,
    EXPAND,
    HEAL,
    RACKS,
    SET_FACTOR,
    ListedBroker,
    MovedPartition,
    PlanFacts,
    broken_rules,
)
from kafka_reassign_rpc.pipeline.planning.verify_room import overfull_brokers
from kafka_reassign_rpc.pipeline.plans import plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, PlanSummary
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.spark_session import SMALL_ROWS
from kafka_reassign_rpc.pipeline.store_paths import StorePath, spark_uri
from kafka_reassign_rpc.support.counted import counted

_NAMED_ROWS = 20
_BATCH_FILE = (
    "partitions array<struct<topic: string, partition: int, replicas: array<int>, expected_replicas: array<int>, "
    "first_leader: int>>"
)


class RuleViolation(NamedTuple):
    """A rule, and the row that breaks it. `name`: of a partition, a broker or a batch."""

    rule: str
    name: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.name}: {self.detail}"


def verify(spark: SparkSession, path: StorePath, plan: StorePath) -> list[RuleViolation]:
    """The rules that the plan breaks, with the first rows for each. Raises BadInput for unreadable files."""
    meta, summary = snapshot_files.check(path), plan_writer.check(plan)
    if (meta.cluster_id, meta.at) != (summary.cluster_id, summary.at):
        raise BadInput(f"{plan}: was made from another snapshot than {path} (cluster {summary.cluster_id})")
    requested = summary.requested
    listed = [
        ListedBroker(row["broker"], row["rack"], row["live"])
        for row in snapshot_files.read(path, "brokers").to_pylist()
    ]
    facts = PlanFacts.of(summary.kind, listed, requested.brokers, requested.factor, requested.topics)
    partitions = snapshot_files.data_frame(spark, path, "partitions")
    moves, left_out = (
        spark.read.schema(parquet_files.spark_schema(schema)).parquet(spark_uri(plan / name))
        for name, schema in ((plan_writer.MOVES, plan_writer.MOVES_SCHEMA),
                             (plan_writer.LEFT_OUT, plan_writer.LEFT_OUT_SCHEMA))
    )  # fmt: skip
    joined = moves.join(_as_known(partitions), ["topic", "partition"], "left").persist()
    try:
        found = _check_moves(joined, facts, summary.moves)
        found += _check_moved_once(joined)
        concerned = _on_few_racks(listed) if requested.racks or facts.kind == RACKS else _concerned(facts)
        found += _check_all_are_named(partitions, moves, left_out, concerned, facts.topics)
        found += [
            RuleViolation("capacity", f"broker {broker}", detail)
            for broker, detail in sorted(overfull_brokers(spark, path, joined, requested.headroom).items())
        ]
        found += _check_broker_limits(joined, summary)
        found += _check_batches(joined, summary)
        found += _check_files(spark, joined, plan, BATCHES, "to_replicas", "from_replicas")
        found += _check_files(spark, joined, plan, plan_writer.ROLLBACK, "from_replicas", "to_replicas")
    finally:
        joined.unpersist()
    return found


def _as_known(partitions: DataFrame) -> DataFrame:
    """What the snapshot says of a partition, under names that the table of moves does not have."""
    return partitions.select(
        "topic",
        "partition",
        f.col("replicas").alias("replicas_in_snapshot"),
        f.col("leader").alias("leader_in_snapshot"),
        f.col("isr").alias("isr_in_snapshot"),
        ((f.size("adding") + f.size("removing") > 0) | f.coalesce("waiting", f.lit(False))).alias("in_flight"),
        f.col("bytes").alias("size"),
    )


_MOVED_PARTITION = (
    *("topic", "partition", "from_replicas", "to_replicas", "bytes"),
    *("replicas_in_snapshot", "leader_in_snapshot", "isr_in_snapshot", "in_flight", "size", "first_leader"),
)
"""The columns of MovedPartition, in its order."""

_Named = dict[str, list[tuple[str, int, str]]]
"""By rule: the first rows that break it, in order of topic and partition, each with its replicas."""


def _check_moves(joined: DataFrame, facts: PlanFacts, moves: int) -> list[RuleViolation]:
    """The rules that concern each move by itself: of few moves here, which takes less than a Python worker's start."""

    def of_task(rows: Iterable[Any]) -> Iterator[_Named]:
        found: _Named = {}
        for row in rows:
            move = MovedPartition(*row)
            for rule in broken_rules(move, facts):
                one = (move.topic, move.partition, f"{list(move.original)} to {list(move.target)}")
                found[rule] = sorted([*found.get(rule, ()), one])[:_NAMED_ROWS]
        yield found

    # Merged here: executors do not import this module, which needs more than they have (see `executor_packages`)
    rows = joined.select(*_MOVED_PARTITION)
    parts = of_task(rows.collect()) if moves <= SMALL_ROWS else rows.rdd.mapPartitions(of_task).collect()
    named: _Named = reduce(_merged, parts, {})
    return [
        RuleViolation(rule, f"{topic}-{partition}", detail)
        for rule, rows in sorted(named.items())
        for topic, partition, detail in rows
    ]


def _merged(one: _Named, other: _Named) -> _Named:
    return {
        rule: list(islice(merge(one.get(rule, []), other.get(rule, [])), _NAMED_ROWS)) for rule in one.keys() | other
    }


def _check_all_are_named(
    partitions: DataFrame, moves: DataFrame, left_out: DataFrame, concerned: Column | None, topics: frozenset[str]
) -> list[RuleViolation]:
    """What a goal forces is either moved or left out with a reason: no partition is forgotten."""
    if concerned is None:
        return []
    if topics:
        concerned &= f.col("topic").isin(*topics)
    names = moves.select("topic", "partition").unionByName(left_out.where("reason != ''").select("topic", "partition"))
    missing = partitions.where(concerned).join(names, ["topic", "partition"], "left_anti")
    return [
        RuleViolation("forgotten", f"{row['topic']}-{row['partition']}", f"{row['replicas']}")
        for row in missing.orderBy("topic", "partition").limit(_NAMED_ROWS).collect()
    ]


def _concerned(facts: PlanFacts) -> Column | None:
    """Whether the goal forces a change of a partition of the snapshot."""
    if facts.kind == SET_FACTOR:
        return f.size("replicas") != facts.factor
    if facts.kind == DRAIN or (facts.kind == HEAL and facts.named):
        return f.arrays_overlap("replicas", _ids(facts.named))
    return f.size(f.array_except("replicas", _ids(facts.live))) > 0 if facts.kind == HEAL else None


def _on_few_racks(brokers: Sequence[ListedBroker]) -> Column:
    """All replicas on brokers with racks, in fewer of them than replicas and than racks with a live broker."""
    racks: dict[str, list[int]] = {}
    for broker in brokers:
        if broker.rack:
            racks.setdefault(broker.rack, []).append(broker.id)
    live = {broker.rack for broker in brokers if broker.live and broker.rack}
    held = [f.arrays_overlap("replicas", _ids(ids)).cast("int") for ids in racks.values()]
    with_racks = f.size(f.array_except("replicas", _ids(chain.from_iterable(racks.values())))) == 0
    return with_racks & (reduce(Column.__add__, held, f.lit(0)) < f.least(f.size("replicas"), f.lit(len(live))))


def _ids(brokers: Iterable[int]) -> Column:
    return f.array(*[f.lit(broker) for broker in sorted(brokers)]).cast("array<int>")


def _check_moved_once(joined: DataFrame) -> list[RuleViolation]:
    found = joined.groupBy("topic", "partition").count().where("count > 1").orderBy("topic", "partition")
    return [
        RuleViolation("moved-twice", f"{row['topic']}-{row['partition']}", f"{row['count']} rows")
        for row in found.limit(_NAMED_ROWS).collect()
    ]


def _check_broker_limits(joined: DataFrame, summary: PlanSummary) -> list[RuleViolation]:
    """The limits of each broker in each batch; a single move may be larger than a limit on bytes."""
    requested = summary.requested
    new = f.array_except("to_replicas", "from_replicas")
    copying = joined.where(f.size(new) > 0)
    receiving = copying.select(
        "batch", f.explode(new).alias("broker"), f.floor(f.col("bytes") / f.size(new)).alias("got")
    )
    sender = f.coalesce("first_leader", "leader")
    sending = copying.where(sender >= 0).select("batch", sender.alias("broker"), f.col("bytes").alias("sent"))
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
            f"broker {row['broker']} has {counted(row['moves'], 'move')},"
            f" receives {row['got']} and sends {row['sent']} bytes",
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
            found.append(RuleViolation("limits-of-a-batch", name, counted(row["moves"], "move")))
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
                "summary",
                "moves",
                f"{counted(summary.moves, 'move')} of {summary.bytes} bytes do not match the table of moves",
            )
        )
    if 0 <= requested.max_bytes < summary.bytes and summary.kind in ("rebalance", EXPAND):
        found.append(RuleViolation("max-bytes", "plan", f"copies {summary.bytes} bytes"))
    return found[:_NAMED_ROWS]


def _check_files(
    spark: SparkSession, joined: DataFrame, plan: StorePath, directory: str, replicas: str, expected: str
) -> list[RuleViolation]:
    """The JSON files hold the same as the table of moves: the batches forward, the rollback back."""
    files = spark.read.schema(_BATCH_FILE).option("multiLine", True).json(spark_uri(plan / directory))
    number = f.regexp_extract(f.input_file_name(), r"-(\d+)\.json$", 1).cast("int")
    entries = files.select(number.alias("number"), f.explode("partitions").alias("entry")).select(
        f.col("entry.topic").alias("topic"),
        f.col("entry.partition").alias("partition"),
        "number",
        f.col("entry.replicas").alias("replicas"),
        f.col("entry.expected_replicas").alias("expected"),
        f.col("entry.first_leader").alias("first"),
    )
    leader = f.col("first_leader") if directory == BATCHES else f.lit(None).cast("int").alias("first_leader")
    both = joined.select("topic", "partition", "batch", replicas, expected, leader).join(
        entries, ["topic", "partition"], "full"
    )
    same = (
        f.col("batch").eqNullSafe(f.col("number"))
        & f.col(replicas).eqNullSafe(f.col("replicas"))
        & f.col(expected).eqNullSafe(f.col("expected"))
        & f.col("first_leader").eqNullSafe(f.col("first"))
    )
    return [
        RuleViolation(directory, f"{row['topic']}-{row['partition']}", f"batch {row['batch']}, file {row['number']}")
        for row in both.where(~same).orderBy("topic", "partition").limit(_NAMED_ROWS).collect()
    ]
