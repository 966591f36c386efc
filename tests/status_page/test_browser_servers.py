"""Several servers in a browser: the page of a standby, events of all servers, and a page whose server takes over."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from kafka_reassign_rpc.controller.lifecycle.server_config import EventLogConfig, ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from tests.controller.cluster import LISTENERS, Cluster
from tests.status_page.browser import IN_BROWSER, Tab
from tests.waiting import eventually

STANDBY = 1002
FILTER = "#events-filter [name={}]"

NOT_HERE = "Failed to load resource: the server responded with a status of 503 (Service Unavailable)"
"""What the browser notes of each table that a standby does not have."""

pytestmark = IN_BROWSER


@asynccontextmanager
async def standby(world: Cluster, folder: Path) -> AsyncIterator[str]:
    """The address of the page of a second server, a standby."""
    config = ServerConfig(
        world.connect,
        LISTENERS,
        server_id=STANDBY,
        metrics_listener=("127.0.0.1", 0),
        status_page="full",
        event_log=EventLogConfig(folder),
    )
    async with ControllerProcess(config) as server:
        await server.ready()
        assert server.metrics_address is not None
        yield f"http://{server.metrics_address}/"


async def test_sv_11_a_standby_says_where_the_controller_is_shows_all_events_and_follows_when_it_takes_over(
    world: Cluster, tab: Tab, tmp_path: Path
) -> None:
    await world.create_topic("payments", {0: (1, 2)}, held=True)
    await world.alter({("payments", 0): (3, 4)}, reason="OPS-77")
    there = f"http://{world.metrics_address}/"
    async with standby(world, tmp_path / "second") as here:
        await tab.open(here)
        await eventually(lambda: tab.shows("#role", f"server {STANDBY}: standby"))
        await eventually(lambda: tab.shows("#controller", "controller: 1000"))
        await eventually(lambda: tab.shows("#notices", "Broker 1000 is the controller", f"Its page: {there}"))
        elsewhere = "this server is not the controller: broker 1000 is the controller"
        await eventually(lambda: tab.shows("#moves", elsewhere))
        await eventually(lambda: tab.shows("#brokers", elsewhere))
        await eventually(lambda: tab.shows("#notices", "Last known state, of 20", "ago: it is shown in grey"))
        await eventually(lambda: tab.shows("#tiles", "In flight\n1", "Brokers live\n5"))
        colours = (
            "['#tiles dd', '.notice.old, #live'].map((one) => getComputedStyle(document.querySelector(one)).color)"
        )
        tile, quiet = await tab.value(colours)
        assert tile == quiet, "what was known once is grey"
        assert await tab.value("document.body.classList.contains('stale')") is True
        await eventually(lambda: tab.shows("#events", "move.started", "payments-0", "OPS-77", "1000"))
        await tab.picture("standby")

        await tab.value("document.querySelector('#notices a').click(); 1")
        await eventually(lambda: tab.shows("#role", "server 1000: controller"))
        assert await tab.value("location.href") == there
        await eventually(lambda: tab.shows("#moves", "payments-0", "OPS-77"))

        await tab.open(here)
        await eventually(lambda: tab.shows("#role", "standby"))
        await world.stop_server()
        await eventually(lambda: tab.shows("#role", f"server {STANDBY}: controller"))
        await eventually(lambda: tab.shows("#moves", "payments-0", "OPS-77"))
        assert await tab.text("#notices") == ""
        assert await tab.value("document.body.classList.contains('stale')") is False
        await eventually(lambda: tab.shows("#events", "controller.elected", f"{STANDBY}"))
        assert set(tab.problems) == {NOT_HERE}


async def test_sv_11_readers_filter_the_events_by_topic_broker_and_principal(world: Cluster, tab: Tab) -> None:
    await world.create_topic("payments", {0: (1, 2)}, held=True)
    await world.create_topic("audit-log", {0: (1, 2)}, held=True)
    await world.alter({("payments", 0): (3, 4)})
    await world.reconnect(await world.client("night-job"))
    await world.alter({("audit-log", 0): (1, 5)})
    await tab.open(f"http://{world.metrics_address}/")
    await eventually(lambda: tab.shows("#events", "payments-0", "audit-log-0", "broker.returned"))

    async def seen(*wanted: tuple[str, str]) -> bool:
        """These events, the newest first, by name and what they are of."""
        return [(row[1], row[2]) for row in await tab.rows("#events")] == list(wanted)

    async def chosen(field: str, text: str, wanted: Sequence[tuple[str, str]]) -> None:
        await tab.enter(FILTER.format(field), text)
        await eventually(lambda: seen(*wanted))

    of_audit = (("move.started", "audit-log-0"), ("topic.created", "audit-log"))
    of_payments = (("move.started", "payments-0"), ("topic.created", "payments"))
    await chosen("topic", "audit", of_audit)
    await chosen("topic", "pay", of_payments)
    await chosen("broker", "3", of_payments[:1])
    await chosen("topic", "", [of_payments[0], ("broker.returned", "broker 3")])
    await chosen("broker", "5", [of_audit[0], ("broker.returned", "broker 5")])
    await chosen("principal", "ANONYMOUS", of_audit[:1])
    await chosen("broker", "", [of_audit[0], of_payments[0], of_audit[1], of_payments[1]])
    await chosen("principal", "night-job", of_audit[:1])
    await chosen("principal", "User:ANONYMOUS", [of_audit[0], of_payments[0], of_audit[1], of_payments[1]])
    assert await tab.value("location.search") == "?events.principal=User%3AANONYMOUS"
    await chosen("principal", "User:nobody", [])
    assert tab.problems == []
