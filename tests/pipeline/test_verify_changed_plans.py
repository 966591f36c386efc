"""Plans that are changed at random: whoever calls the verifier's functions finds the same, with the same words."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline import arrow_tasks
from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.planning.verify_job import verify
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import BATCHES, ROLLBACK
from kafka_reassign_rpc.pipeline.topic_pieces import CallHere, CallOnSpark, Source
from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, GoalWeights, PlanOptions
from tests.effort import examples, in_turn
from tests.pipeline.test_plan_in_memory import GOALS, write_random_snapshot

pytestmark = pytest.mark.gate

TRIED = [*GOALS, Goal(GoalKind.REBALANCE)]
"""The last spreads topics."""
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


class Divided(CallHere):
    """A chunk for each topic, with its rows in another order."""

    def __call__(
        self, sources: Sequence[Source], function: Callable[[Sequence[pa.Table], Any], Any], given: Any
    ) -> list[Any]:
        tables = [self._table(one) for one in sources]
        topics = {name for table in tables for name in table["topic"].to_pylist()}
        return [function(_reversed(tables, topic), given) for topic in sorted(topics, reverse=True)]


def _reversed(tables: Sequence[pa.Table], topic: str) -> list[pa.Table]:
    of_topic = (table.filter(pc.equal(table["topic"], topic)) for table in tables)
    return [table.take(pa.array(range(len(table)), pa.int64())[::-1]) for table in of_topic]


@pytest.mark.more
@pytest.mark.parametrize("goal", in_turn(TRIED, 2), ids=lambda goal: f"{goal.kind}{'-racks' * goal.racks}")
def test_dp_3_one_chunk_and_many_find_the_same_in_plans_changed_at_random(
    goal: Goal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same order, with the same words. The first changes break rules for sure."""
    chance = random.Random(TRIED.index(goal))
    snapshot, plan = planned(tmp_path, goal, seed=TRIED.index(goal) + 40)
    assert verify(CallHere(), snapshot, plan) == verify(Divided(), snapshot, plan) == []
    whole = {file: file.read_bytes() for file in plan.rglob("*") if file.is_file()}
    for turn in range(examples(12)):
        for change in chance.sample(CHANGES, chance.randint(1, 3)) if turn else CHANGES[:3]:
            change(plan, chance)
        found = verify(CallHere(), snapshot, plan)
        assert found == verify(Divided(), snapshot, plan)
        assert found or turn
        for file, content in whole.items():
            file.write_bytes(content)


@pytest.mark.parametrize("goal", in_turn(TRIED, 2), ids=lambda goal: f"{goal.kind}{'-racks' * goal.racks}")
def test_dp_3_spark_and_this_process_find_the_same_in_a_plan_changed_at_random(
    goal: Goal, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once in several tasks, as for a huge plan. The directory's name is no pattern."""
    monkeypatch.setattr(arrow_tasks, "ROWS_IN_CHUNK", 25 if goal.kind is GoalKind.HEAL else arrow_tasks.ROWS_IN_CHUNK)
    chance = random.Random(TRIED.index(goal))
    (named := tmp_path / "a{b}[1]").mkdir()
    snapshot, plan = planned(named, goal, seed=TRIED.index(goal) + 60)
    for change in CHANGES[:3]:
        change(plan, chance)
    found = verify(CallHere(), snapshot, plan)
    assert found
    assert found == verify(CallOnSpark(spark, 1), snapshot, plan)


def test_dp_3_beside_another_snapshot_of_the_same_time_all_moves_are_counted(tmp_path: Path) -> None:
    """No stamp tells the two apart: every move is at fault."""
    _, plan = planned(tmp_path, Goal(GoalKind.DRAIN, brokers=(3,)), seed=80)
    (tmp_path / "other").mkdir()
    snapshot, _ = planned(tmp_path / "other", Goal(GoalKind.DRAIN, brokers=(5,)), seed=81)
    found = verify(CallHere(), snapshot, plan)
    (more,) = (one for one in found if one.rule == "stale" and one.rows > 1)
    named = [one for one in found if one.rule == "stale" and one.rows == 1]
    moves = plan_writer.check(plan).moves
    assert (len(named), str(more)) == (20, f"stale: {moves - 20} more: not named here")
