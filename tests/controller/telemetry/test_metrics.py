"""Metrics, health and readiness of a server over HTTP."""

import json
import platform
from collections.abc import AsyncIterator
from importlib.metadata import version

import pytest_asyncio
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.controller.telemetry.metrics import Metrics, readiness
from kafka_reassign_rpc.controller.telemetry.server_status import ServerStatus
from kafka_reassign_rpc.core.events.catalogue import EVENTS
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.healing.failed_brokers import RepairCounts
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS, MAX_PER_CLUSTER
from kafka_reassign_rpc.core.status.documents import Controller as DocumentController
from kafka_reassign_rpc.core.status.documents import Totals
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.server.server_limits import ServerStats
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.cluster import BROKERS, LISTENERS, SIZE, Cluster, cluster
from tests.http_client import get
from tests.status_page.views import server_of
from tests.waiting import eventually
from tests.zookeeper.proxy import Proxy

DOCUMENT = replace(
    status_of(server_of(None), at=1, version="1", full=True),
    role="controller",
    controller=DocumentController(1000, 7, 1, None),
    brokers_live=5,
    totals=Totals(3, {"queue": 2}, 1, 1000, 900, 0, 5, 8, 0, 0, held=1),
)
STANDING = ServerStatus(
    DOCUMENT, True, 0.002, 4,
    RepairCounts(failed=3, alerted=2, waiting=7, moving=6, impossible=8, held_back=True, paused=True),
)  # fmt: skip

Samples = dict[tuple[str, tuple[str, ...]], float]


def parsed(text: str) -> Samples:
    """Values by the name of the sample, without our prefix, and its labels."""
    return {
        (sample.name.removeprefix("kafka_reassign_"), tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def shown(metrics: Metrics) -> Samples:
    return parsed(metrics.page().body.decode())


def test_sv_7_events_are_counted_when_they_happen_also_those_that_many_partitions_share() -> None:
    metrics = Metrics()
    before = shown(metrics)
    assert before["moves_total", ("started",)] == 0, "a rate needs the first zero"
    assert {labels[0] for name, labels in before if name == "events_total"} == {*EVENTS}
    assert not any(count for (name, _), count in before.items() if name == "events_total")
    metrics.event(Event("move.started", "t", 0, 5, started=1000), 1000)
    metrics.event(Event("move.completed", "t", 0, 5, started=1000), 4000)
    metrics.event(Event("move.completed", "t", 1), 4000)
    metrics.event(Event("move.refused", "t", count=9900), 4000)
    metrics.event(Event("reassignments.disabled"), 4000)
    found = shown(metrics)
    assert found["moves_total", ("started",)] == 1
    assert found["moves_total", ("completed",)] == 2
    assert found["moves_total", ("refused",)] == 9900
    assert found["events_total", ("move.refused",)] == found["events_total", ("reassignments.disabled",)] == 1
    assert (found["move_duration_seconds_count", ()], found["move_duration_seconds_sum", ()]) == (1, 3)
    assert found["move_duration_seconds_bucket", ("5.0",)] == 1


def test_sv_7_a_scrape_reads_the_servers_status_at_that_moment() -> None:
    metrics = Metrics()
    asked = []

    def status() -> ServerStatus:
        asked.append(1)
        return STANDING

    stats = ServerStats(connections_now=3, bytes_sent=17)
    stats.requests[45] = 6
    stats.requests[999] = 1
    metrics.show(status, lambda: stats, {45: "AlterPartitionReassignments"})
    assert not asked
    found = shown(metrics)
    for name, value in (
        ("controller_active", 1),
        ("controller_epoch", 7),
        ("moves_in_flight", 3),
        ("moves_held", 1),
        ("moves_bytes_left", 900),
        ("moves_stalled", 1),
        ("brokers_failed", 3),
        ("brokers_alerted", 2),
        ("repairs_impossible", 8),
        ("repairs_waiting", 7),
        ("repairs_in_flight", 6),
        ("healing_held_back", 1),
        ("healing_paused", 1),
        ("brokers_live", 5),
        ("zookeeper_connected", 1),
        ("zookeeper_round_trip_seconds", 0.002),
        ("event_log_lost_total", 4),
        ("connections", 3),
        ("bytes_sent_total", 17),
    ):
        assert found[name, ()] == value, name
    assert found["moves_waiting", ("queue",)] == 2
    assert found["moves_waiting", ("rpc",)] == found["moves_waiting", ("batch",)] == 0
    assert found["requests_total", ("AlterPartitionReassignments",)] == 6
    assert found["requests_total", ("999",)] == 1
    assert len(asked) == 1


def test_sv_11_what_is_not_known_is_absent_from_the_metrics_and_never_0() -> None:
    unknown = replace(DOCUMENT, totals=Totals(3, {}, None, None, None, 3, None, None, None, None))
    metrics = Metrics()
    metrics.show(lambda: STANDING._replace(document=unknown), ServerStats, {})
    found = shown(metrics)
    absent = ["bytes", "moves_bytes_left", "moves_stalled", "partitions_under_replicated", "partitions_offline"]
    assert [name for name in absent if (name, ()) in found] == []
    assert (found["moves_in_flight", ()], found["moves_remaining_seconds", ()]) == (3, -1)
    assert found["all_done_seconds", ()] == -1


def test_sv_7_two_servers_in_one_process_count_for_themselves() -> None:
    one, other = Metrics(), Metrics()
    one.event(Event("reassignments.disabled"), 0)
    assert shown(other)[("events_total", ("reassignments.disabled",))] == 0


def test_sv_7_a_controller_or_standby_is_ready_and_any_other_state_has_a_reason() -> None:
    assert readiness(STANDING).status == 200
    assert json.loads(readiness(STANDING).body) == {"ready": True, "role": "controller", "controller": 1000}
    gone = replace(DOCUMENT, role="none", reason="ZooKeeper is not connected")
    away = readiness(STANDING._replace(document=gone))
    assert (away.status, json.loads(away.body)) == (503, {"ready": False, "reason": "ZooKeeper is not connected"})


# ------------------------------------------------------------------------------------------------ the real server


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect, metrics=True, sampling=Sampling(interval_s=0.2)) as made:
        yield made


async def scraped(address: str) -> Samples:
    answer = await get(address, "/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return parsed(answer.body.decode())


async def counted(address: str, name: str, *labels: str) -> float:
    return (await scraped(address)).get((name, labels), 0.0)


async def bytes_are_left(address: str) -> bool:
    """240-6: whether the page shows the bytes of the two held moves, once brokers have reported sizes."""
    return await counted(address, "moves_bytes_left") > SIZE


async def test_sv_7_a_scrape_shows_what_the_controller_does(world: Cluster) -> None:
    address = world.metrics_address
    await eventually(lambda: shows(address, brokers_live=len(BROKERS)))
    await world.create_topic("held", {0: (2, 1), 1: (1, 2)}, held=True)
    await world.create_topic("free", {0: (1, 2)})
    await world.alter({("held", 0): (3, 4), ("held", 1): (3, 4), ("free", 0): (3, 4), ("free", 9): (1,)})
    await eventually(lambda: shows(address, moves_in_flight=2))
    await eventually(lambda: bytes_are_left(address))
    await eventually(lambda: shows(address, moves_bytes=4 * SIZE))
    await eventually(lambda: shows(address, partitions_under_replicated=0, partitions_offline=0))
    assert await counted(address, "reassignments_enabled") == 1
    assert await counted(address, "broker_throttle_bytes_per_second", "3", "default", "follower") == 1
    assert await counted(address, "broker_throttle_bytes_per_second", "3", "none", "leader") == -1
    assert await counted(address, "cap", "moves_per_cluster") == -1
    assert await counted(address, "brokers_cordoned") == 0
    await world.settings({CORDONED_BROKERS: "4,77"})
    await eventually(lambda: shows(address, brokers_cordoned=1))
    [build] = [{*labels} for name, labels in await scraped(address) if name == "build_info"]
    assert build == {version("kafka-reassign-rpc"), platform.python_version()}

    async def complete() -> bool:
        return await counted(address, "moves_total", "completed") == 1

    await eventually(complete)
    found = await scraped(address)
    assert found["moves_total", ("started",)] == 3
    assert found["moves_total", ("refused",)] == 1
    assert found["move_duration_seconds_count", ()] == 1
    assert found["controller_active", ()] == found["zookeeper_connected", ()] == found["ready", ()] == 1
    assert found["controller_epoch", ()] > 0
    assert found["controller_id", ()] == 1000
    assert 0 < found["zookeeper_round_trip_seconds", ()] < 60
    assert found["requests_total", ("AlterPartitionReassignments",)] == 1
    assert found["round_duration_seconds_count", ()] >= found["commit_duration_seconds_count", ()] > 3
    assert found["event_log_lost_total", ()] == 0
    assert found["connections", ()] > 0
    assert found["process_resident_memory_bytes", ()] > 0

    await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")
    await world.submit({("free", 0): (1, 2)})
    await eventually(lambda: waits(address, "batch", 1))
    assert await counted(address, "reassignments_enabled") == 0
    await world.zk.delete(znode_paths.REASSIGN_CANCEL)
    await eventually(lambda: waits(address, "batch", 0))
    await eventually(lambda: shows(address, moves_in_flight=2))  # the batch's move is over: one back needs room
    await world.settings({MAX_PER_CLUSTER: "0"})
    await world.alter({("free", 0): (3, 4)})
    await eventually(lambda: waits(address, "rpc", 1))
    assert await counted(address, "reassignments_enabled") == 1
    assert await counted(address, "cap", "moves_per_cluster") == 0
    await world.alter({("held", 0): None, ("held", 1): None, ("free", 0): None})
    await eventually(lambda: shows(address, moves_in_flight=0))
    assert await counted(address, "moves_bytes_left") == 0, "a cancel ends what is left"
    assert await waits(address, "rpc", 0)

    await configure_healing(world, failure_interval_ms="3600000")
    await world.kill_broker(2)
    await eventually(lambda: shows(address, partitions_offline=0, partitions_under_replicated=3))
    await eventually(lambda: shows(address, brokers_failed=1, brokers_alerted=0, healing_held_back=0))
    await configure_healing(world, failure_alert_interval_ms="0", failure_interval_ms="3600000")
    await eventually(lambda: shows(address, brokers_failed=1, brokers_alerted=1, healing_held_back=0))
    await configure_healing(world, failure_interval_ms="0", self_healing_paused="true")
    await eventually(lambda: shows(address, brokers_failed=1, healing_held_back=1))
    await configure_healing(world, failure_interval_ms="0", self_healing_max_moves="1")
    await eventually(lambda: shows(address, brokers_failed=1, repairs_in_flight=1, repairs_waiting=1))
    await world.start_broker(2)
    await eventually(lambda: shows(address, repairs_in_flight=1, repairs_waiting=0, healing_held_back=0))
    assert await counted(address, "brokers_failed") == 0, "it counts while it is gone, whatever its repair waits for"
    await world.release("held")
    await eventually(lambda: shows(address, repairs_in_flight=0))
    found = await scraped(address)
    for step in ("noticed", "alert", "paused", "held_back", "resumed", "scheduled", "dropped", "done"):
        assert found["events_total", (f"heal.{step}",)] == 1, step

    async def paused() -> bool:
        return await counted(address, "loop_pause_seconds_count") > 0

    await eventually(paused)


async def configure_healing(world: Cluster, **values: str) -> None:
    """Set settings by their names with _ for .."""
    await world.settings({name.replace("_", "."): value for name, value in values.items()})


async def waits(address: str, route: str, moves: int) -> bool:
    return await counted(address, "moves_waiting", route) == moves


async def shows(address: str, **values: float) -> bool:
    found = await scraped(address)
    return all(found[name, ()] == value for name, value in values.items())


async def status(address: str, path: str) -> int:
    return (await get(address, path)).status


async def test_sv_7_readiness_follows_the_election_and_the_connection_and_the_process_lives_on(
    zk: ZooKeeper, zk_connect: str
) -> None:
    hosts, slash, chroot = zk_connect.partition("/")
    async with Proxy(hosts) as proxy:
        away = ServerConfig(
            f"{proxy.address}{slash}{chroot}", LISTENERS, server_id=1001, metrics_listener=("127.0.0.1", 0)
        )
        async with ControllerProcess(away) as first:
            await first.ready()
            assert first.metrics_address is not None
            at = first.metrics_address
            answer = await get(at, "/ready")
            assert (answer.status, json.loads(answer.body)["role"]) == (200, "controller")

            standby = ServerConfig(zk_connect, LISTENERS, server_id=1002, metrics_listener=("127.0.0.1", 0))
            async with ControllerProcess(standby) as second:
                await second.ready()
                assert second.metrics_address is not None
                answer = await get(second.metrics_address, "/ready")
                assert json.loads(answer.body) == {"ready": True, "role": "standby", "controller": 1001}
                assert await counted(second.metrics_address, "controller_active") == 0
                assert await zk.exists(znode_paths.CONTROLLER) is not None

                proxy.refusing = "close"
                proxy.rst()

                async def unready() -> bool:
                    return await status(at, "/ready") == 503

                await eventually(unready)
                assert "ZooKeeper is not connected" in (await get(at, "/ready")).body.decode()
                assert await status(at, "/health") == 200
                assert await counted(at, "zookeeper_connected") == 0
