"""The end of a command whose standard output cannot be written: its disk is full, or its reader has gone."""

import os
import sys
from collections.abc import Callable
from typing import TextIO

from kafka_reassign_rpc.support.error_text import error_text

FAILED = 1


class OutputFailed(Exception):
    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output: {error_text(error)}")


def write_out(stream: TextIO, text: str) -> None:
    """Writes at once. Raises OutputFailed, and BrokenPipeError if the reader has gone."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(error) from None


def written_out(name: str, run: Callable[[], int]) -> int:
    """Runs a command, writes out what it has printed, and returns its exit code: 1 if that cannot be written. Standard
    error says why, unless the command has failed and said so, or the reader has gone, as `head` does.
    """
    try:
        code = run()
    except OutputFailed as error:
        forget_output()
        sys.stderr.write(f"{name}: {error}\n")
        return FAILED
    except BrokenPipeError:
        forget_output()
        return FAILED
    except SystemExit as ended:  # of argparse, or of a signal
        if _is_written(name, quiet=ended.code == FAILED):
            raise
        raise SystemExit(FAILED) from None
    return code if _is_written(name, quiet=code == FAILED) else FAILED


def _is_written(name: str, *, quiet: bool) -> bool:
    try:
        sys.stdout.flush()
    except OSError as error:
        forget_output()
        if not quiet and not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"{name}: {OutputFailed(error)}\n")
        return False
    return True


def forget_output() -> None:
    """The interpreter, too, would fail to write it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
