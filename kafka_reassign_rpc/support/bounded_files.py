"""Files that are read up to a length."""

import errno
from pathlib import Path


def read_bounded(path: Path, most: int) -> bytes:
    """Raises OSError, also if there are more than `most` bytes; its `strerror` says which."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes", str(path))
    return data
