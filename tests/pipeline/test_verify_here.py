"""Verifying in this process, by columns: it finds what row by row and Spark find in changed plans."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline.parquet_files import DirectoryWriter
from kafka_reassign_rpc.pipeline.planning import plan_job, verify_here, verify_on_spark
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.planning.verify_here import TablesHere
from kafka_reassign_rpc.pipeline.planning.verify_job import verify
from kafka_reassign_rpc.pipeline.planning.verify_job import verify_here as verify_in_this_process
from kafka_reassign_rpc.pipeline.planning.verify_plain_moves import MoveColumns
from kafka_reassign_rpc.pipeline.planning.verify_rows import CheckedRows, check_rows
from kafka_reassign_rpc.pipeline.planning.verify_rules import PlanFacts, RuleViolation
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, GoalWeights, PlanOptions
from tests.effort import examples
from tests.pipeline.test_plan_in_memory import GOALS, write_random_snapshot
from tests.pipeline.test_verify_mutations import BROKERS, OF_ROWS, STRICT, Mutation

pytestmark = pytest.mark.gate

TRIED = [*GOALS, Goal(GoalKind.REBALANCE)]
"""The last spreads topics."""
ONE_BY_ONE = ("set-rf", "racks", "combine", "demote")
"""The kinds whose moves are always judged row by row."""


def write_row(path: Path, row: dict[str, Any]) -> tuple[Path, Path]:
    """A snapshot and a plan of this one partition, as `test_verify_mutations.row` has it."""
    snapshot, plan = path / "snapshot", path / "plan"
    name, replicas, destination = (row["topic"], row["partition"]), row["replicas"], row["destination"]
    with SnapshotWriter(snapshot) as writer:
        writer.topics.add((row["topic"], row["topic_id"]))
        if replicas is not None:
            coming, going = ([b for b in one if b not in other] for one, other in ((destination, replicas),
                                                                                  (replicas, destination)))  # fmt: skip
            stood = (replicas, row["leader"], row["isr"], coming, going, row["size"], 0.0, 0.0, row["in_flight"], 0.0)
            writer.partitions.add((*name, *stood))
        writer.finish(SnapshotMeta("c", 5))
    plan.mkdir()
    moves = DirectoryWriter(plan / plan_directory.MOVES, plan_writer.MOVES_SCHEMA)
    for before, after, leader, copied, batch, priority, first, start, reason in row["moves"]:
        moves.add((*name, before, after, leader, copied, reason, "rule", batch, priority, first, start))
    moves.close()
    left_out = DirectoryWriter(plan / plan_directory.LEFT_OUT, plan_writer.LEFT_OUT_SCHEMA)
    left_out.extend((*name, *one) for one in row["left_out"])
    left_out.close()
    for directory, entries in ((BATCHES, row["forward"]), (ROLLBACK, row["back"])):
        (plan / directory).mkdir()
        for number, target, expected, first, topic_id, _ in entries:
            entry = {"topic": name[0], "partition": name[1], "replicas": target, "expected_replicas": expected}
            file = {"version": 1, "partitions": [entry | ({} if first is None else {"first_leader": first})]}
            (plan / directory / f"batch-{number:04d}.json").write_text(
                json.dumps(file | {"topic_ids": {} if topic_id is None else {name[0]: topic_id}})
            )
    return snapshot, plan


@pytest.mark.parametrize("case", OF_ROWS, ids=lambda case: case.change)
def test_dp_3_columns_find_each_change_by_hand_and_take_only_what_is_right_for_certain(
    case: Mutation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, judged = case.facts._replace(min_isrs=STRICT), list[Any]()

    def checked(rows: list[Any], facts: PlanFacts) -> CheckedRows:
        judged.extend(rows)
        return check_rows(rows, facts)

    monkeypatch.setattr(verify_here, "check_rows", checked)
    for name, row, broken in (("fine", case.fine, False), ("changed", case.changed, True)):
        (tmp_path / name).mkdir()
        judged.clear()
        tables = TablesHere(*write_row(tmp_path / name, row))
        tables.sums()
        found = tables.check(known, BROKERS).named
        assert (case.rule in found) == broken
        assert broken or not found
        is_plain = bool(row["moves"]) and known.kind not in ONE_BY_ONE
        assert len(judged) == (1 if broken or not is_plain else 0) or not row["concerned"]


Change = Callable[[Path, random.Random], None]


def _table(plan: Path, name: str, change: Callable[[list[dict[str, Any]], random.Random], None],
           chance: random.Random) -> None:  # fmt: skip
    file = next((plan / name).glob("*.parquet"))
    table = pq.read_table(file)
    rows = table.to_pylist()
    if rows:
        change(rows, chance)
        pq.write_table(table.from_pylist(rows, schema=table.schema), file)


def _change_cell(rows: list[dict[str, Any]], chance: random.Random) -> None:
    row = chance.choice(rows)
    name = chance.choice([one for one in row if one != "rule"])
    other = chance.choice(rows)[name]
    if isinstance(row[name], list):
        row[name] = chance.choice([other, row[name][::-1], row[name][:-1], [*row[name], 7], [9, *row[name][1:]]])
    elif isinstance(row[name], int):
        row[name] = chance.choice([other, row[name] + 1, 0])
    else:
        row[name] = other or (3 if name == "first_leader" else "")


def _lose_row(rows: list[dict[str, Any]], chance: random.Random) -> None:
    rows.pop(chance.randrange(len(rows)))


def _repeat_row(rows: list[dict[str, Any]], chance: random.Random) -> None:
    rows.append(chance.choice(rows))


def _change_file(plan: Path, chance: random.Random) -> None:
    files = [*(plan / BATCHES).iterdir(), *(plan / ROLLBACK).iterdir()]
    if not files:
        return
    file = chance.choice(sorted(files))
    content = json.loads(file.read_text())
    entries = content["partitions"]
    kind = chance.randrange(6)
    if kind == 0:
        entries.reverse()
    elif kind == 1:
        entries.append(entries[0])
    elif kind == 2:
        chance.choice(entries)["replicas"] = [1, 2, 3]
    elif kind == 3:
        chance.choice(entries)["partition"] += 1
    elif kind == 4:
        content["topic_ids"] = {entries[0]["topic"]: "x"} | ({"nobody's": "y"} if chance.random() < 0.5 else {})
    else:
        content["version"] = 2
    file.write_text("[]" if chance.random() < 0.1 else json.dumps(content))


def _of_table(name: str, change: Callable[[list[dict[str, Any]], random.Random], None]) -> Change:
    return lambda plan, chance: _table(plan, name, change, chance)


CHANGES: list[Change] = [
    *(
        _of_table(name, change)
        for name in (plan_directory.MOVES, plan_directory.LEFT_OUT)
        for change in (_change_cell, _lose_row, _repeat_row)
    ),
    _of_table(plan_directory.MOVES, _change_cell),
    _change_file,
]


def planned(path: Path, goal: Goal, seed: int) -> tuple[Path, Path]:
    snapshot, plan = write_random_snapshot(path / "snapshot", seed), path / "plan"
    spreads = goal.kind is GoalKind.REBALANCE and not goal.racks
    weights = GoalWeights(topic_replicas=1.0) if spreads else GoalWeights()
    options = PlanOptions(seed=seed, tolerance=0.15, weights=weights, effort=Effort.QUICK)
    plan_job.run_here(PlanJob(snapshot, plan, goal, options))
    return snapshot, plan


def found_row_by_row(snapshot: Path, plan: Path, monkeypatch: pytest.MonkeyPatch) -> list[RuleViolation]:
    def none_is_plain(moves: MoveColumns, _: object) -> Any:
        return moves.batch != moves.batch

    with monkeypatch.context() as patched:
        patched.setattr(verify_here, "keep_rules", none_is_plain)
        return verify_in_this_process(snapshot, plan)


@pytest.mark.more
@pytest.mark.parametrize("goal", TRIED, ids=lambda goal: f"{goal.kind}{'-racks' * goal.racks}")
def test_dp_3_columns_find_in_plans_changed_at_random_what_row_by_row_finds(
    goal: Goal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the sums too, with which batches, brokers and figures are compared. The first changes break rules for sure."""
    chance = random.Random(TRIED.index(goal))
    snapshot, plan = planned(tmp_path, goal, seed=TRIED.index(goal) + 40)
    assert verify_in_this_process(snapshot, plan) == found_row_by_row(snapshot, plan, monkeypatch) == []
    whole = {file: file.read_bytes() for file in plan.rglob("*") if file.is_file()}
    for turn in range(examples(12)):
        for change in chance.sample(CHANGES, chance.randint(1, 3)) if turn else CHANGES[:3]:
            change(plan, chance)
        found = verify_in_this_process(snapshot, plan)
        assert found == found_row_by_row(snapshot, plan, monkeypatch)
        assert found or turn
        for file, content in whole.items():
            file.write_bytes(content)


@pytest.mark.parametrize("goal", TRIED, ids=lambda goal: f"{goal.kind}{'-racks' * goal.racks}")
def test_dp_3_spark_and_this_process_find_the_same_in_a_plan_changed_at_random(
    goal: Goal, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once in tasks of Spark, as for a huge plan."""
    monkeypatch.setattr(verify_on_spark, "SMALL_ROWS", 0 if goal.kind is GoalKind.HEAL else 5000)
    chance = random.Random(TRIED.index(goal))
    snapshot, plan = planned(tmp_path, goal, seed=TRIED.index(goal) + 60)
    for change in CHANGES[:3]:
        change(plan, chance)
    found = verify_in_this_process(snapshot, plan)
    assert found
    assert sorted(found) == sorted(verify(spark, snapshot, plan))


def test_dp_3_beside_another_snapshot_of_the_same_time_few_rows_are_objects_at_once_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No stamp tells the two apart: every move is at fault."""
    _, plan = planned(tmp_path, Goal(GoalKind.DRAIN, brokers=(3,)), seed=80)
    (tmp_path / "other").mkdir()
    snapshot, _ = planned(tmp_path / "other", Goal(GoalKind.DRAIN, brokers=(5,)), seed=81)
    found, at_once = verify_in_this_process(snapshot, plan), list[int]()
    (more,) = (one for one in found if one.rule == "stale" and one.rows > 1)
    named = [one for one in found if one.rule == "stale" and one.rows == 1]
    moves = plan_writer.check(plan).moves
    assert (len(named), str(more)) == (20, f"stale: {moves - 20} more: not named here")

    def checked(rows: list[Any], facts: PlanFacts) -> CheckedRows:
        at_once.append(len(rows))
        return check_rows(rows, facts)

    monkeypatch.setattr(verify_here, "check_rows", checked)
    monkeypatch.setattr(verify_here, "OBJECTS", 7)
    assert verify_in_this_process(snapshot, plan) == found
    assert max(at_once) == 7
    assert sum(at_once) >= moves
