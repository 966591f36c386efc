"""The commands as an operator starts them."""

from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.fork_server import CLI, output_of
from tests.stock.tools import Output


async def run(*arguments: str) -> Output:
    """Run `kafka-reassign-rpc` to its end."""
    return await output_of(CLI, arguments)


async def every_znode(zk: ZooKeeper) -> dict[str, object]:
    """Data, version, number of children and of changes among them, of every znode."""
    paths = sorted(await zk.tree("/"))
    return {
        path: None if read is None else (read[0], read[1].mzxid, read[1].version, read[1].cversion)
        for path, read in zip(paths, await zk.multi_get(paths), strict=True)
    }
