"""Cancels with compare-and-set (KIP-860) of moves that wait, in the queue or in the batch."""

from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import batch, batch_json, elected_controller, put_topic, queue_json, register

NAME = ("t", 0)


async def test_860_5_a_cancel_that_expects_other_replicas_withdraws_no_move_from_the_queue(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)})
    await zk.create(znode_paths.REASSIGN_CANCEL, b"")
    async with elected_controller(zk_connect) as controller:
        assert await controller.alter({NAME: (1, 3)}, queue=True) == {NAME: None}
        answer = (await controller.alter({NAME: None}, expected=(9, 9)))[NAME]
        assert isinstance(answer, InvalidReplicaAssignment)
        assert "found [1, 2]" in str(answer)
        assert list(await queue_json(zk) or {}) == [NAME]
        assert await controller.alter({NAME: None}, expected=(1, 2)) == {NAME: None}
        assert await queue_json(zk) is None


async def test_860_5_a_cancel_that_expects_other_replicas_withdraws_no_entry_of_reassign_partitions(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)})
    await zk.create(znode_paths.REASSIGN_CANCEL, b"")
    await zk.create(znode_paths.REASSIGN_PARTITIONS, batch({NAME: (1, 3)}))
    async with elected_controller(zk_connect) as controller:
        await controller.read_admin_znodes()
        answer = (await controller.alter({NAME: None}, expected=(9, 9)))[NAME]
        assert isinstance(answer, InvalidReplicaAssignment)
        assert await batch_json(zk) == {NAME: {"replicas": [1, 3]}}
        assert await controller.alter({NAME: None}, expected=(1, 2)) == {NAME: None}
        assert await batch_json(zk) is None
