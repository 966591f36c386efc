"""What a run of tests costs, beside what it may: `python -m tests.budget NAME -- COMMAND …`.

CPU minutes are those of the command and of all processes that it has waited for, Java's included. A run over its
budget fails; a slow machine has a larger one, by the pace that was measured during the run (`tests/pace.py`). Wall time
is shown beside its goal: it depends on what else the machine does, so it fails nothing.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.pace import Pace

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
    "gate": Budget(cpu_min=40, goal_min=25, wall_min=15),
}
"""By the name of the target, on two cores at rest. A limit leaves more than a third above what runs have cost, for a
machine that others use too. Without its cache mypy takes more than a minute of `check`.
"""
WORTH_A_WORD = 1.05


def verdict(name: str, cpu_s: float, wall_s: float, slowness: float = 1.0) -> tuple[str, bool]:
    """One line, and whether the run kept its budget."""
    budget = BUDGETS[name]
    may_min = budget.cpu_min * slowness
    kept = cpu_s <= 60 * may_min
    slow = f", on a machine {slowness:.1f} times slower than usual" if slowness >= WORTH_A_WORD else ""
    cost = f"{cpu_s / 60:.1f} of {may_min:.3g} CPU minutes (goal: {budget.goal_min:.2g}{slow})"
    line = f"{name}: {cost}, {wall_s / 60:.1f} minutes by the clock (goal: {budget.wall_min:g})"
    return line if kept else f"{line}: over its budget", kept


def run(name: str, command: Sequence[str]) -> int:
    began = time.monotonic()
    with Pace() as pace:
        code = subprocess.run(command, check=False).returncode
    spent = os.times()
    cpu_s, wall_s = spent.children_user + spent.children_system, time.monotonic() - began
    line, kept = verdict(name, cpu_s, wall_s, pace.slowness)
    print(line, file=sys.stderr, flush=True)
    return code or int(not kept)


if __name__ == "__main__":
    split = sys.argv.index("--")
    sys.exit(run(sys.argv[1], sys.argv[split + 1 :]))
