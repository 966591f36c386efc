"""Limits of this process: no core dumps, and how near it is to its limit of file descriptors.

A core dump would hold private keys and passwords. A process that is not dumpable also hides its environment and memory
from other processes of its user (/proc/PID/environ, ptrace); root still sees them. Instead, standard error gets the
Python stacks of all threads.

ZooKeeper, the channels to brokers, the pages for monitoring and the event log need some file descriptors at any time;
client connections must not take them.
"""

import ctypes
import faulthandler
import os
import resource
from contextlib import suppress

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
