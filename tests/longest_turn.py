"""How long the event loop works in one go, in seconds of CPU: so long all clients wait.

    for measured in tries():
        async with measured:
            answer = await ask(...)

What another process of the machine adds to a call does not come again at the same place; what the code does itself
comes each time. So the shortest of some tries counts, and the first one within the limit is the last. A machine that is
slow all the time has a higher limit, by what other code takes there.
"""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager

import pytest

from tests.pace import usual_work

NO_LONGER_THAN_S = 0.02
"""What docs/decisions/0005-slices-of-the-loop.md promises."""
TRIES = 5
USUAL_S = 0.0014
"""What `usual_work` takes on the machine that limits were measured on."""


class LongTurn(AssertionError):
    """In no try were all turns short."""


def tries(within: float = NO_LONGER_THAN_S) -> Iterator[AbstractAsyncContextManager[None]]:
    """For one try each, what to measure in. Raises LongTurn after the last one, if a call took longer in each."""
    found: list[float] = []
    while len(found) < TRIES:
        yield _longest_turn(found)
        if found[-1] <= within or found[-1] <= within * (slowness := _slowness()):
            return
    told = ", ".join(f"{seconds:.4f}" for seconds in found)
    raise LongTurn(f"the longest turns of the event loop took {told} s of CPU, the limit is {within * slowness:.4f} s")


def _slowness() -> float:
    """1 or more."""
    return max(1.0, min(usual_work() for _ in range(20)) / USUAL_S)


@asynccontextmanager
async def _longest_turn(found: list[float]) -> AsyncIterator[None]:
    """Adds the longest call that asyncio's own event loop (not uvloop) of this thread makes. A turn begins with what is
    measured, and another one follows it: also what never waits is a turn.
    """
    seconds = 0.0
    run = asyncio.Handle._run
    thread = threading.get_ident()

    def measured(handle: asyncio.Handle) -> None:
        nonlocal seconds
        since = time.thread_time()
        run(handle)
        if threading.get_ident() == thread:
            seconds = max(seconds, time.thread_time() - since)

    with without_garbage_collection(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.Handle, "_run", measured)
        await asyncio.sleep(0)
        yield
        await asyncio.sleep(0)
    found.append(seconds)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """One at the beginning, none inside. Around many short measurements it spares each its own."""
    if not gc.isenabled():
        yield
        return
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
