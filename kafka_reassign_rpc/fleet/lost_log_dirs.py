"""Which log dirs of simulated brokers are lost, by files in the data directory.

`broker-3-dir-1.failed` takes log dir 1 of broker 3 away, as a disk that fails under a running broker. Like that of a
stock broker it stays away, if the file is deleted, until the broker's next start.
"""

import re
from collections.abc import Mapping
from pathlib import Path

_FILE = re.compile(r"broker-(\d{1,10})-dir-(\d{1,4})\.failed")


def lost_log_dirs(data_dir: Path | None) -> Mapping[int, set[int]]:
    """By broker id: the numbers of its lost log dirs. Raises OSError."""
    found: dict[int, set[int]] = {}
    if data_dir is not None and data_dir.exists():
        for path in data_dir.iterdir():
            if match := _FILE.fullmatch(path.name):
                found.setdefault(int(match[1]), set()).add(int(match[2]))
    return found
