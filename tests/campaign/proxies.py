"""How a connection to ZooKeeper is cut, and comes back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.zookeeper.proxy import Proxy


@asynccontextmanager
async def cut(proxy: Proxy, how: str) -> AsyncIterator[None]:
    """Cut all connections through a proxy for the time of the block.

    how    reset: once, at the start; silence: nothing gets through; mute: only answers do not; refuse: closed, and new
           ones too
    """
    match how:
        case "reset":
            proxy.rst()
        case "silence":
            proxy.silence()
        case "mute":
            proxy.mute()
        case "refuse":
            proxy.refusing = "close"
            proxy.rst()
        case _:
            raise ValueError(how)
    try:
        yield
    finally:
        proxy.heal()
