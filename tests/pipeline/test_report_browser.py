"""The tables of a report in a real browser: readers filter and sort them, whatever names they show."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.pipeline.reports.html_page import HtmlPage, TableFilter
from tests.status_page.browser import PROGRAM, Tab, browser

HOSTILE = '"><img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>'
ROWS = [
    ["orders-0", "[1, 2]", "[3, 2]", "2.0 GB", "OPS-7"],
    ["orders-1", "[12, 2]", "[3, 2]", "900 MB", "even out"],
    [HOSTILE, "[4, 5]", "[5, 6]", "10.0 GB", HOSTILE],
]
BOX = ".filters label:nth-of-type({}) input"
FILTERS = (TableFilter("Topic", (0,)), TableFilter("Broker", (1, 2), is_id=True), TableFilter("Reason", (4,)))

pytestmark = [
    pytest.mark.in_ci,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium: install Debian's package chromium"),
]


@pytest_asyncio.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Tab]:
    page = HtmlPage("Plan", "")
    page.table(["one"], [["a table without filters"]])
    columns = ["partition", "replicas", "then", "bytes", "reason"]
    sizes = [2_000_000_000, 900_000_000, 10_000_000_000]
    page.table(columns, ROWS, text=(0, 1, 2, 4), filters=FILTERS, keys={3: sizes})
    file = tmp_path / "report.html"
    file.write_text(page.html())
    async with browser(tmp_path / "profile") as made:
        await made.open(file.as_uri())
        yield made


async def seen(tab: Tab) -> list[str]:
    """The first cells of the rows that show, in their order."""
    rows = "[...document.querySelectorAll('table[data-filters] tbody tr')].filter((row) => !row.hidden)"
    found = await tab.value(f"{rows}.map((row) => row.cells[0].textContent)")
    assert isinstance(found, list)
    return found


async def sort(tab: Tab, column: int) -> None:
    await tab.value(f"document.querySelectorAll('table[data-filters] th button')[{column}].click(); 1")


async def test_dp_3_readers_filter_and_sort_the_moves_of_a_page_and_names_stay_text(tab: Tab) -> None:
    first, second, hostile = (row[0] for row in ROWS)
    await tab.value("new Promise((done) => { if (document.readyState === 'complete') done(); else onload = done; })")
    assert await seen(tab) == [first, second, hostile]
    assert await tab.value("document.querySelectorAll('.filters').length") == 1
    await tab.enter(BOX.format(1), " ORDERS ")
    assert await seen(tab) == [first, second]
    await tab.enter(BOX.format(2), "1")
    assert await seen(tab) == [first], "broker 12 is not broker 1"
    assert "1 of 3 rows" in await tab.text(".filters")
    await tab.enter(BOX.format(3), "even")
    assert await seen(tab) == []
    for box in (1, 2, 3):
        await tab.enter(BOX.format(box), "")

    await sort(tab, 3)
    assert await seen(tab) == [second, first, hostile], "by bytes, not by their text"
    await sort(tab, 3)
    assert await seen(tab) == [hostile, first, second]
    await sort(tab, 0)
    assert (await seen(tab))[-2:] == [first, second]
    assert await tab.value("window.hacked ?? null") is None
    assert await tab.value("document.querySelectorAll('img').length") == 0
    assert tab.problems == []
