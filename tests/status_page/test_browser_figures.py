"""The figures of a real cluster as people read them in a browser: remaining times, racks, throttles, countdowns."""

import re
from collections.abc import Mapping

from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL
from tests.controller.cluster import BROKERS, RATE, Cluster
from tests.status_page.browser import IN_BROWSER, Tab
from tests.status_page.conftest import RACKS
from tests.waiting import eventually

LARGE, SLOW = 2_000_000_000, 10_000_000
"""Bytes, and bytes per second: it takes minutes, however late a broker hears of its throttle."""
HOUR_MS = 3_600_000
UNITS = {"s": 1, "min": 60, "h": 3600}

pytestmark = IN_BROWSER


def seconds(text: str) -> int:
    """What the page writes as a duration."""
    parts = re.findall(r"(\d+) (s|min|h)\b", text)
    assert parts, text
    return sum(int(number) * UNITS[unit] for number, unit in parts)


async def moves_slowly(world: Cluster, tab: Tab) -> None:
    """Open the page, then move from broker 1 to 3, for minutes, under a lease of `SLOW`: no config asks for less."""
    await tab.open(f"http://{world.metrics_address}/")
    await world.configure("brokers", "<default>", {})

    async def nobody_throttles() -> bool:
        return [row[4:6] for row in await tab.rows("#brokers")] == [["none", "none"]] * len(BROKERS)

    await eventually(nobody_throttles)
    await world.create_topic("slow", {0: (1, 2)}, held=True, size=LARGE)
    await world.alter({("slow", 0): (3, 2)}, throttle=SLOW)


async def test_sv_11_a_move_shows_its_rate_and_a_remaining_time_that_falls(world: Cluster, tab: Tab) -> None:
    await moves_slowly(world, tab)

    async def remaining() -> int | None:
        for row in await tab.rows("#moves"):
            if row[0].startswith("slow-0") and row[3].endswith("MB/s") and row[4] != "unknown":
                return seconds(row[4])
        return None

    first = await eventually(remaining)
    assert 60 < first <= 2 * LARGE / SLOW

    async def falls() -> bool:
        found = await remaining()
        return found is not None and found < first - 2

    await eventually(falls)
    assert seconds((await tiles(tab))["All done in"]) <= first
    share = await tab.value("document.querySelector('#moves progress').value")
    assert 0 < share < 1
    assert 0 < await tab.value("document.querySelector('#overall').value") < 1
    assert tab.problems == []


async def test_sv_11_brokers_show_their_racks_and_the_throttles_in_force_and_by_whom(world: Cluster, tab: Tab) -> None:
    await moves_slowly(world, tab)
    await world.configure("brokers", "4", {RATE: "7000"})

    async def brokers() -> dict[str, list[str]]:
        return {row[0].split("\n")[0]: row for row in await tab.rows("#brokers")}

    async def copies() -> bool:
        """Broker 1, the leader, sends what broker 3 receives; no other does."""
        found = await brokers()
        return [one for one, row in found.items() if row[2].endswith("MB/s")] == ["3"] and [
            one for one, row in found.items() if row[3].endswith("MB/s")
        ] == ["1"]

    await eventually(copies)
    found = await brokers()
    assert {one: row[1] for one, row in found.items()} == {"5": "none"} | {
        str(one): rack for one, rack in RACKS.items()
    }
    lease, config = "10.0 MB/s\nby a lease of moves", "7.0 kB/s\nby a config"
    assert (found["1"][5], found["3"][4]) == (lease, lease)
    assert (found["4"][4], found["4"][5]) == (config, "none")
    assert found["5"][4:6] == ["none", "none"]
    await world.configure("brokers", "<default>", {RATE: "9000"})

    async def that_of_all() -> bool:
        return (await brokers())["5"][4] == "9.0 kB/s\nset for all brokers"

    await eventually(that_of_all)


async def tiles(tab: Tab) -> Mapping[str, str]:
    """The figures by their name."""
    boxes = "[...document.querySelectorAll('#tiles > div')]"
    pairs = await tab.value(f"{boxes}.map((one) => [...one.children].slice(0, 2).map((part) => part.textContent))")
    return dict(pairs)


async def test_sv_11_a_lost_broker_shows_in_tiles_stalls_and_a_countdown_that_runs(world: Cluster, tab: Tab) -> None:
    await world.configure("brokers", "<default>", {RATE: "1", INTERVAL: str(HOUR_MS)})
    await world.create_topic("held", {0: (1, 2)}, held=True)
    await world.create_topic("on-5", {0: (1, 5), 1: (5, 1), 2: (2, 5)})
    await world.create_topic("alone-on-5", {0: (5,), 1: (5,)})
    await world.alter({("held", 0): (5, 2)})
    at = f"http://{world.metrics_address}/"
    await tab.open(at)

    async def figures(**wanted: str) -> bool:
        found = await tiles(tab)
        return {name: found.get(name.replace("_", "-").capitalize()) for name in wanted} == wanted

    await eventually(lambda: figures(under_replicated="0", offline="0", stalled="0"))
    assert await tab.value("document.querySelector('#failed').hidden") is True
    await world.kill_broker(5)
    await eventually(lambda: figures(under_replicated="3", offline="2", stalled="1"))
    tones = "[...document.querySelectorAll('#tiles dd')].map((one) => one.className).filter((one) => /w[ar]/.test(one))"
    assert sorted(await tab.value(tones)) == ["warn", "wrong", "wrong", "wrong"]
    await eventually(lambda: tab.shows("#moves", "stalled: broker 5 is dead"))
    assert await tab.text("#moves .wrong") == "stalled: broker 5 is dead"
    assert await tab.shows("#healing", "On: a broker has to be gone for 1 h 0 min")

    async def countdown() -> tuple[int, int]:
        [(broker, gone, due, replicas, _)] = [tuple(row) for row in await tab.rows("#failed")]
        assert (broker, replicas) == ("5", "5")
        assert due.startswith("healed in "), due
        return seconds(gone), seconds(due)

    gone, due = await eventually(countdown)
    assert HOUR_MS / 1000 - 2 <= gone + due <= HOUR_MS / 1000 + 1

    async def runs() -> bool:
        later_gone, later_due = await countdown()
        return bool(later_gone > gone + 2 and later_due < due - 2)

    await eventually(runs)

    async def dead_row() -> list[str]:
        return next((row for row in await tab.rows("#brokers") if row[0] == "5\ndead"), [])

    row = await eventually(dead_row)
    assert (row[1], row[6], row[7]) == ("unknown", "6", "0"), "nobody tells the rack of a broker that is gone"
    await eventually(lambda: tab.shows("#events", "heal.noticed", "broker.lost"))
    assert tab.problems == []
