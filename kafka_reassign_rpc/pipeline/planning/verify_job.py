"""The verify job: checks a plan against its snapshot, every hard rule.

It shares no code with the planner. Spark joins what the tables and files of plan and snapshot say of each partition.
`verify_rows` looks at the rows and adds them up; `plan_rules` has the rules of a move, `verify_limits` the limits of
batches and brokers, `verify_room` the room of brokers. A plan that breaks no rule gives an empty list.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain, islice
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.planning.plan_rules import (
    DRAIN,
    HEAL,
    RACKS,
    SET_FACTOR,
    ListedBroker,
    PlanFacts,
    RuleViolation,
)
from kafka_reassign_rpc.pipeline.planning.verify_limits import brokers_over_limits, faults_of_batches
from kafka_reassign_rpc.pipeline.planning.verify_room import broker_spaces, overfull_brokers
from kafka_reassign_rpc.pipeline.planning.verify_rows import NAMED_ROWS, CheckedRows, PlannedPartition, check_rows
from kafka_reassign_rpc.pipeline.plans import plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.spark_session import SMALL_ROWS
from kafka_reassign_rpc.pipeline.store_paths import StorePath, spark_uri

_PARTITION = ("topic", "partition")
_BATCH_FILE = (
    "partitions array<struct<topic: string, partition: int, replicas: array<int>, expected_replicas: array<int>, "
    "first_leader: int>>"
)


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
    concerned = _concerned(facts, listed, racks=requested.racks)
    few = max(summary.moves, snapshot_files.count_partitions(path)) <= SMALL_ROWS
    checked = _check_rows(_planned_partitions(spark, path, plan, concerned), facts, few=few)
    found = [
        RuleViolation(rule, f"{topic}-{partition}", detail)
        for rule, rows in sorted(checked.named.items())
        for topic, partition, detail in rows
    ]
    found += [
        RuleViolation("capacity", f"broker {broker}", detail)
        for broker, detail in overfull_brokers(broker_spaces(path, requested.headroom), checked.arriving)
    ]
    found += islice(brokers_over_limits(checked.brokers, requested), NAMED_ROWS)
    return found + faults_of_batches(checked.batches, summary)


def _planned_partitions(spark: SparkSession, path: StorePath, plan: StorePath, concerned: Column) -> DataFrame:
    """A row for each partition that the plan names or should name: the values of `PlannedPartition`.

    A full join of the snapshot with the tables and files of the plan. These come together by one grouping.
    """
    moves, left_out = (
        spark.read.schema(parquet_files.spark_schema(schema)).parquet(spark_uri(plan / name))
        for name, schema in ((plan_writer.MOVES, plan_writer.MOVES_SCHEMA),
                             (plan_writer.LEFT_OUT, plan_writer.LEFT_OUT_SCHEMA))
    )  # fmt: skip
    columns = ("from_replicas", "to_replicas", "leader", "bytes", "batch", "priority", "first_leader")
    tables = {
        "moves": moves.select(*_PARTITION, f.struct(*columns).alias("moves")),
        "forward": _entries(spark, plan / BATCHES, "forward"),
        "back": _entries(spark, plan / plan_writer.ROLLBACK, "back"),
        "left_out": left_out.where("reason != ''").select(*_PARTITION, f.lit(True).alias("left_out")),
    }
    rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), tables.values())
    named = rows.groupBy(*_PARTITION).agg(*(f.collect_list(name).alias(name) for name in tables))
    known = _as_known(snapshot_files.data_frame(spark, path, "partitions"), concerned)
    either = named.withColumn("named", f.lit(True)).join(known, [*_PARTITION], "full")
    return either.where("named or concerned").select(*PlannedPartition._fields)


def _entries(spark: SparkSession, directory: StorePath, name: str) -> DataFrame:
    """The entries of the JSON files of a directory, each as a `FileEntry`."""
    files = spark.read.schema(_BATCH_FILE).option("multiLine", True).json(spark_uri(directory))
    number = f.regexp_extract(f.input_file_name(), r"-(\d+)\.json$", 1).cast("int")
    return files.select(number.alias("number"), f.explode("partitions").alias("entry")).select(
        *(f.col(f"entry.{one}").alias(one) for one in _PARTITION),
        f.struct("number", "entry.replicas", "entry.expected_replicas", "entry.first_leader").alias(name),
    )


def _as_known(partitions: DataFrame, concerned: Column) -> DataFrame:
    """What the snapshot says of a partition."""
    return partitions.select(
        *_PARTITION,
        "replicas",
        "leader",
        "isr",
        ((f.size("adding") + f.size("removing") > 0) | f.coalesce("waiting", f.lit(False))).alias("in_flight"),
        f.col("bytes").alias("size"),
        concerned.alias("concerned"),
    )


def _check_rows(rows: DataFrame, facts: PlanFacts, *, few: bool) -> CheckedRows:
    """Few rows here, which takes less than a Python worker's start."""
    if few:
        return check_rows(rows.collect(), facts)

    def of_task(found: Iterable[Any]) -> Iterator[CheckedRows]:
        yield check_rows(found, facts)

    checked = CheckedRows()
    for of_one in rows.rdd.mapPartitions(of_task).collect():
        checked.add(of_one)
    return checked


def _concerned(facts: PlanFacts, listed: Sequence[ListedBroker], *, racks: bool) -> Column:
    """Whether the goal forces a change of a partition of the snapshot: it is moved, or left out with a reason."""
    forces = f.lit(False)
    if racks or facts.kind == RACKS:
        forces = _uneven_over_racks(listed)
    elif facts.kind == SET_FACTOR:
        forces = f.size("replicas") != facts.factor
    elif facts.kind == DRAIN or (facts.kind == HEAL and facts.named):
        forces = f.arrays_overlap("replicas", _ids(facts.named))
    elif facts.kind == HEAL:
        forces = f.size(f.array_except("replicas", _ids(facts.live))) > 0
    return forces & f.col("topic").isin(*facts.topics) if facts.topics else forces


def _uneven_over_racks(brokers: Sequence[ListedBroker]) -> Column:
    """All replicas on brokers with racks, in fewer of them than replicas and than racks with a live broker, or more in
    one of them than needed."""
    racks: dict[str, list[int]] = {}
    for broker in brokers:
        if broker.rack:
            racks.setdefault(broker.rack, []).append(broker.id)
    live = Counter(broker.rack for broker in brokers if broker.live and broker.rack)
    room = [sum(min(size, most) for size in live.values()) for most in range(1, max(live.values(), default=0) + 1)]
    held = [f.size(f.array_intersect("replicas", _ids(ids))) for ids in racks.values()]
    on_racks = reduce(Column.__add__, [(count > 0).cast("int") for count in held], f.lit(0))
    with_racks = f.size(f.array_except("replicas", _ids(chain.from_iterable(racks.values())))) == 0
    needed = 1 + f.size(f.filter(_ids(room), lambda holds: holds < f.size("replicas")))
    fewer = on_racks < f.least(f.size("replicas"), f.lit(len(live)))
    return with_racks & (fewer | (f.greatest(f.lit(0), f.lit(0), *held) > needed))


def _ids(brokers: Iterable[int]) -> Column:
    return f.array(*[f.lit(broker) for broker in sorted(brokers)]).cast("array<int>")
