"""What a run of tests costs, beside what it may: `python -m tests.budget NAME -- COMMAND …`.

CPU minutes are those of the command and of all processes that it has waited for, Java's included. A run over its
budget fails. Wall time is shown beside its goal: it depends on what else the machine does, so it fails nothing.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).parents[1] / ".pytest_cache"


@dataclass(frozen=True)
class Budget:
    """`goal_min` is what the run should cost one day: a change may lower `cpu_min` towards it, and not raise it."""

    cpu_min: float
    goal_min: float
    wall_min: float


BUDGETS = {
    "check": Budget(cpu_min=3, goal_min=100 / 60, wall_min=1),
    "test": Budget(cpu_min=15, goal_min=15, wall_min=10),
    "gate": Budget(cpu_min=50, goal_min=25, wall_min=15),
}
"""By the name of the target, on two cores at rest. A limit leaves a third above what runs have cost, for a machine that
others use too. Without its cache mypy takes more than a minute of `check`.
"""


def verdict(name: str, cpu_s: float, wall_s: float) -> tuple[str, bool]:
    """One line, and whether the run kept its budget."""
    budget = BUDGETS[name]
    kept = cpu_s <= 60 * budget.cpu_min
    cost = f"{cpu_s / 60:.1f} of {budget.cpu_min:g} CPU minutes (goal: {budget.goal_min:.2g})"
    line = f"{name}: {cost}, {wall_s / 60:.1f} minutes by the clock (goal: {budget.wall_min:g})"
    return line if kept else f"{line}: over its budget", kept


def run(name: str, command: Sequence[str]) -> int:
    began = time.monotonic()
    code = subprocess.run(command, check=False).returncode
    spent = os.times()
    line, kept = verdict(name, spent.children_user + spent.children_system, time.monotonic() - began)
    print(line, file=sys.stderr, flush=True)
    return code or int(not kept)


if __name__ == "__main__":
    split = sys.argv.index("--")
    sys.exit(run(sys.argv[1], sys.argv[split + 1 :]))
