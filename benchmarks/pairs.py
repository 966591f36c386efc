"""This server and a stock broker 3.9.1 side by side: with the same properties, each the controller of an empty cluster
of its own. Both run throughout; one of them is measured at a time, and rounds alternate in who begins."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from benchmarks.client import Address
from benchmarks.cluster import SERVER_ID, STOCK_ID, Server, Stock, controlling
from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

Found = TypeVar("Found")


class Node(NamedTuple):
    """Where a node listens, by listener, and its process."""

    at: dict[str, Address]
    pid: int


@asynccontextmanager
async def pair(
    zookeeper: str, home: Path, properties: Mapping[str, str], prepare: Callable[[ZooKeeper], Awaitable[None]]
) -> AsyncIterator[tuple[Node, Node]]:
    """This server and a stock broker. `prepare` writes what both find in ZooKeeper. The end of the block ends both.

    properties  as of a broker, with its `listeners`, of which one is called PLAINTEXT
    """
    home.mkdir()
    file = home / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    async with AsyncExitStack() as stack:
        chroots = [f"{zookeeper}/{home.name}-{name}" for name in ("ours", "stock")]
        zks = [await stack.enter_async_context(ZooKeeper(chroot)) for chroot in chroots]
        for zk in zks:
            await zk.ensure_path("/")
            await prepare(zk)
        server = Server(
            chroots[0], SERVER_ID, home, "--kafka-config", str(file), "--listeners", properties["listeners"]
        )
        broker = Stock(chroots[1], home, properties)
        for process in (server, broker):
            stack.push_async_callback(process.kill)
            await process.start()
        owner = await controller_election.owner(zks[0])
        assert owner is not None
        registered = json.loads((await zks[1].get(znode_paths.broker(STOCK_ID)))[0])["endpoints"]
        ours = Node({one.listener: (one.host, one.port) for one in owner.endpoints}, server.pid)
        stock = {text.partition("://")[0]: ("127.0.0.1", int(text.rpartition(":")[2])) for text in registered}
        nodes = ours, Node(stock, broker.pid)
        for node in nodes:
            await controlling(node.at["PLAINTEXT"])
        yield nodes


def alternating(measure: Callable[[Node], Found], nodes: tuple[Node, Node], rounds: int) -> list[tuple[Found, Found]]:
    """The rounds of both, one that does not count left out."""
    found: list[tuple[Found, Found]] = []
    for number in range(rounds + 1):
        first = measure(nodes[number % 2])
        second = measure(nodes[1 - number % 2])
        found.append((second, first) if number % 2 else (first, second))
    return found[1:]
