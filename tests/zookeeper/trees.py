"""Whole trees of znodes."""

from kafka_reassign_rpc.zookeeper.operations import Delete
from kafka_reassign_rpc.zookeeper.transactions import split_ops
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode, NotEmpty, TransactionFailed

PASSES = 5


async def delete_tree(zk: ZooKeeper, path: str) -> None:
    """Delete the znode and all znodes below it, if there are any, also where a controller adds and deletes some."""
    for _ in range(PASSES):
        doomed = [Delete(one) for one in await zk.tree(path)]
        try:
            for batch in split_ops(doomed):
                await zk.multi(batch)
        except TransactionFailed as failure:
            if not isinstance(failure.error, NoNode | NotEmpty):
                raise
    assert await zk.exists(path) is None
