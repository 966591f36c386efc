"""Pause and brake of self-healing (KIP-46): what they stop of a repair that is under way, and when it goes on."""

import pytest

from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.core.settings.healing_settings import GRACE_MS, MAX_BROKERS, PAUSED, HealingSettings
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import BareController, elected_controller, put_topic, register
from tests.controller.self_healing.healing_controller import MINUTE, HealingController, failed, put, queued

SIX = {("a", index): (3, 1) for index in range(6)}


async def complete_what_moves(controller: BareController) -> None:
    """All moves in flight end; then those that may start do."""
    await end_moves_in_flight(controller)
    await controller.start_queued_moves()


async def end_moves_in_flight(controller: BareController) -> None:
    for name in SIX:
        if controller.partition(*name).is_moving:
            await controller.caught_up(name)


def in_flight(controller: BareController) -> int:
    return sum(controller.partition(*name).is_moving for name in SIX)


async def repair_one_at_a_time(zk: ZooKeeper, controller: BareController) -> HealingController:
    """A repair of six moves: one is in flight, five wait."""
    healing = HealingController(controller)
    await healing.configure(self_healing_max_moves="1")
    await healing.heal_when_due()
    assert (in_flight(controller), len(queued(controller))) == (1, 5)
    return healing


async def test_46_6_a_pause_stops_the_waiting_moves_of_a_repair_until_it_ends(zk: ZooKeeper, zk_connect: str) -> None:
    await put(zk, SIX)
    async with elected_controller(zk_connect) as controller:
        healing = await repair_one_at_a_time(zk, controller)
        await healing.configure(self_healing_max_moves="1", **{PAUSED: "true"})
        await controller.start_queued_moves()
        assert in_flight(controller) == 1, "what is in flight goes on"
        for _ in range(2):
            await complete_what_moves(controller)
            assert (in_flight(controller), len(queued(controller))) == (0, 5)
        status = await healing.healer.status()
        assert (status.held_back, status.waiting) == ("healing is paused (self.healing.paused=true)", 5)
        await healing.diagnose()
        assert healing.healer.last_diagnosed.held_back
        assert ("heal.held_back", "healing is paused (self.healing.paused=true)") in healing.new_events()
        await healing.configure(self_healing_max_moves="2")
        await controller.start_queued_moves()
        assert (in_flight(controller), len(queued(controller))) == (2, 3)
        assert (await healing.healer.status()).held_back is None


async def test_46_6_a_pause_keeps_a_waiting_repair_from_taking_over_another_move(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """The broker fails to which the repair of a-0 moves: another repair gives that move another target."""
    await put(zk, {("a", 0): (1, 3)}, brokers=(1, 2, 4))
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, HealingSettings(interval_ms=60_000, max_percentage=100))
        await healing.heal_when_due()
        first = controller.partition("a", 0).target
        await zk.delete(znode_paths.broker(first[1]))
        await healing.read_brokers()
        await healing.diagnose()
        await healing.diagnose(after_ms=60_000)
        second = (1, {2: 4, 4: 2}[first[1]])
        assert queued(controller) == {("a", 0): second}
        await healing.configure(**{PAUSED: "true"})
        await controller.start_queued_moves()
        assert controller.partition("a", 0).target == first
        await healing.configure()
        await controller.start_queued_moves()
        assert controller.partition("a", 0).target == second


async def test_46_6_the_brake_stops_the_waiting_moves_of_a_repair_at_once_and_they_go_on_when_brokers_return(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Brokers 5 and 6 disappear in the middle of the repair of broker 3, while the healer diagnoses nothing."""
    await put(zk, SIX, brokers=(1, 2, 4, 5, 6))
    await put_topic(zk, "b", {0: (5, 6)})
    async with elected_controller(zk_connect) as controller:
        healing = await repair_one_at_a_time(zk, controller)
        await healing.configure(self_healing_max_moves="1", **{MAX_BROKERS: "1"})
        for broker in (5, 6):
            await zk.delete(znode_paths.broker(broker))
        await healing.read_brokers()
        await complete_what_moves(controller)
        waiting = len(queued(controller))
        assert (in_flight(controller), waiting) == (0, 5)
        reason = "2 brokers are gone, more than self.healing.max.failed.brokers=1: 5, 6"
        assert (await healing.healer.status()).held_back == reason
        await register(zk, 5)
        await healing.read_brokers()
        await controller.start_queued_moves()
        assert (in_flight(controller), len(queued(controller))) == (1, 4)


async def test_46_6_the_brake_ends_when_a_diagnosis_finds_that_a_lost_broker_has_no_replica_any_more(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {**SIX, ("b", 0): (1, 4)}, brokers=(1, 2, 4))
    async with elected_controller(zk_connect) as controller:
        healing = await repair_one_at_a_time(zk, controller)
        await register(zk, 5)
        await healing.read_brokers()
        assert (await controller.alter({("b", 0): (1, 5)})) == {("b", 0): None}
        await controller.caught_up(("b", 0))
        await healing.configure(self_healing_max_moves="1", **{MAX_BROKERS: "0"})
        await zk.delete(znode_paths.broker(5))
        await healing.read_brokers()
        await complete_what_moves(controller)
        assert in_flight(controller) == 0
        assert (await controller.alter({("b", 0): (1, 2)})) == {("b", 0): None}
        await healing.diagnose()
        assert controller.cluster.queue.waiting.more, "the controller looks at the queue again by itself"
        await controller.start_queued_moves()
        assert in_flight(controller) == 1


@pytest.mark.parametrize("gone", [(4, 5), ()], ids=["over the brake", "under it"])
async def test_46_6_a_new_controller_does_not_go_on_with_a_repair_while_too_many_brokers_are_gone(
    zk: ZooKeeper, zk_connect: str, gone: tuple[int, ...]
) -> None:
    """ZooKeeper took the sessions of brokers and controller alike: no controller has noted the failures."""
    await put(zk, {**SIX, ("b", 0): (4, 5)}, brokers=(1, 2, 4, 5))
    async with elected_controller(zk_connect) as controller:
        await repair_one_at_a_time(zk, controller)
        before = len(queued(controller))
        await end_moves_in_flight(controller)
    for broker in gone:
        await zk.delete(znode_paths.broker(broker))
    async with elected_controller(zk_connect) as successor:
        await successor.start_queued_moves()
        assert (in_flight(successor) > 0, len(queued(successor)) < before) == (not gone, not gone)


async def test_46_6_a_pause_during_planning_holds_the_repair_back_until_it_ends(zk: ZooKeeper, zk_connect: str) -> None:
    await put(zk, SIX)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()

        async def pause() -> None:
            await healing.configure(**{PAUSED: "true"})

        healing.meanwhile = pause
        with pytest.raises(PolicyViolation, match="Nothing is healed: healing is paused"):
            await healing.diagnose(after_ms=MINUTE)
        assert (queued(controller), await failed(zk)) == ({}, ["3"])
        await healing.diagnose()
        assert healing.new_events()[-1] == ("heal.held_back", "healing is paused (self.healing.paused=true)")
        healing.meanwhile = None
        await healing.configure()
        await healing.diagnose()
        assert len(queued(controller)) == 6


@pytest.mark.parametrize("ordered", [False, True], ids=["when it is due", "by an order"])
async def test_46_6_a_repair_is_not_queued_if_too_many_brokers_have_gone_while_it_was_planned(
    zk: ZooKeeper, zk_connect: str, ordered: bool
) -> None:
    await put(zk, {("a", 0): (3, 1), ("b", 0): (4, 5)}, brokers=(1, 2, 4, 5))
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()

        async def two_more() -> None:
            for broker in (4, 5):
                await zk.delete(znode_paths.broker(broker))
            await healing.read_brokers()

        healing.meanwhile = two_more
        with pytest.raises(PolicyViolation, match="Nothing is healed: 3 of 5 brokers are gone"):
            await (healing.healer.heal(3, CONTROLLER, dry_run=False) if ordered else healing.diagnose(after_ms=MINUTE))
        assert (queued(controller), await failed(zk)) == ({}, ["3"])


async def test_46_6_when_one_of_too_many_lost_brokers_returns_the_others_get_time_to_follow(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {("a", 0): (3, 1), ("b", 0): (4, 5)}, brokers=(1, 2))
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()
        await healing.diagnose(after_ms=5 * MINUTE)
        assert (await healing.healer.status()).held_back is not None
        await register(zk, 3, 4)
        await healing.read_brokers()
        await healing.diagnose(after_ms=1)
        assert queued(controller) == {}
        await healing.diagnose(after_ms=GRACE_MS - 2)
        assert queued(controller) == {}
        await healing.diagnose(after_ms=1)
        assert queued(controller).keys() == {("b", 0)}
