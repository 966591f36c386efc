"""Child processes that never outlive their parent.

The kernel signals the child when the thread that started it ends (PR_SET_PDEATHSIG = 1), so also after a kill -9 of
this process, when no code of it can run any more. The child has to ask for that itself. A launcher does so and then
turns into the program by exec; this needs no `preexec_fn`, which may deadlock in a process with threads. The parent may
have died before the child asked: hence the check of the parent id. Only Linux has this; elsewhere the child ends on
every exit of its parent but a kill -9.
"""

import os
import signal
import sys
from collections.abc import Sequence

_LAUNCHER = """
import os, signal, sys
parent, number, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None, use_errno=True).prctl(1, number, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
os.execv(program, sys.argv[3:])
"""


def tied_to_us(command: Sequence[str], number: signal.Signals = signal.SIGKILL) -> list[str]:
    """The command to start in place of `command` (its program by path): it gets the signal when the thread that starts
    it ends."""
    return [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), str(int(number)), *command]
