"""Figures near 2**63, rates that are no numbers, rows that contradict each other (`odd_snapshot` has them).

Each command is right, or refuses them with a line that says what is wrong.
"""

import shutil
from collections.abc import Mapping
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
from tests import tiers
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
REFUSED, TAKEN = "a dir twice", "a replica in another dir"
"""Of `odd_snapshot.ROWS`."""
NEVER = ("Traceback", "defect", "Error:", "overflow", "Spark failed")
"""A line with one of these does not tell an operator what is wrong."""


@pytest.fixture(autouse=True)
def plots_without_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """To arrange each plot takes longer than to draw it, and the figures are the same."""

    if tiers.is_whole():
        return

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


def planned(command: str, snapshot: Path, path: Path) -> int:
    """The exit code. A plan that is made keeps the rules, a refusal names the snapshot."""
    code, err = said(path, "plan", *command.split(), "--snapshot", str(snapshot))
    assert code != 2 or str(snapshot) in err, (snapshot, err)
    assert code == 2 or run("plan", "verify", "--snapshot", str(snapshot), "--plan", str(path))[0] == 0, snapshot
    return code


def audited(snapshot: Path, path: Path) -> int:
    code, err = said(path, "audit", "--snapshots", str(snapshot))
    assert code != 2 or str(snapshot) in err, (snapshot, err)
    return code


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """By what is odd in it: a snapshot that is refused, and one that is not."""
    path = tmp_path_factory.mktemp("by-hand")
    snapshots = {odd: path / odd.replace(" ", "-") for odd in (REFUSED, TAKEN)}
    for odd, snapshot in snapshots.items():
        write_odd_snapshot(snapshot, 0, frozenset({odd}))
    return snapshots


each_command = pytest.mark.parametrize("command", PLANS, ids=lambda command: command.replace(" --", "-"))


@pytest.mark.gate
@each_command
def test_dp_2_a_log_dir_that_stands_twice_is_refused_and_a_replica_in_another_dir_is_not(
    command: str, by_hand: Mapping[str, Path], tmp_path: Path
) -> None:
    assert planned(command, by_hand[REFUSED], tmp_path / "plan") == 2
    assert planned(command, by_hand[TAKEN], tmp_path / "plan") != 2


@pytest.mark.gate
@pytest.mark.usefixtures("shared")
def test_dp_5_an_audit_refuses_a_log_dir_that_stands_twice_and_no_replica_in_another_dir(
    by_hand: Mapping[str, Path], tmp_path: Path
) -> None:
    assert audited(by_hand[REFUSED], tmp_path / "audit") == 2
    assert audited(by_hand[TAKEN], tmp_path / "audit") != 2


@pytest.mark.release
@each_command
def test_dp_2_a_plan_of_odd_figures_keeps_the_rules_or_is_refused_with_what_is_odd(
    command: str, tmp_path: Path
) -> None:
    for seed in range(len(ODD)):
        snapshot = tmp_path / f"snapshot-{seed}"
        write_odd_snapshot(snapshot, seed)
        planned(command, snapshot, tmp_path / "plan")


@pytest.mark.release
@pytest.mark.usefixtures("shared")
def test_dp_5_an_audit_of_odd_figures_is_made_or_refused_with_what_is_odd(tmp_path: Path) -> None:
    for seed in range(100, 100 + len(ODD)):
        snapshot = tmp_path / f"snapshot-{seed}"
        write_odd_snapshot(snapshot, seed)
        audited(snapshot, tmp_path / "audit")


@pytest.mark.release
def test_dp_6_spark_refuses_odd_figures_as_this_process_does(spark: SparkSession, tmp_path: Path) -> None:
    """Sums of them would end its tasks with an error of Java."""
    for seed in range(200, 200 + 8):
        odd, snapshot = write_odd_snapshot(tmp_path / f"snapshot-{seed}", seed), tmp_path / f"snapshot-{seed}"
        results = []
        for name, plan in (("here", plan_job.run_here), ("spark", partial(plan_job.run, spark))):
            try:
                results.append(plan(PlanJob(snapshot, tmp_path / f"{name}-{seed}", Goal(GoalKind.HEAL))).bytes)
            except BadInput:
                results.append(-1)
        assert results[0] == results[1], (seed, odd)
