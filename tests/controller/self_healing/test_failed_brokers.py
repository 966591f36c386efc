"""Failed brokers in `/admin/failed_brokers` (KIP-46)."""

import asyncio
import json
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from kafka_reassign_rpc.controller.commands import cluster_commands
from kafka_reassign_rpc.controller.commands.repair_commands import DiagnoseFailedBrokers, RepairMemory
from kafka_reassign_rpc.controller.loading.load_cluster import read_cluster
from kafka_reassign_rpc.core.healing.failed_brokers import PREPARE_MS, Diagnosis
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings
from kafka_reassign_rpc.core.writers.facts import BrokersRegistered
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import SERVER, BareController, elected_controller, put_topic, register
from tests.controller.cluster import Cluster, cluster
from tests.controller.self_healing.healing_controller import (
    MINUTE,
    WHERE,
    HealingController,
    failed_since,
    put,
    queued,
)
from tests.vendor_requests import told, wanted
from tests.waiting import eventually

ON = HealingSettings(interval_ms=60_000)


async def look(controller: BareController, at: int) -> Diagnosis:
    return (await controller.loop.submit(DiagnoseFailedBrokers(RepairMemory(), at))).diagnosis


async def noted(zk: ZooKeeper) -> dict[str, object]:
    names = await zk.children(znode_paths.FAILED_BROKERS)
    return {name: json.loads((await zk.get(f"{znode_paths.FAILED_BROKERS}/{name}"))[0]) for name in names}


async def test_46_1_a_new_controller_knows_since_when_a_broker_has_failed(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 3), 1: (2, 1)})
    async with elected_controller(zk_connect) as controller:
        await look(controller, 1000)
        assert await noted(zk) == {"3": {"version": 1, "timestamp": 1000}}
        await look(controller, 2000)
        assert len(controller.zk.transactions) == 1, "what is there is not written again"

    async with elected_controller(zk_connect) as successor:
        await look(successor, 5000)
        assert await noted(zk) == {"3": {"version": 1, "timestamp": 1000}}
        assert successor.cluster.failed == {3: 1000}


async def test_46_1_the_controller_forgets_a_failure_when_the_broker_returns_or_has_no_replica_left(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 3)})
    await put_topic(zk, "u", {0: (2, 4)})
    async with elected_controller(zk_connect) as controller:
        await look(controller, 1000)
        assert sorted(await noted(zk)) == ["3", "4"]

    await register(zk, 3)
    async with elected_controller(zk_connect) as successor:
        assert (await successor.alter({("u", 0): (2, 1)}))["u", 0] is None
        await look(successor, 2000)
        assert await noted(zk) == {"4": {"version": 1, "timestamp": 1000}}, "until the move in flight has ended"
        await successor.finish_moves()
        await look(successor, 3000)
        assert await noted(zk) == {}


async def test_46_1_a_broker_that_never_held_a_replica_has_not_failed(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)})
    await zk.delete(znode_paths.broker(3))
    async with elected_controller(zk_connect) as controller:
        await look(controller, 1000)
        assert await noted(zk) == {}


async def test_46_1_garbage_in_a_failure_znode_is_ignored(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 3)})
    await zk.create(f"{znode_paths.FAILED_BROKERS}/3", b"not JSON")
    await zk.create(f"{znode_paths.FAILED_BROKERS}/seven", b"{}")
    await zk.create(f"{znode_paths.FAILED_BROKERS}/4", b'{"version":1,"timestamp":9223372036854775807}')
    await zk.create(f"{znode_paths.FAILED_BROKERS}/99", b'{"version":1,"timestamp":"5"}')
    created = (await zk.get(f"{znode_paths.FAILED_BROKERS}/3"))[1].ctime
    async with elected_controller(zk_connect) as controller:
        failed = controller.cluster.failed
        assert (failed[3], failed[99]) == (created, 5), "its creation time serves as well"
        assert failed[4] is not None
        assert 0 <= failed[4] - created < 60_000, "no writer means that time"
        await look(controller, created + 1000)
        assert sorted(await zk.children(znode_paths.FAILED_BROKERS)) == ["3", "seven"], "4 and 99 hold nothing"


@pytest.mark.parametrize("lives", [0, 1])
async def test_46_4_the_next_controller_notes_a_failure_if_one_dies_while_noting_it(
    zk: ZooKeeper, zk_connect: str, lives: int
) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 3)})
    async with elected_controller(zk_connect) as controller:
        controller.zk.lives = lives
        if lives:
            await look(controller, 1000)
        else:
            with pytest.raises(NotController):
                await look(controller, 1000)
    async with elected_controller(zk_connect) as successor:
        await look(successor, 2000)
        assert await noted(zk) == {"3": {"version": 1, "timestamp": 1000 if lives else 2000}}


async def test_46_1_a_failure_ends_although_its_znode_has_foreign_children(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 3)})
    async with elected_controller(zk_connect) as controller:
        await look(controller, 1000)
        await zk.create(f"{znode_paths.FAILED_BROKERS}/3/by-hand", b"")
        await register(zk, 3)
        await controller.loop.submit(
            cluster_commands.BrokersRead(
                BrokersRegistered((await read_cluster(zk)).cluster.brokers), SERVER, lambda: None
            )
        )
        async with asyncio.timeout(60):
            assert (await look(controller, 2000)).heal_at == {}
        assert controller.cluster.failed == {}
    async with elected_controller(zk_connect) as successor:
        assert successor.cluster.failed == {}
        await zk.delete(znode_paths.broker(3))
        await successor.loop.submit(
            cluster_commands.BrokersRead(
                BrokersRegistered((await read_cluster(zk)).cluster.brokers), SERVER, lambda: None
            )
        )
        await look(successor, 3000)
        assert await noted(zk) == {"3": {"version": 1, "timestamp": 3000}}


@pytest.mark.parametrize("due", [False, True], ids=["planned early", "due"])
async def test_46_2_a_bounce_while_its_repair_is_planned_begins_the_interval_anew(
    zk: ZooKeeper, zk_connect: str, due: bool
) -> None:
    """The healer diagnoses nothing while it plans. Broker 6 stays away, and is healed in time."""
    await put(zk, {**WHERE, ("c", 0): (6, 1)})
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()
        assert await failed_since(zk) == {3: 0, 6: 0}

        async def bounce() -> None:
            await register(zk, 3)
            await healing.read_brokers()
            await zk.delete(znode_paths.broker(3))
            await healing.read_brokers()

        healing.meanwhile = bounce
        healing.new_events()
        await healing.diagnose(after_ms=MINUTE if due else MINUTE - PREPARE_MS)
        assert ("heal.over", "it is back") in healing.new_events()
        healing.meanwhile = None
        if not due:
            await healing.diagnose(after_ms=PREPARE_MS)
        assert queued(controller).keys() == {("c", 0)}
        await healing.diagnose()
        assert await failed_since(zk) == {3: MINUTE}, "when the controller saw next that it was gone"
        await healing.diagnose(after_ms=MINUTE - 1)
        assert queued(controller).keys() == {("c", 0)}
        await healing.diagnose(after_ms=1)
        assert queued(controller).keys() == {("a", 0), ("b", 0), ("b", 1), ("c", 0)}


async def test_46_2_a_bounce_within_one_round_begins_the_interval_anew(zk: ZooKeeper, zk_connect: str) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        memory = RepairMemory()
        await controller.loop.submit(DiagnoseFailedBrokers(memory, 1000))
        gone = (await read_cluster(zk)).cluster.brokers
        await register(zk, 3)
        there = (await read_cluster(zk)).cluster.brokers
        for brokers in (there, gone):
            controller.loop.submit(cluster_commands.BrokersRead(BrokersRegistered(brokers), SERVER, lambda: None))
        await controller.loop.submit(DiagnoseFailedBrokers(memory, 2000))
        assert await noted(zk) == {"3": {"version": 1, "timestamp": 2000}}
        controller.loop.submit(DiagnoseFailedBrokers(memory, 3000))
        await controller.loop.submit(cluster_commands.BrokersRead(BrokersRegistered(there), SERVER, lambda: None))
        assert await noted(zk) == {}


@pytest.mark.parametrize("how", ["creates", "edits"])
async def test_46_1_a_broker_that_is_not_there_is_noticed_when_somebody_writes_a_topic_onto_it_and_nothing_else_happens(
    zk_connect: str, tmp_path: Path, how: str
) -> None:
    async with cluster(zk_connect, brokers=(1, 2), event_log=tmp_path) as world:
        await world.create_topic("t", {0: [1, 2]})
        assert not told(await world.ask(wanted("healing"), 0))["failed"]
        if how == "creates":
            await put_topic(world.zk, "u", {0: (1, 9)}, topic_id=uuid4())
        else:
            path = znode_paths.topic("t")
            written = json.loads((await world.zk.get(path))[0])
            await world.zk.set(path, json.dumps({**written, "partitions": {"0": [1, 9]}}).encode())
        await eventually(partial(_is_noticed, world, 9))


async def _is_noticed(world: Cluster, broker: int) -> bool:
    return any(one["event"] == "heal.noticed" and one["broker"] == broker for one in await world.events())
