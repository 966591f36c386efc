"""Groups, rows and tiles in a browser: what a reader of a busy cluster sees, on a wide screen and on a phone."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS
from kafka_reassign_rpc.core.state.partition import MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import QueuePart, WaitingMove
from tests.core.build import write
from tests.status_page.browser import IN_BROWSER, Tab
from tests.status_page.served import served
from tests.status_page.views import STEP_S, at_rest, cluster_of, move, run, sample, server_of, term_of
from tests.waiting import eventually

REASON = (
    "drain of rack b before the maintenance window of Saturday, agreed with the owners of payments: " * 2 + "OPS-77123"
)

pytestmark = IN_BROWSER


@pytest_asyncio.fixture
async def page() -> AsyncIterator[str]:
    topics = {
        "payments": {one: move((1, 2, 5), (3, 4, 5), reason=REASON) for one in range(6)},
        "waits": {one: at_rest(1, 2) for one in range(5)},
    }
    cluster = cluster_of(topics, live=(1, 2, 3, 4, 5))
    write(cluster, settings={CORDONED_BROKERS: "5"})
    entries = {("waits", one): WaitingMove(MoveTerms((3, 2), "queue", "PLAN-8")) for one in range(5)}
    run(cluster.queue.put(QueuePart("/q", "/q", entries)))
    tracker = ProgressTracker(STEP_S)
    for turn in range(4):
        held = {one: 1_000_000 * turn * (one % 2) for one in range(6)}
        leads = {"payments": dict.fromkeys(range(6), 300_000_000)}
        sample(tracker, cluster, turn * STEP_S, {1: leads, 3: {"payments": held}, 4: {"payments": held}})
    view = server_of(term_of(cluster, tracker))
    async with served(lambda: view) as (at, _):
        yield at


async def test_sv_11_a_tile_filters_the_moves_and_a_second_click_shows_all_again(page: str, tab: Tab) -> None:
    await tab.open(page)
    await eventually(lambda: tab.shows("#moves", "payments-0", "waits-4"))

    async def click(name: str) -> None:
        buttons = "[...document.querySelectorAll('#tiles button')]"
        await tab.value(f"{buttons}.find((one) => one.textContent === {json.dumps(name)}).click()")

    await click("Waiting")
    await eventually(lambda: tab.shows("#moves-page", "of 5"))
    assert "payments" not in await tab.text("#moves")
    assert await tab.value("location.search") == "?moves.state=waiting", "a link shows a colleague the same"
    await click("Stalled")
    await eventually(lambda: tab.shows("#moves", "payments-0", "stalled: "))
    assert "waits-" not in await tab.text("#moves")
    await click("Stalled")
    await eventually(lambda: tab.shows("#moves", "payments-1", "waits-4"))
    assert await tab.value("location.search") == ""


async def test_sv_11_groups_have_a_bar_each_and_rows_say_what_comes_what_goes_and_why_a_move_waits(
    page: str, tab: Tab
) -> None:
    await tab.open(page)
    await eventually(lambda: tab.shows("#moves", "payments-0", "3, 4 come; 1, 2 go", "3 comes; 1 goes"))
    assert await tab.shows("#moves", "place 1", "place 5", "waits for its turn")
    await eventually(lambda: tab.shows("#groups", ": 2", "PLAN-8", "5 waiting", "6 in flight"))
    groups = await tab.rows("#groups-table")
    assert [("OPS-77123" in row[0], row[2].split("\n")[0]) for row in groups] == [
        (True, "6 in flight, 0 waiting, 0 ended"),
        (False, "0 in flight, 5 waiting, 0 ended"),
    ]
    assert await tab.value("document.querySelectorAll('#groups progress').length") >= 1
    start, end = groups[0][0].split("\n")[0].split(" … ")
    assert REASON.startswith(f"{start} "), "no word is cut"
    assert REASON.endswith(f" {end}")
    await tab.value("document.querySelector('#groups > summary').click()")
    assert await tab.text("#groups-table") == ""


async def test_sv_11_only_a_name_without_spaces_is_cut_within(page: str, tab: Tab) -> None:
    await tab.open(page)

    async def shortened(text: str) -> str | None:
        found = await tab.value(f"import('/static/format.js').then((all) => all.shortened({json.dumps(text)}))")
        assert found is None or isinstance(found, str)
        return found

    words = " ".join(f"word{one:04}" for one in range(40))
    found = await shortened(words)
    assert found is not None
    assert [set(part.split()) <= set(words.split()) for part in found.split(" … ")] == [True, True]
    assert await shortened("x" * 200) == f"{'x' * 90} … {'x' * 40}"
    assert await shortened("short") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
async def test_sv_11_nothing_sticks_out_and_the_page_stays_short(page: str, tab: Tab, width: int, scheme: str) -> None:
    await tab.looks(width=width, height=844, scheme=scheme, phone=width < 720)
    await tab.open(page)
    await eventually(lambda: tab.shows("#moves", "payments-0", "waits-4"))
    if width < 720:
        await tab.picture(f"rows-{width}-{scheme}")
        high = await tab.value("document.documentElement.scrollHeight")
        assert high <= 3 * 844, "three screens of a phone"
        assert await tab.fits()
        await tab.value("document.querySelector('.jumps a[href=\"#h-brokers\"]').click()")
    await eventually(lambda: tab.shows("#brokers", "alive"))
    await tab.picture(f"brokers-{width}-{scheme}")
    assert await tab.fits()
    assert await tab.value("document.querySelectorAll('.jumps a').length") >= 4


async def test_dh_2_the_page_marks_cordoned_brokers(page: str, tab: Tab) -> None:
    await tab.open(page)
    await eventually(lambda: tab.shows("#brokers", "alive"))
    marked = "[...document.querySelectorAll('#brokers tbody tr')].map((one) => one.textContent.includes('cordoned'))"
    assert await tab.value(marked) == [False, False, False, False, True]
