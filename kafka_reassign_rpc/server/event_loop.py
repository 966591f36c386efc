"""The event loop: uvloop where it is installed and wanted, else asyncio's own."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Literal, TypeVar

T = TypeVar("T")

LoopName = Literal["uvloop", "asyncio"]


def loop_factory(name: LoopName | None = None) -> Callable[[], asyncio.AbstractEventLoop]:
    """The function that makes the loop. None: uvloop if it is installed. ImportError where uvloop is wanted but not
    installed."""
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
    """Run `main` to its end on a new loop, as asyncio.run does."""
    with asyncio.Runner(loop_factory=loop_factory(name)) as runner:
        return runner.run(main)
