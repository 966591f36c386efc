"""Brokers that answer STALE_CONTROLLER_EPOCH: ZooKeeper alone says whether the term is over."""

from typing import Any

import pytest

from kafka_reassign_rpc.protocol.messages import RESPONSES
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.notifications.scripted_cluster import JbodBroker, scripted_cluster
from tests.controller_channel.scripted_broker import STALE_CONTROLLER_EPOCH
from tests.waiting import eventually

NEWEST_EPOCH = 7


def answer_stale(broker: JbodBroker) -> None:
    """From now on the broker says to each request that it knows a newer controller."""

    def answer(body: Any) -> Any:
        version = max(version for key, version in broker.spoken if key == body.API_KEY)
        response: Any = RESPONSES[body.API_KEY]
        return response(version=version, error_code=STALE_CONTROLLER_EPOCH)

    broker.answer = answer


async def epochs(zk: ZooKeeper) -> tuple[bytes, int]:
    """The controller's epoch, and the transaction that created `/controller`."""
    (epoch, _), (_, owner) = await zk.get(znode_paths.CONTROLLER_EPOCH), await zk.get(znode_paths.CONTROLLER)
    return epoch, owner.czxid


async def test_sv_3_a_broker_that_always_knows_a_newer_controller_ends_no_term_and_the_others_are_controlled(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with scripted_cluster(zk, zk_connect, {0: (1, 2), 1: (3,)}) as cluster:
        odd = cluster.brokers[3]
        answer_stale(odd)

        async def joins() -> bool:
            """Broker 2 joins the ISR, once the controller knows that it is back."""
            return await cluster.alter_isr(0, [1, 2]) == 0

        async with cluster.serving():
            await eventually(lambda: cluster.shown(0, to=(1, 2)) == [(1, [1, 2], [])] * 2)
            elected = await epochs(zk)
            for _ in range(3):
                await cluster.unregister(2)
                await eventually(lambda: cluster.shown(0, to=(1,)) == [(1, [1], [2])])
                await cluster.register(2)
                await eventually(joins)
                await eventually(lambda: cluster.shown(0, to=(1, 2)) == [(1, [1, 2], [])] * 2)
            assert len(odd.received) > 3, "each was refused"
            assert await epochs(zk) == elected
    told = [one.getMessage() for one in caplog.records if "STALE_CONTROLLER_EPOCH" in one.getMessage()]
    assert len(told) == 1
    assert told[0].startswith("broker 3 knows a newer controller than this one of epoch 1 ")


async def test_sv_3_a_controller_that_a_broker_tells_of_a_newer_one_ends_its_term_at_once_if_zookeeper_says_so_too(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with scripted_cluster(zk, zk_connect, {0: (1, 2)}) as cluster, cluster.serving():
        await eventually(lambda: cluster.shown(0, to=(1, 2, 3)) == [(1, [1, 2], [])] * 3)
        await zk.set(znode_paths.CONTROLLER_EPOCH, b"%d" % NEWEST_EPOCH)
        answer_stale(cluster.brokers[1])
        await cluster.unregister(3)  # which changes nothing in ZooKeeper, but brokers hear of it

        async def has_a_new_term() -> bool:
            now, _ = await epochs(zk)
            return int(now) > NEWEST_EPOCH

        await eventually(has_a_new_term)
