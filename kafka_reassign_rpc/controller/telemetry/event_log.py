"""The event log: JSON lines in a directory, in a bounded number of files of bounded size.

    events-00000000000000000000.jsonl       the first one holds the events from number 0 on
    events-00000000000000041873.jsonl       the number of its first event is in a file's name

Numbers increase by one from event to event, also over a restart. A gap stands for events that could not be written.
Written lines have reached the operating system, so they survive the end of the process. They are not synced to the
disk: after a loss of power the last seconds may be missing. The next start removes an incomplete last line. Only one
process writes to a directory at a time.

All methods block, and may be called from any thread.
"""

import fcntl
import os
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

NAME = "events-{:020d}.jsonl"
PATTERN = "events-" + "[0-9]" * 20 + ".jsonl"
START = b'{"seq":'
"""Every line begins with this; the number follows."""

MARK_BYTES = 65_536
"""Distance of the marks in a file: places whose event number is known."""


class EventLogPage(NamedTuple):
    """Events as JSON, the number to go on from, and the number of the oldest event that is kept."""

    events: list[bytes]
    next_seq: int
    oldest_seq: int


class _File:
    """One file. `marks`: (number, offset) of some lines, the first among them; None: the file was not scanned yet."""

    def __init__(self, path: Path, first: int) -> None:
        self.path = path
        self.first = first
        self.size = 0
        self.marks: list[tuple[int, int]] | None = None


class EventLog:
    """Call `open` first; then `append` and `read`. All methods raise OSError as the system does.

    file_bytes   the log begins a new file before one grows beyond this
    files        how many files are kept
    """

    def __init__(self, directory: Path, *, file_bytes: int = 16 * 2**20, files: int = 8) -> None:
        self.directory = directory
        self.next_seq = 0
        self._file_bytes = file_bytes
        self._keep = files
        self._files: list[_File] = []
        self._descriptor = -1
        self._lock_file = -1
        self._lock = Lock()

    def open(self) -> None:
        """Find the number to go on with. Raises BlockingIOError where another process writes to the directory."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._lock_file = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._files = [_File(path, int(path.stem[7:])) for path in sorted(self.directory.glob(PATTERN))]
        for file in self._files:
            file.size = file.path.stat().st_size
        if self._files:
            last = self._files[-1]
            self._cut_off(last)
            self.next_seq = max(_scan(last), last.first)
            self._descriptor = os.open(last.path, os.O_WRONLY | os.O_APPEND)

    def close(self) -> None:
        with self._lock:
            for descriptor in (self._descriptor, self._lock_file):
                if descriptor >= 0:
                    os.close(descriptor)
            self._descriptor = self._lock_file = -1

    def append(self, lines: bytes, first: int, after: int) -> None:
        """Write whole lines, the events from `first` up to `after`, or nothing of them."""
        with self._lock:
            self.next_seq = after
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

    def read(self, first: int, max_bytes: int) -> EventLogPage:
        """Events from number `first` on, or from the oldest one that is kept; at least one if there is any.

        first   below 0: no events, only the number of the next one
        """
        with self._lock:
            files, next_seq = list(self._files), self.next_seq
            sizes = [file.size for file in files]
        oldest = files[0].first if files else next_seq
        if not 0 <= first < next_seq:
            return EventLogPage([], next_seq, oldest)
        start = max(0, bisect_right([file.first for file in files], first) - 1)
        found: list[bytes] = []
        room = max_bytes
        for file, size in zip(files[start:], sizes[start:], strict=True):
            for seq, line in _lines(file, size, first):
                if found and len(line) > room:
                    return EventLogPage(found, seq, oldest)
                found.append(line)
                room -= len(line)
        return EventLogPage(found, next_seq, oldest)

    def _take_back(self, size: int) -> None:
        """Remove incomplete lines. If that fails, the next events go to another file."""
        try:
            os.ftruncate(self._descriptor, size)
        except OSError:
            os.close(self._descriptor)
            self._descriptor = -1

    def _room(self, size: int, first: int) -> _File:
        """The file to write to: a new one if the last one is full, or was removed."""
        if self._descriptor >= 0 and self._files:
            last = self._files[-1]
            if os.fstat(self._descriptor).st_nlink and (not last.size or last.size + size <= self._file_bytes):
                return last
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self.directory.mkdir(parents=True, exist_ok=True)
        file = _File(self.directory / NAME.format(first), first)
        self._descriptor = os.open(file.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC, 0o644)
        file.marks = []
        if self._files and self._files[-1].first == first:  # it is empty
            self._files.pop()
        self._files.append(file)
        while len(self._files) > self._keep:
            with suppress(OSError):  # a surplus file must not keep new events from being written
                self._files.pop(0).path.unlink()
        return file

    @staticmethod
    def _cut_off(file: _File) -> None:
        """Remove what follows the last complete line."""
        with file.path.open("r+b") as opened:
            whole = opened.read().rfind(b"\n") + 1
            if whole < file.size:
                opened.truncate(whole)
        file.size = whole


def _scan(file: _File) -> int:
    """Scan a file and set its marks. Returns the number after its last event."""
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


def _lines(file: _File, size: int, first: int) -> Iterator[tuple[int, bytes]]:
    """Events of a file from number `first` on, within its first `size` bytes. A removed file has none."""
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
    """The number of the event in a line; None: the line is not an event."""
    number, comma, _ = line[len(START) : len(START) + 20].partition(b",")
    return int(number) if comma and line.startswith(START) and number.isdigit() and line.endswith(b"}\n") else None
