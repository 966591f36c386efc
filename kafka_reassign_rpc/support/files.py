"""Reads files that may be too large, and sees whether a file is still the one that was read."""

import errno
import os
from pathlib import Path


def read_bounded(path: Path, most: int) -> bytes:
    """Raises OSError, also if there are more than `most` bytes; its `strerror` says which."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes", str(path))
    return data


Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp | None:
    """The time of the last change (ns), size and inode; None if the file cannot be read."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
