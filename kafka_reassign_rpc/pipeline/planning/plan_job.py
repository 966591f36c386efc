"""The job that plans: a snapshot in, a directory with a plan out (see `plan_writer`).

What decides is the pure planner, chunk by chunk (see `chunks`). The partition table is never collected; the moves go
through the driver one Spark partition at a time, in the order in which they shall start.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from kafka_reassign_rpc.pipeline.planning import snapshot_chunks
from kafka_reassign_rpc.pipeline.planning.rounds_on_spark import Rounds
from kafka_reassign_rpc.pipeline.planning.snapshot_chunks import NAMED, SnapshotSurvey
from kafka_reassign_rpc.pipeline.planning.verify_job import verify
from kafka_reassign_rpc.pipeline.plans import plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_writer import (
    BatchFigures,
    BrokerFigures,
    LeftOutFigures,
    PlanInput,
    PlanWriter,
    RackFigures,
)
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files as snapshot
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import Meta
from kafka_reassign_rpc.planner.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.deterministic_random import partition_key, random_bits
from kafka_reassign_rpc.planner.goals_and_options import Goal, PlanError, PlanOptions
from kafka_reassign_rpc.planner.move_batching import BatchLimits, into_batches
from kafka_reassign_rpc.planner.plan_result import LeftOut, PlannedMove
from kafka_reassign_rpc.planner.plan_result import PlannerSummary as Figures
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerBroker
from kafka_reassign_rpc.planner.round_coordinator import RoundCoordinator

_MIN_ISR = "min.insync.replicas"
_ROWS_OF_A_TASK = 50_000
_MOVE_FIELDS = (
    "topic string, partition int, origin array<int>, target array<int>, leader int, bytes bigint, priority int, "
    "reason string, rule string, chance bigint, left_out string"
)

Say = Callable[[str], None]


class Job(NamedTuple):
    """What is to be planned. `bandwidth`: bytes/s that each broker can send, and receive, for the ETA."""

    snapshot: Path
    out: Path
    goal: Goal
    options: PlanOptions = PlanOptions()
    caps: BatchLimits = BatchLimits()
    bandwidth: int = 100_000_000


def check(job: Job) -> Meta:
    """What can be said before Spark starts. Raises BadInput."""
    plan_writer.require_free(job.out)
    return snapshot.check(job.snapshot)


def run(spark: SparkSession, job: Job, say: Say = lambda _: None) -> plan_writer.PlanSummary:
    """Plan, write, verify, publish. Raises BadInput for input that cannot be used, JobFailed if verification fails."""
    meta = check(job)
    brokers = _brokers(job.snapshot)
    live = frozenset(broker.id for broker in brokers.values() if broker.live)
    given = snapshot_chunks.ChunkInput(job.goal, frozenset(brokers), live, *_min_isrs(job.snapshot))
    table = snapshot.frame(spark, job.snapshot, "partitions")
    rows = parquet_files.check(snapshot.place(job.snapshot, "partitions"), snapshot.PARTITIONS)
    tasks = max(spark.sparkContext.defaultParallelism, -(-rows // _ROWS_OF_A_TASK))
    if job.goal.topics:
        _must_be_there(table, job.goal.topics)
    say(f"reading {rows} partitions")
    chunks = snapshot_chunks.read(table, given, tasks)
    found = snapshot_chunks.look(chunks)
    notes = [*_checked(found, brokers, job), *_unsized(table, found.survey.unknown_sizes)]
    rounds = Rounds(chunks)
    with PlanWriter(job.out) as writer:
        try:
            coordinator = RoundCoordinator(brokers.values(), job.goal, job.options)
            coordinator.notes += notes
            coordinator.begin(found.survey)
            _decide(coordinator, rounds, say)
            say("writing moves and batches")
            told = _write(spark, writer, rounds.collect_moves(coordinator.round_parameters()), job, say)
        except PlanError as error:
            raise BadInput(str(error)) from None
        finally:
            rounds.close()
        figures = coordinator.summary(told.moves, told.bytes, sum(one.partitions for one in told.left_out))
        summary = _summary(job, meta, brokers, found, figures, told)
        writer.summarise(summary)
        say("verifying")
        broken = verify(spark, job.snapshot, writer.hidden)
        if broken:
            raise JobFailed(
                f"the plan breaks rules and is not kept, which is a defect: {'; '.join(map(str, broken[:3]))}"
            )
        writer.publish()
    return summary


def _decide(coordinator: RoundCoordinator, rounds: Rounds, say: Say) -> None:
    while (params := coordinator.next_round()) is not None:
        demand = rounds.propose(params)
        thresholds = coordinator.decide(demand)
        change = rounds.accept(thresholds)
        coordinator.settle(change)
        say(f"round {params.round_number + 1}: {demand.proposals} proposals, {change.accepted} accepted")


# -- input -------------------------------------------------------------------------------------------------------------


def _brokers(path: Path) -> dict[int, PlannerBroker]:
    found: dict[int, PlannerBroker] = {}
    for row in snapshot.read(path, "brokers").to_pylist():
        if row["broker"] in found:
            raise BadInput(f"{snapshot.place(path, 'brokers')}: broker {row['broker']} is there twice")
        sizes = [UNKNOWN if row[name] is None else row[name] for name in ("capacity_bytes", "free_bytes")]
        found[row["broker"]] = PlannerBroker(row["broker"], row["rack"], row["live"], *sizes)
    return found


def _min_isrs(path: Path) -> tuple[dict[str, int], int]:
    """min.insync.replicas of topics that have their own, and of the cluster."""
    own: dict[str, int] = {}
    default = 1
    for batch in snapshot.batches(path, "configs"):
        for row in batch.to_pylist():
            if row["name"] == _MIN_ISR and row["value"] is not None and row["value"].isdecimal():
                if row["resource_type"] == "topic":
                    own[row["resource"]] = int(row["value"])
                elif row["resource"] == "":
                    default = int(row["value"])
    return own, default


def _checked(found: SnapshotSurvey, brokers: dict[int, PlannerBroker], job: Job) -> list[str]:
    """Raises BadInput for rows that cannot be used; adds brokers that nobody lists, as lost ones, and says so."""
    if found.faults.total:
        more = "" if found.faults.total <= NAMED else f", and {found.faults.total - NAMED} more"
        raise BadInput(f"{snapshot.place(job.snapshot, 'partitions')}: {'; '.join(found.faults.first)}{more}")
    notes = []
    for broker, names in sorted(found.strangers.items()):
        brokers[broker] = PlannerBroker(broker, None, False)
        notes.append(
            f"broker {broker} holds replicas and is not listed: it is taken for lost ({', '.join(names[:5])}, …)"
        )
    return notes


def _must_be_there(table: DataFrame, topics: tuple[str, ...]) -> None:
    """Raises BadInput for topics that the snapshot has not."""
    there = {row["topic"] for row in table.where(f.col("topic").isin(*topics)).select("topic").distinct().collect()}
    missing = sorted(set(topics) - there)
    if missing:
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        raise BadInput(f"the snapshot has no topics {', '.join(missing[:NAMED])}{more}")


def _unsized(table: DataFrame, count: int) -> list[str]:
    """Names the first partitions of unknown size; how they are counted, the coordinator says."""
    if not count:
        return []
    rows = table.where("bytes is null").select("topic", "partition").orderBy("topic", "partition").limit(NAMED)
    names = ", ".join(f"{row['topic']}-{row['partition']}" for row in rows.collect())
    return [f"no size is known of {names}" + (f" and {count - NAMED} more" if count > NAMED else "")]


# -- output ------------------------------------------------------------------------------------------------------------


class _Told(NamedTuple):
    moves: int
    bytes: int
    batches: list[BatchFigures]
    left_out: list[LeftOutFigures]


def _write(spark: SparkSession, writer: PlanWriter, found: "RDD[PlannedMove | LeftOut]", job: Job, say: Say) -> _Told:
    rows = spark.createDataFrame(found.map(_row), _MOVE_FIELDS)
    rows.persist()
    try:
        figures: list[BatchFigures] = []
        starts = 0.0
        for batch in into_batches(_moves(rows), job.caps):
            seconds = batch.expected_seconds(job.bandwidth)
            figures.append(
                BatchFigures(
                    batch.number,
                    batch.priority,
                    len(batch.moves),
                    batch.bytes,
                    dict(sorted(batch.received.items())),
                    dict(sorted(batch.sent.items())),
                    starts,
                    seconds,
                )
            )
            starts += seconds
            writer.batch(
                batch.number, [(move.topic, move.partition, move.original, move.target) for move in batch.moves]
            )
            for move in batch.moves:
                named = (move.topic, move.partition, move.original, move.target, move.leader, move.bytes)
                writer.moves.add((*named, move.reason, move.rule, batch.number, move.priority))
            say(f"batch {batch.number}: {len(batch.moves)} moves")
        left_out = _left_out(rows, writer)
        return _Told(sum(one.moves for one in figures), sum(one.bytes for one in figures), figures, left_out)
    finally:
        rows.unpersist()


def _row(found: PlannedMove | LeftOut) -> tuple[Any, ...]:
    if isinstance(found, PlannedMove):
        chance = random_bits(partition_key(found.topic, found.partition), 1) >> 1
        return (*found[:2], list(found.original), list(found.target), *found[4:], chance, None)
    return (found.topic, found.partition, list(found.replicas), [], -1, 0, 0, "", "", 0, found.reason)


def _moves(rows: DataFrame) -> Iterator[PlannedMove]:
    """In the order of priority; among equals by chance, so that a batch finds work for every broker."""
    ordered = rows.where("left_out is null").orderBy("priority", "chance", "topic", "partition")
    for row in ordered.toLocalIterator():
        yield PlannedMove(row[0], row[1], tuple(row[2]), tuple(row[3]), *row[4:9])


def _left_out(rows: DataFrame, writer: PlanWriter) -> list[LeftOutFigures]:
    figures: dict[str, tuple[int, list[str]]] = {}
    for row in rows.where("left_out is not null").orderBy("topic", "partition").toLocalIterator():
        topic, partition, replicas, reason = row["topic"], row["partition"], row["origin"], row["left_out"]
        writer.left_out.add((topic, partition, replicas, reason))
        count, first = figures.setdefault(reason, (0, []))
        if len(first) < NAMED:
            first.append(f"{topic}-{partition}")
        figures[reason] = (count + 1, first)
    return [LeftOutFigures(reason, *figures[reason]) for reason in sorted(figures, key=lambda r: (-figures[r][0], r))]


def _summary(
    job: Job, meta: Meta, brokers: dict[int, PlannerBroker], found: SnapshotSurvey, figures: Figures, told: _Told
) -> plan_writer.PlanSummary:
    goal, options, caps = job.goal, job.options, job.caps
    listed = [_broker_figures(brokers[broker], figures) for broker in sorted(brokers)]
    given = PlanInput(
        brokers=list(goal.brokers),
        topics=list(goal.topics),
        factor=goal.factor or None,
        seed=options.seed,
        tolerance=options.tolerance,
        headroom=options.headroom,
        max_bytes=options.max_bytes,
        weights=msgspec.structs.asdict(options.weights),
        **msgspec.structs.asdict(caps),
    )
    return plan_writer.PlanSummary(
        kind=str(goal.kind),
        cluster_id=meta.cluster_id,
        at=meta.at,
        given=given,
        partitions=found.survey.partitions,
        moves=figures.moves,
        bytes=figures.bytes,
        lower_bound=figures.lower_bound,
        unknown_sizes=figures.unknown_sizes,
        rounds=figures.rounds,
        imbalance_before=figures.imbalance_before,
        imbalance_after=figures.imbalance_after,
        brokers=listed,
        racks=_rack_figures(listed),
        batches=told.batches,
        left_out=told.left_out,
        notes=list(figures.notes),
        bandwidth=job.bandwidth,
        eta=sum(one.seconds for one in told.batches),
    )


def _broker_figures(broker: PlannerBroker, figures: Figures) -> BrokerFigures:
    target = figures.targets.get(broker.id, (0.0,) * len(MEASURES))
    capacity = None if broker.capacity == UNKNOWN else broker.capacity
    return BrokerFigures(
        broker.id,
        broker.rack,
        broker.live,
        capacity,
        plan_writer.LoadFigures(*figures.before[broker.id]),
        plan_writer.LoadFigures(*figures.after[broker.id]),
        plan_writer.LoadFigures(*target),
    )


def _rack_figures(listed: list[BrokerFigures]) -> list[RackFigures]:
    racks: dict[str, list[BrokerFigures]] = {}
    for broker in listed:
        racks.setdefault(broker.rack or "", []).append(broker)
    return [
        RackFigures(
            rack or None,
            len(inside),
            plan_writer.LoadFigures(*_sum([broker.before for broker in inside])),
            plan_writer.LoadFigures(*_sum([broker.after for broker in inside])),
        )
        for rack, inside in sorted(racks.items())
    ]


def _sum(loads: list[plan_writer.LoadFigures]) -> list[float]:
    return [sum(getattr(load, name) for load in loads) for name in Load._fields]
