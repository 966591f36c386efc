"""Self-healing (KIP-46) while moves of others wait for a broker: it repairs what a failed broker held."""

from kafka_reassign_rpc.core.healing.self_healing_status import BrokerRepair
from kafka_reassign_rpc.core.state.partition import BATCH, HEAL, RPC
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import batch, batch_json, elected_controller, register
from tests.controller.self_healing.healing_controller import MINUTE, HealingController, failed, put, queued, targets


async def test_46_1_an_absent_broker_that_a_move_would_add_has_not_failed_and_the_move_waits_for_it(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {("a", 0): (1, 2, 4), ("a", 1): (1, 2)})
    await zk.create(znode_paths.REASSIGN_PARTITIONS, batch({("a", 0): (1, 2, 99)}))
    async with elected_controller(zk_connect) as controller:
        await controller.read_admin_znodes()
        healing = HealingController(controller)
        await healing.heal_when_due()
        assert (healing.new_events(), await failed(zk)) == ([], [])
        assert targets(controller)["a", 0] == (1, 2, 99)
        assert await batch_json(zk) == {("a", 0): {"replicas": [1, 2, 99], "original_replicas": [1, 2, 4]}}


async def test_46_3_a_clients_move_waits_for_its_lost_adding_broker_while_what_that_broker_held_is_repaired(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {("a", 0): (1, 2), ("b", 0): (5, 1)}, brokers=(1, 2, 4, 5))
    async with elected_controller(zk_connect) as controller:
        assert await controller.alter({("a", 0): (4, 5)}) == {("a", 0): None}
        await zk.delete(znode_paths.broker(5))
        healing = HealingController(controller)
        await healing.read_brokers()
        await healing.diagnose()
        assert healing.new_events() == [("heal.noticed", "it is gone, with 1 replica")]
        await healing.diagnose(after_ms=MINUTE)
        await controller.start_queued_moves()
        moves = {name: controller.partition(name).move for name in ("a", "b")}
        assert {name: move and move.terms.route for name, move in moves.items()} == {"a": RPC, "b": HEAL}
        assert targets(controller)["a", 0] == (4, 5)


async def test_46_3_a_failed_original_replica_is_repaired_although_a_move_to_an_absent_broker_would_take_it_away(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {("a", 0): (1, 3), ("a", 1): (2, 3)}, brokers=(1, 2))
    await zk.create(znode_paths.REASSIGN_PARTITIONS, batch({("a", 0): (99, 1), ("a", 1): (2, 1)}))
    async with elected_controller(zk_connect) as controller:
        await controller.read_admin_znodes()
        healing = HealingController(controller)
        await healing.diagnose()
        await healing.diagnose(after_ms=MINUTE)
        assert queued(controller) == {("a", 0): (1, 2)}, "the other move takes its replica away from broker 3 itself"
        assert (await healing.healer.status()).repairs == [BrokerRepair(3, waiting=1, moving=0)], "of broker 3, not 99"


async def test_46_7_the_repair_next_to_a_move_to_an_absent_broker_is_dropped_when_the_failed_broker_returns(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk, {("a", 0): (1, 3)}, brokers=(1, 2))
    await zk.create(znode_paths.REASSIGN_PARTITIONS, batch({("a", 0): (99, 1)}))
    async with elected_controller(zk_connect) as controller:
        await controller.read_admin_znodes()
        healing = HealingController(controller)
        await healing.diagnose()
        await healing.diagnose(after_ms=MINUTE)
        assert queued(controller) == {("a", 0): (1, 2)}
        await register(zk, 3)
        await healing.read_brokers()
        await healing.diagnose()
        assert queued(controller) == {}
        move = controller.partition("a").move
        assert move is not None
        assert (move.terms.route, move.terms.target) == (BATCH, (99, 1))
