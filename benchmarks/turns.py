"""Turns of a comparison: the same start, the same rounds and a warm-up for this server and for stock Kafka.

One controller works at a time, on the same brokers and topics. A turn begins with every partition at its start, and
with an uncounted move of all of them away and back. Rows of a table alternate in who begins.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from benchmarks import frames
from benchmarks.client import Address, Wire, until_nothing_moves
from benchmarks.cluster import Cluster, controlling

PAUSE_S = 3.0
"""Seconds between rounds, for brokers to delete the replicas that the last round has removed."""
HOME_BOUND_S = 900.0

Found = TypeVar("Found")


class Turns(NamedTuple):
    """The order within one row: whose turn comes first."""

    stock_first: bool

    async def take(self, cluster: Cluster, measure: Callable[[Address], Found]) -> tuple[Found, Found]:
        """Call `measure` with this server as the controller, then with stock Kafka; a thread runs the blocking
        calls.
        """
        if self.stock_first:
            stock = await _stock(cluster, measure)
            return await _ours(cluster, measure), stock
        ours = await _ours(cluster, measure)
        return ours, await _stock(cluster, measure)


async def _ours(cluster: Cluster, measure: Callable[[Address], Found]) -> Found:
    server = await cluster.server()
    await controlling(server.address)
    found = await asyncio.to_thread(measure, server.address)
    await server.stop()
    return found


async def _stock(cluster: Cluster, measure: Callable[[Address], Found]) -> Found:
    broker = await cluster.stock()
    await controlling(broker.where)
    found = await asyncio.to_thread(measure, broker.where)
    await broker.stop()
    return found


async def create(cluster: Cluster, topics: Mapping[str, int], replicas: int, size: int) -> None:
    """Create the topics with a server that ends again."""
    server = await cluster.server()
    await controlling(server.address)
    await cluster.create(server.address, topics, replicas, size)
    await server.stop()


def warm_up(address: Address, topics: Mapping[str, int], replicas: int) -> None:
    """Move every partition back, since the last turn may have ended elsewhere; then all away and back, uncounted."""
    for back in (True, False, True):
        with Wire(address, HOME_BOUND_S) as wire:
            wire.ask(frames.alter(topics, replicas, back=back))
        until_nothing_moves(address, HOME_BOUND_S)
        time.sleep(PAUSE_S)
