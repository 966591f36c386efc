"""Replicas that a broker has half-made begin anew: a real server and a real ZooKeeper, with scripted brokers."""

import json

import pytest

from kafka_reassign_rpc.controller_channel import broker_channel
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import state_json
from tests.controller.notifications.scripted_cluster import scripted_cluster
from tests.waiting import eventually


async def write_each_epoch(zk: ZooKeeper, path: str) -> None:
    """Leave the state as often written as its leader has changed: else it looks put back, and gets higher epochs."""
    state, _ = await zk.get(path)
    for _ in range(json.loads(state)["leader_epoch"]):
        await zk.set(path, state)


async def test_sv_4_all_replicas_of_a_broker_that_refuses_them_get_a_higher_leader_epoch_and_the_others_keep_theirs(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_channel, "FIRST_REFUSAL_S", 0.01)
    async with scripted_cluster(zk, zk_connect, {0: (1, 2), 1: (2, 1), 2: (1, 3)}) as world:
        for index in range(3):
            await write_each_epoch(zk, znode_paths.partition_state("t", index))
        before = {index: await state_json(zk, ("t", index)) for index in range(3)}
        epochs = {index: state["leader_epoch"] for index, state in before.items()}
        broker = world.brokers[2]
        broker.half_made[0] = epochs[0]
        async with world.serving():
            await eventually(lambda: broker.epochs == {0: epochs[0] + 1, 1: epochs[1] + 1})
            await eventually(lambda: world.brokers[1].epochs == {0: epochs[0] + 1, 1: epochs[1] + 1, 2: epochs[2]})
            assert world.brokers[3].epochs == {2: epochs[2]}
        for index, state in before.items():
            found = await state_json(zk, ("t", index))
            assert (found["leader"], found["isr"]) == (state["leader"], state["isr"])
