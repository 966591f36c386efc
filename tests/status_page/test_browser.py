"""The status page in a real browser: what people see, whatever others have written into topics and reasons."""

import json

from kafka_reassign_rpc.core.settings.reassignment_settings import MAX_PER_CLUSTER
from kafka_reassign_rpc.core.state.requesters import LONGEST_PART
from kafka_reassign_rpc.support.bounded_text import word
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.cluster import BROKERS, RATE, Cluster, cluster
from tests.status_page.browser import IN_BROWSER, Tab
from tests.waiting import eventually

HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'

pytestmark = IN_BROWSER


async def test_sv_11_the_page_shows_everything_and_follows_and_what_others_wrote_stays_text(
    world: Cluster, tab: Tab
) -> None:
    at = f"http://{world.metrics_address}"
    replicas = {number: (1 + number % 5, 1 + (number + 1) % 5) for number in range(4)}
    targets = {("payments", number): (1 + (number + 2) % 5, 1 + (number + 3) % 5) for number in range(4)}
    await world.create_topic("payments", replicas, held=True)
    await world.create_topic("audit-log", {0: (1, 2), 1: (1, 5)})
    await world.configure("brokers", "<default>", {RATE: "1", MAX_PER_CLUSTER: "4"})
    await world.alter(targets, reason=HOSTILE)
    await world.reconnect(await world.client(HOSTILE))
    await world.alter({("audit-log", 0): (4, 5)}, reason="OPS-77")
    await world.kill_broker(5)
    await tab.looks(width=1280, height=900, scheme="light")
    await tab.open(f"{at}/")
    await eventually(lambda: tab.shows("#role", "server 1000: controller"))
    await eventually(lambda: tab.shows("#moves", "payments-0", "[1, 2] → [3, 4]", HOSTILE, "User:ANONYMOUS as test"))
    await eventually(
        lambda: tab.shows("#moves", "stalled: ", "audit-log-0", "waits", "OPS-77", f"as {word(HOSTILE, LONGEST_PART)}")
    )
    await eventually(lambda: tab.shows("#moves-sums", "4 moves in flight, 1 waiting, 2 stalled", " copied"))
    await eventually(lambda: tab.shows("#brokers", "5\ndead", "set for all brokers", "1 B/s"))
    await eventually(lambda: tab.shows("#racks", "rack-a", "no: ", " last in-sync replica"))
    await eventually(lambda: tab.shows("#brokers", "no: ", " last in-sync replica"))
    await eventually(lambda: tab.shows("section[aria-labelledby=h-brokers]", "hether the others have room"))
    await eventually(lambda: tab.shows("#events", "move.started", "broker.lost", "payments-3", HOSTILE))
    await eventually(lambda: tab.shows("#failed", "never"))
    await eventually(lambda: tab.shows("#tiles", "In flight", "Stalled"))
    await eventually(lambda: tab.shows("#caps", "in the cluster: 4;"))
    await eventually(lambda: tab.shows("#plots", "Left to copy"))
    bars = await tab.value("[...document.querySelectorAll('#moves progress')].map((one) => one.ariaLabel)")
    assert "payments-0: copied" in bars
    await tab.picture("light")
    await tab.looks(width=1280, height=900, scheme="dark")
    dark = await tab.value("getComputedStyle(document.body).backgroundColor")
    await tab.picture("dark")
    await tab.looks(width=390, height=844, scheme="light", phone=True)
    assert await tab.value("getComputedStyle(document.body).backgroundColor") != dark
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert await tab.value(wide) is False, "a phone need not scroll to the side"
    await tab.picture("phone")
    await tab.looks(width=1280, height=900, scheme="light")

    await tab.enter("#moves-filter [name=topic]", "audit")
    await eventually(lambda: tab.shows("#moves-page", "of 1"))
    assert "payments" not in await tab.text("#moves")

    await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")
    await eventually(lambda: tab.shows("#notices", "disabled", "/admin/reassign_cancel exists"))
    assert await tab.value("window.hacked ?? null") is None
    assert await tab.value("document.querySelectorAll('main img, main script').length") == 0
    assert {url.split("/")[2] for url in tab.asked} == {world.metrics_address}, "nothing from elsewhere"
    assert tab.problems == []


async def test_sv_11_the_address_of_the_page_has_what_was_chosen_and_back_returns(world: Cluster, tab: Tab) -> None:
    for topic in ("payments", "audit-log"):
        await world.create_topic(topic, {0: (1, 2)}, held=True)
        await world.alter({(topic, 0): (3, 4)})
    fields = {
        "topic": "#moves-filter [name=topic]",
        "state": "#moves-filter [name=state]",
        "sort": "#moves-filter [name=sort]",
        "principal": "#events-filter [name=principal]",
        "span": "#span",
    }

    async def chooses(**values: str) -> bool:
        return {name: await tab.value(f"document.querySelector('{fields[name]}').value") for name in values} == values

    at = f"http://{world.metrics_address}/"
    await tab.open(f"{at}?moves.topic=pay&moves.sort=nonsense&moves.page=-1&span=day&events.principal={HOSTILE[:20]}")
    await eventually(lambda: tab.shows("#moves-page", "of 1"))
    first = await tab.value("document.querySelector('#moves-filter [name=sort]').options[0].value")
    assert await chooses(topic="pay", state="", sort=first, principal=HOSTILE[:20], span="day")
    assert await tab.shows("#moves", "payments-0")

    await tab.enter(fields["topic"], "")
    await tab.enter(fields["principal"], "")
    assert await tab.value("location.search") == "?span=day"
    await tab.enter(fields["state"], "moving")
    assert await tab.value("location.search") == "?moves.state=moving&span=day"
    await tab.enter(fields["topic"], "audit & é")
    assert await tab.value("new URLSearchParams(location.search).get('moves.topic')") == "audit & é"
    await eventually(lambda: tab.shows("#moves", "No move"))
    await tab.value("history.back(); 1")
    await eventually(lambda: chooses(topic="", state="", span="day"))
    await eventually(lambda: tab.shows("#moves", "payments-0", "audit-log-0"))

    await tab.open(f"{at}?moves.page=7")
    await eventually(lambda: tab.shows("#moves", "No move is on this page."))
    assert await tab.value("window.hacked ?? null") is None
    assert tab.problems == []


async def test_sv_11_a_plot_covers_all_of_its_time_and_says_which(world: Cluster, tab: Tab) -> None:
    """A server that has known the cluster for 12 minutes has a fifth of an hour to show, not an hour."""
    await tab.open(f"http://{world.metrics_address}/")
    await eventually(lambda: tab.shows("#plots", "In flight"))
    to = 1_767_225_600_000
    points = [{"at": to - 60_000 * ago, "value": 5} for ago in (61, 12, 6, 0)]
    span = {"from": to - 3_600_000, "to": to, "stepMs": 360_000}
    arguments = f"'In flight', {json.dumps(points)}, (one) => one.value, String, {json.dumps(span)}"
    drawn = f"(await import('/static/plots.js')).plot({arguments})"
    times, line = await tab.value(
        f"(async () => {{ const figure = {drawn}; return ["
        "[...figure.querySelectorAll('.axis span')].map((one) => one.textContent), "
        "figure.querySelector('.line').getAttribute('points')]; })()"
    )
    assert times == ["23:00", "23:30", "00:00 UTC"]
    assert line == "256.0,6.0 288.0,6.0 320.0,6.0"


async def test_sv_11_a_figure_and_its_unit_stay_on_one_line(world: Cluster, tab: Tab) -> None:
    await world.create_topic("payments", {0: (1, 2)}, held=True)
    await world.alter({("payments", 0): (3, 4)})
    await tab.open(f"http://{world.metrics_address}/")
    await eventually(lambda: tab.shows("#moves", "payments-0"))
    for selector in ("#moves td.number", "#brokers td.number", "#tiles dd:not(.more)"):
        assert await tab.value(f"getComputedStyle(document.querySelector({selector!r})).whiteSpace") == "nowrap"


async def test_sv_11_without_names_the_page_shows_counts_and_says_why(zk_connect: str, tab: Tab) -> None:
    async with cluster(zk_connect, metrics=True, brokers=BROKERS[:3]) as world:
        await tab.open(f"http://{world.metrics_address}/")
        await eventually(lambda: tab.shows("#notices", "Only counts are shown", "status.page"))
        await eventually(lambda: tab.shows("#tiles", "3"))
        assert await tab.value("document.querySelector('#moves')") is None
        assert tab.problems == []
