"""A failure is a failure. What failed at its first attempt is shown, counted and kept.

Only a test that starts a JVM or a browser of others (marks `stock` and `browser`) has a second attempt: foreign
software is not always in time. Its module's fixtures begin again for that: what the first attempt left in a cluster
would fail the second one. All first failures are the last lines of a run; a run with more than MOST fails. `make test`
and its like append them to `first_failures.jsonl`, which is committed: a test that stands there twice within DAYS, and
whose last row names no commit that mended it (`mended`), fails the gate (`python -m tests.first_failures`).
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import tiers

FOREIGN = ("stock", "browser")
MOST = 2
"""Second attempts of a run."""
DAYS = 30
FILE = Path(__file__).with_name("first_failures.jsonl")
_FAILED = pytest.StashKey[bool]()


def allow_second_attempts(items: Iterable[pytest.Item]) -> None:
    for item in items:
        if any(map(item.get_closest_marker, FOREIGN)):
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


def of_run(reporter: pytest.TerminalReporter) -> Mapping[str, str]:
    """By test: why its first attempt failed."""
    of = reporter.stats
    return {one.nodeid: _reason(one) for one in (*of.get("rerun", []), *of.get("failed", []), *of.get("error", []))}


def show_logs(reporter: pytest.TerminalReporter) -> None:
    """What pytest shows of failed tests, for those that passed at the second attempt."""
    reports: Sequence[pytest.TestReport] = reporter.stats.get("rerun", [])
    for report in reports:
        reporter.write_sep("_", f"failed at the first attempt: {report.nodeid}", yellow=True)
        reporter.write_line(report.longreprtext)
        for title, text in report.sections:
            reporter.write_sep("-", title)
            reporter.write_line(text)


def lines(first: Mapping[str, str]) -> Iterator[str]:
    for test, reason in first.items():
        yield f"first failure: {test}: {reason}"
    if len(first) > MOST:
        yield f"{len(first)} tests failed at their first attempt, at most {MOST} may"


def keep(first: Mapping[str, str], file: Path) -> None:
    if first:
        with file.open("a") as rows:
            rows.writelines(json.dumps(_row(test, reason)) + "\n" for test, reason in first.items())


def _row(test: str, reason: str) -> Mapping[str, str]:
    commit = tiers._git("rev-parse", "--short", "HEAD").strip()
    return {"date": datetime.now(UTC).date().isoformat(), "commit": commit, "test": test, "reason": reason}


def _reason(report: pytest.TestReport) -> str:
    lines = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
    return (lines[0][1:].strip() if lines else report.longreprtext[-200:].strip())[:200]


def unmended(rows: Iterable[Mapping[str, Any]], today: datetime) -> list[str]:
    """Tests that failed first more than once in the last DAYS days, where the last row names no mend."""
    of: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if today - datetime.fromisoformat(row["date"]).replace(tzinfo=UTC) <= timedelta(days=DAYS):
            of.setdefault(row["test"], []).append(row)
    return sorted(test for test, known in of.items() if len(known) > 1 and not known[-1].get("mended"))


def main() -> int:
    rows = [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []
    for test in (tests := unmended(rows, datetime.now(UTC))):
        sys.stderr.write(
            f"{test} failed first more than once within {DAYS} days: mend its cause, and name the commit\n"
        )
    return 1 if tests else 0


if __name__ == "__main__":
    sys.exit(main())
