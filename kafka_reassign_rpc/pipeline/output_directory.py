"""A directory that a job writes under the name `hidden`, and that appears as a whole or not at all. A disk and HDFS
rename it in one step. On an object store objects move one by one, last the file that makes it complete (meta.json,
summary.json, …).
"""

import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.store_paths import RemotePath, StoreError, StorePath
from kafka_reassign_rpc.support.files import AtomicDirectory

_MOVES_AT_ONCE = 16


class OutputDirectory(Protocol):
    is_published: bool

    @property
    def hidden(self) -> StorePath: ...

    def publish(self) -> None:
        """Its name must be free."""

    def replace(self) -> None:
        """In place of the former content."""

    def discard(self) -> None:
        """Unless it was published."""


def output_directory(path: StorePath, *, last: str) -> OutputDirectory:
    """`last`: the file without which readers take the directory for incomplete."""
    return RemoteDirectory(path, last) if isinstance(path, RemotePath) else AtomicDirectory(path)


def require_free(path: StorePath) -> None:
    """Raises BadInput if `path` exists and is not an empty directory."""
    if path.exists() and (not path.is_dir() or any(True for _ in path.iterdir())):
        raise BadInput(f"{path}: exists already; give a directory that does not exist or is empty")


class RemoteDirectory:
    def __init__(self, path: RemotePath, last: str) -> None:
        self.path = path
        self.hidden = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
        self.is_published = False
        self._last = last
        self.hidden.mkdir()

    def publish(self) -> None:
        """Raises StoreError, after removing what was published so far if possible."""
        try:
            self._move()
        except BaseException:
            with suppress(OSError, StoreError):
                self.path.remove_tree()
            raise
        self.is_published = True
        with suppress(OSError, StoreError):
            self.hidden.remove_tree()

    def replace(self) -> None:
        """Until the new content is complete, readers find none."""
        (self.path / self._last).unlink(missing_ok=True)
        self.path.remove_tree()
        self.publish()

    def discard(self) -> None:
        if not self.is_published:
            with suppress(OSError, StoreError):  # the store may be why the job failed: that error is the one to report
                self.hidden.remove_tree()

    def _move(self) -> None:
        if self.hidden.renames_directories:
            self.path.remove_tree()  # empty: HDFS would move the directory into it
            self.hidden.rename(self.path)
            return
        last = self.hidden / self._last
        rest = [file for file in self.hidden.files() if file != last]
        with ThreadPoolExecutor(_MOVES_AT_ONCE, "publish") as threads:
            list(threads.map(self._move_file, rest))
        self._move_file(last)

    def _move_file(self, file: RemotePath) -> None:
        file.rename(self.path / file.path.removeprefix(f"{self.hidden.path}/"))
