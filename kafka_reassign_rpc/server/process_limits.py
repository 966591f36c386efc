"""Limits of this process, and settings of its interpreter: no core dumps; how near it is to its limit of file
descriptors; what keeps the event loop from being held up.

A core dump would hold private keys and passwords. A process that is not dumpable also hides its environment and memory
from other processes of its user (/proc/PID/environ, ptrace); root still sees them. Instead, standard error gets the
Python stacks of all threads.

ZooKeeper, the channels to brokers, the pages for monitoring and the event log need some file descriptors at any time;
client connections must not take them.

With a hundred thousand partitions the interpreter would hold up the event loop:

- A pass of the garbage collector over its oldest generation looks at every long-lived object, which takes a quarter of
  a second. So a pass comes as soon as some 20,000 objects have become old, and excludes from the next ones what
  survives it.
- Another thread takes the interpreter for 5 ms at a time, as often as the loop releases it.

And glibc keeps what was freed: after the first frame of 10 MiB it takes blocks of that size from its heap, where a
small block behind them keeps them from the system. So this module sets the size from which blocks are mapped.
"""

import asyncio
import ctypes
import faulthandler
import gc
import os
import resource
import sys
import time
from asyncio import sslproto
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Literal, TypeVar

PR_SET_DUMPABLE = 4
STANDARD_ERROR = 2


def forbid_core_dumps() -> None:
    """A limit alone would not do: the system ignores it if dumps go to a program (`|…` in core_pattern)."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    with suppress(AttributeError):  # Linux alone has it
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    faulthandler.enable(STANDARD_ERROR)


MOST_CONNECTIONS = 50_000
"""The limit however many descriptors there are: connections need memory too."""
LEAST_CONNECTIONS = 16
KEPT = 2048
"""Kept back if descriptors are plenty: twice the backlog of a listener."""


def raise_descriptor_limit() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return descriptor_limit()


def descriptor_limit() -> int:
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 - 1 if soft == resource.RLIM_INFINITY else soft


def kept_back(descriptors: int) -> int:
    return min(KEPT, descriptors // 4)


def most_connections(descriptors: int) -> int:
    return max(LEAST_CONNECTIONS, min(MOST_CONNECTIONS, descriptors - kept_back(descriptors)))


def backlog(descriptors: int) -> int:
    return kept_back(descriptors) // 2


def missing_descriptors() -> int:
    """Returns how many connections have to close so that half of what is kept back is free again; none if 0 or less.
    The system gives the lowest free number, which says how many are in use, but for gaps."""
    most = descriptor_limit()
    try:
        lowest_free = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        lowest_free = most  # none left, in this process or in the system
    else:
        os.close(lowest_free)
    return lowest_free - (most - kept_back(most) // 2)


YOUNG, MIDDLE, OLD = 2_000, 4, 1
"""Collector thresholds. A pass over the two young generations (10,000 objects) takes less than 3 ms; after two of the
latter comes a full one. The collector visits a surviving object twice under any of the first two, so lower ones cost
nothing."""
OLDEST = 2
"""The number of the collector's oldest generation."""
SWITCH_S = 0.0005
COLLECT_EVERY_S = 60.0
MEASURE_EVERY_S = 0.1
LONG_S = 0.002
"""A full pass that takes longer has found many long-lived objects, which are then excluded."""


_M_MMAP_THRESHOLD = -3
MAPPED_BYTES = 1024 * 1024
"""A block of this size or more is mapped, and goes back to the system when it is freed."""


def tune_interpreter() -> None:
    """Call it once, after all imports."""
    with suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES)
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.collect()  # CPython waits with a full pass for a quarter of the objects that the last one has left: now for none
    gc.callbacks.append(_FullPasses())
    gc.set_threshold(YOUNG, MIDDLE, OLD)


class _FullPasses:
    def __init__(self) -> None:
        self._begun = 0.0

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        if info["generation"] != OLDEST:
            return
        if phase == "start":
            self._begun = time.perf_counter()
        elif time.perf_counter() - self._begun > LONG_S:
            gc.freeze()


def leave_loaded_objects_alone() -> None:
    """Call it after loading many objects that will stay."""
    gc.freeze()


async def measure_loop_delay(report: Callable[[float], None]) -> None:
    """Reports again and again by how many seconds the event loop was late."""
    while True:
        due = time.perf_counter() + MEASURE_EVERY_S
        await asyncio.sleep(MEASURE_EVERY_S)
        report(max(0.0, time.perf_counter() - due))


async def collect_garbage_periodically() -> None:
    """A server without work makes too few objects for a full pass."""
    while True:
        await asyncio.sleep(COLLECT_EVERY_S)
        gc.collect()


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
