"""The verify job: checks a plan against its snapshot, every hard rule, without any code of the planner.

Spark joins what the tables and files of plan and snapshot say of each partition; `verify_rows`, `plan_rules`,
`verify_limits` and `verify_room` judge.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import accumulate, chain, islice
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.planning.plan_rules import (
    SET_FACTOR,
    ListedBroker,
    PlanFacts,
    RuleViolation,
)
from kafka_reassign_rpc.pipeline.planning.verify_figures import faults_of_figures
from kafka_reassign_rpc.pipeline.planning.verify_limits import brokers_over_limits, faults_of_batches
from kafka_reassign_rpc.pipeline.planning.verify_room import (
    broker_spaces,
    certain_rooms,
    disk_sizes,
    holdable_bytes,
    overfull_brokers,
)
from kafka_reassign_rpc.pipeline.planning.verify_rows import (
    NAMED_ROWS,
    CheckedRows,
    PlannedPartition,
    check_room,
    check_rows,
)
from kafka_reassign_rpc.pipeline.planning.verify_sums import is_usable, sums_of, whole_rates
from kafka_reassign_rpc.pipeline.planning.verify_topics import faults_of_topics
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK, PlanSummary
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.spark_session import SMALL_ROWS
from kafka_reassign_rpc.pipeline.store_paths import StorePath, spark_uri

_PARTITION = ("topic", "partition")
_BATCH_FILE = (
    "partitions array<struct<topic: string, partition: int, replicas: array<int>, expected_replicas: array<int>, "
    "first_leader: int>>, topic_ids map<string, string>, version int"
)


def verify(spark: SparkSession, path: StorePath, plan: StorePath) -> list[RuleViolation]:
    """The rules that the plan breaks, with the first rows for each. Raises BadInput for unreadable files."""
    meta, summary = snapshot_files.check(path), plan_writer.check(plan)
    if (meta.cluster_id, meta.at) != (summary.cluster_id, summary.at):
        raise BadInput(f"{plan}: was made from another snapshot than {path} (cluster {summary.cluster_id})")
    requested = summary.requested
    listed = [
        ListedBroker(row["broker"], row["rack"], row["live"], bool(row["cordoned"]))
        for row in snapshot_files.read(path, "brokers").to_pylist()
    ]
    facts = _facts(path, summary, listed)
    partitions = snapshot_files.data_frame(spark, path, "partitions")
    sums = sums_of(partitions)
    facts = facts._replace(typical=sums.typical, holdable=holdable_bytes(path, sums.held()))
    concerned = _concerned(facts, listed)
    few = max(summary.moves, sums.partitions) <= SMALL_ROWS
    rows = _planned_partitions(spark, path, plan, concerned)
    checked = _check_rows(rows, partial(check_rows, facts=facts), few=few)
    spaces = broker_spaces(path, requested.headroom)
    if checked.no_room:
        rooms = certain_rooms(spaces, checked.arriving, facts.receivers, all_known=not sums.unknown_sizes)
        left_out = rows.where("left_out is not null")
        checked.add(_check_rows(left_out, partial(check_room, facts=facts, rooms=rooms), few=few))
    found = [
        RuleViolation(rule, f"{topic}-{partition}", detail)
        for rule, rows in sorted(checked.named.items())
        for topic, partition, detail in rows
    ]
    found += [
        RuleViolation("capacity", f"broker {broker}", detail)
        for broker, detail in overfull_brokers(spaces, checked.arriving)
    ]
    found += islice(brokers_over_limits(checked.brokers, requested), NAMED_ROWS)
    found += faults_of_batches(checked.batches, summary)
    found += _odd_files(spark, plan)
    found += islice(faults_of_topics(partitions, spark, plan, facts, summary), NAMED_ROWS)
    return found + list(islice(faults_of_figures(sums, checked, listed, facts, summary), NAMED_ROWS))


def _facts(path: StorePath, summary: PlanSummary, listed: Sequence[ListedBroker]) -> PlanFacts:
    requested = summary.requested
    facts = PlanFacts.of(summary.kind, listed, requested.brokers, requested.factor, requested.topics, requested.parts)
    min_isrs, least_isr = snapshot_files.min_isrs(path)
    before = accumulate((one.moves for one in summary.batches), initial=1)
    return facts._replace(
        min_isrs=min_isrs,
        least_isr=least_isr,
        mends=facts.mends or requested.racks,
        leaders_stay=requested.leaders_stay,
        disk_sizes=disk_sizes(path),
        to=frozenset(requested.to),
        within=requested.within is not None,
        first_places={one.batch: first for one, first in zip(summary.batches, before, strict=False)},
    )


def _planned_partitions(spark: SparkSession, path: StorePath, plan: StorePath, concerned: Column) -> DataFrame:
    """A row with the values of `PlannedPartition` for each partition that the plan names or should name.

    A full join of the snapshot with the tables and files of the plan, which one grouping brings together.
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
        "left_out": left_out.select(*_PARTITION, f.struct("replicas", "reason").alias("left_out")),
    }
    rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), tables.values())
    named = rows.groupBy(*_PARTITION).agg(*(f.collect_list(name).alias(name) for name in tables))
    ids = spark.createDataFrame(snapshot_files.read(path, "topics"))
    known = _as_known(snapshot_files.data_frame(spark, path, "partitions").join(ids, "topic", "left"), concerned)
    either = named.withColumn("named", f.lit(True)).join(known, [*_PARTITION], "full")
    return either.where("named or concerned").select(*PlannedPartition._fields)


def _entries(spark: SparkSession, directory: StorePath, name: str) -> DataFrame:
    """The entries of the JSON files of a directory, each as a `FileEntry`."""
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
    """Files that no tool would take, or with ids of topics of which they have no partition."""
    for directory in (BATCHES, ROLLBACK):
        files = spark.read.schema(_BATCH_FILE).option("multiLine", True).json(spark_uri(plan / directory))
        topics = f.array_except(f.map_keys("topic_ids"), f.transform("partitions", lambda one: one["topic"]))
        odd = files.select(f.input_file_name().alias("name"), topics.alias("topics"), "version")
        for row in odd.where("version is null or version != 1 or size(topics) > 0").limit(NAMED_ROWS).collect():
            detail = f"has ids of {', '.join(row['topics'][:5])}" if row["topics"] else f"has version {row['version']}"
            yield RuleViolation("topic-id" if row["topics"] else "batches", row["name"].rpartition("/")[2], detail)


def _as_known(partitions: DataFrame, concerned: Column) -> DataFrame:
    return partitions.select(
        *_PARTITION,
        "replicas",
        "leader",
        "isr",
        ((f.size("adding") + f.size("removing") > 0) | f.coalesce("waiting", f.lit(False))).alias("in_flight"),
        f.col("bytes").alias("size"),
        concerned.alias("concerned"),
        f.array_except(f.array_union("replicas", "adding"), "removing").alias("destination"),
        *whole_rates(),
        "topic_id",
    )


def _check_rows(rows: DataFrame, check: Callable[[Iterable[Any]], CheckedRows], *, few: bool) -> CheckedRows:
    """Few rows are checked here, which takes less than a Python worker's start."""
    if few:
        return check(rows.collect())

    def of_task(found: Iterable[Any]) -> Iterator[CheckedRows]:
        yield check(found)

    checked = CheckedRows()
    for of_one in rows.rdd.mapPartitions(of_task).collect():
        checked.add(of_one)
    return checked


def _concerned(facts: PlanFacts, listed: Sequence[ListedBroker]) -> Column:
    """Whether the goal forces a change of a partition: it must be moved, or left out with a reason.

    A plan that balances leaves out what cannot move.
    """
    forces = _cannot_move(facts) if facts.balances else f.lit(False)
    if facts.mends:
        forces = forces | _uneven_over_racks(listed)
    elif facts.kind == SET_FACTOR:
        forces = f.size("replicas") != facts.factor
    if facts.drained or facts.healed:
        forces = forces | f.arrays_overlap("replicas", _ids(facts.drained | facts.healed))
    if facts.heals and not facts.healed:
        forces = forces | (f.size(f.array_except("replicas", _ids(facts.live))) > 0)
    return forces & f.col("topic").isin(*facts.topics) if facts.topics else forces


def _cannot_move(facts: PlanFacts) -> Column:
    moving = (f.size("adding") + f.size("removing") > 0) | f.coalesce("waiting", f.lit(False))
    has_lost = f.size(f.array_except("replicas", _ids(facts.live))) > 0
    return moving | has_lost | ~f.arrays_overlap("isr", _ids(facts.live)) | ~is_usable()


def _uneven_over_racks(brokers: Sequence[ListedBroker]) -> Column:
    """All replicas have racks, but fewer of them than replicas and than racks where it may have one, or more in one
    than needed. Where it may have fewer replicas than it has, that is as many as the largest rack can have.

    A partition may have replicas on live brokers, on a cordoned one only if it has one there.
    """
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
        """How many replicas find a place where no rack has more than `most`."""
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
