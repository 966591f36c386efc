"""What pictures of the page in many states have shown to be wrong: cut reasons and commands, figures of two times."""

import time
from collections.abc import AsyncIterator

import pytest_asyncio

from kafka_reassign_rpc.core.healing.self_healing_status import FailedBroker, GoneBroker, HealingStatus, with_fates
from kafka_reassign_rpc.core.reassignment.move_sums import Point
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from tests.status_page.browser import IN_BROWSER, Tab
from tests.status_page.served import served
from tests.status_page.views import STEP_S, at_rest, cluster_of, move, sample, server_of, term_of
from tests.waiting import eventually

NOW_MS = 1_800_000_000_000

pytestmark = IN_BROWSER


@pytest_asyncio.fixture
async def page() -> AsyncIterator[str]:
    """Two moves to dead brokers; brokers 7 and 8 are lost, broker 8 waits for a command; broker 6 holds nothing."""
    topics = {
        "a": {one: move((1, 2), (7, 4), reason="OPS-77") for one in range(2)},
        "b": {one: at_rest(1 + one % 5, 1 + (one + 1) % 5) for one in range(5)},
    }
    cluster = cluster_of(topics, live=(1, 2, 3, 4, 5, 6))
    tracker = ProgressTracker(STEP_S)
    for turn in range(4):
        sample(tracker, cluster, turn * STEP_S, {1: {"a": {0: 10_000, 1: 10_000}}, 4: {"a": {0: 0, 1: 0}}})
    failed = [FailedBroker(8, NOW_MS, None, 2)]
    found = HealingStatus(None, False, None, failed, 0, 0, gone=[GoneBroker(7, NOW_MS, 0, 2)])
    view = server_of(term_of(cluster, tracker)._replace(healing=with_fates(found)))
    async with served(lambda: view) as (at, history):
        for ago in (20.0, 10.0):
            figures = Point(NOW_MS, in_flight=9, waiting=5, rate=0, bytes_left=5, under_replicated=0, offline=0)
            history.record(time.monotonic() - ago, figures)
        yield at


async def test_sv_11_on_a_phone_reasons_and_commands_are_whole_and_each_figure_of_a_broker_has_its_name(
    page: str, tab: Tab
) -> None:
    await tab.looks(width=360, height=780, scheme="light", phone=True)
    await tab.open(page)
    await eventually(lambda: tab.shows("#moves", "stalled: broker 7 is dead"))
    await tab.unfold()
    await eventually(lambda: tab.shows("#brokers", "alive"))
    before = "getComputedStyle(document.querySelector('#brokers tbody tr').cells[{}], '::before').content"
    for cell, name in ((1, "Rack"), (9, "On disk"), (10, "May go now")):
        assert name in await tab.value(before.format(cell))
    assert await tab.shows("#failed", "never healed by itself", "heal --bootstrap-server HOST:PORT --now 8")
    for table in ("#moves", "#brokers", "#failed"):
        assert "…" not in await tab.text(table), table
    field = "document.querySelector('#partitions-filter [name=name]')"
    assert await tab.value(f"{field}.clientWidth") >= 120, "there is room for a name"
    assert await tab.fits()


async def test_sv_11_a_sentence_that_is_so_of_most_brokers_is_said_once_with_the_exceptions(
    page: str, tab: Tab
) -> None:
    await tab.open(page)
    await eventually(lambda: tab.shows("#brokers-common", "Whichever broker goes now, except 6, rack r6: "))
    assert (await tab.text("main")).count("whether the others have room is not known") == 1


async def test_sv_11_plots_end_with_the_figures_of_the_tiles(page: str, tab: Tab) -> None:
    await tab.open(page)
    await eventually(lambda: tab.shows("#tiles", "In flight"))  # until then, plots end with the last point of the past
    await eventually(lambda: tab.shows("#plots", "In flight", "highest 9"))
    figures = "[...document.querySelectorAll('#plots strong')].map((one) => one.textContent)"
    assert (await tab.value(figures))[:2] == ["2", "0"]
    tiles = "[...document.querySelectorAll('#tiles dd:not(.more)')].map((one) => one.textContent)"
    assert (await tab.value(tiles))[:2] == ["2", "0"]


async def test_sv_11_lost_brokers_are_in_the_order_of_their_ids(page: str, tab: Tab) -> None:
    await tab.open(page)
    await eventually(lambda: tab.shows("#failed", "never healed by itself"))
    assert [row[0] for row in await tab.rows("#failed")] == ["7", "8"]
