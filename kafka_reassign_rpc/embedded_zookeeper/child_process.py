"""Child processes that never outlive their parent.

On Linux the kernel signals the child when the thread that started it ends (PR_SET_PDEATHSIG = 1), also after a kill -9.
The child must ask for that itself, so a launcher does and then execs the program; `preexec_fn` may deadlock in a
process with threads. The parent may have died before the child asked, so the parent id is checked. Elsewhere the
child survives only a kill -9 of its parent.
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
    """The command to start in place of `command`."""
    return [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), str(int(number)), *command]
