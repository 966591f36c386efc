"""One series of files of the event log: JSON lines, each with the number of its event.

    events-00000000000000041873.jsonl       events from number 41873 on; the first file of a series begins at 0

A new file begins before one grows beyond its limit, and the oldest of too many is deleted. The caller holds a lock.
"""

import os
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kafka_reassign_rpc.support.file_rights import restrict

START = b'{"seq":'
"""Every line begins with this; the number follows."""
DIGITS = 20
"""The digits of the number in a file's name."""

MARK_BYTES = 65_536
"""The distance of the marks in a file: places whose event number is known."""


class LogRights(NamedTuple):
    file: int
    folder: int


OWNER_ALONE = LogRights(0o600, 0o700)
GROUP_READS = LogRights(0o640, 0o750)


def make_folder(path: Path, rights: LogRights) -> bool:
    """Returns whether it is new. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(rights.folder)
    except FileExistsError:
        if path.is_dir():
            return False
        raise
    restrict(path, rights.folder)  # the umask of the process must not matter
    return True


class LogFile:
    """`marks` has (number, offset) of some lines, the first among them; None before the file was scanned."""

    def __init__(self, path: Path, first: int) -> None:
        self.path = path
        self.first = first
        self.size = 0
        self.marks: list[tuple[int, int]] | None = None


class LogFiles:
    """The files of one series, oldest first. `file_bytes` bounds each; `keep` of them are kept."""

    def __init__(self, directory: Path, name: str, *, file_bytes: int, keep: int, rights: LogRights) -> None:
        self._directory = directory
        self._name = name
        self._file_bytes = file_bytes
        self._keep = keep
        self._rights = rights
        self.files: list[LogFile] = []
        self._descriptor = -1

    @property
    def first(self) -> int | None:
        """From this number on the series has all its events; None if it has no files."""
        return self.files[0].first if self.files else None

    def open(self) -> int:
        """Returns the number after the last event. Raises OSError."""
        paths = sorted(self._directory.glob(f"{self._name}-{'[0-9]' * DIGITS}.jsonl"))
        self.files = [LogFile(path, int(path.stem[-DIGITS:])) for path in paths]
        for file in self.files:
            file.size = file.path.stat().st_size
        if not self.files:
            return 0
        last = self.files[-1]
        _cut_off(last)
        after = max(_scan(last), last.first)
        self._descriptor = os.open(last.path, os.O_WRONLY | os.O_APPEND)
        return after

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def append(self, lines: bytes, first: int) -> None:
        """Writes whole lines, of events from number `first` on, or nothing of them. Raises OSError."""
        file = self._room(len(lines), first)
        try:
            written = 0
            while written < len(lines):
                written += os.write(self._descriptor, lines[written:])
        except OSError:
            self._take_back(file.size)
            raise
        assert file.marks is not None
        if not file.marks or file.size - file.marks[-1][1] >= MARK_BYTES:
            file.marks.append((first, file.size))
        file.size += len(lines)

    def _take_back(self, size: int) -> None:
        """Removes incomplete lines. If that fails, the next events go to another file."""
        try:
            os.ftruncate(self._descriptor, size)
        except OSError:
            self.close()

    def _room(self, size: int, first: int) -> LogFile:
        if self._descriptor >= 0 and self.files:
            last = self.files[-1]
            if os.fstat(self._descriptor).st_nlink and (not last.size or last.size + size <= self._file_bytes):
                return last
        self.close()
        make_folder(self._directory, self._rights)
        if not self.files:
            first = 0
        file = LogFile(self._directory / f"{self._name}-{first:0{DIGITS}d}.jsonl", first)
        self._descriptor = os.open(file.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC, self._rights.file)
        os.fchmod(self._descriptor, self._rights.file)  # the umask of the process must not matter
        file.marks = []
        if self.files and self.files[-1].first == first:  # it is empty
            self.files.pop()
        self.files.append(file)
        while len(self.files) > self._keep:
            with suppress(OSError):  # a surplus file must not keep new events from being written
                self.files.pop(0).path.unlink()
        return file


def lines_of(files: list[LogFile], sizes: list[int], first: int) -> Iterator[tuple[int, bytes]]:
    """Numbers and lines of the events from number `first` on, of the first bytes of each file. Blocks."""
    start = max(0, bisect_right([file.first for file in files], first) - 1)
    for file, size in zip(files[start:], sizes[start:], strict=True):
        yield from _lines(file, size, first)


def _cut_off(file: LogFile) -> None:
    with file.path.open("r+b") as opened:
        whole = opened.read().rfind(b"\n") + 1
        if whole < file.size:
            opened.truncate(whole)
    file.size = whole


def _scan(file: LogFile) -> int:
    marks: list[tuple[int, int]] = []
    after = file.first
    offset = 0
    with file.path.open("rb") as opened:
        for line in opened:
            seq = _seq(line)
            if seq is not None:
                after = max(after, seq + 1)
                if not marks or offset - marks[-1][1] >= MARK_BYTES:
                    marks.append((seq, offset))
            offset += len(line)
    file.marks = marks
    return after


def _lines(file: LogFile, size: int, first: int) -> Iterator[tuple[int, bytes]]:
    """Within the file's first `size` bytes. A removed file has none."""
    try:
        if file.marks is None:
            _scan(file)
        marks = list(file.marks or ())
        begin = bisect_right(marks, first, key=lambda mark: mark[0])
        offset = marks[begin - 1][1] if begin else 0
        with file.path.open("rb") as opened:
            opened.seek(offset)
            for line in opened:
                offset += len(line)
                if offset > size:
                    return
                seq = _seq(line)
                if seq is not None and seq >= first:
                    yield seq, line[:-1]
    except FileNotFoundError:
        return


def _seq(line: bytes) -> int | None:
    """None if the line is not an event."""
    number, comma, _ = line[len(START) : len(START) + DIGITS].partition(b",")
    return int(number) if comma and line.startswith(START) and number.isdigit() and line.endswith(b"}\n") else None
