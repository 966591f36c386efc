"""What operators learn of repairs (KIP-46): who asked for their moves, how many there are, and what has to stay."""

import pytest

from kafka_reassign_rpc.core.healing.failed_brokers import RETRY_MS, RepairCounts
from kafka_reassign_rpc.core.healing.repair_targets import NO_COST
from kafka_reassign_rpc.core.healing.self_healing_status import BrokerRepair
from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings
from kafka_reassign_rpc.core.state.requesters import Requester, client
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, register
from tests.controller.self_healing.healing_controller import (
    MINUTE,
    HealingController,
    put,
)
from tests.core.build import write

TOO_FEW = "replication factor 3 is larger than the 2 brokers that can hold a replica"


async def test_46_6_each_move_of_a_repair_counts_for_its_broker_also_when_retargeted_or_when_the_broker_is_back(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """The repair of `a-0` was on its way to a broker that failed too: its replica there is gone with the new target."""
    await put(zk, {("a", 0): (1, 3), ("a", 1): (1, 2), ("a", 2): (1, 4)}, brokers=(1, 2, 4))
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, HealingSettings(interval_ms=MINUTE, max_percentage=100))
        await healing.heal_when_due()
        (_, new) = controller.partition("a", 0).target
        await zk.delete(znode_paths.broker(new))
        await healing.read_brokers()
        await healing.heal_when_due()
        await healing.diagnose()
        status = await healing.healer.status()
        assert (status.moving, status.repairs) == (2, [BrokerRepair(new, waiting=0, moving=2, cost=NO_COST)])
        await register(zk, new)
        await healing.read_brokers()
        await healing.diagnose()
        status = await healing.healer.status()
        assert (status.moving, status.repairs) == (
            2,
            [BrokerRepair(new, waiting=0, moving=2, is_back=True, cost=NO_COST)],
        )


async def test_46_6_no_time_is_promised_while_reassignments_are_disabled(zk: ZooKeeper, zk_connect: str) -> None:
    await put(zk, {("a", 0): (1, 3)}, brokers=(1, 2))
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()
        assert [one.heal_at for one in (await healing.healer.status()).failed] == [MINUTE]
        write(controller.cluster, disabled_by_znode=True)
        assert [one.heal_at for one in (await healing.healer.status()).failed] == [None]
        await healing.diagnose(after_ms=MINUTE // 2)
        assert ("heal.alert", "it is still gone, with 1 replica") in healing.new_events()


async def test_46_6_impossible_repairs_are_in_the_status_and_the_metrics_until_they_are_possible(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {("a", 0): (1, 2, 3), ("a", 1): (2, 3)}, brokers=(1, 2))
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.diagnose()
        assert healing.healer.last_diagnosed == RepairCounts(failed=1)
        await healing.diagnose(after_ms=MINUTE // 2)
        assert healing.healer.last_diagnosed == RepairCounts(failed=1, alerted=1)
        await healing.diagnose(after_ms=MINUTE // 2)
        status = await healing.healer.status()
        assert [(one.broker, one.heal_at) for one in status.failed] == [(3, MINUTE + RETRY_MS)], "the next attempt"
        assert status.problems == [f"1 partition stays as it is (a-0): {TOO_FEW}"]
        [lost] = status.failed
        assert (lost.replicas, lost.impossible) == (1, 1)
        assert lost.fate == (
            f"none of them can be moved now: {TOO_FEW}; tried again at 1970-01-01 00:06:00 UTC;"
            " its repair is under way: 0 moves in flight, 1 waiting"
        ), "no countdown to a repair that cannot be"
        assert healing.healer.last_diagnosed == RepairCounts(failed=1, alerted=1, waiting=1, impossible=1)
        await controller.start_queued_moves()
        await controller.finish_moves()
        await register(zk, 3)
        await healing.read_brokers()
        await healing.diagnose()
        assert (await healing.healer.status()).problems == []
        assert healing.healer.last_diagnosed == RepairCounts()


async def test_46_6_a_pause_is_in_the_metrics_while_no_broker_is_lost(zk: ZooKeeper, zk_connect: str) -> None:
    """Otherwise no operator learns of a forgotten one before a repair is due."""
    await put(zk, brokers=(1, 2, 3, 4))
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, HealingSettings(interval_ms=MINUTE, paused=True))
        await healing.diagnose()
        assert healing.healer.last_diagnosed == RepairCounts(paused=True)


async def test_46_6_a_broker_with_one_replica_is_said_to_have_one(zk: ZooKeeper, zk_connect: str) -> None:
    await put(zk, {("a", 0): (1, 3)})
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.heal_when_due()
        assert healing.new_events() == [
            ("heal.noticed", "it is gone, with 1 replica"),
            ("heal.alert", "it is still gone, with 1 replica; its repair begins in 0 s unless they come back"),
            ("heal.scheduled", "1 move joined the queue"),
        ]


async def test_46_6_of_many_partitions_that_cannot_be_repaired_the_first_are_named(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {("a", index): (1, 2, 3) for index in range(12)}, brokers=(1, 2))
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        await healing.heal_when_due()
        said = f"12 partitions stay as they are (a-0, a-1, a-2 …): {TOO_FEW}"
        assert ("heal.impossible", said) in healing.new_events()
        assert (await healing.healer.status()).problems == [said]


@pytest.mark.parametrize("operator", [None, client("User:alice", "admin-1", "10.0.0.7")])
async def test_46_3_the_moves_of_a_repair_are_the_controllers_unless_an_operator_has_ordered_it(
    zk: ZooKeeper, zk_connect: str, operator: Requester | None
) -> None:
    """They wait in the queue's znode, but that is not who asked for them. A broker that fails while its copies arrive
    gives them another target.
    """
    await put(zk, {("a", 0): (1, 3), ("a", 1): (2, 3)})
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, HealingSettings(interval_ms=MINUTE, max_percentage=100))

        async def heal(broker: int) -> None:
            if operator is None:
                await healing.heal_when_due()
            else:
                await healing.healer.heal(broker, operator, dry_run=False)
                await controller.start_queued_moves()

        await heal(3)
        new = next(iter(controller.partition("a", 0).adding))
        await zk.delete(znode_paths.broker(new))
        await healing.read_brokers()
        await heal(new)
        who = "controller" if operator is None else operator.who
        for kind in ("move.waiting", "move.started", "move.retargeted"):
            assert {event.who for event in controller.events if event.event == kind} == {who}, kind


async def test_46_6_impossible_repairs_of_two_brokers_are_reported_together(zk: ZooKeeper, zk_connect: str) -> None:
    """One broker fails ten seconds after the other: the repair of the first one can still mend `a-2`."""
    await put(zk, {("a", 0): (1, 2, 3), ("a", 1): (1, 2, 6), ("a", 2): (1, 3, 6)}, brokers=(1, 2, 6))
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller, HealingSettings(interval_ms=MINUTE, max_percentage=100))
        await healing.diagnose()
        await zk.delete(znode_paths.broker(6))
        await healing.read_brokers()
        await healing.diagnose(after_ms=10_000)
        await healing.diagnose(after_ms=MINUTE - 10_000)
        assert (await healing.healer.status()).problems == [f"1 partition stays as it is (a-0): {TOO_FEW}"]
        await healing.diagnose(after_ms=10_000)
        assert (await healing.healer.status()).problems == [f"3 partitions stay as they are (a-0, a-1, a-2): {TOO_FEW}"]
        assert healing.healer.last_diagnosed.impossible == 3
        await register(zk, 3)
        await healing.read_brokers()
        await healing.diagnose()
        assert (await healing.healer.status()).problems == [f"2 partitions stay as they are (a-1, a-2): {TOO_FEW}"]
