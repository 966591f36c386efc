"""Tens of thousands of topics with the longest names on the page: it stays bounded, readable and within the screen."""

import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.events.catalogue import MOVE_STARTED
from kafka_reassign_rpc.core.healing.self_healing_status import BrokerRepair, FailedBroker, HealingStatus
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.requesters import LONGEST_PART, LONGEST_PRINCIPAL
from kafka_reassign_rpc.core.status.views import ServerView
from tests.controller.cluster import Cluster as World
from tests.core.build import broker
from tests.reassign_command.run_command import Command
from tests.status_page.browser import IN_BROWSER, Tab
from tests.status_page.served import served
from tests.status_page.views import STEP_S, cluster_of, move, sample, server_of, term_of
from tests.waiting import eventually

TOPICS = 20_000
LONGEST_NAME = 249
NAMES = [f"{number:05d}{'Wm._-'[number % 5] * (LONGEST_NAME - 10)}{number:05d}" for number in range(TOPICS)]
ODD_NAMES = ("__proto__", "constructor", "-", "...", "0", "a_b.c-d")
"""Names that brokers allow."""
WIDE = "W" * 1000
HOSTILE = "\u202egnp\u202c<b>&amp;\x1b[31m\x07\u0301\u0301 \ud55c\u0416\U0001f600 ${7*7} {{7*7}} "
HOSTILE_SHOWN = r"\u{202e}gnp\u{202c}<b>&amp;\u{1b}[31m\u{7}" "\u0301\u0301 \ud55c\u0416\U0001f600 ${7*7} {{7*7}} "
RTL = "\u0645\u0631\u062d\u0628\u0627 "
NOW = 1_800_000_000_000

pytestmark = IN_BROWSER


def large() -> ServerView:
    """Moves of all topics; every text of others as long as it can be."""
    partitions = {name: {0: move((1, 2), (3, 4), reason=f"{HOSTILE}{RTL}{WIDE}"[:1000])} for name in NAMES}
    cluster = cluster_of({**partitions, **{name: {7: move((1,), (4,))} for name in ODD_NAMES}}, live=(1, 2, 3, 4, 5))
    cluster.brokers = {one: broker(one, rack=WIDE[:300]) for one in cluster.brokers}
    tracker = ProgressTracker(60.0)
    for seconds, size in ((0.0, 0), (STEP_S, 10**9)):
        sample(tracker, cluster, seconds, sizes(cluster, size))
    failed = [FailedBroker(one, NOW, None, 10**6) for one in range(900, 910)]
    repairs = [BrokerRepair(one, 10**6, 10**6) for one in range(900, 910)]
    healing = HealingStatus(3_600_000, True, WIDE[:300], failed, 10**6, 10**6, [WIDE, f"{HOSTILE}{WIDE}"], repairs)
    return server_of(term_of(cluster, tracker)._replace(healing=healing))


def sizes(cluster: Cluster, copied: int) -> dict[int, dict[str, dict[int, int]]]:
    total = 10**12
    return {
        one: {name: dict.fromkeys(found.partitions, size) for name, found in cluster.topics.items()}
        for one, size in {1: total, 2: total, 3: copied, 4: copied}.items()
    }


def events() -> list[dict[str, Any]]:
    principal = f"User:{WIDE}"[:LONGEST_PRINCIPAL]
    who = f"{principal} as {WIDE[:LONGEST_PART]} from 127.0.0.1"
    return [
        {
            "at": NOW + number,
            "event": MOVE_STARTED,
            "topic": NAMES[number],
            "partition": 0,
            "target": list(range(1_000_000, 1_000_100)),
            "who": who,
            "principal": principal,
            "reason": f"{HOSTILE}{RTL}{WIDE}",
            "server": 1000,
        }
        for number in range(60)
    ]


@pytest_asyncio.fixture
async def page() -> AsyncIterator[str]:
    view = large()
    async with served(lambda: view, events()) as (at, _):
        yield at


@pytest.mark.parametrize(("width", "is_phone"), [(1280, False), (980, False), (360, True)])
async def test_sv_11_tens_of_thousands_of_moves_with_the_longest_names_stay_few_rows_that_fit_the_screen(
    page: str, tab: Tab, width: int, is_phone: bool
) -> None:
    await tab.looks(width=width, height=800, scheme="light", phone=is_phone)
    await tab.open(page)
    start, end, moves, events = (30, 24, 12, 12) if is_phone else (90, 40, 50, 30)
    await eventually(lambda: tab.shows("#moves-page", f"{moves} of 20,006"))
    await eventually(lambda: tab.shows("#moves-sums", "20,006 moves in flight"))
    await tab.unfold()
    await eventually(lambda: tab.shows("#events", "move.started"))
    await eventually(lambda: tab.shows("#brokers", "20,006"))
    assert await tab.fits()
    await tab.picture(f"large-{width}")
    assert (len(await tab.rows("#moves")), len(await tab.rows("#events"))) == (moves, events)
    assert await tab.value("document.querySelectorAll('*').length") < 5_000
    size = "fetch('/api/v1/moves').then((answer) => answer.text()).then((text) => text.length)"
    assert await tab.value(size) < 100_000

    names = [row[0] for row in await tab.rows("#moves")]
    after = r"\s*0 %" if is_phone else r"\s*leader"
    assert [re.split(after, name)[0] for name in names[:3]] == ["--7", "...-7", "0-7"]
    [first] = [name for name in names if NAMES[0][:start] in name]
    assert re.split(after, first)[0] == f"{NAMES[0][:start]} … {f'{NAMES[0]}-0'[-end:]}"
    await tab.value("document.querySelectorAll('#moves summary').forEach((one) => one.click())")
    assert await tab.shows("#moves", f"{NAMES[0]}-0", f"{HOSTILE_SHOWN}{RTL}{WIDE[:500]}")
    assert await tab.fits()
    assert await tab.value(r"/\p{Cf}|\x1b/u.test(document.body.textContent)") is False, "nothing turns texts around"
    assert await tab.value("document.querySelectorAll('main b').length") == 0
    assert tab.problems == []


async def test_sv_11_the_longest_names_are_found_by_the_filters_and_by_the_address(page: str, tab: Tab) -> None:
    odd, last = NAMES[7], NAMES[-1]
    await tab.open(f"{page}?moves.topic={quote(odd)}&events.topic={quote(odd)}")

    async def only(*names: str) -> bool:
        """These moves are all, each with its whole name."""
        await tab.value("document.querySelectorAll('#moves details').forEach((one) => { one.open = true; })")
        return [row[0].split("\n")[0] for row in await tab.rows("#moves")] == list(names)

    await eventually(lambda: only(f"{odd}-0"))
    assert await tab.value("document.querySelector('#moves-filter [name=topic]').value") == odd, "all of it"
    assert await tab.shows("#moves-page", "of 1")
    await eventually(lambda: tab.shows("#events", odd[:90]))
    assert len(await tab.rows("#events")) == 1
    await tab.enter("#moves-filter [name=topic]", last)
    await eventually(lambda: only(f"{last}-0"))
    assert await tab.value("new URLSearchParams(location.search).get('moves.topic')") == last
    await tab.enter("#moves-filter [name=topic]", "__proto__")
    await eventually(lambda: only("__proto__-7"))
    await tab.enter("#moves-filter [name=topic]", "")
    await eventually(lambda: tab.shows("#moves-page", "50 of 20,006"))
    await tab.value("document.querySelector('#moves-on').click(); 1")
    await eventually(lambda: tab.shows("#moves-page", "100 of 20,006"))
    await tab.open(f"{page}?moves.page=401")
    await eventually(lambda: tab.shows("#moves-page", "20,006 of 20,006"))
    assert len(await tab.rows("#moves")) == 6
    assert tab.problems == []


async def test_sv_11_a_move_of_the_longest_name_is_found_on_the_page_and_in_a_terminal(world: World, tab: Tab) -> None:
    name, reason = NAMES[7], f"{HOSTILE}{RTL}{WIDE}"[:1000]
    await world.create_topic(name, {0: (1, 2)}, held=True)
    await world.reconnect(await world.client(f"{HOSTILE}{WIDE}"[:200]))
    assert await world.alter({(name, 0): (3, 4)}, reason=reason) == {(name, 0): (0, None)}
    await tab.looks(width=360, height=800, scheme="dark", phone=True)
    await tab.open(f"http://{world.metrics_address}/?moves.topic={quote(name)}&events.topic={quote(name)}")
    await eventually(lambda: tab.shows("#moves", name[:30], HOSTILE_SHOWN[:20]))
    await tab.unfold()
    await eventually(lambda: tab.shows("#events", "move.started", "topic.created"))
    assert await tab.fits()
    assert tab.problems == []

    command = Command(world.bootstrap)
    for option in ("--list", "describe", "status"):
        output = await command(option)
        assert output.code == 0
        assert all(line.isprintable() for line in output.lines), option
        whole, end = f"{name}-0", f"{name[-10:]}-0"
        assert any((end if option == "status" else whole) in line for line in output.lines), option
        if option == "describe":  # a stalled move has its name a second time
            assert {line.strip(" ,") for line in output.lines if len(line) > 80} == {whole}
