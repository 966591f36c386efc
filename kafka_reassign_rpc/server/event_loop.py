"""uvloop if it is installed and wanted, else asyncio's own loop."""

import asyncio
from asyncio import sslproto
from collections.abc import Callable, Coroutine
from typing import Any, Literal, TypeVar

T = TypeVar("T")

TLS_BUFFER_BYTES = 32 * 1024
"""The read buffer of each TLS connection, instead of asyncio's 256 KiB: a record has 16. (uvloop's buffer costs no more
than is read.)"""

LoopName = Literal["uvloop", "asyncio"]


def loop_factory(name: LoopName | None = None) -> Callable[[], asyncio.AbstractEventLoop]:
    """None takes uvloop if it is installed. Raises ImportError if uvloop is wanted but missing."""
    if name == "asyncio":
        return asyncio.new_event_loop
    try:
        import uvloop
    except ImportError:
        if name == "uvloop":
            raise
        return asyncio.new_event_loop
    return uvloop.new_event_loop


def run(main: Coroutine[Any, Any, T], name: LoopName | None = None) -> T:
    sslproto.SSLProtocol.max_size = TLS_BUFFER_BYTES
    with asyncio.Runner(loop_factory=loop_factory(name)) as runner:
        return runner.run(main)
