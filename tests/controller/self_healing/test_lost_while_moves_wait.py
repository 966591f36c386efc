"""Brokers that are lost while moves wait that would have emptied them: the clock of self-healing runs from the loss."""

import pytest

from kafka_reassign_rpc.core.healing.failed_brokers import PREPARE_MS
from kafka_reassign_rpc.core.healing.self_healing_status import FailedBroker
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.partition import HEAL, QUEUE, RPC
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import BareController, batch, elected_controller, register
from tests.controller.self_healing.healing_controller import MINUTE, HealingController, failed_since, put, queued

DRAINED = {("a", 0): (1, 7), ("a", 1): (2, 7), ("a", 2): (7, 2)}
DRAIN = {("a", 0): (1, 4), ("a", 1): (2, 4), ("a", 2): (1, 2)}


async def drained(zk: ZooKeeper, controller: BareController) -> HealingController:
    """Moves wait that empty broker 7, since a cap lets none start, and broker 7 is lost."""
    controller.start_with(caps=InFlightCaps(per_cluster=0))
    await zk.create(znode_paths.REASSIGN_QUEUE, batch(DRAIN))
    await controller.read_admin_znodes()
    await zk.delete(znode_paths.broker(7))
    healing = HealingController(controller, now=1000)
    await healing.read_brokers()
    await healing.diagnose()
    return healing


async def test_dh_1_a_broker_is_lost_although_moves_wait_that_would_empty_it(zk: ZooKeeper, zk_connect: str) -> None:
    await put(zk, DRAINED, brokers=(1, 2, 4, 7))
    async with elected_controller(zk_connect) as controller:
        healing = await drained(zk, controller)
        assert await failed_since(zk) == {7: 1000}
        assert healing.new_events() == [("heal.noticed", "it is gone, with 3 replicas")]
        status = await healing.healer.status()
        assert status.failed == [FailedBroker(7, 1000, 1000 + MINUTE, 3)]
        await healing.diagnose(after_ms=MINUTE // 2)
        assert [name for name, _ in healing.new_events()] == ["heal.alert"]


async def test_dh_1_the_repair_carries_out_what_waits_where_its_brokers_are_there(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Their senders get what they asked for, so `submit` goes on; and these partitions are not planned twice."""
    await put(zk, {**DRAINED, ("a", 3): (7, 1), ("a", 4): (7, 2)}, brokers=(1, 2, 4, 7))
    async with elected_controller(zk_connect) as controller:
        healing = await drained(zk, controller)
        await zk.set(znode_paths.REASSIGN_QUEUE, batch({**DRAIN, ("a", 3): (99, 1)}))
        await controller.read_admin_znodes()
        assert len((await healing.healer.heal(7, CONTROLLER, dry_run=True)).moves) == 5
        assert {place.move.terms.route for place in controller.cluster.queue.topics["a"].values()} == {QUEUE}
        await healing.diagnose(after_ms=MINUTE)
        found = queued(controller)
        planned = {found.pop(("a", 3)), found.pop(("a", 4))}
        assert found == DRAIN
        assert planned <= {(2, 1), (4, 1), (1, 2), (4, 2)}, "what waits for broker 99 mends nothing"
        assert {place.move.terms.route for place in controller.cluster.queue.topics["a"].values()} == {HEAL}
        assert await failed_since(zk) == {}
        await healing.diagnose(after_ms=MINUTE)
        assert await failed_since(zk) == {}, "its repair is under way"


async def test_dh_1_a_lost_broker_that_moves_in_flight_empty_is_shown_and_healed_from_its_loss_once_they_are_cancelled(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, DRAINED, brokers=(1, 2, 4, 7))
    async with elected_controller(zk_connect) as controller:
        assert set((await controller.alter(dict(DRAIN))).values()) == {None}
        await zk.delete(znode_paths.broker(7))
        healing = HealingController(controller, now=1000)
        await healing.read_brokers()
        await healing.diagnose()
        assert healing.new_events() == [
            ("heal.noticed", "it is gone; moves in flight take all of its replicas away"),
        ]
        assert (await healing.healer.status()).failed == [FailedBroker(7, 1000, None, 0)]
        await healing.diagnose(after_ms=MINUTE)
        assert queued(controller) == {}
        with pytest.raises(InvalidRequest, match="moves in flight take all of them away"):
            await healing.healer.heal(7, CONTROLLER, dry_run=False)
        await controller.alter(dict.fromkeys(DRAIN))
        await healing.diagnose()
        assert queued(controller).keys() == DRAIN.keys(), "its time had come: it has been gone for longer than a minute"
        moves = [controller.partition("a", index).move for index in range(3)]
        assert [None if move is None else move.terms.route for move in moves] != [RPC] * 3


async def test_dh_1_a_broker_that_returns_keeps_its_failure_from_becoming_a_repair(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, DRAINED, brokers=(1, 2, 4, 7))
    async with elected_controller(zk_connect) as controller:
        healing = await drained(zk, controller)
        await register(zk, 7)
        await healing.read_brokers()
        await healing.diagnose(after_ms=MINUTE)
        assert (await failed_since(zk), queued(controller)) == ({}, DRAIN)


async def emptied_in_part(zk: ZooKeeper, controller: BareController) -> HealingController:
    """A move in flight takes a-0 away from broker 7, which is lost."""
    assert set((await controller.alter({("a", 0): (1, 4)})).values()) == {None}
    await zk.delete(znode_paths.broker(7))
    healing = HealingController(controller)
    await healing.read_brokers()
    await healing.diagnose()
    return healing


async def test_dh_1_what_a_planned_repair_does_not_have_is_repaired_next_and_not_after_another_interval(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """A move in flight was to take a-0 away from the broker when the repair was planned. It is cancelled by then."""
    await put(zk, DRAINED, brokers=(1, 2, 4, 7))
    async with elected_controller(zk_connect) as controller:
        healing = await emptied_in_part(zk, controller)
        await healing.diagnose(after_ms=MINUTE - PREPARE_MS)
        await controller.alter({("a", 0): None})
        await healing.diagnose(after_ms=PREPARE_MS)
        assert queued(controller).keys() == {("a", 1), ("a", 2)}
        assert await failed_since(zk) == {7: 0}
        await healing.diagnose(after_ms=1)
        assert queued(controller).keys() == DRAINED.keys()
        assert await failed_since(zk) == {}
        assert [name for name, _ in healing.new_events()].count("heal.noticed") == 1


async def test_dh_1_a_repair_does_not_carry_out_what_was_withdrawn_since_it_was_planned(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """a-0 was to have one replica, and is not any more; a-1 is to go elsewhere by now."""
    await put(zk, DRAINED, brokers=(1, 2, 4, 5, 7))
    async with elected_controller(zk_connect) as controller:
        controller.start_with(caps=InFlightCaps(per_cluster=0))
        await zk.create(znode_paths.REASSIGN_QUEUE, batch({("a", 0): (1,), ("a", 1): (2, 4)}))
        await controller.read_admin_znodes()
        await zk.delete(znode_paths.broker(7))
        healing = HealingController(controller)
        await healing.read_brokers()
        await healing.diagnose()
        await healing.diagnose(after_ms=MINUTE - PREPARE_MS)
        await zk.set(znode_paths.REASSIGN_QUEUE, batch({("a", 1): (2, 5)}))
        await controller.read_admin_znodes()
        await healing.diagnose(after_ms=PREPARE_MS)
        assert queued(controller).keys() == {("a", 1), ("a", 2)}
        await healing.diagnose(after_ms=1)
        found = queued(controller)
        assert found["a", 1] == (2, 5)
        assert len(found["a", 0]) == 2
        assert await failed_since(zk) == {}


async def test_dh_1_a_failure_that_ends_while_a_repair_waits_does_not_claim_that_the_broker_is_empty(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, DRAINED, brokers=(1, 2, 4, 7))
    async with elected_controller(zk_connect) as controller:
        healing = await emptied_in_part(zk, controller)
        await healing.diagnose(after_ms=MINUTE)
        assert await failed_since(zk) == {7: 0}
        await controller.caught_up(("a", 0))
        await healing.diagnose()
        assert await failed_since(zk) == {}
        assert queued(controller).keys() == {("a", 1), ("a", 2)}
        assert healing.new_events()[-1] == ("heal.over", "its repair takes its last replicas away")
