"""An operator's order to heal a broker now (HealBroker): what it answers with."""

import pytest

from kafka_reassign_rpc.controller.duties.progress_sampling import Sample
from kafka_reassign_rpc.core.healing.failed_brokers import PREPARE_MS
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers import topic_writes
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, register
from tests.controller.self_healing.healing_controller import MINUTE, WHERE, HealingController, put, queued
from tests.longest_turn import tries

ME = Requester("me")


async def test_46_3_an_order_to_heal_answers_with_the_moves_that_joined_the_queue(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """An operator has moved a-0 himself since the repair was planned."""
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        healing.sample = Sample({TopicPartition(*name): 100 for name in WHERE}, {})
        await healing.diagnose()
        await healing.diagnose(after_ms=MINUTE - PREPARE_MS)
        assert await controller.alter({("a", 0): (4, 1)}) == {("a", 0): None}
        repair = await healing.healer.heal(3, ME, dry_run=False)
        assert {tuple(move.partition): move.target for move in repair.moves} == queued(controller)
        assert ({tuple(move.partition) for move in repair.moves}, repair.bytes) == ({("b", 0), ("b", 1)}, 200)


async def test_46_3_an_order_to_heal_answers_in_the_order_of_a_dry_run(zk: ZooKeeper, zk_connect: str) -> None:
    await put(zk, {(topic, index): (3, 1 + index % 2) for topic in "ab" for index in range(6)})
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        shown = await healing.healer.heal(3, ME, dry_run=True)
        assert (await healing.healer.heal(3, ME, dry_run=False)).moves == shown.moves


async def test_46_3_an_order_to_heal_names_the_partitions_that_the_queue_has_refused(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)
        monkeypatch.setattr("kafka_reassign_rpc.core.queue.queue_admission.MAX_MOVE_CHARACTERS", 0)
        repair = await healing.healer.heal(3, ME, dry_run=False)
        assert (repair.moves, queued(controller), repair.bytes) == ([], {}, 0)
        assert set(repair.left_out) == {TopicPartition(*name) for name, replicas in WHERE.items() if 3 in replicas}
        assert all("too long to wait in the queue" in reason for reason in repair.left_out.values())


async def test_46_2_an_order_to_heal_a_broker_that_bounces_in_between_is_refused(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        healing = HealingController(controller)

        async def bounce() -> None:
            await register(zk, 3)
            await healing.read_brokers()
            await zk.delete(znode_paths.broker(3))
            await healing.read_brokers()

        healing.meanwhile = bounce
        with pytest.raises(PolicyViolation, match="has come back"):
            await healing.healer.heal(3, ME, dry_run=False)
        assert queued(controller) == {}


@pytest.mark.gate
async def test_46_3_and_sv_6_a_dry_run_of_a_large_repair_holds_the_loop_for_no_longer_than_a_slice(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        for topic in range(300):
            partitions = {index: Partition((3, 1), leader=1, isr=(1,), partition_epoch=0) for index in range(200)}
            topic_writes.put_topic(controller.cluster, f"x{topic}", None, partitions, version=0)
        healing = HealingController(controller)
        for measured in tries():
            async with measured:
                repair = await healing.healer.heal(3, ME, dry_run=True)
            assert len(repair.moves) == 60_003
            del repair
