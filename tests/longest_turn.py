"""How long the event loop works in one go, in seconds of CPU: so long all clients wait."""

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


class LongestTurn:
    """`seconds`: of CPU, for the longest call that asyncio's loop has made."""

    def __init__(self) -> None:
        self.seconds = 0.0


@contextmanager
def longest_turn() -> Iterator[LongestTurn]:
    """Measures asyncio's own event loop (not uvloop) of this thread, without the collections of garbage."""
    found = LongestTurn()
    run = asyncio.Handle._run
    thread = threading.get_ident()

    def measured(handle: asyncio.Handle) -> None:
        since = time.thread_time()
        run(handle)
        if threading.get_ident() == thread:
            found.seconds = max(found.seconds, time.thread_time() - since)

    gc.collect()
    gc.disable()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(asyncio.Handle, "_run", measured)
            yield found
    finally:
        gc.enable()
