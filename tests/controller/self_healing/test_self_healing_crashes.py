"""Repairs of failed brokers (KIP-46) when the controller dies, or the broker returns, after any write."""

import pytest

from kafka_reassign_rpc.controller.zookeeper_store import znode_writes
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings
from kafka_reassign_rpc.zookeeper import transactions
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, queue_json, records, register
from tests.controller.self_healing.healing_controller import (
    MINUTE,
    WHERE,
    HealingController,
    failed,
    put,
    queued,
    targets,
)


async def every_broker_lives(healing: HealingController) -> None:
    """All repairs end."""
    controller = healing.controller
    for _ in range(2):
        await healing.diagnose(after_ms=MINUTE)
        await controller.start_queued_moves()
        await controller.finish_moves()
    await controller.check()
    for name, before in WHERE.items():
        value = controller.partition(*name)
        assert (value.adding, value.removing) == ((), ())
        assert len(value.replicas) == len(before)
        assert all(broker in controller.cluster.brokers for broker in value.replicas), name
        assert set(before) - {3} <= set(value.replicas), "nothing else has moved"
    assert queued(controller) == {}


@pytest.mark.parametrize("returns", [False, True], ids=["it stays away", "it returns"])
async def test_46_4_and_46_7_the_next_controller_completes_a_repair_left_between_any_two_writes(
    zk_connect: str, returns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    monkeypatch.setattr(znode_writes, "PART_BYTES", 1)
    lives, over = 0, False
    while not over:
        connect = f"{zk_connect}/{lives}"
        async with ZooKeeper(connect) as zk:
            await put(zk)
            now = 0
            async with elected_controller(connect) as controller:
                controller.zk.lives = lives
                healing = HealingController(controller)
                try:
                    await healing.heal_when_due()
                    over = True
                except NotController:
                    pass
                now = healing.now
            if returns:
                await register(zk, 3)
            async with elected_controller(connect) as successor:
                begun = await records(zk)
                healing = HealingController(successor, now=now)
                await healing.diagnose()
                if returns:
                    assert queued(successor) == {}, "what has not started is dropped"
                    await successor.finish_moves()
                    found = targets(successor)
                    assert {name: found[name] for name in WHERE if name not in begun} == {
                        name: WHERE[name] for name in WHERE if name not in begun
                    }
                await every_broker_lives(healing)
            assert await failed(zk) == []
            assert await queue_json(zk) is None
            assert await records(zk) == set()
        lives += 1
    assert lives > 4, "there is something to die in"


async def test_46_7_a_broker_may_return_after_any_write_of_its_repair_while_the_controller_lives(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds of one move each. The broker returns after none of them, after one, after two …"""
    for rounds in range(5):
        connect = f"{zk_connect}/{rounds}"
        async with ZooKeeper(connect) as zk:
            await put(zk)
            async with elected_controller(connect) as controller:
                healing = HealingController(controller, HealingSettings(interval_ms=MINUTE, chunk=1))
                await healing.diagnose()
                if rounds:
                    await healing.diagnose(after_ms=MINUTE)
                done = 0
                for _ in range(rounds - 1):
                    await controller.start_queued_moves()
                    moving = [name for name in WHERE if controller.partition(*name).is_moving]
                    done += len(moving)
                    assert len(moving) <= 1, "a chunk at a time"
                    await controller.finish_moves()
                await register(zk, 3)
                await healing.read_brokers()
                await healing.diagnose()
                assert queued(controller) == {}
                assert sum(found != WHERE[name] for name, found in targets(controller).items()) == done
                await every_broker_lives(healing)
            assert await failed(zk) == []
            assert await queue_json(zk) is None
