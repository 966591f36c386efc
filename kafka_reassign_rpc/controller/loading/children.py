"""The children of znodes that may not exist."""

from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode


async def watched_children(zk: ZooKeeper, path: str, *, many: bool = False) -> list[str]:
    """Empty if the znode does not exist. A watch reports the next change of the children, or the creation. `many`: see
    `ZooKeeper.children`."""
    while True:
        try:
            return await zk.children(path, watch=True, many=many)
        except NoNode:
            if await zk.exists(path, watch=True) is None:
                return []


async def children(zk: ZooKeeper, path: str, *, watch: bool = False) -> list[str]:
    try:
        return sorted(await zk.children(path, watch=watch, many=True))
    except NoNode:
        return []
