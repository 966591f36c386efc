"""The event log: JSON lines in a directory, in a bounded number of files of bounded size.

    events-00000000000000000000.jsonl       decisions, from number 0 on
    events-00000000000000041873.jsonl       the number of its first event is in a file's name
    refusals-00000000000000000000.jsonl     what was refused: any client can cause it, and it pushes no decision out
    webhooks.json                          up to which event each webhook was notified (`webhooks`)

Numbers increase by one from event to event, over both kinds and also over a restart. A gap means events that could not
be written, or for refusals that are deleted by now. Files of release 0.1.0 have refusals among the decisions.

Written lines survive the end of the process, but are not synced: after a loss of power the last seconds may be missing.
The next start removes an incomplete last line. Only one process writes to a directory at a time.

The files hold who asked for what: their owner alone may read them and their folder, or the group too. The next start
corrects files that an earlier release left open, and the folder where nothing but the log is in it.

All methods block, and may be called from any thread.
"""

import fcntl
import heapq
import logging
import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.files import restrict

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


log = logging.getLogger(__name__)

POSITIONS = "webhooks.json"
"""The file that says up to which event each webhook was notified."""
_OWN_NAME = re.compile(rf"lock|\.?{re.escape(POSITIONS)}(?:\.[0-9]+)?|(?:events|refusals)-[0-9]{{{DIGITS}}}\.jsonl")


class EventLogPage(NamedTuple):
    """Events as JSON, in the order of their numbers.

    oldest_seq    from this number on no decision was deleted
    complete_seq  from this number on no refusal was deleted either
    """

    events: list[bytes]
    next_seq: int
    oldest_seq: int
    complete_seq: int


FILE_BYTES, FILES, REFUSAL_FILES = 16 * 2**20, 8, 2
"""The defaults of event.log.*: bytes of a file; files of decisions, and of refusals."""


class EventsLost(OSError):
    """`count` events could not be written; the text says why."""

    def __init__(self, count: int, reason: OSError) -> None:
        super().__init__(error_text(reason))
        self.count = count


class EventLog:
    """Call `open` first. All methods raise OSError as the system does. `files` of decisions are kept, and
    `refusal_files`; `group_read`: their group may read them too."""

    def __init__(
        self,
        directory: Path,
        *,
        file_bytes: int = FILE_BYTES,
        files: int = FILES,
        refusal_files: int = REFUSAL_FILES,
        group_read: bool = False,
    ) -> None:
        self.directory = directory
        self.next_seq = 0
        self._rights = GROUP_READS if group_read else OWNER_ALONE
        rights = self._rights
        self._decisions = LogFiles(directory, "events", file_bytes=file_bytes, keep=files, rights=rights)
        self._refusals = LogFiles(directory, "refusals", file_bytes=file_bytes, keep=refusal_files, rights=rights)
        self._lock_file = -1
        self._lock = Lock()

    def open(self) -> None:
        """Raises BlockingIOError if another process writes to the directory."""
        is_new = make_folder(self.directory, self._rights)
        self._lock_file = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT, self._rights.file)
        fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._correct_rights(is_new=is_new)
        self.next_seq = max(self._decisions.open(), self._refusals.open())

    def _correct_rights(self, *, is_new: bool) -> None:
        names = os.listdir(self.directory)
        own = [name for name in names if _OWN_NAME.fullmatch(name)]
        for path in (self.directory / name for name in own):
            try:
                restrict(path, self._rights.file)
            except OSError as error:
                log.warning("others may read who asked for what in %s: chmod %o %s (the server may not: %s)",
                            path, self._rights.file, path, error_text(error))  # fmt: skip
        if not is_new:
            self._correct_folder(has_others=len(own) < len(names))

    def _correct_folder(self, *, has_others: bool) -> None:
        """The files are closed already: an open folder shows only their names."""
        folder = self.directory.resolve()  # the operator's own link
        try:
            if not has_others:
                restrict(folder, self._rights.folder)
            why = "there are files of others in it"
        except OSError as error:
            why = error_text(error)
        if stat.S_IMODE(folder.stat().st_mode) & 0o777 & ~self._rights.folder:
            log.warning("others may see which files are in %s, and how large they are: its mode stays (%s); give the"
                        " event log a folder of its own (event.log.dir), such as %s",
                        self.directory, why, self.directory / "events")  # fmt: skip

    def close(self) -> None:
        with self._lock:
            self._decisions.close()
            self._refusals.close()
            if self._lock_file >= 0:
                os.close(self._lock_file)
            self._lock_file = -1

    def append(self, decisions: bytes, refusals: bytes, first: int, after: int) -> None:
        """Writes whole lines: the events from `first` up to `after`, in two parts. Of each part all lines are written,
        or none. Raises EventsLost."""
        lost, reason = 0, None
        with self._lock:
            self.next_seq = after
            for files, lines in ((self._decisions, decisions), (self._refusals, refusals)):
                try:
                    if lines:
                        files.append(lines, first)
                except OSError as error:
                    lost, reason = lost + lines.count(b"\n"), error
        if reason is not None:
            raise EventsLost(lost, reason) from reason

    def read(self, first: int, max_bytes: int) -> EventLogPage:
        """Events from number `first` on, as far as they are kept; at least one if there is any. `first` below 0: none,
        only the number of the next one."""
        with self._lock:
            series = [list(files.files) for files in (self._decisions, self._refusals) if files.files]
            sizes = [[file.size for file in files] for files in series]
            next_seq = self.next_seq
        begins = [files[0].first for files in series] or [next_seq]
        oldest, complete = begins[0], max(begins)
        if not 0 <= first < next_seq:
            return EventLogPage([], next_seq, oldest, complete)
        found: list[bytes] = []
        room = max_bytes
        streams = [lines_of(files, known, first) for files, known in zip(series, sizes, strict=True)]
        for seq, line in heapq.merge(*streams):
            if found and len(line) > room:
                return EventLogPage(found, seq, oldest, complete)
            found.append(line)
            room -= len(line)
        return EventLogPage(found, next_seq, oldest, complete)
