"""Lost brokers and failed log dirs are shown until nothing names them, whatever their repairs wait for."""

from collections.abc import Mapping

import pytest

from kafka_reassign_rpc.controller.duties.self_healing import DIAGNOSE_MOVES_EVERY_S
from kafka_reassign_rpc.core.healing.self_healing_status import BrokerRepair, GoneBroker, LogDirFailure
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import BareController, Name, Replicas, batch, elected_controller, register
from tests.controller.self_healing.healing_controller import (
    ALICE,
    MINUTE,
    REQUIRED,
    WHERE,
    HealingController,
    failed,
    put,
    queued,
)
from tests.controller.self_healing.test_failed_log_dirs import ALL, DISK, ON_DISK, answers

HOLDING: Mapping[str, HealingSettings] = {
    "approval": REQUIRED,
    "a cap": HealingSettings(interval_ms=MINUTE),
}
WAYS = pytest.mark.parametrize("waits_for", HOLDING)


def healer(controller: BareController, waits_for: str, now: int = 0) -> HealingController:
    if waits_for == "a cap":
        controller.start_with(caps=InFlightCaps(per_cluster=0))
    return HealingController(controller, HOLDING[waits_for], now)


@WAYS
async def test_dh_3_a_failed_log_dir_is_shown_until_it_holds_nothing_whatever_its_repair_waits_for(
    waits_for: str, zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, WHERE, ALL)
    unapproved = 2 if waits_for == "approval" else 0
    async with elected_controller(zk_connect) as controller:
        healing = healer(controller, waits_for)
        healing.failed_dirs[3] = (DISK,)
        await answers(healing, *ON_DISK)
        await healing.heal_when_due()
        await healing.diagnose()
        assert queued(controller).keys() == set(ON_DISK)
        assert not controller.cluster.moving
        status = await healing.healer.status()
        assert status.log_dirs == [LogDirFailure(3, (DISK,), 0, None, 0, status.log_dirs[0].cost)]
        of_repair = "" if not unapproved else " (2 for approval)"
        assert status.log_dirs[0].fate == f"its repair is under way: 0 moves in flight, 2 waiting{of_repair}"
        counts = healing.healer.last_diagnosed
        assert (counts.log_dirs, counts.alerted, counts.waiting, counts.unapproved) == (1, 1, 2, unapproved)
        await healing.diagnose(after_ms=10 * MINUTE)
        assert len(queued(controller)) == 2, "it is repaired once"
    async with elected_controller(zk_connect) as controller:
        healing = healer(controller, waits_for, 11 * MINUTE)
        healing.failed_dirs[3] = (DISK,)
        await answers(healing, *ON_DISK)
        await healing.diagnose()
        [shown] = (await healing.healer.status()).log_dirs
        assert (shown.paths, shown.since, shown.replicas) == ((DISK,), 0, 0), "the next controller knows it too"
        controller.start_with(caps=InFlightCaps())
        await healing.healer.approve(None, ALICE)
        await controller.start_queued_moves()
        assert (await healing.healer.status()).log_dirs != [], "while its moves copy"
        await controller.finish_moves()
        assert (await healing.healer.status()).log_dirs == []


async def test_dh_3_a_failed_log_dir_that_holds_nothing_is_no_longer_shown_though_its_broker_has_not_answered_for_all(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """As a stock broker that has registered before there were topics, and stops no replica on its lost log dir."""
    await put(zk, WHERE, ALL)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        healing.failed_dirs[3] = (DISK,)
        await answers(healing, *ON_DISK)
        controller.cluster.soft.unheard.add(3)
        await healing.heal_when_due()
        await healing.diagnose()
        assert [one.paths for one in (await healing.healer.status()).log_dirs] == [(DISK,)]
        await controller.finish_moves()
        assert (await healing.healer.status()).log_dirs == []


async def test_dh_3_a_failed_log_dir_that_only_a_move_would_fill_is_shown_and_has_its_alert(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {("a", 0): (1, 2)}, (1, 2, 3))
    async with elected_controller(zk_connect) as controller:
        assert await controller.alter({("a", 0): (1, 3)}) == {("a", 0): None}
        healing = HealingController(controller)
        healing.failed_dirs[3] = (DISK,)
        await answers(healing, ("a", 0))
        await healing.diagnose()
        nothing = "moves take all of its replicas away, or would only bring it some"
        assert healing.new_events() == [("heal.noticed", f"log dir {DISK} failed; {nothing}")]
        status = await healing.healer.status()
        assert [(one.broker, one.paths, one.replicas) for one in status.log_dirs] == [(3, (DISK,), 0)]
        assert status.log_dirs[0].fate == nothing
        await healing.diagnose(after_ms=MINUTE)
        assert (queued(controller), healing.healer.last_diagnosed.log_dirs) == ({}, 1), "nothing is lost there"
        assert [name for name, _ in healing.new_events()] == ["heal.alert"]
        await controller.alter({("a", 0): None})
        assert (await healing.healer.status()).log_dirs == []


@WAYS
async def test_dh_1_a_lost_broker_is_shown_while_its_repair_waits_and_until_it_holds_nothing(
    waits_for: str, zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    unapproved = 3 if waits_for == "approval" else 0
    async with elected_controller(zk_connect) as controller:
        healing = healer(controller, waits_for, now=5)
        await healing.heal_when_due()
        await healing.diagnose()
        assert (await failed(zk), len(queued(controller))) == ([], 3)
        status = await healing.healer.status()
        assert (status.failed, status.gone) == ([], [GoneBroker(3, 5, 3, 0)]), "since its loss"
        assert [replace_cost(one) for one in status.repairs] == [BrokerRepair(3, 3, 0, unapproved=unapproved)]
        of_repair = "" if not unapproved else " (3 for approval)"
        assert status.gone[0].fate == f"its repair is under way: 0 moves in flight, 3 waiting{of_repair}"
        assert (healing.healer.last_diagnosed.failed, healing.healer.last_diagnosed.alerted) == (1, 1)
    async with elected_controller(zk_connect) as controller:
        healing = healer(controller, waits_for, now=9 * MINUTE)
        await healing.diagnose()
        assert (await healing.healer.status()).gone == [GoneBroker(3, None, 3, 0)], "this one does not know since when"
        assert healing.healer.last_diagnosed.alerted == 1
        controller.start_with(caps=InFlightCaps())
        await healing.healer.approve(None, ALICE)
        await controller.start_queued_moves()
        assert (await healing.healer.status()).gone == [GoneBroker(3, None, 3, 0)], "while its moves copy"
        await controller.finish_moves()
        await healing.diagnose()
        assert ((await healing.healer.status()).gone, healing.healer.last_diagnosed.failed) == ([], 0)


def replace_cost(one: BrokerRepair) -> BrokerRepair:
    return BrokerRepair(one.broker, one.waiting, one.moving, one.is_back, one.unapproved)


async def test_dh_1_a_broker_that_comes_back_is_no_longer_shown_and_its_next_loss_has_its_own_time(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = healer(controller, "approval")
        await healing.heal_when_due()
        await healing.diagnose()
        await register(zk, 3)
        await healing.read_brokers()
        await healing.diagnose()
        assert (await healing.healer.status()).gone == []
        await zk.delete(znode_paths.broker(3))
        await healing.read_brokers()
        await healing.diagnose(after_ms=MINUTE)
        assert [(one.broker, one.since) for one in (await healing.healer.status()).failed] == [(3, 2 * MINUTE)]


HELD: dict[Name, Replicas] = {("a", index): (1, 2) for index in range(3)}


async def test_dh_1_brokers_that_only_moves_name_are_lost_when_they_die_with_the_moves_that_wait_for_them(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Brokers 7 and 8 are empty. One move copies to 7, the others wait in the queue."""
    await put(zk, HELD, (1, 2, 7, 8))
    async with elected_controller(zk_connect) as controller:
        controller.start_with(caps=InFlightCaps(per_cluster=1))
        assert await controller.alter({("a", 0): (1, 7)}) == {("a", 0): None}
        await zk.create(znode_paths.REASSIGN_QUEUE, batch({("a", 1): (7, 8), ("a", 2): (1, 8)}))
        await controller.read_admin_znodes()
        healing = HealingController(controller, now=1000)
        await healing.diagnose()
        for broker in (7, 8):
            await zk.delete(znode_paths.broker(broker))
        await healing.read_brokers()
        assert await healing.diagnose() == DIAGNOSE_MOVES_EVERY_S, "all partitions are looked at: not too often"
        status = await healing.healer.status()
        assert status.gone == [GoneBroker(7, 1000, 0, 2), GoneBroker(8, 1000, 0, 2)]
        awaited = "2 moves wait for it, and nothing repairs that: cancel them, give them another target, or bring the"
        assert status.gone[0].fate == f"{awaited} broker back"
        assert (await failed(zk), healing.healer.last_diagnosed.failed) == ([], 2)
        assert healing.healer.last_diagnosed.alerted == 0
        await healing.diagnose(after_ms=MINUTE)
        assert healing.healer.last_diagnosed.alerted == 2, "the alert fires"
        assert queued(controller) == {("a", 1): (7, 8), ("a", 2): (1, 8)}, "nothing is repaired, for nothing is lost"
        with pytest.raises(InvalidRequest, match=r"it holds no replicas\. 2 moves wait for it, and nothing"):
            await healing.healer.heal(7, ALICE, dry_run=False)
        await controller.alter({("a", 0): (2, 1)})
        await zk.set(znode_paths.REASSIGN_QUEUE, batch({("a", 2): (1, 8)}))
        await controller.read_admin_znodes()
        assert (await healing.healer.status()).gone == [GoneBroker(8, 1000, 0, 1)]


async def test_dh_1_while_there_are_moves_the_controller_looks_whether_new_ones_name_lost_brokers(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, HELD, (1, 2, 7))
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        assert await healing.diagnose() is None
        await controller.alter({("a", 0): (1, 7)})
        assert await healing.diagnose() == DIAGNOSE_MOVES_EVERY_S


async def test_dh_1_a_new_controller_does_not_say_that_a_broker_was_lost_when_its_term_began(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, HELD, (1, 2))
    await zk.create(znode_paths.REASSIGN_QUEUE, batch({("a", 1): (1, 7)}))
    async with elected_controller(zk_connect) as controller:
        await controller.read_admin_znodes()
        healing = HealingController(controller, now=9 * MINUTE)
        await healing.diagnose()
        assert (await healing.healer.status()).gone == [GoneBroker(7, None, 0, 1)], "it is not known since when"
        assert healing.healer.last_diagnosed.alerted == 0, "it may just be coming back"
        await healing.diagnose(after_ms=MINUTE)
        assert (await healing.healer.status()).gone == [GoneBroker(7, None, 0, 1)]
        assert healing.healer.last_diagnosed.alerted == 1
