"""The page says each thing once, shows one time, and on a phone first what is looked for."""

from functools import partial
from typing import Any

from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.status.views import ServerView, WatchView
from tests.status_page.browser import IN_BROWSER, Tab
from tests.status_page.served import served
from tests.status_page.views import STEP_S, at_rest, cluster_of, move, sample, server_of, term_of
from tests.waiting import eventually

pytestmark = IN_BROWSER

LATER = "{ const was = performance.now.bind(performance); performance.now = () => was() + 60_000; } 1"
"""A minute passes for the page."""


def moving() -> ServerView:
    """Of 20 kB, 4.5 are copied; broker 9 is dead."""
    cluster = cluster_of({"payments": {0: move((1, 2), (3, 4), reason="OPS-77"), 1: move((1, 2), (9, 4))}})
    tracker = ProgressTracker(STEP_S)
    for turn in range(4):
        copied = {3: {"payments": {0: 1000 * turn}}, 4: {"payments": {0: 500 * turn, 1: 20}}}
        sample(tracker, cluster, turn * STEP_S, {1: {"payments": {0: 10_000, 1: 10_000}}, **copied})
    return server_of(term_of(cluster, tracker))


def idle() -> ServerView:
    return server_of(term_of(cluster_of({"t": {at: at_rest(1 + at % 4, 1 + (at + 1) % 4) for at in range(8)}})))


async def colour(tab: Tab, selector: str) -> Any:
    return await tab.value(f"getComputedStyle(document.querySelector('{selector}')).color")


async def test_sv_11_what_is_no_longer_of_this_time_is_grey_and_has_its_age(tab: Tab) -> None:
    view = moving()
    async with served(lambda: view) as (at, _):
        await tab.open(at)
        await eventually(lambda: tab.shows("#moves", "payments-0"))
        await eventually(lambda: tab.shows("#tiles", "In flight"))
        await eventually(lambda: tab.shows("#brokers", "alive"))
        assert await colour(tab, "#moves td span") != await colour(tab, "#live")
        assert await tab.value("document.querySelectorAll('.age, .old').length") == 0
    await tab.value(LATER)
    await eventually(lambda: tab.shows("#live", "does not answer"))
    for part in ("h-sums", "h-moves", "h-brokers"):
        section = f"section[aria-labelledby={part}]"
        await eventually(partial(tab.shows, f"{section} .age", "1 min", "old"))
        assert await tab.value(f"document.querySelector('{section}').classList.contains('old')")
    for text in ("#moves td span", "#groups td span", "#tiles dd", "#brokers td span"):
        assert await colour(tab, text) == await colour(tab, "#moves-sums"), text


async def test_sv_11_while_watch_sees_nothing_its_rows_are_grey(tab: Tab) -> None:
    views = [moving()._replace(server=None, role="watch")]
    async with served(lambda: views[-1]) as (at, _):
        await tab.open(at)
        await eventually(lambda: tab.shows("#moves", "payments-0"))
        grey = await colour(tab, "#live")
        assert await colour(tab, "#moves td span") != grey
        views.append(views[0]._replace(watch=WatchView(silent_since=1_800_000_000_000)))
        await eventually(lambda: tab.shows("#notices", "No broker has said since"))
        for text in ("#moves td span", "#tiles dd", "#groups td span"):
            assert await colour(tab, text) == grey, text


async def test_sv_11_an_idle_page_says_a_common_sentence_once(tab: Tab) -> None:
    view = idle()
    rates = [
        {"at": 1000 + broker, "event": "throttle.set", "epoch": 1, "server": 1000, "seq": broker, "broker": broker,
         "bytes": 5_000_000, "who": "controller"}
        for broker in range(1, 6)
    ]  # fmt: skip
    other = {**rates[0], "at": 1500, "seq": 6, "broker": 1, "bytes": 700, "reason": "to receive: by somebody else"}
    async with served(lambda: view, [*rates, other]) as (at, _):
        await tab.open(at)
        common = "Whichever broker goes now: ", "4 partitions become under-"
        await eventually(lambda: tab.shows("#brokers-common", *common))
        await eventually(lambda: tab.shows("#plots", "Nothing is known yet."))
        await eventually(lambda: tab.shows("#moves", "No move is in flight or waits."))
        await eventually(lambda: tab.shows("#events", "throttle.set"))
        text = await tab.text("main")
        for once in ("whether the others have room is not known", "4 partitions lose a rack", "nown yet.", "No move"):
            assert text.count(once) == 1, once
        assert await tab.text("#moves-sums") == ""
        assert [row[2] for row in await tab.rows("#events")] == ["broker 1", "brokers 1, 2, 3, 4, 5"]


async def test_sv_11_on_a_phone_a_row_begins_with_the_partition_and_its_percent(tab: Tab) -> None:
    view = moving()
    async with served(lambda: view) as (at, _):
        await tab.looks(width=390, height=844, scheme="light", phone=True)
        await tab.open(at)
        await eventually(lambda: tab.shows("#moves", "payments-0"))
        first, stalled = (row[0] for row in await tab.rows("#moves"))
        assert first.startswith("payments-0 22 %")
        assert stalled.startswith("payments-1leader 1"), "nobody knows how much"
