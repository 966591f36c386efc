"""How near this process is to its limit of file descriptors. ZooKeeper, the channels to brokers, the pages for
monitoring and the event log need some at any time; client connections must not take them."""

import os
import resource

MOST_CONNECTIONS = 50_000
"""The limit however many descriptors there are: connections need memory too."""
LEAST_CONNECTIONS = 16
KEPT = 2048
"""Kept back if descriptors are plenty: twice the backlog of a listener."""


def raise_limit() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return limit()


def limit() -> int:
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 - 1 if soft == resource.RLIM_INFINITY else soft


def kept_back(descriptors: int) -> int:
    return min(KEPT, descriptors // 4)


def most_connections(descriptors: int) -> int:
    return max(LEAST_CONNECTIONS, min(MOST_CONNECTIONS, descriptors - kept_back(descriptors)))


def backlog(descriptors: int) -> int:
    return kept_back(descriptors) // 2


def missing() -> int:
    """Returns how many connections have to close so that half of what is kept back is free again; none if 0 or less.
    The system gives the lowest free number, which says how many are in use, but for gaps."""
    most = limit()
    try:
        lowest_free = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        lowest_free = most  # none left, in this process or in the system
    else:
        os.close(lowest_free)
    return lowest_free - (most - kept_back(most) // 2)
