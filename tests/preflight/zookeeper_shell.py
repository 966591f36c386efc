"""What `zookeeper-shell.sh` does, as far as printed commands use it: get, set, create and delete, as words or line by
line from standard input.
"""

import asyncio
import shlex
import sys

from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper


async def main(connect: str, *words: str) -> None:
    async with ZooKeeper(connect) as zk:
        for name, path, *data in [words] if words else map(shlex.split, sys.stdin):
            match name:
                case "get":
                    print((await zk.get(path))[0].decode())
                case "set":
                    await zk.set(path, data[0].encode())
                case "create":
                    await zk.create(path, "".join(data).encode())
                case "delete":
                    await zk.delete(path)
                case _:
                    raise ValueError(name)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
