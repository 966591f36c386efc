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
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from kafka_reassign_rpc.controller.telemetry.event_log_files import (
    DIGITS,
    GROUP_READS,
    OWNER_ALONE,
    LogFiles,
    lines_of,
    make_folder,
)
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.file_rights import restrict

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
