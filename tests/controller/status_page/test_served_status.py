"""The status page's API over real sockets: of the controller, of a standby, with and without names."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from kafka_reassign_rpc.controller.lifecycle.served_http import page_address
from kafka_reassign_rpc.controller.lifecycle.server_config import EventLogConfig, ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.settings.reassignment_settings import MAX_PER_CLUSTER
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.own_server_znodes import decode_registered_server, encode_registered_server
from tests.controller.cluster import BROKERS, LISTENERS, RATE, SIZE, Cluster, cluster
from tests.http_client import get
from tests.waiting import eventually

SAMPLING = Sampling(interval_s=0.2, stall_s=60.0)


async def asked(address: str, path: str, status: int = 200) -> Any:
    answer = await get(address, f"/api/v1/{path}")
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/json"
    return json.loads(answer.body)


@pytest_asyncio.fixture
async def world(zk_connect: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster(
        zk_connect, metrics=True, status_page="full", sampling=SAMPLING, event_log=tmp_path / "events"
    ) as made:
        yield made


async def test_sv_11_the_api_shows_what_the_controller_does_and_a_standby_where_it_is(
    world: Cluster, zk_connect: str, tmp_path: Path
) -> None:
    at = world.metrics_address

    async def counted_brokers() -> bool:
        found = await asked(at, "status")
        return bool(found["brokers_live"] == len(BROKERS) and found["totals"]["offline"] == 0)

    await eventually(counted_brokers)
    await world.create_topic("held", {0: (2, 1), 1: (1, 2)}, held=True)
    await world.create_topic("other", {0: (1, 2)})
    await world.alter({("held", 0): (3, 4), ("held", 1): (3, 2)}, reason="TICKET-7 <b>")

    async def measured() -> bool:
        found = await asked(at, "status")
        return bool(found["totals"]["bytes_total"] == 3 * SIZE and found["totals"]["rate"] is not None)

    await eventually(measured)
    status = await asked(at, "status")
    assert (status["role"], status["server"], status["access"]) == ("controller", 1000, "full")
    assert status["controller"]["id"] == 1000
    assert status["controller"]["epoch"] > 0
    assert 0 < status["controller"]["since"] <= status["at"]
    assert status["controller"]["page"] in (None, f"http://{at}/")
    assert status["enabled"] is True
    assert status["caps"] == {"moves_per_broker": None, "moves_per_cluster": None, "bytes_in_flight": None}
    assert status["totals"]["in_flight"] == 2
    assert status["totals"]["waiting"] == {}
    assert status["totals"]["moves_without_size"] == 0
    assert 0 < status["totals"]["bytes_left"] <= 3 * SIZE

    moves = await asked(at, "moves?topic=hel&sort=left")
    assert (moves["count"], moves["sums"]["in_flight"], moves["sums"]["bytes_total"]) == (2, 2, 3 * SIZE)
    first, second = moves["moves"]
    assert (first["topic"], first["partition"], first["state"]) == ("held", 0, "moving")
    assert (first["original"], first["target"]) == ([2, 1], [3, 4])
    assert (first["adding"], first["removing"], first["leader"]) == ([3, 4], [2, 1], 2)
    assert first["bytes_total"] == 2 * SIZE
    assert 0 <= first["bytes_copied"] < 2 * SIZE
    assert (first["reason"], first["route"]) == ("TICKET-7 <b>", "rpc")
    assert first["who"].startswith("User:ANONYMOUS as test from 127.0.0.1")
    assert (second["partition"], second["bytes_total"]) == (1, SIZE)
    assert (await asked(at, "moves?broker=4"))["count"] == 1
    assert (await asked(at, "moves?topic=nothing"))["moves"] == []
    assert [one["partition"] for one in (await asked(at, "moves?offset=1&limit=1"))["moves"]] == [1]

    brokers = {one["id"]: one for one in (await asked(at, "brokers"))["brokers"]}
    assert brokers.keys() == set(BROKERS)
    assert all(one["alive"] for one in brokers.values())
    assert brokers[3]["throttle_in"] == {"rate": 1, "by": "default"}
    assert brokers[3]["throttle_out"] is None
    assert brokers[1]["replicas"] == 3
    assert sum(one["leaders"] for one in brokers.values()) == 3

    await world.configure("brokers", "<default>", {RATE: "1", MAX_PER_CLUSTER: "2"})
    await world.alter({("other", 0): (3, 4)}, reason="later")

    async def waits() -> bool:
        return bool((await asked(at, "status"))["totals"]["waiting"] == {"rpc": 1})

    await eventually(waits)
    assert (await asked(at, "status"))["caps"]["moves_per_cluster"] == 2
    [waiting] = (await asked(at, "moves?state=waiting"))["moves"]
    assert (waiting["topic"], waiting["state"], waiting["adding"]) == ("other", "waiting", [3, 4])
    assert (waiting["reason"], waiting["since"], waiting["rate"]) == ("later", None, None)
    assert waiting["who"].startswith("User:ANONYMOUS")

    async def tells_the_size() -> bool:
        [found] = (await asked(at, "moves?state=waiting"))["moves"]
        return bool(found["bytes_total"] == 0)

    await eventually(tells_the_size)  # an empty partition, though there is no cap on bytes that asks for it

    async def event_names(address: str, query: str) -> list[str]:
        return [one["event"] for one in (await asked(address, f"events?{query}"))["events"]]

    async def has_events() -> bool:
        return (await event_names(at, "topic=other"))[:1] == ["move.waiting"]

    await eventually(has_events)
    found = await event_names(at, "topic=held&principal=ANONYMOUS")
    assert found == ["move.started", "move.started", "topic.created"], "the newest first"
    assert await event_names(at, "broker=4&topic=held") == ["move.started"]
    assert await event_names(at, "since=99999999999999") == []

    async def has_points() -> bool:
        return len((await asked(at, "history"))["points"]) > 0

    await eventually(has_points)

    await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")

    async def disabled() -> bool:
        found = await asked(at, "status")
        return found["enabled"] is False and "/admin/reassign_cancel" in found["disabled_by"]

    await eventually(disabled)
    standby = ServerConfig(
        zk_connect,
        LISTENERS,
        server_id=1002,
        metrics_listener=("127.0.0.1", 0),
        status_page="full",
        event_log=EventLogConfig(tmp_path / "events" / "1002"),
    )
    async with ControllerProcess(standby) as second_server:
        await second_server.ready()
        there = second_server.metrics_address
        assert there is not None

        async def knows_the_page() -> bool:
            found = await asked(there, "status")
            return bool(found["controller"]["page"] == f"http://{at}/")

        await eventually(knows_the_page)
        status = await asked(there, "status")
        assert (status["role"], status["controller"]["id"]) == ("standby", 1000)
        assert status["controller"]["since"] > 0
        assert status["totals"] is status["enabled"] is status["caps"] is status["healing"] is None
        elsewhere = await asked(there, "moves", 503)
        assert elsewhere == {
            "error": "this server is not the controller: broker 1000 is the controller",
            "controller": 1000,
            "page": f"http://{at}/",
        }
        assert (await asked(there, "brokers", 503))["controller"] == 1000
        assert (await asked(there, "history"))["points"] == []

        async def sees_all_events() -> bool:
            return "move.waiting" in await event_names(there, "topic=other")

        await eventually(sees_all_events)
        assert (await asked(there, "events"))["missing"] == []


@pytest.mark.parametrize(
    ("bound", "tls", "address"),
    [
        (("10.0.0.5", 9400), False, "http://10.0.0.5:9400/"),
        (("0.0.0.0", 9400), True, "https://broker.example:9400/"),
        (("::", 9400), False, "http://broker.example:9400/"),
        (("::1", 9400), False, "http://[::1]:9400/"),
    ],
)
def test_sv_11_the_address_of_the_page_is_one_that_others_can_follow(
    bound: tuple[str, int], tls: bool, address: str
) -> None:
    assert page_address(bound, "broker.example", tls=tls) == address
    endpoints = [Endpoint("A", "PLAINTEXT", "h", 1)]
    registered = encode_registered_server(endpoints, address)
    assert decode_registered_server(registered, "/p") == (tuple(endpoints), address)


@pytest.mark.parametrize(
    "page",
    ["javascript:alert(1)//h:1/", "http://h:1/x", "http://h/", "http://h:1/\n", "http://a@h:1/", 'http://h":1/', "x"],
)
def test_sv_11_what_is_no_address_of_a_page_is_left_out_of_a_registration(page: str) -> None:
    registered = encode_registered_server([Endpoint("A", "PLAINTEXT", "h", 1)], page)
    assert decode_registered_server(registered, "/p").page is None


async def test_sv_11_answers_carry_a_strict_policy_and_wrong_parameters_are_named(world: Cluster) -> None:
    at = world.metrics_address
    page = await get(at, "/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert (page.headers["x-content-type-options"], page.headers["cache-control"]) == ("nosniff", "no-store")
    html = page.body.decode()
    assert not re.search(r"<script(?![^>]* src=)|<style| on\w+=| style=", html), "nothing inline"
    loaded = re.findall(r'(?:src|href)="([^"#]+)"', html)
    for path in loaded:
        assert path.startswith("/"), "nothing from elsewhere"
        assert (await get(at, path)).status == 200, path
    assert {"/static/status.js", "/static/status.css"} <= set(loaded)
    for path, problem in (
        ("status?x=1", "unknown parameter 'x': expected none"),
        ("moves?limit=9999", "limit: expected a whole number from 1 to 500, got '9999'"),
        ("brokers?a=1", "unknown parameter 'a'"),
        ("partitions?state=moving", "state: expected one of under_replicated, offline, got 'moving'"),
        ("events?since=x", "since: expected a whole number"),
        ("history?span=year", "span: expected one of hour, day, got 'year'"),
        ("moves?topic=%ff%00%22", ""),
    ):
        if problem:
            assert problem in (await asked(at, path, 400))["error"]
        else:
            assert (await asked(at, path))["moves"] == []
    assert (await get(at, "/api/v1/moves", "POST")).status == 405
    assert (await get(at, "/api/v1/stream", "HEAD")).headers["content-type"] == "text/event-stream"


async def test_sv_11_any_partition_is_found_and_brokers_show_how_full_their_disks_are(world: Cluster) -> None:
    at = world.metrics_address
    await world.create_topic("held", {0: (2, 1), 1: (3, 2)}, held=True)
    await world.create_topic("held-0", {0: (1, 2)})
    await world.alter({("held", 0): (2, 4)})

    async def found(query: str) -> list[tuple[str, int]]:
        return [(one["topic"], one["partition"]) for one in (await asked(at, f"partitions?{query}"))["partitions"]]

    assert await found("name=held-0") == [("held", 0), ("held-0", 0)], "both are of that name"
    assert await found("name=held&broker=3") == [("held", 1)]
    assert await found("offset=1&limit=1") == [("held", 1)]
    assert await found("state=offline") == []
    [row] = (await asked(at, "partitions?name=held&broker=4"))["partitions"]
    assert (row["state"], row["replicas"], row["isr"], row["leader"]) == ("moving", [2, 4, 1], [2, 1], 2)
    assert (row["adding"], row["removing"], row["offline"]) == ([4], [1], False)

    async def told() -> bool:
        rows = {one["id"]: one for one in (await asked(at, "brokers"))["brokers"]}
        disks = {id_: one["disk"] for id_, one in rows.items()}
        return all(disk is not None for disk in disks.values()) and disks[3]["replicas"] == SIZE

    await eventually(told)
    disks = {one["id"]: one["disk"] for one in (await asked(at, "brokers"))["brokers"]}
    assert disks[2]["replicas"] == 2 * SIZE
    assert all(disk["failed"] == [] and disk["at"] > 0 for disk in disks.values())


async def test_sv_11_without_authentication_the_page_shows_only_counts(zk_connect: str, tmp_path: Path) -> None:
    async with cluster(
        zk_connect, brokers=(1, 2, 3), metrics=True, sampling=SAMPLING, event_log=tmp_path / "events"
    ) as world:
        at = world.metrics_address
        await world.create_topic("secret-topic", {0: (1,)}, held=True)
        await world.alter({("secret-topic", 0): (2,)}, reason="secret-reason")
        everything = b""
        for path in ("status", "moves", "brokers", "events", "history"):
            answer = await get(at, f"/api/v1/{path}")
            assert answer.status == (200 if path in ("status", "history") else 403), path
            everything += answer.body
        page = await get(at, "/")
        assert page.status == 200
        everything += page.body
        assert b"secret" not in everything
        assert b"status.page=full" in everything
        assert (await asked(at, "status"))["totals"]["in_flight"] == 1
        assert b'id="moves"' not in page.body
        assert (await asked(at, "status"))["controller"]["page"] is None
