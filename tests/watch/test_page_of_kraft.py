"""kr-2: the page of a watch in a browser, with moves in flight on stock Kafka in KRaft mode.

`python -m benchmarks watch` has 5,000 of them."""

from pathlib import Path

import pytest

from benchmarks.held_moves import held_moves
from tests.status_page.browser import IN_BROWSER, browser
from tests.status_page.test_browser_servers import NOT_HERE
from tests.stock.jars import require
from tests.stock.kraft import VERSION
from tests.waiting import eventually
from tests.watch.moving_nodes import TOPIC
from tests.watch.test_quorum_loss import loses_the_quorum, voters
from tests.watch.test_unknown import hidden
from tests.watch.watching import watching

pytestmark = [*IN_BROWSER, pytest.mark.stock, pytest.mark.timeout(300)]

MOVES = 300
MOST_NODES = 5_000


async def test_kr_2_the_page_shows_many_moves_of_a_cluster_in_kraft_mode_in_few_rows(tmp_path: Path) -> None:
    require(VERSION)
    async with (
        held_moves(tmp_path / "nodes", MOVES) as nodes,
        watching(f"127.0.0.1:{nodes[0].port}", tmp_path / "events") as watch,
        browser(tmp_path / "profile") as tab,
    ):

        async def all_are_measured() -> bool:
            totals = (await watch.document("status"))["totals"]
            return totals is not None and totals["in_flight"] > 0.9 * MOVES and not totals["moves_without_size"]

        await eventually(all_are_measured, within=60)
        await tab.open(f"http://{watch.served.address}/")
        await eventually(lambda: tab.shows("#role", "watch"))
        await eventually(lambda: tab.shows("#moves-page", "50 of "))
        await eventually(lambda: tab.shows("#moves", "held-0-0", "[1] → [2]"))
        await eventually(lambda: tab.shows("#brokers", "1 B/s"), within=60)
        assert len(await tab.rows("#moves")) == 50
        assert await tab.value("document.querySelectorAll('*').length") < MOST_NODES
        assert await tab.fits()
        await tab.picture("watch-kraft")
        assert tab.problems == []


async def test_kr_1_the_page_says_unknown_of_what_this_principal_may_not_see(tmp_path: Path) -> None:
    async with hidden(tmp_path / "events") as (_, watch), browser(tmp_path / "profile") as tab:
        await tab.open(f"http://{watch.served.address}/")
        await eventually(lambda: tab.shows("#moves", f"{TOPIC}-0", "leader unknown"))
        await eventually(lambda: tab.shows("#brokers", "unknown"))
        assert not await tab.shows("#moves", "no leader")
        assert not await tab.shows("#moves", "by null")
        for section in ("healing", "caps"):
            assert await tab.value(f"document.getElementById('{section}').checkVisibility()") is False, "of a server"
        assert tab.problems == []


async def test_kr_3_the_page_says_of_a_lost_quorum_who_is_dead_and_nothing_that_only_a_server_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.STALE_S", 1.0)
    async with (
        voters() as (first, second, end),
        watching(f"127.0.0.1:{second.port}", tmp_path / "events", request_timeout_ms=1_000) as watch,
        browser(tmp_path / "profile") as tab,
    ):
        await tab.open(f"http://{watch.served.address}/")
        await eventually(lambda: tab.shows("#moves", f"{TOPIC}-0"))
        loses_the_quorum(first)
        await end()
        text = "broker 1 answers, and gets no answer from the quorum; dead: 2 since 2"
        await eventually(lambda: tab.shows("#notices", "No controller is active since 2", text), within=60)
        assert not await tab.shows("#notices", "has known no state"), "it has shown the moves"
        assert not await tab.shows("nav", "Self-healing")
        assert await tab.fits()
        await tab.picture("watch-lost-quorum")
        assert set(tab.problems) <= {NOT_HERE}
