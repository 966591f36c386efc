"""Figures near 2**63, rates that are no numbers, rows that contradict each other (`odd_snapshot` has them).

Each command is right, or refuses them with a line that says what is wrong.
"""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.reports import svg_plots
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind
from tests.effort import examples
from tests.pipeline.odd_snapshot import ODD, write_odd_snapshot
from tests.pipeline.test_export import run

PLANS = (
    "heal",
    "drain --brokers 2",
    "rebalance",
    "expand --brokers 5",
    "set-rf --replication-factor 4 --topics t",
    "racks",
    "combine --drain 2 --heal 6 --expand 5",
    "disks",
    "disks --empty 3:/d0",
)
NEVER = ("Traceback", "defect", "Error:", "overflow", "Spark failed")
"""A line with one of these does not tell an operator what is wrong."""


@pytest.fixture(autouse=True)
def plots_without_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """To arrange each plot takes longer than to draw it, and the figures are the same."""

    def figure(*, layout: str, **of_figure: Any) -> Figure:
        return Figure(**of_figure)

    monkeypatch.setattr(svg_plots, "Figure", figure)


def said(path: Path, *arguments: str) -> tuple[int, str]:
    shutil.rmtree(path, ignore_errors=True)
    code, out, err = run(*arguments, "--out", str(path))
    assert code in (0, 2, 3, 4, 5), (arguments, err)
    assert not any(word.lower() in f"{out} {err}".lower() for word in NEVER), (arguments, out, err)
    assert not {"nan", "inf"} & {word.strip("%,;") for word in out.split()}, (arguments, out)
    assert (code == 2) == (out == ""), (arguments, out, err)
    assert code != 2 or err.count("\n") == 1, (arguments, err)
    return code, err


@pytest.mark.parametrize("command", PLANS, ids=lambda command: command.split(" --")[0])
def test_dp_2_a_plan_of_odd_figures_keeps_the_rules_or_is_refused_with_what_is_odd(
    command: str, tmp_path: Path
) -> None:
    codes = set[int]()
    for seed in range(examples(len(ODD))):
        odd, snapshot = write_odd_snapshot(tmp_path / f"snapshot-{seed}", seed), tmp_path / f"snapshot-{seed}"
        code, err = said(tmp_path / "plan", "plan", *command.split(), "--snapshot", str(snapshot))
        codes.add(code)
        assert code != 2 or str(snapshot) in err, (seed, odd, err)
        if code != 2:
            assert run("plan", "verify", "--snapshot", str(snapshot), "--plan", str(tmp_path / "plan"))[0] == 0, seed
    assert len(codes) > 1, "some are planned, some refused"


@pytest.mark.usefixtures("shared")
def test_dp_5_an_audit_of_odd_figures_is_made_or_refused_with_what_is_odd(tmp_path: Path) -> None:
    codes = set[int]()
    for seed in range(100, 100 + examples(len(ODD))):
        snapshot = tmp_path / f"snapshot-{seed}"
        write_odd_snapshot(snapshot, seed)
        code, err = said(tmp_path / "audit", "audit", "--snapshots", str(snapshot))
        codes.add(code)
        assert code != 2 or str(snapshot) in err, (seed, err)
    assert len(codes) > 1, "some are made, some refused"


def test_dp_6_spark_refuses_odd_figures_as_this_process_does(spark: SparkSession, tmp_path: Path) -> None:
    """Sums of them would end its tasks with an error of Java."""
    for seed in range(200, 200 + examples(8)):
        odd, snapshot = write_odd_snapshot(tmp_path / f"snapshot-{seed}", seed), tmp_path / f"snapshot-{seed}"
        results = []
        for name, plan in (("here", plan_job.run_here), ("spark", partial(plan_job.run, spark))):
            try:
                results.append(plan(PlanJob(snapshot, tmp_path / f"{name}-{seed}", Goal(GoalKind.HEAL))).bytes)
            except BadInput:
                results.append(-1)
        assert results[0] == results[1], (seed, odd)
