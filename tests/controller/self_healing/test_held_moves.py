"""Repairs of partitions whose waiting move is held."""

import pytest

from kafka_reassign_rpc.controller.commands.queue_commands import HoldMoves
from kafka_reassign_rpc.core.queue.holding import HoldOutcome, Selection
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.partition import HEAL
from kafka_reassign_rpc.core.state.queue_entries import Held
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import batch, elected_controller
from tests.controller.self_healing.healing_controller import ALICE, MINUTE, HealingController, put, queued

WAITING = {("a", 0): (1, 4), ("a", 1): (7, 4)}
"""The first takes its replica from broker 7, which is lost; the second keeps it there."""
HELD = Held(3, ALICE.who, "disks are replaced")


@pytest.mark.parametrize("is_ordered", [False, True])
async def test_dh_1_a_repair_starts_nothing_where_an_operator_holds_a_move(
    zk: ZooKeeper, zk_connect: str, *, is_ordered: bool
) -> None:
    """Its moves take the place of the held ones, with the hold, and say how they are released; others start."""
    await put(zk, {("a", 0): (1, 7), ("a", 1): (2, 7), ("a", 2): (7, 2)}, brokers=(1, 2, 4, 7))
    async with elected_controller(zk_connect) as controller:
        controller.start_with(caps=InFlightCaps(per_cluster=0))
        await zk.create(znode_paths.REASSIGN_QUEUE, batch(WAITING))
        await controller.read_admin_znodes()
        assert await controller.loop.submit(HoldMoves(Selection(), HELD, ALICE)) == HoldOutcome(2, 0, 0)
        await zk.delete(znode_paths.broker(7))
        healing = HealingController(controller)
        controller.start_with(caps=InFlightCaps())
        await healing.read_brokers()
        await healing.diagnose()
        if is_ordered:
            await healing.healer.heal(7, ALICE, dry_run=False)
        else:
            await healing.diagnose(after_ms=MINUTE)
        places = controller.cluster.queue.topics["a"]
        assert {one.move.terms.route for one in places.values()} == {HEAL}
        assert [places[index].move.held for index in range(3) if index in places] == [HELD, HELD, None]
        assert [places[index].move.terms.expected for index in range(2)] == [(1, 7), (2, 7)]
        [said] = [text or "" for name, text in healing.new_events() if name == "heal.scheduled"]
        assert said.startswith("3 moves joined the queue")
        release = "kafka-reassign release --bootstrap-server HOST:PORT --broker 7"
        assert said.endswith(f"; 2 of them in the place of held moves, and held as these were: {release}")
        await controller.start_queued_moves()
        assert {*controller.cluster.moving["a"]} == {2}
        await healing.diagnose(after_ms=MINUTE)
        assert queued(controller).keys() == {("a", 0), ("a", 1)}, "it waits on"

        selected = Selection(brokers=frozenset({7}))
        assert await controller.loop.submit(HoldMoves(selected, None, ALICE)) == HoldOutcome(2, 0, 1)
        await controller.start_queued_moves()
        assert {*controller.cluster.moving["a"]} == {0, 1, 2}
