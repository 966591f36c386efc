"""Files and directories that appear as a whole: written under a hidden name, which holds the process's id, so that no
two processes share one, then renamed. Only a killed process leaves it.
"""

import os
import shutil
import threading
import weakref
from collections.abc import Iterable
from pathlib import Path


def hidden_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")


def write_file(path: Path, parts: Iterable[bytes], *, sync: bool = False) -> None:
    """With `sync` the file survives a loss of power too. Raises OSError and leaves `path` as it was."""
    hidden = hidden_path(path)
    hidden = hidden.with_name(f"{hidden.name}.{threading.get_native_id()}")  # another thread may write the same file
    try:
        with hidden.open("wb") as file:
            file.writelines(parts)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        hidden.replace(path)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise


_forgotten: "dict[Path, weakref.finalize[..., AtomicDirectory]]" = {}
"""Removes each directory that is neither published nor discarded, by hidden name."""


def _remove(hidden: Path, process: int) -> None:
    """Not in a forked process: it does not own the directory."""
    if os.getpid() == process:
        shutil.rmtree(hidden, ignore_errors=True)


class AtomicDirectory:
    """A directory that is filled under the name `hidden`, then `publish`ed or `discard`ed; else it goes with this
    object or the process, as when a full disk ends its writer's constructor.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hidden = hidden_path(path)
        self.is_published = False
        shutil.rmtree(self.hidden, ignore_errors=True)
        self.hidden.mkdir(parents=True)
        if (former := _forgotten.pop(self.hidden, None)) is not None:
            former.detach()  # its directory is gone already, and this one has the same name
        self._forgotten = _forgotten[self.hidden] = weakref.finalize(self, _remove, self.hidden, os.getpid())

    def publish(self) -> None:
        """`path` must not exist yet."""
        self.hidden.rename(self.path)
        self.is_published = True
        self._forgotten.detach()

    def replace(self) -> None:
        """Between the two renames `path` does not exist."""
        old = hidden_path(self.path.with_name(f"{self.path.name}.old"))
        if self.path.exists():
            self.path.rename(old)
        self.publish()
        shutil.rmtree(old, ignore_errors=True)

    def discard(self) -> None:
        if not self.is_published:
            shutil.rmtree(self.hidden, ignore_errors=True)
