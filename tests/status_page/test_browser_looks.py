"""How the page looks: light and dark as the reader's system is, text that can be read, on a phone, from one server."""

import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.healing.self_healing_status import FailedBroker, GoneBroker, HealingStatus, with_fates
from kafka_reassign_rpc.core.reassignment.move_sums import Point
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from tests.core.build import write
from tests.status_page.browser import IN_BROWSER, Tab
from tests.status_page.served import served
from tests.status_page.views import STEP_S, at_rest, cluster_of, move, sample, server_of, term_of
from tests.waiting import eventually

READABLE = 4.5
"""The contrast of text that WCAG 2.2 asks for (AA, 1.4.3)."""
NOW_MS = 1_800_000_000_000

CONTRASTS = """(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => parts(colour).slice(0, 3).map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (one) => {
    const colour = getComputedStyle(one).backgroundColor;
    return (parts(colour)[3] ?? 1) === 0 && one.parentElement ? ground(one.parentElement) : colour;
  };
  const hasText = (one) => [...one.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  const shown = [...document.querySelectorAll("body *")].filter((one) => hasText(one) && one.getClientRects().length);
  return shown.filter((one) => !one.closest(".hidden, :disabled, option")).map((one) => {
    const both = [light(getComputedStyle(one).color), light(ground(one))].sort();
    return [(both[1] + 0.05) / (both[0] + 0.05), one.textContent.slice(0, 40)];
  });
})()"""
"""The contrast of each text with its ground, and the text."""

pytestmark = IN_BROWSER


@pytest_asyncio.fixture
async def page() -> AsyncIterator[str]:
    """A page with something of everything: plots, a stall, lost brokers, an unknown value, a link."""
    topics = {
        "payments": {0: move((1, 2), (3, 4), reason="OPS-77"), 1: move((1, 2), (9, 4), started=NOW_MS)},
        "audit": {0: at_rest(1, 2)},
    }
    cluster = cluster_of(topics)
    write(cluster, disabled_by_znode=True)
    tracker = ProgressTracker(STEP_S)
    for turn in range(4):
        told = {"payments": {0: 10_000, 1: 10_000}}
        sample(tracker, cluster, turn * STEP_S, {1: told, 3: {"payments": {0: 1000 * turn}}, 4: {"payments": {0: 0}}})
    failed = [FailedBroker(9, NOW_MS, 0, 1), FailedBroker(8, NOW_MS, None, 2)]
    gone = [GoneBroker(7, None, 0, 2)]
    found = HealingStatus(1000, False, "too many brokers are gone", failed, 3, 1, ["rack r9 is unknown"], gone=gone)
    healing = with_fates(found)
    view = server_of(term_of(cluster, tracker)._replace(healing=healing))
    async with served(lambda: view) as (at, history):
        for ago in (20.0, 10.0, 0.0):
            figures = Point(NOW_MS, in_flight=3, waiting=0, rate=1000, bytes_left=5000, under_replicated=2, offline=1)
            history.record(time.monotonic() - ago, figures)
        yield at


async def ready(tab: Tab) -> None:
    await eventually(lambda: tab.shows("#moves", "stalled: broker 9 is dead"))
    await tab.unfold()
    await eventually(lambda: tab.shows("#brokers", "dead"))
    await eventually(
        lambda: tab.shows("#failed", "now", "not healed while self-healing is held back", "2 moves wait for it")
    )
    await eventually(lambda: tab.shows("#notices", "Reassignments are disabled"))
    await eventually(lambda: tab.shows("#events", "No event."))
    await eventually(lambda: tab.value("document.querySelectorAll('#plots .line').length >= 5"))


async def colours(tab: Tab) -> list[str]:
    """Of the ground, a card, texts, a field, bars and plots."""
    of = {
        "body": "backgroundColor", "section": "backgroundColor", "h1": "color", ".quiet": "color", ".wrong": "color",
        ".warn": "color", "a": "color", "input": "backgroundColor", "progress": "backgroundColor", ".line": "stroke",
    }  # fmt: skip
    found = [await tab.value(f"getComputedStyle(document.querySelector('{one}')).{name}") for one, name in of.items()]
    assert None not in found
    return found


async def test_sv_11_colours_follow_the_system_and_every_text_can_be_read(page: str, tab: Tab) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        await tab.looks(width=1280, height=900, scheme=scheme)
        await tab.open(page)
        await ready(tab)
        seen[scheme] = await colours(tab)
        contrasts = await tab.value(CONTRASTS)
        assert len(contrasts) > 80
        assert [one for one in contrasts if one[0] < READABLE] == []
        await tab.picture(f"looks-{scheme}")
    assert all(light != dark for light, dark in zip(seen["light"], seen["dark"], strict=True)), seen
    await tab.looks(width=1280, height=900, scheme="light")
    assert await colours(tab) == seen["light"], "also while the page is open"


@pytest.mark.parametrize("width", [360, 768, 980])
async def test_sv_11_nothing_is_wider_than_the_screen(page: str, tab: Tab, width: int) -> None:
    await tab.looks(width=width, height=780, scheme="light", phone=True)
    await tab.open(page)
    await ready(tab)
    assert await tab.fits()
    await tab.picture(f"looks-{width}")


async def test_sv_11_the_page_asks_its_own_server_alone(page: str, tab: Tab) -> None:
    await tab.open(page)
    await ready(tab)
    loaded = await tab.value("performance.getEntriesByType('resource').map((one) => one.name)")
    assert len(loaded) > 8
    assert {url.split("/")[2] for url in [*tab.asked, *loaded]} == {page.split("/")[2]}
    assert tab.problems == []
    refused = "fetch('http://127.0.0.1:1/').then(() => 'answered', (error) => error.name)"
    assert await tab.value(refused) == "TypeError"

    async def policy_refused_it() -> bool:
        await tab.value("1")  # what the browser notes comes with answers
        return any("Content Security Policy" in one for one in tab.problems)

    await eventually(policy_refused_it)
