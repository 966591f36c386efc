"""Pages of tens of thousands of topics with the longest names, and of what others may write: bounded and readable."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import pytest_asyncio

from kafka_reassign_rpc.pipeline.auditing import audit_job
from kafka_reassign_rpc.pipeline.auditing.load_spread import spread_of_loads, targets_of
from kafka_reassign_rpc.pipeline.reports import result_pages, result_tables
from kafka_reassign_rpc.pipeline.reports.result_tables import TableExcerpt
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.topic_pieces import CallHere
from tests.effort import in_all
from tests.pipeline.histories import tables_of
from tests.pipeline.test_audit import MINUTE, event, write_event_file, write_snapshot
from tests.pipeline.test_report_browser import HOSTILE, fits
from tests.status_page.browser import IN_BROWSER, Tab, browser

TOPICS = in_all(20_000, elsewhere=4_000)
NAMES = [f"{number:05d}{'W.-_'[number % 4] * 239}{number:05d}" for number in range(TOPICS)]
HIDDEN = "\x1b[31m\n\u202egnp"
REASON = f"{HOSTILE}{HIDDEN}{'W' * 1000}"[:1000]
WHO = f"User:{HOSTILE}{'p' * 170} as {'c' * 100} from 127.0.0.1"
ROWS = 5 * 20 + 5
"""Of all tables of a page: 20 each, and their headings."""


def excerpts(frames: dict[str, pa.Table]) -> dict[str, TableExcerpt]:
    return {name: result_tables.excerpt(frame) for name, frame in frames.items()}


def history(folder: Path) -> tuple[str, list[str]]:
    """The page of moves of all topics, and the tables as text."""
    events: list[dict[str, Any]] = []

    def add(name: str, number: int, at: int, **more: Any) -> None:
        more |= {"topic": NAMES[number], "partition": 0, "original": [1, 2], "target": [3, 2], "principal": WHO[:250]}
        events.append(event(len(events), name, at, who=WHO, reason=REASON, **more))

    for number in range(TOPICS):
        at = 10 * number
        add("move.started", number, at)
        add("move.stalled", number, at + 1)
        if number % 2:
            add("move.completed", number, at + 1_000 + number, copied=number)
        else:
            add("move.refused", number, at + 2)
            events[-1]["reason"] = f"{NAMES[number]}: {REASON}"
    frames = tables_of(CallHere(), write_event_file(folder, events), None)
    shown = excerpts(frames)
    lines = [line for name, one in shown.items() for line in result_tables.text_lines(name, one, empty="none")]
    return result_pages.history_page(frames["moves"], shown), lines


def audit(folder: Path) -> tuple[str, list[str]]:
    """The page of an audit where each topic is under-replicated, breaks the rack rule and has mixed factors."""
    for at in (1, 2):
        partitions = [
            row for name in NAMES for row in ((name, 0, [1, 2], [1]), (name, 1, [1, 2, 3][: at + 1], [1]))
        ]  # fmt: skip
        write_snapshot(folder / f"s{at}", at * MINUTE, partitions)
    grown = {"partition": 1, "who": WHO, "reason": REASON, "original": [1, 2], "target": [1, 2, 3]}
    requests = [event(at, "move.started", MINUTE + 5, topic=name, **grown) for at, name in enumerate(NAMES[:1_000])]
    events = write_event_file(folder.parent / "requests", requests)
    found = snapshot_files.find_snapshots(folder)
    frames = audit_job.audit_tables(CallHere(), found, events)
    shown = excerpts(frames)
    lines = [line for name, one in shown.items() for line in result_tables.text_lines(name, one, empty="none")]
    brokers = frames["brokers"].to_pylist()
    spread = [one._asdict() for one in spread_of_loads(brokers)]
    now = [row for row in brokers if row["at"] == found[-1].meta.at and row["live"]]
    return result_pages.audit_page([one.meta for one in found], spread, now, targets_of(now), shown), lines


MAKERS = {"history": history, "audit": audit}


@pytest.fixture(scope="module", params=sorted(MAKERS))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, list[str]]:
    """Both tests look at one page of each kind: to make it takes most of their time."""
    return (request.param, *MAKERS[request.param](tmp_path_factory.mktemp(request.param) / "input"))


@pytest_asyncio.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Tab]:
    async with browser(tmp_path / "profile") as opened:
        yield opened


@pytest.mark.gate
def test_dp_5_the_page_and_the_tables_of_tens_of_thousands_of_topics_are_short(
    made: tuple[str, str, list[str]],
) -> None:
    _, page, lines = made
    assert len(page) < 400_000
    assert page.count("<tr>") <= ROWS
    assert any(name in page for name in (NAMES[1], NAMES[-1])), "whole"
    assert f"and {TOPICS - 20}" in page
    assert not set("\x1b\u202e") & set(page)
    assert "<script" not in page
    assert "<img" not in page
    assert json.dumps(HIDDEN)[1:4] not in "".join(lines)
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) < 400
    assert any("…" in line and ("00001 " in line or f"{TOPICS - 1:05d} " in line) for line in lines), (
        "the end of a name tells rows apart"
    )


@IN_BROWSER[0]
@IN_BROWSER[1]
async def test_dp_5_the_page_of_tens_of_thousands_of_topics_fits_the_screen(
    made: tuple[str, str, list[str]], tab: Tab, tmp_path: Path
) -> None:
    name, page, _ = made
    file = tmp_path / "report.html"
    file.write_text(page)
    await fits(tab, file, f"{name}-of-many")
    assert await tab.value("window.hacked ?? null") is None
    assert tab.problems == []
