"""Repairs that wait for approval: durable, over failovers and over deaths between any two writes."""

import json

import pytest

from kafka_reassign_rpc.controller.duties.progress_sampling import Sample
from kafka_reassign_rpc.controller.zookeeper_store import znode_writes
from kafka_reassign_rpc.core.healing.repair_targets import RepairCost
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, NotController, PolicyViolation
from kafka_reassign_rpc.core.settings.healing_settings import APPROVAL, MAX_BROKERS, HealingSettings, HealingThrottle
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.zookeeper import transactions, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, queue_json, register
from tests.controller.self_healing.healing_controller import (
    ALICE,
    MINUTE,
    REQUIRED,
    WHERE,
    HealingController,
    failed,
    put,
    queued,
    targets,
)

LOST = {name for name, replicas in WHERE.items() if 3 in replicas}
NOTHING = ApprovalOutcome(0, 0, [])


async def test_dh_8_a_repair_waits_for_its_approval_under_every_controller_and_whatever_the_setting_says_then(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, REQUIRED)
        await healing.heal_when_due()
        assert queued(controller).keys() == LOST
        assert not controller.cluster.moving
        approve = "kafka-reassign heal --bootstrap-server HOST:PORT --approve --brokers 3"
        assert ("heal.unapproved", f"3 moves wait for approval: {approve}") in healing.new_events()
        assert healing.healer.last_diagnosed.unapproved == 0, "the healer looks again, and counts them then"
        await healing.diagnose()
        assert healing.healer.last_diagnosed.unapproved == 3
        with pytest.raises(InvalidRequest, match=f"waits for approval: {approve}"):
            await healing.healer.heal(3, ALICE, dry_run=False)
    assert await failed(zk) == [], "what is queued is durable"
    assert {one["unapproved_since"] for one in (await queue_json(zk) or {}).values()} == {MINUTE}
    async with elected_controller(zk_connect) as successor:
        healing = HealingController(successor, HealingSettings(interval_ms=MINUTE), now=2 * MINUTE)
        await healing.heal_when_due()
        assert queued(successor).keys() == LOST
        assert not successor.cluster.moving, "what waits for approval goes on to wait"
        status = await healing.healer.status()
        assert (status.approval, status.unapproved, status.repairs[0].unapproved) == (False, 3, 3)
        assert await healing.healer.approve({4}, ALICE) == NOTHING
        assert await healing.healer.approve({3, 4}, ALICE) == ApprovalOutcome(3, 0, [3])
        assert await healing.healer.approve(None, ALICE) == NOTHING
        assert [(one.who, one.broker) for one in successor.events if one.event == "heal.approved"] == [(ALICE.who, 3)]
        await successor.start_queued_moves()
        await successor.finish_moves()
        await successor.check()
        assert not any(3 in replicas for replicas in targets(successor).values())
    assert await queue_json(zk) is None


async def test_dh_8_and_46_7_the_repair_of_a_broker_that_comes_back_unapproved_is_dropped(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, REQUIRED)
        await healing.heal_when_due()
        await register(zk, 3)
        await healing.read_brokers()
        await healing.diagnose()
        assert queued(controller) == {}
        assert (
            "heal.dropped",
            "heal broker 3: 3 moves that had not started; what it repairs is no longer lost",
        ) in healing.new_events()
        assert await healing.healer.approve(None, ALICE) == NOTHING
        assert targets(controller) == dict(WHERE)


async def test_dh_8_and_46_6_an_order_needs_no_other_approval_and_the_brake_holds_for_an_approval_too(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {**WHERE, ("c", 0): (1, 9)})
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, REQUIRED)
        await healing.healer.heal(9, ALICE, dry_run=False)
        await controller.start_queued_moves()
        assert controller.partition("c", 0).is_moving
        await controller.finish_moves()
        await healing.heal_when_due()
        await healing.configure(**{MAX_BROKERS: "0"})
        with pytest.raises(PolicyViolation, match="1 broker is gone, more than"):
            await healing.healer.approve({3}, ALICE)
        await healing.configure(**{MAX_BROKERS: "1", APPROVAL: "requird"})
        await healing.diagnose()
        assert ("heal.misconfigured", "self.healing.approval='requird' is taken for required: none or required is"
                " expected") in healing.new_events()  # fmt: skip
        assert (await healing.healer.approve({3}, ALICE)).approved == 3


async def test_dh_8_where_the_commit_of_an_approval_fails_the_brake_is_asked_again(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, REQUIRED)
        await healing.heal_when_due()
        settings = {"version": 1, "config": {MAX_BROKERS: "0"}}
        await zk.create(znode_paths.SETTINGS, json.dumps(settings).encode())
        controller.zk.refuses = 0  # the controller reads all again, with the settings
        with pytest.raises(PolicyViolation, match="1 broker is gone, more than"):
            await healing.healer.approve({3}, ALICE)
        assert controller.cluster.queue.unapproved == len(LOST)
        assert "heal.approved" not in [event.event for event in controller.events]


async def test_dh_8_a_controller_that_dies_between_any_two_writes_starts_nothing_unapproved_and_loses_nothing(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies after each number of writes of the queueing, and after each of the approval."""
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    monkeypatch.setattr(znode_writes, "PART_BYTES", 1)
    for dies_approving in (False, True):
        lives, over = 0, False
        while not over:
            connect = f"{zk_connect}/{dies_approving}-{lives}"
            async with ZooKeeper(connect) as world:
                await put(world)
                async with elected_controller(connect) as controller:
                    healing = HealingController(controller, REQUIRED)
                    if dies_approving:
                        await healing.heal_when_due()
                    controller.zk.lives = lives
                    try:
                        await (healing.healer.approve(None, ALICE) if dies_approving else healing.heal_when_due())
                        over = True
                    except NotController:
                        pass
                async with elected_controller(connect) as successor:
                    healing = HealingController(successor, REQUIRED, now=healing.now)
                    await successor.start_queued_moves()
                    approved = sum(map(len, successor.cluster.moving.values()))
                    assert approved <= (lives if dies_approving else 0)
                    await healing.heal_when_due()
                    await healing.diagnose(after_ms=MINUTE)
                    assert successor.cluster.queue.unapproved == len(LOST) - approved
                    found = await healing.healer.approve(None, ALICE)
                    assert found.approved == len(LOST) - approved
                    await successor.start_queued_moves()
                    await successor.finish_moves()
                    await successor.check()
                    assert not any(3 in replicas for replicas in targets(successor).values())
                assert await world.exists(znode_paths.REASSIGN_QUEUE) is None
            lives += 1
        assert lives > 3, "there is something to die in"


async def test_dh_8_what_a_repair_costs_is_shown_before_and_after_it_is_queued_and_in_a_dry_run(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Three replicas of 6 MB each, at 1 MB/s for each broker."""
    settings = HealingSettings(interval_ms=MINUTE, approval="required", throttle=HealingThrottle(1_000_000))
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, settings)
        await healing.diagnose()
        await healing.healer.ask_for_sizes()
        [lost] = (await healing.healer.status()).failed
        assert lost.cost is None, "no broker has reported a size"
        healing.sample = Sample({TopicPartition(*name): 6_000_000 for name in WHERE}, {})
        healing.now += 30_000
        await healing.healer.ask_for_sizes()
        assert healing.samples == 1, "brokers are not asked with every diagnosis"
        healing.now += 30_000
        await healing.healer.ask_for_sizes()
        assert healing.samples == 2, "somebody has looked"
        healing.now += 90_000
        await healing.healer.ask_for_sizes()
        assert healing.samples == 2, "no one looks any longer"
        [lost] = (await healing.healer.status()).failed
        assert lost.cost == RepairCost(18_000_000, 6000)
        assert await controller.alter({("a", 0): (5, 1)}) == {("a", 0): None}
        [lost] = (await healing.healer.status()).failed
        assert (lost.replicas, lost.cost) == (2, RepairCost(12_000_000, 6000)), "both of the same moment"
        assert await controller.alter({("a", 0): None}) == {("a", 0): None}
        shown = await healing.healer.heal(3, ALICE, dry_run=True)
        assert shown.bytes == 18_000_000
        assert shown.copy_ms is not None
        assert shown.copy_ms >= 6000
        await healing.heal_when_due()
        await healing.healer.ask_for_sizes()
        [waiting] = (await healing.healer.status()).repairs
        assert waiting.cost == RepairCost(shown.bytes, shown.copy_ms)
        await register(zk, 3)
        await healing.read_brokers()
        await healing.diagnose()
        await healing.healer.ask_for_sizes()
        assert (await healing.healer.status()).repairs == []
