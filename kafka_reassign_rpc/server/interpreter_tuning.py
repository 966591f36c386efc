"""Settings of the interpreter that keep it from holding up the event loop.

Two things in CPython do so in a process that holds a hundred thousand partitions:

- The garbage collector passes over its oldest generation. It looks at every long-lived object, which takes a quarter of
a second at that size, and a burst of short-lived objects (a large request, reading a cluster) triggers it. So this
module runs it by the clock, and sooner where many objects have become old; and it excludes those that have survived.
- Another thread takes the interpreter for 5 ms at a time, as often as the loop releases it.

And glibc keeps what was freed: after the first frame of 10 MiB it takes blocks of that size from its heap, where a
small block behind them keeps them from the system. So this module sets the size from which blocks are mapped.
"""

import asyncio
import ctypes
import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

YOUNG, MIDDLE, NEVER = 2_000, 4, 1_000_000
"""Collector thresholds. A pass over the two young generations (10,000 objects) takes less than 3 ms. The collector
visits a surviving object twice under any threshold, so lower ones cost nothing."""
SWITCH_S = 0.0005
COLLECT_EVERY_S = 60.0
LONGEST_DELAY_S = 600.0
"""After so long a full pass waits no more, whatever is in work."""
LOOK_EVERY_S = 0.1
MIDDLE_PASSES = 10
"""After so many passes over the middle generation a full pass comes early. While 10,000 partitions move, it looks at
25,000 to 62,000 objects then (`benchmarks passes`); a minute's objects took 60 to 150 ms."""
CONNECTIONS_PER_PASS = 1000
"""After so many new connections a full pass comes early: they are 13,000 objects, and none of them needs the collector
to go."""
MEASURE_EVERY_S = 0.1
LONG_S = 0.005
"""A full pass that takes longer has found many long-lived objects, which are then excluded."""


_M_MMAP_THRESHOLD = -3
MAPPED_BYTES = 1024 * 1024
"""A block of this size or more is mapped, and goes back to the system when it is freed."""


def tune_interpreter() -> None:
    """Sets thresholds and switch interval. Call it once, after all imports."""
    with suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES)
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, NEVER)


def leave_loaded_objects_alone() -> None:
    """Excludes all present objects from collection. Call it after loading many objects that will stay."""
    gc.freeze()


async def measure_loop_delay(report: Callable[[float], None]) -> None:
    """Reports again and again by how many seconds the event loop was late. Runs until cancelled."""
    while True:
        due = time.perf_counter() + MEASURE_EVERY_S
        await asyncio.sleep(MEASURE_EVERY_S)
        report(max(0.0, time.perf_counter() - due))


class FullPasses:
    """When full passes of the collector run: by the clock, and sooner after many new connections or old objects.

    They wait while somebody has very many objects that are about to go: a pass over a million of them takes a second
    and finds nothing. `connections` counts those accepted since the last pass.
    """

    def __init__(self) -> None:
        self._held = 0
        self.connections = 0

    async def due(self) -> None:
        latest = time.monotonic() + COLLECT_EVERY_S
        while not self._are_many() and time.monotonic() < latest:  # noqa: ASYNC110 (as below)
            await asyncio.sleep(LOOK_EVERY_S)
        self.connections = 0

    def _are_many(self) -> bool:
        return self.connections >= CONNECTIONS_PER_PASS or gc.get_count()[2] >= MIDDLE_PASSES

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Delays full passes until the end of the block, for at most `LONGEST_DELAY_S`."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1

    async def may_run(self) -> None:
        latest = time.monotonic() + LONGEST_DELAY_S
        while self._held and time.monotonic() < latest:  # noqa: ASYNC110 (it belongs to no event loop)
            await asyncio.sleep(LOOK_EVERY_S)


full_passes = FullPasses()
"""The whole process shares it, because the process has a single garbage collector."""


async def collect_garbage_periodically() -> None:
    """Runs a full pass about every `COLLECT_EVERY_S` (see `FullPasses`). Runs until cancelled."""
    while True:
        await full_passes.due()
        await full_passes.may_run()
        begun = time.perf_counter()
        gc.collect()
        if time.perf_counter() - begun > LONG_S:
            gc.freeze()
