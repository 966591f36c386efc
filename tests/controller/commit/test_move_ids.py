"""The ids of moves (KIP-240): which moves have different ones."""

from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import BareController, elected_controller, put_topic, register

NAMES = [("a", 0), ("a", 1), ("b", 0)]


def ids(controller: BareController) -> list[int]:
    moves = [controller.partition(*name).move for name in NAMES]
    return [-1 if move is None or move.id is None else move.id for move in moves]


async def test_240_2_moves_that_start_together_share_an_id_and_the_next_move_of_a_partition_has_another(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """An id is the czxid of a record, and one transaction creates many: it is unique for each partition alone."""
    await register(zk, 1, 2, 3)
    await put_topic(zk, "a", {0: (1, 2), 1: (1, 2)})
    await put_topic(zk, "b", {0: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        await controller.alter(dict.fromkeys(NAMES, (1, 3)))
        first = ids(controller)
        assert len(set(first)) == 1
        await controller.alter({NAMES[0]: (2, 3)})
        assert ids(controller) == first, "another target is the same move"
        await controller.alter({NAMES[0]: None})
        await controller.alter({NAMES[0]: (1, 3)})
        assert ids(controller)[0] > first[0]
        assert ids(controller)[1:] == first[1:]
