"""`/admin/cancel_reassignment_in_progress` and moves of the batch that have no entry in it, or another (KIP-236)."""

import json

from kafka_reassign_rpc.core.state.partition import QUEUE, REQUEST
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import (
    BareController,
    batch,
    batch_json,
    elected_controller,
    put_request,
    put_topic,
    queue_json,
    register,
)

ORIGIN = {("t", index): (3, 1) for index in range(4)}


async def put(zk: ZooKeeper) -> None:
    await register(zk, 1, 2, 3, 4)
    await put_topic(zk, "t", {index: replicas for (_, index), replicas in ORIGIN.items()})


async def request(controller: BareController, targets: dict[tuple[str, int], tuple[int, ...]], *, legacy: bool) -> None:
    await put_request(controller.zk, targets, legacy=legacy)
    await controller.start_requests()


async def cancel_all(controller: BareController) -> None:
    await controller.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
    await controller.read_admin_znodes()
    assert await controller.zk.exists(znode_paths.CANCEL_IN_PROGRESS) is None


def moving(controller: BareController) -> dict[int, tuple[int, ...]]:
    return {index: value.target for _, index, value in controller.cluster.all_partitions() if value.is_moving}


async def test_236_2_a_cancel_rolls_back_the_moves_of_legacy_requests_and_no_other_requests(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        await request(controller, {("t", 0): (1, 4), ("t", 1): (2, 4)}, legacy=True)
        await request(controller, {("t", 2): (1, 4)}, legacy=False)
        await controller.alter({("t", 3): (1, 4)})
        assert len(moving(controller)) == 4
        await cancel_all(controller)
        assert moving(controller) == {2: (1, 4), 3: (1, 4)}
        assert controller.partition("t", 0).replicas == (3, 1), "in their original order"
        assert [(event.topic, event.partition) for event in controller.events if event.event == "move.cancelled"] == [
            ("t", 0),
            ("t", 1),
        ]


async def test_236_2_a_cancel_rolls_back_a_move_whose_entry_a_legacy_request_has_replaced(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    await zk.create(znode_paths.REASSIGN_PARTITIONS, batch({("t", 0): (1, 4), ("t", 1): (1, 4)}))
    async with elected_controller(zk_connect) as controller:
        await controller.read_admin_znodes()
        await request(controller, {("t", 0): (2, 4)}, legacy=True)
        assert list(await batch_json(zk) or {}) == [("t", 1)]
        assert moving(controller) == {0: (2, 4), 1: (1, 4)}
        await cancel_all(controller)
        assert (moving(controller), await batch_json(zk)) == ({}, None)
        assert controller.partition("t", 0).replicas == (3, 1)


async def test_236_2_a_cancel_goes_back_to_the_replicas_before_the_move_and_says_so_where_its_entry_names_others(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    await zk.create(znode_paths.REASSIGN_PARTITIONS, batch({("t", 0): (1, 4), ("t", 1): (1, 4)}))
    async with elected_controller(zk_connect) as controller:
        await controller.read_admin_znodes()
        written = json.loads((await zk.get(znode_paths.REASSIGN_PARTITIONS))[0])
        written["partitions"][0]["original_replicas"] = [2, 1]
        await zk.set(znode_paths.REASSIGN_PARTITIONS, json.dumps(written).encode())
        await cancel_all(controller)
        assert (moving(controller), await batch_json(zk)) == ({}, None)
        assert {controller.partition("t", index).replicas for index in (0, 1)} == {(3, 1)}
        assert [
            (event.topic, event.partition, event.reason, event.target)
            for event in controller.events
            if event.event == "entry.rolled_back"
        ] == [("t", 0, "rolled back to [3, 1]: [2, 1] was not there before its move", (1, 4))]


async def test_236_2_a_cancel_withdraws_the_moves_of_legacy_requests_that_wait_for_room(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    await zk.ensure_path(znode_paths.ADMIN)
    cap = b'{"version":1,"config":{"partition.reassignments.max.per.cluster":"1"}}'
    await zk.create(znode_paths.SETTINGS, cap)
    async with elected_controller(zk_connect) as controller:
        await request(controller, {("t", 0): (1, 4), ("t", 1): (1, 4)}, legacy=True)
        await request(controller, {("t", 2): (1, 4)}, legacy=False)
        await controller.alter({("t", 3): (1, 4)}, queue=True)
        assert moving(controller) == {0: (1, 4)}
        await cancel_all(controller)
        left = {name: (entry.get("route", QUEUE)) for name, entry in (await queue_json(zk) or {}).items()}
        assert left == {("t", 3): QUEUE}
        assert moving(controller) == {2: (1, 4)}, "the cancel has made room for the next"
        move = controller.partition("t", 2).move
        assert move is not None
        assert move.terms.route == REQUEST


async def test_236_4_a_cancel_skips_a_move_without_an_entry_that_only_new_replicas_keep_online(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put(zk)
    async with elected_controller(zk_connect) as controller:
        await request(controller, {("t", 0): (2, 4, 1)}, legacy=True)
        await controller.isr(("t", 0), (3, 1, 2))
        await controller.isr(("t", 0), (3, 2))
        await zk.delete(znode_paths.broker(3))
    async with elected_controller(zk_connect) as successor:
        assert successor.partition("t", 0).isr == (2,)
        await cancel_all(successor)
        assert moving(successor) == {0: (2, 4, 1)}
        reasons = [event.reason for event in successor.events if event.event == "entry.cancel_skipped"]
        assert reasons == [
            "not cancelled: none of the original replicas [3, 1] is in the ISR [2] while new one(s) [2, 4] are alive"
        ]
