"""Prevents core dumps: they would hold private keys and passwords of this process.

A process that is not dumpable also hides its environment and memory from other processes of its user
(/proc/PID/environ, ptrace); root still sees them. Instead, standard error gets the Python stacks of all threads.
"""

import ctypes
import faulthandler
import resource
from contextlib import suppress

PR_SET_DUMPABLE = 4
STANDARD_ERROR = 2


def forbid() -> None:
    """A limit alone would not do: the system ignores it if dumps go to a program (`|…` in core_pattern)."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    with suppress(AttributeError):  # Linux alone has it
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    faulthandler.enable(STANDARD_ERROR)
