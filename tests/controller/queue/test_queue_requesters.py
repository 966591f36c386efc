"""Who has queued a move is known until it starts, also to the controller of a later term."""

from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.state.requesters import Requester, client, znode
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import BareController, batch, elected_controller, put_topic, queue_json, register

ALICE = client("User:alice", "admin-1", "10.0.0.7", "SASL_SSL", "SCRAM-SHA-512")
BOB = client("User:bob", None, "10.0.0.8")
QUEUE = znode(znode_paths.REASSIGN_QUEUE)


def requester(event: Event) -> Requester:
    return Requester(event.who or "", event.principal, event.client_id, event.address, event.listener, event.mechanism)


def started(controller: BareController) -> dict[tuple[str | None, int | None], Requester]:
    return {(one.topic, one.partition): requester(one) for one in controller.events if one.event == "move.started"}


async def enabled(controller: BareController) -> None:
    await controller.zk.delete(znode_paths.REASSIGN_CANCEL)
    await controller.read_admin_znodes()
    await controller.start_queued_moves()


async def test_sv_5_a_move_that_starts_in_a_later_term_names_the_client_that_has_queued_it(zk_connect: str) -> None:
    async with ZooKeeper(zk_connect) as zk:
        await register(zk, 1, 2, 3)
        await put_topic(zk, "t", {0: (1, 2), 1: (1, 2), 2: (1, 2)})
        await zk.create(znode_paths.REASSIGN_CANCEL, b"")
        async with elected_controller(zk_connect) as first:
            await first.read_admin_znodes()
            await first.alter({("t", 0): (1, 3)}, queue=True, reason="a", throttle=1000, by=ALICE)
            await first.alter({("t", 1): (1, 3)}, queue=True, by=BOB)
            await zk.set(znode_paths.REASSIGN_QUEUE, batch({("t", 2): (1, 3)}))
            await first.alter({("t", 0): (1, 3)}, queue=True, reason="a", throttle=1000, by=BOB)  # waits already
            assert started(first) == {}
        async with elected_controller(zk_connect) as second:
            await enabled(second)
            names = started(second)
            assert names["t", 0] == ALICE
            assert names["t", 1] == BOB
            assert names["t", 2] == QUEUE
            assert await queue_json(zk) is None
            await second.check()
