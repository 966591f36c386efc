"""Child processes that never outlive their parent.

On Linux the kernel signals the child when the thread that started it ends (PR_SET_PDEATHSIG = 1), also after a kill -9.
The child must ask for that itself, so a launcher does and then execs the program; `preexec_fn` may deadlock in a
process with threads. The parent may have died before the child asked, so the parent id is checked. Elsewhere the
child survives only a kill -9 of its parent.
"""

import fcntl
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

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


class InUse(RuntimeError):
    """Another process has the directory."""


def locked(data_dir: Path) -> IO[bytes]:
    """The directory, created if absent, is ours until the file is closed here and in each child that got it
    (`pass_fds`). Raises InUse.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    lock = (data_dir / "lock").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise InUse from error
    return lock
