"""Second attempts in CI: foreign software is not always in time.

With CI=true a failed test that may start processes runs once more, as in Kafka's own builds. Its module's fixtures
begin anew for that: what the first attempt left in a cluster would fail the second one. A test that fails twice fails.
So does a run with more than MOST_RERUNS second attempts: something is wrong then. The end of the run shows every first
failure, with the logs of its processes: each is a race to be found, in a test or in the server.

What fails twice beside other tests, on a machine that is busy, runs a last time alone (`make test-alone`), if it is no
more than MOST_ALONE tests and nothing else is wrong with the run.
"""

import os
from collections.abc import Iterable, Sequence

import pytest

PURE = ("tests/api", "tests/core", "tests/planner", "tests/properties", "tests/protocol")
"""These start no process: they do the same each time."""
MOST_RERUNS = 10
"""One in a thousand of the tests that may start processes."""
MOST_ALONE = 3
_FAILED = pytest.StashKey[bool]()


def allow(items: Iterable[pytest.Item]) -> None:
    """Give each test that may start processes a second attempt, if this is CI."""
    if os.environ.get("CI") == "true":
        for item in items:
            if not item.nodeid.startswith(PURE):
                item.add_marker(pytest.mark.flaky(reruns=1))


def end_fixtures(item: pytest.Item) -> None:
    """After a first attempt that failed: end all fixtures but those of the whole run. pytest-rerunfailures, whose turn
    comes next, would keep those of the module.
    """
    if item.stash.get(_FAILED, False) and item.get_closest_marker("flaky") and attempt(item) == 1:
        item.session._setupstate.teardown_exact(item.session)  # type: ignore[arg-type]


def failed(item: pytest.Item) -> None:
    """Note that the attempt that is under way has failed."""
    item.stash[_FAILED] = True


def attempt(item: pytest.Item) -> int:
    """Which attempt at this test is under way: 1 or 2."""
    return int(getattr(item, "execution_count", 1))


def show(reporter: pytest.TerminalReporter) -> bool:
    """Show all first failures. Returns whether there were too many."""
    reports: Sequence[pytest.TestReport] = reporter.stats.get("rerun", [])
    for report in reports:
        reporter.write_sep("_", f"failed at the first attempt: {report.nodeid}", yellow=True)
        reporter.write_line(report.longreprtext)
        for title, text in report.sections:
            reporter.write_sep("-", title)
            reporter.write_line(text)
    if len(reports) > MOST_RERUNS:
        reporter.write_line(f"{len(reports)} tests failed at the first attempt, at most {MOST_RERUNS} may", red=True)
    return len(reports) > MOST_RERUNS


def leave_nothing_for_a_last_attempt(config: pytest.Config) -> None:
    if config.cache is not None:
        config.cache.set("cache/lastfailed", {})
