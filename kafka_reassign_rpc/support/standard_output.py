"""Standard output of our commands, and the end of one whose output cannot be written: its disk is full, its reader has
gone, or it is closed.

While a command runs, `sys.stdout` raises OutputFailed, which is no OSError: no handler of another fault takes it, and
`written_out` alone says what has happened. `print` and `argparse` write there, and so does rich.
"""

import errno
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO, cast

from kafka_reassign_rpc.support.error_text import error_text

FAILED = 1


class OutputFailed(Exception):
    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output: {error_text(error)}")


class ReaderGone(OutputFailed):
    """As `head` goes when it has what it wants."""


class _Guarded:
    """A stream whose faults are OutputFailed; all else is as the stream has it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            raise _failure(error) from None

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise _failure(error) from None


class _Closed:
    """Stands for a standard output that the process was started without (`>&-`)."""

    encoding = None

    def isatty(self) -> bool:
        return False

    def write(self, _text: str) -> int:
        raise OutputFailed(OSError(errno.EBADF, os.strerror(errno.EBADF)))

    def flush(self) -> None:
        """Nothing is ever left."""


def _failure(error: OSError) -> OutputFailed:
    return (ReaderGone if isinstance(error, BrokenPipeError) else OutputFailed)(error)


def write_out(stream: TextIO, text: str) -> None:
    """Writes at once."""
    stream.write(text)
    stream.flush()


def written_out(name: str, run: Callable[[], int]) -> int:
    """Runs a command, writes out what it has printed, and returns its exit code: 1 if that cannot be written. Standard
    error says why, unless the reader has gone.
    """
    outside = sys.stdout
    sys.stdout = cast(TextIO, _Closed() if outside is None else _Guarded(outside))
    try:
        code = _run_and_flush(run)
    except OutputFailed as error:
        forget_output()
        if not isinstance(error, ReaderGone):
            sys.stderr.write(f"{name}: {error}\n")
        return FAILED
    else:
        return code
    finally:
        sys.stdout = outside


def _run_and_flush(run: Callable[[], int]) -> int:
    try:
        code = run()
    except SystemExit:  # of argparse, or of a signal
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return code


def forget_output() -> None:
    """The interpreter, too, would fail to write it at its end."""
    if isinstance(sys.stdout, _Closed):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
