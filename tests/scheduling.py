"""Which process of a run (pytest-xdist) gets which tests: a file's tests are together, and so are all on Spark.

Tests that wait for processes leave half of two cores idle. So CI has a third process, the patient one: it has a low
priority, and only tests that no clock hurries. What the others start keeps its time.
"""

import os
from collections.abc import Iterable

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from tests.second_attempts import PURE

PATIENT = "gw2"
"""The third, where there are as many."""
_NICENESS = 10
UNHURRIED = (
    *PURE,
    "tests/server/test_costs",
    "tests/pipeline/test_failing_stores",
    "tests/pipeline/test_small_jobs",
    "tests/pipeline/test_spark_cluster",
)
"""They start no process, or processes of Spark alone, which may take as long as they want."""


def lower_priority(of_process: str | None) -> None:
    """`of_process`: this process of the run."""
    if of_process == PATIENT and _is_ci():
        os.nice(_NICENESS)


def _is_ci() -> bool:
    return os.environ.get("CI") == "true"


class Units(LoadFileScheduling):  # type: ignore[misc]
    """`together`: the beginnings of tests that one process gets, whatever their files."""

    def __init__(self, config: pytest.Config, log: Producer, together: Iterable[str]) -> None:
        super().__init__(config, log)
        self._together = tuple(together)

    def _split_scope(self, nodeid: str) -> str:
        return "together" if nodeid.startswith(self._together) else super()._split_scope(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        if _is_ci() and node.gateway.id == PATIENT:
            unit = next((one for one in self.workqueue if one.startswith(UNHURRIED)), None)
            if unit is None:
                node.shutdown()
                return
            self.workqueue.move_to_end(unit, last=False)
        super()._assign_work_unit(node)
