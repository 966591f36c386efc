"""What the verifier reads of a plan and its snapshot by Spark."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import chain
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.planning.verify_figures import SnapshotSums
from kafka_reassign_rpc.pipeline.planning.verify_files import MOVES_DIRS
from kafka_reassign_rpc.pipeline.planning.verify_rows import (
    CheckedRows,
    PlannedPartition,
    check_room,
    check_rows,
)
from kafka_reassign_rpc.pipeline.planning.verify_rules import (
    SET_FACTOR,
    ListedBroker,
    PlanFacts,
    RuleViolation,
)
from kafka_reassign_rpc.pipeline.planning.verify_sums import is_usable, sums_of, whole_rates
from kafka_reassign_rpc.pipeline.planning.verify_topics import PIECE, TopicHeld
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.spark_session import SMALL_ROWS
from kafka_reassign_rpc.pipeline.store_paths import StorePath, spark_uri

_PARTITION = ("topic", "partition")
_BATCH_FILE = (
    "partitions array<struct<topic: string, partition: int, replicas: array<int>, expected_replicas: array<int>, "
    "first_leader: int, log_dirs: array<string>>>, topic_ids map<string, string>, version int"
)


class TablesOnSpark:
    def __init__(self, spark: SparkSession, path: StorePath, plan: StorePath, moves: int) -> None:
        """`moves`: the plan's own count."""
        self._spark, self._path, self._plan, self._moves = spark, path, plan, moves
        self._partitions = snapshot_files.data_frame(spark, path, "partitions")

    def sums(self) -> SnapshotSums:
        found = sums_of(self._partitions)
        self._few = max(self._moves, found.partitions) <= SMALL_ROWS
        return found

    def check(self, facts: PlanFacts, listed: Sequence[ListedBroker]) -> CheckedRows:
        concerned = _concerned(facts, listed)
        self._rows = _planned_partitions(self._spark, self._path, self._plan, concerned)
        return _check_rows(self._rows, partial(check_rows, facts=facts), few=self._few)

    def check_room(self, facts: PlanFacts, rooms: Mapping[int, int | None]) -> CheckedRows:
        left_out = self._rows.where("left_out is not null")
        return _check_rows(left_out, partial(check_room, facts=facts, rooms=rooms), few=self._few)

    def odd_files(self) -> Iterator[RuleViolation]:
        return _odd_files(self._spark, self._plan)

    def held_by_topic(self, facts: PlanFacts, *, after: bool) -> Iterator[TopicHeld]:
        stood = self._partitions.select(*_PARTITION, "replicas")
        if facts.topics:
            stood = stood.where(f.col("topic").isin(*facts.topics))
        if after:
            schema = parquet_files.spark_schema(plan_writer.MOVES_SCHEMA)
            moves = self._spark.read.schema(schema).parquet(spark_uri(self._plan / plan_directory.MOVES))
            targets = moves.select(*_PARTITION, f.col("to_replicas").alias("target"))
            moved = stood.join(targets, [*_PARTITION], "left")
            stood = moved.select(*_PARTITION, f.coalesce("target", "replicas").alias("replicas"))
        piece = f.floor(f.col("partition") / PIECE).cast("int").alias("piece")
        each = stood.select("topic", piece, f.posexplode("replicas").alias("place", "broker"))
        sums = each.groupBy("topic", "piece", "broker").agg(f.count("*"), f.count_if(f.col("place") == 0))
        for row in sums.orderBy("topic", "piece").toLocalIterator():
            yield TopicHeld(*row)


def _planned_partitions(spark: SparkSession, path: StorePath, plan: StorePath, concerned: Column) -> DataFrame:
    """A row with the values of `PlannedPartition` for each partition that the plan names or should name: a full join
    of snapshot, tables and files, which one grouping brings together.
    """
    moves, left_out = (
        spark.read.schema(parquet_files.spark_schema(schema)).parquet(spark_uri(plan / name))
        for name, schema in ((plan_directory.MOVES, plan_writer.MOVES_SCHEMA),
                             (plan_directory.LEFT_OUT, plan_writer.LEFT_OUT_SCHEMA))
    )  # fmt: skip
    columns = (
        "from_replicas",
        "to_replicas",
        "leader",
        "bytes",
        "batch",
        "priority",
        "first_leader",
        "start",
        "reason",
    )
    tables = {
        "moves": moves.select(*_PARTITION, f.struct(*columns).alias("moves")),
        "forward": _entries(spark, plan / BATCHES, "forward"),
        "back": _entries(spark, plan / ROLLBACK, "back"),
        "left_out": left_out.select(*_PARTITION, f.struct("replicas", "reason", "bytes").alias("left_out")),
    }
    rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), tables.values())
    named = rows.groupBy(*_PARTITION).agg(*(f.collect_list(name).alias(name) for name in tables))
    ids = spark.createDataFrame(snapshot_files.read(path, "topics"))
    known = _as_known(snapshot_files.data_frame(spark, path, "partitions").join(ids, "topic", "left"), concerned)
    either = named.withColumn("named", f.lit(True)).join(known, [*_PARTITION], "full")
    return either.where("named or concerned").select(*PlannedPartition._fields)


def _entries(spark: SparkSession, directory: StorePath, name: str) -> DataFrame:
    files = spark.read.schema(_BATCH_FILE).option("multiLine", True).json(spark_uri(directory))
    number = f.regexp_extract(f.input_file_name(), r"-(\d+)\.json$", 1).cast("int")
    at = f.col("at") if name == "forward" else f.size("partitions") - 1 - f.col("at")
    entries = files.select(
        number.alias("number"), "partitions", "topic_ids", f.posexplode("partitions").alias("at", "entry")
    )
    values = ("number", "entry.replicas", "entry.expected_replicas", "entry.first_leader")
    return entries.select(
        *(f.col(f"entry.{one}").alias(one) for one in _PARTITION),
        f.struct(*values, f.col("topic_ids")[f.col("entry.topic")].alias("topic_id"), at.alias("place")).alias(name),
    )


def _odd_files(spark: SparkSession, plan: StorePath) -> Iterator[RuleViolation]:
    for directory in (BATCHES, ROLLBACK):
        files = spark.read.schema(_BATCH_FILE).option("multiLine", True).json(spark_uri(plan / directory))
        topics = f.array_except(f.map_keys("topic_ids"), f.transform("partitions", lambda one: one["topic"]))
        odd = files.select(f.input_file_name().alias("name"), topics.alias("topics"), "version")
        for row in odd.where("version is null or version != 1 or size(topics) > 0").toLocalIterator():
            detail = f"has ids of {', '.join(row['topics'][:5])}" if row["topics"] else f"has version {row['version']}"
            yield RuleViolation("topic-id" if row["topics"] else "batches", row["name"].rpartition("/")[2], detail)
        of_dirs = f.filter("partitions", lambda one: one["log_dirs"].isNotNull())
        first = files.select(f.input_file_name().alias("name"), f.try_element_at(of_dirs, f.lit(1)).alias("first"))
        for row in first.where("first is not null").toLocalIterator():
            of = f"{row['first']['topic']}-{row['first']['partition']}"
            yield RuleViolation("batches", row["name"].rpartition("/")[2], f"names log dirs of {of}: {MOVES_DIRS}")


def _as_known(partitions: DataFrame, concerned: Column) -> DataFrame:
    return partitions.select(
        *_PARTITION,
        "replicas",
        "leader",
        "isr",
        _in_flight().alias("in_flight"),
        f.col("bytes").alias("size"),
        concerned.alias("concerned"),
        f.array_except(f.array_union("replicas", "adding"), "removing").alias("destination"),
        *whole_rates(),
        "topic_id",
    )


def _check_rows(rows: DataFrame, check: Callable[[Iterable[Any]], CheckedRows], *, few: bool) -> CheckedRows:
    """Few are checked here: a Python worker takes longer to start."""
    if few:
        return check(rows.collect())

    def of_task(found: Iterable[Any]) -> Iterator[CheckedRows]:
        yield check(found)

    checked = CheckedRows()
    for of_one in rows.rdd.mapPartitions(of_task).collect():
        checked.add(of_one)
    return checked


def _concerned(facts: PlanFacts, listed: Sequence[ListedBroker]) -> Column:
    """As `SnapshotRows.concerned`."""
    is_small = f.coalesce(f.col("bytes") < facts.least_bytes, f.lit(False))
    forces = _cannot_move(facts) & ~is_small if facts.balances else f.lit(False)
    if facts.mends:
        forces = forces | _uneven_over_racks(listed)
    elif facts.kind == SET_FACTOR:
        forces = f.size("replicas") != facts.factor
    elif facts.demoted:
        forces = f.arrays_overlap(f.concat(f.slice("replicas", 1, 1), f.array("leader")), _ids(facts.demoted))
    if facts.drained or facts.healed:
        forces = forces | f.arrays_overlap("replicas", _ids(facts.drained | facts.healed))
    if facts.heals and not facts.healed:
        forces = forces | (f.size(f.array_except("replicas", _ids(facts.live))) > 0)
    return forces & f.col("topic").isin(*facts.topics) if facts.topics else forces


def _cannot_move(facts: PlanFacts) -> Column:
    has_lost = f.size(f.array_except("replicas", _ids(facts.live))) > 0
    return _in_flight() | has_lost | ~f.arrays_overlap("isr", _ids(facts.live)) | ~is_usable()


def _in_flight() -> Column:
    return (f.size("adding") + f.size("removing") > 0) | f.coalesce("waiting", f.lit(False))


def _uneven_over_racks(brokers: Sequence[ListedBroker]) -> Column:
    """As `verify_concerned._uneven_over_racks`."""
    racks: dict[str, list[int]] = {}
    for broker in brokers:
        if broker.rack:
            racks.setdefault(broker.rack, []).append(broker.id)
    live = [broker for broker in brokers if broker.live and broker.rack]
    free = Counter(broker.rack for broker in live if not broker.cordoned)
    closed: dict[str | None, list[int]] = {}
    for broker in live:
        if broker.cordoned:
            closed.setdefault(broker.rack, []).append(broker.id)
    alike = [size for rack, size in free.items() if rack not in closed]
    others = [f.lit(free[rack]) + f.size(f.array_intersect("replicas", _ids(ids))) for rack, ids in closed.items()]
    most_places = max((free[rack] + len(closed.get(rack, ())) for rack in {*free, *closed}), default=0)

    def holds(most: int) -> Column:
        return _sum([f.least(size, f.lit(most)) for size in others], sum(min(size, most) for size in alike))

    held = [f.size(f.array_intersect("replicas", _ids(ids))) for ids in racks.values()]
    with_racks = f.size(f.array_except("replicas", _ids(chain.from_iterable(racks.values())))) == 0
    too_few = [(holds(most) < f.size("replicas")).cast("int") for most in range(1, most_places + 1)]
    largest = f.greatest(f.lit(1), f.lit(max(alike, default=0)), *others)
    needed = f.least(_sum(too_few, 1), largest)
    possible = _sum([(size > 0).cast("int") for size in others], len(alike))
    fewer = _sum([(count > 0).cast("int") for count in held], 0) < f.least(f.size("replicas"), possible)
    return with_racks & (fewer | (f.greatest(f.lit(0), f.lit(0), *held) > needed))


def _sum(columns: Iterable[Column], start: int) -> Column:
    return reduce(Column.__add__, columns, f.lit(start))


def _ids(brokers: Iterable[int]) -> Column:
    return f.array(*[f.lit(broker) for broker in sorted(brokers)]).cast("array<int>")
