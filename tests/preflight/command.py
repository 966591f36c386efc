"""The commands as an operator starts them."""

import asyncio
import json
import sys
from typing import Any, NamedTuple

from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper


class Ended(NamedTuple):
    code: int | None
    out: str
    errors: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


async def run(*arguments: str) -> Ended:
    """Run `kafka-reassign-rpc` to its end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "kafka_reassign_rpc.cli.main",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, errors = await asyncio.wait_for(process.communicate(), 60)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Ended(process.returncode, out.decode(), errors.decode())


async def every_znode(zk: ZooKeeper) -> dict[str, object]:
    """Data, version, number of children and of changes among them, of every znode."""
    paths = sorted(await zk.tree("/"))
    return {
        path: None if read is None else (read[0], read[1].mzxid, read[1].version, read[1].cversion)
        for path, read in zip(paths, await zk.multi_get(paths), strict=True)
    }
