"""A stock broker creates topics by itself and knows no cordon: the server places them elsewhere, also where it dies
between any two writes."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from kafka_reassign_rpc.controller.loading import load_topics
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import topic_znodes, transactions, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, id_of, put_topic, register, topic_json
from tests.controller.cluster import cluster
from tests.controller.commit.test_missing_replicas import auto_create
from tests.controller.telemetry.test_metrics import counted, shows
from tests.core.build import not_moving
from tests.longest_turn import tries
from tests.waiting import eventually

PLACED = {0: [3, 1], 1: [1, 3], 2: [2, 1]}
CORRECTED = {"0": [2, 1], "1": [1, 2], "2": [2, 1]}


async def replicas(zk: ZooKeeper, name: str = "t") -> dict[str, Sequence[int]]:
    found: dict[str, Sequence[int]] = (await topic_json(zk, name))["partitions"]
    return found


async def test_dh_2_a_topic_of_a_stock_broker_lands_elsewhere_and_what_a_client_names_stays_and_is_reported(
    zk_connect: str,
) -> None:
    async with cluster(zk_connect, brokers=(1, 2, 3), metrics=True) as world:
        address = world.metrics_address
        await world.settings({CORDONED_BROKERS: "3"})
        await eventually(lambda: shows(address, brokers_cordoned=1))
        await auto_create(world.zk, "t", PLACED)

        async def is_corrected() -> bool:
            return await replicas(world.zk) == CORRECTED

        await eventually(is_corrected)
        await eventually(lambda: world.in_sync(("t", 0), 1))
        await eventually(lambda: world.in_sync(("t", 1), 2))
        assert await world.replicas_on(3) == set()
        assert await counted(address, "cordoned_broker_replicas_total") == 0

        await auto_create(world.zk, "grown", {0: [1, 2]})
        await eventually(lambda: world.in_sync(("grown", 0), 2))
        added = {0: ((1, 2), (), ()), 1: ((3, 2), (), ())}
        await world.zk.set(znode_paths.topic("grown"), topic_znodes.encode_topic(id_of("grown"), added))
        await eventually(lambda: world.in_sync(("grown", 1), 1))
        assert await replicas(world.zk, "grown") == {"0": [1, 2], "1": [1, 2]}
        assert await world.replicas_on(3) == set()

        for event in ("move.started", "move.completed", "moves.done"):
            assert await counted(address, "events_total", event) == 0

        await world.create_topic("named", {0: (3, 1), 1: (3, 2)})
        await world.alter({("t", 2): (3, 2)})
        await eventually(lambda: shows(address, cordoned_broker_replicas_total=3))
        assert await replicas(world.zk, "named") == {"0": [3, 1], "1": [3, 2]}
        assert await counted(address, "events_total", "cordon.corrected") == 3


async def test_dh_2_a_server_that_dies_between_any_two_writes_leaves_no_replica_of_the_topic_on_the_cordoned_broker(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    lives = 0
    while True:
        connect = f"{zk_connect}/{lives}"
        async with ZooKeeper(connect) as zk:
            await register(zk, 1, 2, 3)
            await put_topic(zk, "before", {0: (3, 1)}, topic_id=None)
            await put_topic(zk, "grown", {0: (3, 1)}, topic_id=None)
            await put_topic(zk, "shrunk", {0: (3, 1), 1: (3, 1)}, topic_id=None)
            await zk.create(
                znode_paths.SETTINGS, json.dumps({"version": 1, "config": {CORDONED_BROKERS: "3"}}).encode()
            )
            assignments = {index: (tuple(to), (), ()) for index, to in PLACED.items()}
            await zk.create(znode_paths.topic("t"), topic_znodes.encode_topic(id_of("t"), assignments))
            await zk.create(znode_paths.topic("lost"), topic_znodes.encode_topic(id_of("lost"), assignments))
            await zk.create(f"{znode_paths.topic('lost')}/partitions", b"")
            await zk.delete(f"{znode_paths.topic('lost')}/partitions")
            grown = {0: ((3, 1), (), ()), 1: ((3, 1), (), ()), 2: ((1, 3), (), ())}
            for name in ("grown", "shrunk"):
                await zk.set(znode_paths.topic(name), topic_znodes.encode_topic(None, grown))
            for path in (znode_paths.partition_state("shrunk", 1), znode_paths.partition("shrunk", 1)):
                await zk.delete(path)
            survived = True
            try:
                async with elected_controller(connect, lives=lives):
                    pass
            except NotController:
                survived = False
            async with elected_controller(connect) as successor:
                await successor.check()
            assert await replicas(zk) == CORRECTED, f"after {lives} writes"
            assert await replicas(zk, "before") == {"0": [3, 1]}
            assert await replicas(zk, "grown") == {"0": [3, 1], "1": [2, 1], "2": [1, 2]}, "others have added two"
            assert await replicas(zk, "shrunk") == {"0": [3, 1], "1": [3, 1], "2": [1, 3]}, "one may have had a log"
            assert await replicas(zk, "lost") == {str(index): to for index, to in PLACED.items()}
            for index in PLACED:
                state = json.loads((await zk.get(znode_paths.partition_state("t", index)))[0])
                assert 3 not in state["isr"]
        if survived:
            break
        lives += 1
    assert lives >= 4, "the topic and the three states"


async def test_dh_2_two_million_partitions_with_states_are_looked_through_in_turns() -> None:
    class NobodyIsAsked(ZooKeeper):
        async def multi_get(self, paths: Sequence[str]) -> list[Any]:
            assert not paths
            return []

    of_a_topic = dict.fromkeys(range(100), not_moving(1, 2))
    partitions = {f"t{number}": of_a_topic for number in range(20_000)}
    read = topic_znodes.TopicZnode(None, {}, {}, {}), Stat(*range(11))._replace(cversion=1)
    zk, topics = NobodyIsAsked("127.0.0.1:1"), dict.fromkeys(partitions, read)
    for measured in tries():
        async with measured:
            assert await load_topics._stateless_since(zk, topics, partitions, Pace()) == {}
