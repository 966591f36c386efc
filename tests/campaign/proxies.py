"""How a connection to ZooKeeper is cut, and comes back."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from tests.zookeeper.proxy import Proxy, WriteCut

WRITE_CUTS: Mapping[str, WriteCut] = {
    "before": WriteCut(before=True, fin=False),
    "before-fin": WriteCut(before=True, fin=True),
    "after": WriteCut(before=False, fin=False),
    "after-fin": WriteCut(before=False, fin=True),
}
"""Where in a commit a connection is cut, and whether it is closed or reset."""


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
