"""`kafka-reassign settings`: the settings that all servers share, shown, changed, and moved to where they belong."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.cluster import Cluster, cluster
from tests.reassign_command.run_command import kafka_reassign
from tests.stock.tools import Output
from tests.waiting import eventually

ENABLED, INTERVAL, PAUSED = "partition.reassignments.enabled", "failure.interval.ms", "self.healing.paused"
BYTES = "partition.reassignments.max.bytes.in.flight"
TO_MOVE = (
    "--move takes it from there: stock tools cannot change those configs while it is there."  # after each old value
)


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect, brokers=(1, 2)) as made:
        yield made


async def settings(world: Cluster, *args: str) -> Output:
    return await kafka_reassign("settings", "--bootstrap-server", world.bootstrap, *args)


async def document(world: Cluster, *args: str) -> Any:
    found = await settings(world, "--json", *args)
    assert (found.code, found.err) == (0, "")
    return json.loads(found.out)


async def in_znode(world: Cluster, path: str = znode_paths.SETTINGS) -> Any:
    return json.loads((await world.zk.get(path))[0])["config"]


async def test_hm_1_settings_are_set_shown_and_deleted_with_units_and_where_they_are_set(world: Cluster) -> None:
    shown = {one["name"]: one for one in (await document(world))["settings"]}
    assert shown.keys() == SERVER_SETTINGS.keys()
    assert {(one["where"], one["inBrokerDefaults"]) for one in shown.values()} == {("default", None)}
    changed = await settings(world, "--set", f"{INTERVAL}=30min", "--set", f"{BYTES}=5GB", "--set", f"{PAUSED}=true")
    assert (changed.code, changed.err) == (0, "")
    assert changed.lines == [
        f"{INTERVAL}=1800000 holds: set for all servers.",
        f"{BYTES}=5000000000 holds: set for all servers.",
        f"{PAUSED}=true holds: set for all servers.",
    ]
    assert await in_znode(world) == {INTERVAL: "1800000", BYTES: "5000000000", PAUSED: "true"}
    assert (await settings(world, "--delete", INTERVAL, "--delete", PAUSED)).lines == [
        f"{INTERVAL}=-1 holds: the default.",
        f"{PAUSED}=false holds: the default.",
    ]
    lines = (await settings(world)).lines
    assert len(lines) == len(SERVER_SETTINGS)
    assert [line.split() for line in lines if "all servers" in line] == [
        [f"{BYTES}=5000000000", "set", "for", "all", "servers"]
    ]


async def test_46_2_an_interval_that_every_restart_exceeds_is_taken_with_a_warning(world: Cluster) -> None:
    changed = await settings(world, "--set", f"{INTERVAL}=30")
    warning = (
        f"Warning: {INTERVAL}=30 is 0.03 s: a broker that restarts is away for longer, and loses its replicas to others"
        f" each time. Most clusters use minutes, as {INTERVAL}=30min."
    )
    assert (changed.code, changed.lines) == (0, [f"{INTERVAL}=30 holds: set for all servers."])
    assert changed.err == f"{warning}\n"
    assert (await settings(world)).err == f"{warning}\n"
    for enough in ("30s", "-1"):
        assert (await settings(world, "--set", f"{INTERVAL}={enough}")).err == ""


async def test_hm_1_whoever_sets_a_cap_of_0_reads_that_nothing_starts_then_and_the_server_logs_it(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cap = "partition.reassignments.max.per.cluster"
    said = f"{cap}=0: no move that copies anything starts, no repair either: all wait until it is raised"
    changed = await settings(world, "--json", "--set", f"{cap}=0")
    assert (changed.code, json.loads(changed.out)["settings"][0]["value"]) == (0, "0")
    assert said in changed.err
    await eventually(lambda: said in caplog.text)
    assert (await settings(world, "--delete", cap)).err == ""
    caplog.clear()
    assert await world.incremental(cap, "0") == 0, "as kafka-configs.sh sets it"
    await eventually(lambda: said in caplog.text)


async def test_hm_1_old_values_among_the_brokers_defaults_are_named_and_one_command_moves_them(world: Cluster) -> None:
    await world.configure("brokers", "<default>", {INTERVAL: "50000", ENABLED: "false", "log.cleaner.threads": "2"})
    changed = await settings(world, "--set", f"{INTERVAL}=60000")
    assert changed.lines == [
        f"{INTERVAL}=60000 holds: set for all servers.",
        f"{INTERVAL}=50000 is among the brokers' default configs and has no effect. {TO_MOVE}",
    ]
    assert (await settings(world)).lines[-1] == (
        f"{ENABLED}=false is among the brokers' default configs and holds. {TO_MOVE}"
    )
    assert (await settings(world, "--move")).lines == [
        f"{ENABLED}=false holds as before: set for all servers now.",
        f"{INTERVAL}=50000 had no effect among the brokers' default configs, and is gone from there.",
    ]
    assert await in_znode(world) == {INTERVAL: "60000", ENABLED: "false"}
    assert await in_znode(world, znode_paths.config_broker("<default>")) == {"log.cleaner.threads": "2"}
    assert await document(world, "--move") == {"moved": {}, "dropped": {}}
    assert (await settings(world, "--move")).lines == ["No setting of servers is among the brokers' default configs."]


async def test_hm_1_enabling_and_resuming_take_away_what_an_earlier_version_has_set(world: Cluster) -> None:
    await world.configure("brokers", "<default>", {ENABLED: "false", PAUSED: "true"})
    enabled = await kafka_reassign("--bootstrap-server", world.bootstrap, "--enable")
    assert (enabled.code, enabled.out) == (0, "Reassignments may be started.\n")
    resumed = await kafka_reassign("heal", "--bootstrap-server", world.bootstrap, "--resume")
    assert (resumed.code, resumed.out) == (0, "Healing is not paused any more.\n")
    assert await in_znode(world, znode_paths.config_broker("<default>")) == {}
    disabled = await kafka_reassign("--bootstrap-server", world.bootstrap, "--disable")
    assert disabled.code == 0
    assert (await kafka_reassign("heal", "--bootstrap-server", world.bootstrap, "--pause")).code == 0
    assert await in_znode(world) == {ENABLED: "false", PAUSED: "true"}
    assert await in_znode(world, znode_paths.config_broker("<default>")) == {}


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("--set", "failure.interval.ms"), "kafka-reassign settings: --set: expected NAME=VALUE, got"),
        (("--set", "failure.interval.ms=1", "--delete", "failure.interval.ms"), "failure.interval.ms is named twice"),
        (("--move", "--delete", "failure.interval.ms"), "kafka-reassign settings: --move goes alone"),
        (
            ("--set", "self.healing.throttle=5"),
            "kafka-reassign settings: self.healing.throttle: 5 asks for a unit: 5MB",
        ),
        (("--put", "x"), "kafka-reassign settings: unrecognized arguments: --put [hidden]"),
    ],
)
async def test_hm_1_a_command_line_that_makes_no_sense_is_refused_before_anything_is_asked(
    args: tuple[str, ...], text: str
) -> None:
    refused = await kafka_reassign("settings", "--bootstrap-server", "h:1", *args)
    assert (refused.code, refused.out) == (1, "")
    assert text in refused.err


async def test_hm_1_a_wrong_value_and_an_unknown_name_are_refused_with_the_reason(world: Cluster) -> None:
    wrong = await settings(world, "--set", "self.healing.max.failed.percentage=101")
    assert wrong.code == 1
    assert "Invalid value 101 for configuration self.healing.max.failed.percentage: Value must be no more" in wrong.out
    unknown = await settings(world, "--set", "log.retention.ms=1")
    assert unknown.code == 1
    assert "No settings of servers: log.retention.ms. Known: " in unknown.out
    assert await world.zk.exists(znode_paths.SETTINGS) is None
