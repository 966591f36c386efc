"""The tables of a report in a real browser: readers filter and sort them, whatever names they show."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from kafka_reassign_rpc.pipeline.reports import plan_report
from kafka_reassign_rpc.pipeline.reports.html_page import HtmlPage, TableFilter
from tests.pipeline.test_reports import write_plan
from tests.status_page.browser import IN_BROWSER, Tab, browser

HOSTILE = '"><img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>'
ROWS = [
    ["orders-0", "[1, 2]", "[3, 2]", "2.0 GB", "OPS-7"],
    ["orders-1", "[12, 2]", "[3, 2]", "900 MB", "even out"],
    [HOSTILE, "[4, 5]", "[5, 6]", "10.0 GB", HOSTILE],
]
BOX = ".filters label:nth-of-type({}) input"
FILTERS = (TableFilter("Topic", (0,)), TableFilter("Broker", (1, 2), is_id=True), TableFilter("Reason", (4,)))

pytestmark = IN_BROWSER


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


async def fits(tab: Tab, file: Path, name: str) -> None:
    """Open a page: at once on a desktop, and on a phone, where tables scroll in their cards, it fits the screen."""
    for width, scheme in ((1280, "light"), (360, "dark")):
        await tab.looks(width=width, height=800, scheme=scheme, phone=width < 1000)
        await tab.open(file.as_uri())
        await loaded(tab)
        await tab.picture(f"{name}-{width}", whole=False)
        await tab.value("document.querySelector('table').scrollIntoView(); 1")
        await tab.picture(f"{name}-{width}-table", whole=False)
        if width > 1000:
            assert await tab.fits()
        wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        assert await tab.value(wide) is False
        tall = "Math.max(0, ...[...document.querySelectorAll('tr')].map((one) => one.offsetHeight))"
        assert await tab.value(tall) < 800, "a row fits the screen"


async def loaded(tab: Tab) -> None:
    await tab.value("new Promise((done) => { if (document.readyState === 'complete') done(); else onload = done; })")


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
    await loaded(tab)
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


async def test_dp_3_the_page_of_a_plan_for_tens_of_thousands_of_the_longest_names_fits_the_screen_and_is_filtered(
    tab: Tab, tmp_path: Path
) -> None:
    names = [f"{number:05d}{'W.-_'[number % 4] * 239}{number:05d}" for number in range(20_000)]
    racks = ["r" * 250, "$x_{$", "</svg><script>window.hacked=1</script>"]
    plan = write_plan(tmp_path / "plan", batches=1, topics=names, racks=racks, more=f" {HOSTILE}{'W' * 1_000}")
    plan_report.write(plan)
    await fits(tab, plan / plan_report.NAME, "plan-of-many")
    assert len(await seen(tab)) == 2_000
    await tab.enter(BOX.format(1), names[7])

    async def whole() -> list[str]:
        return [name[-len(names[7]) - 2 :] for name in await seen(tab)]

    assert await whole() == [f"{names[7]}-2", f"{names[7]}-3"]
    await sort(tab, 0)
    await sort(tab, 0)
    assert await whole() == [f"{names[7]}-3", f"{names[7]}-2"]
    assert await tab.value("window.hacked ?? null") is None
    assert await tab.value("document.querySelectorAll('img, main script').length") == 0
    assert tab.problems == []
