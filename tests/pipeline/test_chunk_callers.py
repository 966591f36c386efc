"""Who calls the functions of a plan does not matter: one process, or tasks of Spark with a chunk each."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline import arrow_tasks, parquet_files
from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.chunk_callers import (
    CallsHere,
    CallsOnSpark,
    ChunkCells,
    after_a_step,
    to_cells,
    to_chunk,
    to_proposals,
)
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.planning.snapshot_chunks import surveyed_chunk
from kafka_reassign_rpc.pipeline.planning.snapshot_survey import ClusterFacts, SnapshotSurvey
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import PARTITIONS, SnapshotMeta
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.pipeline.topic_pieces import PIECE_PARTITIONS, CallOnSpark, parquet_source
from kafka_reassign_rpc.planner.columns.partition_chunk import PartitionChunk
from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, GoalWeights, PlanOptions
from tests.pipeline.test_plan_in_memory import GOALS, write_random_snapshot
from tests.pipeline.test_plan_job import files, written
from tests.planner.clusters import random_cluster

PARTS = 3
SPREAD = GoalWeights(topic_replicas=1.0, topic_leaders=0.5)


class CallsByCells:
    """As Spark: chunks of some topics each, which are Arrow between the steps."""

    _cells: Sequence[ChunkCells]

    def __init__(self, path: StorePath) -> None:
        self._path = path
        self.copies = CallsHere(path).copies

    def divide(self, build: Callable[..., Any], given: Any, merge: Callable[..., Any]) -> Any:
        table = snapshot_files.read(self._path, "partitions")
        names = table["topic"].to_pylist()
        parts = [[row for row, name in enumerate(names) if hash_of(name) == part] for part in range(PARTS)]
        random.Random(5).shuffle(parts[0])
        made = (build(table.take(rows), given) for rows in parts)
        return self._merged([(to_cells(chunk), answer) for chunk, answer in made], merge)

    def change(self, step: Callable[..., Any], given: Any, merge: Callable[..., Any]) -> Any:
        chunks = [(to_chunk(cells), cells) for cells in self._cells]
        answers = [step(chunk, given) for chunk, _ in chunks]
        made = [after_a_step(*one) for one in chunks]
        return self._merged(list(zip(made, answers, strict=True)), merge)

    def weigh(self, step: Callable[..., Any], given: Any, merge: Callable[..., Any]) -> Any:
        first, *others = [step(to_proposals(cells.proposals), given) for cells in self._cells]
        for other in others:
            first = merge(first, other)
        return first

    def read(self, step: Callable[..., Any], given: Any) -> list[Any]:
        return [step(to_chunk(cells), given) for cells in reversed(self._cells)]

    def close(self) -> None:
        self._cells = []

    def _merged(self, made: Any, merge: Callable[..., Any]) -> Any:
        self._cells = [cells for cells, _ in made]
        total = made[0][1]
        for _, answer in made[1:]:
            total = merge(total, answer)
        return total


def hash_of(topic: str) -> int:
    return sum(topic.encode()) % PARTS


@pytest.mark.parametrize("weights", [GoalWeights(), SPREAD], ids=["", "spread"])
@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: str(goal.kind))
def test_dp_6_a_plan_is_the_same_to_the_byte_from_one_chunk_and_from_many_that_are_arrow_between_the_steps(
    goal: Goal, weights: GoalWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_random_snapshot(tmp_path / "snapshot", seed=20 + GOALS.index(goal))
    if weights.spread_topics:
        goal = replace(goal, least_bytes=0)  # topics are spread whole, small partitions too
    job = PlanJob(path, tmp_path / "one", goal, PlanOptions(effort=Effort.QUICK, weights=weights))
    expected = plan_job.run_here(job)
    assert expected.moves > 0
    monkeypatch.setattr(plan_job, "CallsHere", CallsByCells)
    assert plan_job.run_here(job._replace(out=tmp_path / "many")) == expected
    assert files(tmp_path / "many") == files(tmp_path / "one")


_NAMES = [("topic", "ascending"), ("partition", "ascending")]


def facts_of(path: StorePath, goal: Goal) -> ClusterFacts:
    everything = frozenset(row["broker"] for row in snapshot_files.read(path, "brokers").to_pylist())
    return ClusterFacts(goal, everything, everything, {}, 1)


@pytest.mark.gate
def test_dp_6_no_step_repeats_the_work_of_earlier_steps(spark: SparkSession, tmp_path: Path) -> None:
    path = written(tmp_path / "snapshot", random_cluster(6, 3, 90))
    counter = spark.sparkContext.accumulator(0)

    def step(_chunk: PartitionChunk, _given: None) -> int:
        counter.add(1)
        return 1

    caller = CallsOnSpark(CallOnSpark(spark, 90), path, None)
    caller.divide(surveyed_chunk, facts_of(path, Goal(GoalKind.REBALANCE)), SnapshotSurvey.merge)
    before = counter.value
    for _ in range(3):
        caller.change(step, None, int.__add__)
    assert counter.value - before == 3 + 3  # the driver asks a chunk of no rows as well
    assert caller.read(step, None) == [1]
    caller.close()


@pytest.mark.gate
def test_dp_6_when_a_plan_is_made_spark_keeps_nothing_of_its_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    path = written(tmp_path / "snapshot", random_cluster(6, 3, 90))
    before = {*spark.sparkContext._jsc.getPersistentRDDs()}
    plan_job.run(spark, PlanJob(path, tmp_path / "plan", Goal(GoalKind.REBALANCE), PlanOptions(effort=Effort.NONE)))
    assert before.issuperset(spark.sparkContext._jsc.getPersistentRDDs())


@pytest.mark.gate
def test_dp_6_a_huge_topic_is_the_work_of_several_tasks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow_tasks, "ROWS_IN_CHUNK", 2000)
    rows, path = 2 * PIECE_PARTITIONS + 2001, tmp_path / "snapshot"
    with snapshot_files.SnapshotWriter(path) as writer:
        writer.brokers.extend((broker, None, "h", 1, None, None, True) for broker in (1, 2, 3))
        writer.partitions.extend(("huge", index, [1, 2], 1, [1], [], [], 5, None, None) for index in range(rows))
        writer.finish(SnapshotMeta("c", 5))
    caller = CallsOnSpark(CallOnSpark(spark, rows), path, None)
    survey = caller.divide(surveyed_chunk, facts_of(path, Goal(GoalKind.REBALANCE)), SnapshotSurvey.merge)
    pieces = caller.read(lambda chunk, _: np.unique(chunk.columns.number // PIECE_PARTITIONS).tolist(), None)
    caller.close()
    assert sorted(piece for found in pieces for piece in found) == [0, 1, 2]
    assert len(pieces) > 1
    assert (survey.survey.partitions, survey.faults.total) == (rows, 0)


@pytest.mark.gate
def test_dp_6_one_large_file_is_read_by_several_tasks_which_take_its_row_groups(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The readings of a file are counted, and what each makes of it."""
    monkeypatch.setattr(parquet_files, "SHARE_ROWS", 40)
    path = written(tmp_path / "snapshot", random_cluster(6, 3, 230))
    (file,) = (path / "partitions").iterdir()
    pq.write_table(pq.read_table(file), file, row_group_size=30)
    source = parquet_source(path / "partitions", PARTITIONS)
    parts = [read(file.name, file.read_bytes()) for read in source.reads]
    assert [len(part) for part in parts] == [60, 60, 50, 30, 30]
    assert pa.concat_tables(parts).sort_by(_NAMES) == snapshot_files.read(path, "partitions").sort_by(_NAMES)
    reads = spark.sparkContext.accumulator(0)

    def counted(read: Callable[[str, bytes], pa.Table]) -> Callable[[str, bytes], pa.Table]:
        def reading(name: str, content: bytes) -> pa.Table:
            reads.add(1)
            return read(name, content)

        return reading

    several = source._replace(reads=[*map(counted, source.reads)])
    (names,) = CallOnSpark(spark, 230)([several], lambda tables, _: tables[0].select(["topic", "partition"]), None)
    assert names.sort_by(_NAMES) == pa.concat_tables(parts).select(["topic", "partition"]).sort_by(_NAMES)
    assert reads.value == len(parts)
    call = CallOnSpark(spark, 230)
    for _ in range(2):
        call([several._replace(again=True)], lambda tables, _: None, None)
    assert reads.value == 2 * len(parts), "what is asked for again is read once"
    on_spark, here = CallsOnSpark(CallOnSpark(spark, 230), path, None), CallsHere(path)
    facts = facts_of(path, Goal(GoalKind.REBALANCE))
    found = [one.divide(surveyed_chunk, facts, SnapshotSurvey.merge) for one in (on_spark, here)]
    assert dict(found[0].survey.loads.items()) == dict(found[1].survey.loads.items())
    on_spark.close()


def test_dp_6_only_partitions_that_the_goal_may_move_are_kept_for_the_rounds(tmp_path: Path) -> None:
    path = written(tmp_path / "snapshot", random_cluster(12, 3, 300, dead=(5,)))
    live = frozenset(range(12)) - {5}
    facts = facts_of(path, Goal(GoalKind.HEAL))._replace(live=live)
    chunk, survey = surveyed_chunk(snapshot_files.read(path, "partitions"), facts)
    assert survey.survey.partitions == 300
    assert 0 < len(chunk.pieces) < 150
    held = chunk.columns.brokers[chunk.columns.replicas]
    assert (held == 5).any(axis=1).all()
