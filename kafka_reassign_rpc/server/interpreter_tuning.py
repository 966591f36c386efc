"""What keeps the interpreter itself from holding up the event loop.

Two things in CPython do, in a process that holds a hundred thousand partitions:

- the oldest generation of the garbage collector: a pass looks at every object that lives long, a quarter of a second
  at that size, and a burst of short-lived objects (a large request, a cluster being read) sets it off. So it runs by
  the clock instead, and what has survived is put out of its sight;
- a thread that decodes a large frame keeps the interpreter for 5 ms at a time, as often as the loop lets go of it.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Callable

YOUNG, MIDDLE, NEVER = 2_000, 4, 1_000_000
"""Collector thresholds: a pass over the two young generations (10,000 objects) stays below 3 ms. What survives is
looked at twice whatever they are, so lower ones cost nothing."""
SWITCH_S = 0.0005
COLLECT_EVERY_S = 60.0
MEASURE_EVERY_S = 0.1
LONG_S = 0.005
"""A full pass that takes longer has found much that lives long: it need not be looked at again."""


def tune_interpreter() -> None:
    """To be called once, when all modules are imported."""
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, NEVER)


def leave_loaded_objects_alone() -> None:
    """Much has just been loaded that will stay: the collector need not look at it."""
    gc.freeze()


async def measure_loop_delay(took: Callable[[float], None]) -> None:
    """Until cancelled: say how many seconds late the event loop has come back, again and again."""
    while True:
        due = time.perf_counter() + MEASURE_EVERY_S
        await asyncio.sleep(MEASURE_EVERY_S)
        took(max(0.0, time.perf_counter() - due))


async def collect_garbage_periodically() -> None:
    """Until cancelled."""
    while True:
        await asyncio.sleep(COLLECT_EVERY_S)
        begun = time.perf_counter()
        gc.collect()
        if time.perf_counter() - begun > LONG_S:
            gc.freeze()
