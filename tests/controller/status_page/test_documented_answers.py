"""What a real server answers below /api/v1 is what docs/status-api.schema.json says, field by field."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from jsonschema import Draft202012Validator, ValidationError

from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.settings import healing_settings
from kafka_reassign_rpc.core.settings.reassignment_settings import MAX_BYTES_IN_FLIGHT, MAX_PER_BROKER, MAX_PER_CLUSTER
from kafka_reassign_rpc.status_page.status_stream import MOST_VIEWERS
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.cluster import LISTENERS, RATE, SIZE, Cluster, cluster
from tests.controller.test_takeover_races import controlled_by_a_broker
from tests.http_client import streamed
from tests.status_page.documented import EVENTS_OF_STREAM, SCHEMA, Documented
from tests.waiting import eventually

SAMPLING = Sampling(interval_s=0.2, stall_s=0.5)
EVERY_CAP = {MAX_PER_CLUSTER: "3", MAX_PER_BROKER: "100", MAX_BYTES_IN_FLIGHT: "1000000000"}
FEW = (1, 2, 3)


def test_sv_11_the_schema_is_one_and_takes_no_field_less_no_other_name_and_no_other_type() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    documented = Documented("")
    good = {"at": 1, "step_ms": 10, "points": []}
    documented.check("History", good)
    for bad in ({"at": 1, "step_ms": 10}, {**good, "steps": 1}, {**good, "at": None}, {**good, "points": [{}]}):
        with pytest.raises(ValidationError):
            documented.check("History", bad)
    for problem in ({}, {"error": "x", "controler": 1}):
        with pytest.raises(ValidationError):
            documented.check("Problem", problem)
    with pytest.raises(AssertionError, match="step_ms"):
        documented.check("History", {**good, "step_ms": -1})


async def test_sv_11_answers_of_an_idle_cluster_and_refusals_are_as_documented(zk_connect: str, tmp_path: Path) -> None:
    async with cluster(
        zk_connect, brokers=FEW, metrics=True, status_page="full", event_log=tmp_path / "events"
    ) as world:
        api = Documented(world.metrics_address)
        await api.ask_all()
        status = await api.ask("status")
        assert (status["totals"]["in_flight"], status["totals"]["bytes_left"], status["totals"]["rate"]) == (0, 0, 0)
        for path in ("status?x=1", "moves?limit=0", "brokers?a=1", "events?since=x", "history?span=year"):
            await api.ask(path, 400)
        assert "/api/v1/moves" in (await api.ask("movements", 404))["error"]
        await api.ask("moves", 405, "POST")
        await streams_are_documented(api)
        await one_stream_more_is_refused(api)
        assert api.untold("Problem") == {"Problem.controller", "Problem.page"}, "those belong to a standby"


async def streams_are_documented(api: Documented) -> None:
    """The first two events of a stream."""
    found = await streamed(f"http://{api.address}/api/v1/stream", 2)
    assert [name for name, _ in found] == ["status", "changes"]
    for name, data in found:
        api.check(EVENTS_OF_STREAM[name], data)


async def one_stream_more_is_refused(api: Documented) -> None:
    async with AsyncExitStack() as open_streams:
        session = await open_streams.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        for _ in range(MOST_VIEWERS):
            await open_streams.enter_async_context(session.get(f"http://{api.address}/api/v1/stream"))
        await api.ask("stream", 503)


async def test_sv_11_answers_with_names_withheld_are_as_documented(zk_connect: str, tmp_path: Path) -> None:
    async with cluster(zk_connect, brokers=FEW, metrics=True, event_log=tmp_path / "events") as world:
        api = Documented(world.metrics_address)
        assert (await api.ask("status"))["access"] == "counts"
        await api.ask("history")
        for path in ("moves", "brokers", "partitions", "events"):
            await api.ask(path, 403)
        await streams_are_documented(api)


async def test_sv_11_moves_of_unknown_size_are_as_documented(zk_connect: str, tmp_path: Path) -> None:
    """A server that takes no samples knows no size."""
    sampling = Sampling(interval_s=0)
    async with cluster(
        zk_connect, metrics=True, status_page="full", sampling=sampling, event_log=tmp_path / "events"
    ) as world:
        api = Documented(world.metrics_address)
        await world.create_topic("held", {0: (2, 1)}, held=True)
        await world.alter({("held", 0): (3, 4)})
        await api.ask_all()
        [move] = (await api.ask("moves"))["moves"]
        unknown = ("bytes_total", "bytes_copied", "rate", "remaining_ms", "stalled", "reason")
        assert {move[name] for name in unknown} == {None}
        totals = (await api.ask("status"))["totals"]
        assert (totals["moves_without_size"], totals["bytes_left"], totals["stalled"]) == (1, None, None)


async def configure(world: Cluster, **healing: str) -> None:
    """Set every cap, and configs by their names with _ for .. Held moves stand still."""
    configs = {name.replace("_", "."): value for name, value in healing.items()}
    await world.configure("brokers", "<default>", {RATE: "0", **EVERY_CAP, **configs})


async def test_sv_11_answers_of_a_busy_cluster_are_as_documented_and_have_each_field(
    zk_connect: str, tmp_path: Path
) -> None:
    async with cluster(
        zk_connect, metrics=True, status_page="full", sampling=SAMPLING, event_log=tmp_path / "events"
    ) as world:
        api = Documented(world.metrics_address)
        world.racks = {6: "r1"}
        await world.start_broker(6)
        await world.create_topic("held", {0: (2, 1), 1: (1, 2)}, held=True)
        await world.create_topic("leased", {0: (1, 2)}, held=True)
        await world.create_topic("other", {0: (1, 2), 1: (5, 2), 2: (5, 1)}, held=True)
        await configure(world, failure_interval_ms="3600000")
        await world.configure("brokers", "6", {RATE: "1000"})
        await world.alter({("held", 0): (3, 4), ("held", 1): (3, 2)}, reason="TICKET-7")
        await world.alter({("leased", 0): (6, 2)}, throttle=1000)

        async def advances_beside_two_that_are_stalled() -> bool:
            status, moves = await api.ask("status"), (await api.ask("moves"))["moves"]
            assert status["totals"]["bytes_total"] == 4 * SIZE
            stalled = [one["topic"] for one in moves if one["stalled"] is not None]
            return stalled == ["held", "held"] and moves[-1]["remaining_ms"] is not None

        await eventually(advances_beside_two_that_are_stalled)
        await world.alter({("other", 0): (3, 4)}, reason="later")
        await eventually(lambda: waiting(api, 1))
        await world.kill_broker(5)
        await eventually(lambda: fails(api, 5))
        await api.ask_all()
        await streams_are_documented(api)
        for query in ("state=stalled", "state=waiting", "state=moving&sort=left", "topic=other&broker=4&limit=1"):
            assert len((await api.ask(f"moves?{query}"))["moves"]) > 0
        await configure(world, failure_interval_ms="0")
        assert await world.incremental(healing_settings.PAUSED, "true") == 0
        await eventually(lambda: holds_back(api))
        healing = (await api.ask("status"))["healing"]
        assert healing["paused_who"].startswith("User:ANONYMOUS as test from 127.0.0.1")
        assert await world.incremental(healing_settings.PAUSED, None) == 0

        await world.alter({("held", 0): None, ("held", 1): None, ("leased", 0): None, ("other", 0): None})
        await configure(world, failure_interval_ms="0", self_healing_max_moves="1")
        await eventually(lambda: repairs(api, 5))
        await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")
        await eventually(lambda: is_disabled(api))
        await eventually(lambda: has_points(api))
        await eventually(lambda: has_page(api))
        await api.ask_all()
        assert len((await api.ask("events?topic=held&principal=ANONYMOUS&broker=4&since=1"))["events"]) > 0
        documents = ("Caps", "Totals", "FailedBroker", "Repair", "Healing", "Move", "MoveSums", "Moves", "Throttle")
        untold = api.untold(*documents, "BrokerStatus", "Brokers", "Point", "History", "Controller")
        # Of watch; while healing is paused or off; where none of a repair waits.
        of_others = {"BrokerStatus.throttles_at", "FailedBroker.command", "Repair.copy_ms"}
        assert untold - of_others == {"FailedBroker.copy_ms"}, "at a rate of 0 nothing ends"


async def waiting(api: Documented, number: int) -> bool:
    return bool(sum((await api.ask("status"))["totals"]["waiting"].values()) == number)


async def fails(api: Documented, broker: int) -> bool:
    healing = (await api.ask("status"))["healing"]
    return any(
        one["broker"] == broker and one["heal_at"] is not None and one["bytes"] is not None for one in healing["failed"]
    )


async def has_page(api: Documented) -> bool:
    return (await api.ask("status"))["controller"]["page"] is not None


async def holds_back(api: Documented) -> bool:
    return (await api.ask("status"))["healing"]["held_back"] is not None


async def repairs(api: Documented, broker: int) -> bool:
    await api.ask("moves")
    return any(one["broker"] == broker for one in (await api.ask("status"))["healing"]["repairs"])


async def is_disabled(api: Documented) -> bool:
    status = await api.ask("status")
    return status["enabled"] is False and status["disabled_by"] is not None


async def has_points(api: Documented) -> bool:
    """One with a rate: it takes two samples, and the sampler has its time."""
    return any(one["rate"] is not None for one in (await api.ask("history"))["points"])


@asynccontextmanager
async def another_server(connect: str, takeover: Takeover) -> AsyncIterator[Documented]:
    """A server that keeps no event log."""
    config = ServerConfig(
        connect, LISTENERS, server_id=1002, takeover=takeover, metrics_listener=("127.0.0.1", 0), status_page="full"
    )
    async with ControllerProcess(config) as server:
        await server.ready()
        yield Documented(server.metrics_address or "")


async def test_sv_11_answers_of_a_standby_are_as_documented(zk_connect: str, tmp_path: Path) -> None:
    async with (
        cluster(zk_connect, brokers=FEW, metrics=True, status_page="full", event_log=tmp_path / "events") as world,
        another_server(zk_connect, Takeover.ALWAYS) as api,
    ):

        async def knows_the_page() -> bool:
            found = await api.ask("moves", 503)
            return bool(found.get("page") == f"http://{world.metrics_address}/" and found["controller"] == 1000)

        await eventually(knows_the_page)
        await api.ask("brokers", 503)
        assert (await api.ask("status"))["role"] == "standby"
        assert (await api.ask("history"))["points"] == []
        [silent] = (await api.ask("events"))["missing"]
        assert silent == {"server": 1002, "why": "it keeps no event log (event.log.dir)"}
        await streams_are_documented(api)
        assert api.untold("Problem", "Events", "SilentServer") == set()


async def test_sv_11_answers_next_to_a_stock_controller_and_without_a_controller_are_as_documented(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await controlled_by_a_broker(zk)
    async with another_server(zk_connect, Takeover.NEVER) as api:
        status = await api.ask("status")
        assert (status["role"], status["controller"]["id"], status["controller"]["page"]) == ("standby", 1, None)
        assert await api.ask("moves", 503) == {
            "error": "this server is not the controller: broker 1 is the controller",
            "controller": 1,
        }
        await zk.delete(znode_paths.CONTROLLER)
        await eventually(lambda: has_no_role(api))
        found = await api.ask("moves", 503)
        assert found == {"error": "this server is not the controller: no controller is known"}
        for path in ("status", "events", "history"):
            await api.ask(path)
        await streams_are_documented(api)


async def has_no_role(api: Documented) -> bool:
    status = await api.ask("status")
    return status["role"] == "none" and status["reason"] is not None
