"""Shared by the commands of the pipeline: flags for the cluster, the client, errors as exit codes, the status line
of a long job.

Exit codes: 0 done, 1 failed, 2 wrong flags or unusable input; the help of a command names its other codes.
This module imports nothing heavy, because `--help` of any command has to be quick.

The file of `--broker-weights`, for plans and audits, says how much each broker should hold compared with the others.
"""

import argparse
import csv
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Self, TextIO

from kafka_reassign_rpc.cli.value_parsers import share, whole
from kafka_reassign_rpc.support.connection_flags import add_bootstrap_server, add_command_config
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.human_units import duration
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.support.secrecy import told
from kafka_reassign_rpc.support.tasks import word_if_slow
from kafka_reassign_rpc.support.typed_commands import Connection

if TYPE_CHECKING:
    from rich.live import Live

    from kafka_reassign_rpc.client import ReassignmentClient
    from kafka_reassign_rpc.pipeline.planning.verify_facts import RuleViolation
    from kafka_reassign_rpc.pipeline.plans.plan_summary import StayingFigures


REPEAT_EVERY_S = 5.0
"""The pause between two status lines in a pipe or a file."""

_drawn: "set[Status]" = set()


def clear_status_lines() -> None:
    """A job calls this when it ends, however it ends: the cursor shows again."""
    for status in list(_drawn):
        status.clear()


class Status:
    """On a terminal one line changes in place, with the time since the job began; elsewhere a line comes every few
    seconds. The line goes with the end of a `with` block.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._began = self._printed_at = clock()
        self._is_terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._text = ""
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def show(self, text: str) -> None:
        if self._is_terminal:
            self._draw(text)
        elif self._clock() - self._printed_at >= REPEAT_EVERY_S:
            self._printed_at = self._clock()
            self._print(text)

    def say(self, text: str) -> None:
        """The line stays."""
        self.clear()
        self._print(text)

    def clear(self) -> None:
        """The cursor shows again."""
        if self._live is not None:
            self._live.stop()
            self._live = None
            _drawn.discard(self)

    def _print(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()

    def _draw(self, text: str) -> None:
        """A thread of rich draws, four times a second. Lines on standard output go above the status line if both are on
        this terminal.
        """
        self._text = text
        if self._live is not None:
            return
        from rich.console import Console  # importing rich takes time: only a job that draws does it
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.table import Table
        from rich.text import Text

        spinner = Spinner("dots")

        def line() -> Table:
            grid = Table.grid(padding=(0, 1))
            elapsed = Text(duration(self._clock() - self._began), style="dim", no_wrap=True)
            grid.add_row(spinner, Text(self._text, no_wrap=True, overflow="ellipsis"), elapsed)
            return grid

        self._live = Live(
            get_renderable=line,
            console=Console(file=self._stream, markup=False, highlight=False, emoji=False),
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=False,
        )
        self._live.start(refresh=True)
        _drawn.add(self)


RAISED_AGAIN_S = 0.5
"""Seconds after which a SIGTERM that was swallowed ends the job all the same."""


def add_connection_arguments(parser: argparse.ArgumentParser) -> None:
    add_bootstrap_server(parser, required=True)
    add_command_config(parser)


def connection_of(arguments: argparse.Namespace) -> Connection:
    """For commands that a text names."""
    return Connection(arguments.bootstrap_server, arguments.command_config)


@contextmanager
def connected(arguments: argparse.Namespace) -> Iterator["ReassignmentClient"]:
    """Raises UsageError, Unreachable."""
    from kafka_reassign_rpc.client import ReassignmentClient
    from kafka_reassign_rpc.reassign_command.action_context import check_addresses
    from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed

    try:
        check_addresses(arguments.bootstrap_server)
        configs = _configs(arguments, lambda text: say(f"warning: {text}"))
        with word_if_slow(say, f"{arguments.bootstrap_server} does not answer yet, trying on"):
            client = ReassignmentClient(**configs)
    except (CommandFailed, ValueError) as error:
        raise UsageError(str(error)) from None
    with client:
        yield client


def client_of(arguments: argparse.Namespace, address: str) -> "ReassignmentClient":
    """Makes a client of the server at HOST:PORT, with the same configs. The caller closes it. Raises Unreachable."""
    from kafka_reassign_rpc.client import ReassignmentClient
    from kafka_reassign_rpc.client.blocking_client import configs_of_another

    # `connected` has warned of what the file has and the client does not know.
    return ReassignmentClient(**configs_of_another(_configs(arguments, lambda _: None), address))


def _configs(arguments: argparse.Namespace, warn: Callable[[str], None]) -> dict[str, Any]:
    from kafka_reassign_rpc.client import client_configs, load_properties

    properties = load_properties(arguments.command_config, warn)
    return {"client_id": "kafka-reassign-rpc", **client_configs(arguments.bootstrap_server, properties, warn)}


def run_job(name: str, job: Callable[[], int]) -> int:
    """Returns the job's exit code. An error becomes one line and its exit code.

    SIGTERM ends it as Ctrl-C does: what is half written goes, and the exit code is 143. A second one ends it at once.
    """
    from kafka_reassign_rpc.core.kafka_errors import KafkaError
    from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
    from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError

    try:
        with _cleaned_up_on_sigterm():
            try:
                return job()
            finally:
                clear_status_lines()
    except BadInput as error:
        raise UsageError(str(error)) from None
    except (JobFailed, KafkaError, RemoteProtocolError, OSError) as error:
        sys.stderr.write(f"kafka-reassign-rpc {name}: {error_text(error)}\n")
        return 1


@contextmanager
def _cleaned_up_on_sigterm() -> Iterator[None]:
    """A signal ends the block with SystemExit, and a failure on the way out, such as a call to Spark that the signal
    broke off, does not replace that. Only the main thread gets signals: elsewhere nothing changes.

    Python swallows what a signal raises inside a destructor or a callback of a weak reference (imports have some). So a
    timer raises it again as long as nothing is on the way out.
    """
    received: list[int] = []

    def end(_: int, __: FrameType | None) -> None:
        if not received:
            received.append(signal.SIGTERM)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, RAISED_AGAIN_S, RAISED_AGAIN_S)
        if not _is_ending(sys.exc_info()[1]):
            raise SystemExit(128 + received[0])

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, alarm = signal.signal(signal.SIGTERM, end), signal.signal(signal.SIGALRM, end)
    try:
        yield
    except BaseException:
        if received:
            raise SystemExit(128 + received[0]) from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGALRM, alarm)


def _is_ending(error: BaseException | None) -> bool:
    """Whether the exception that is handled now, or one before it, ends the process."""
    while error is not None and not isinstance(error, SystemExit):
        error = error.__context__
    return error is not None


def say(text: str) -> None:
    sys.stderr.write(text + "\n")


def tell_verified(plan: object, broken: Sequence["RuleViolation"], moves: int) -> int:
    """Returns the exit code of `plan verify`."""
    for one in broken:
        say(str(one))
    rows = sum(one.rows for one in broken)
    faults = "1 row breaks a rule" if rows == 1 else f"{rows} rows break rules"
    kept = f"{counted(moves, 'move')}, no rule is broken"
    print(f"{plan}: {faults if broken else kept}")  # noqa: T201
    return 1 if broken else 0


def say_left_out(reason: str, count: int, of: str, first: Sequence[str], copied: int | None = None) -> None:
    """`of`: what is counted; `first`: some of the names; `copied`: their bytes."""
    named = ", ".join(first[:5]) + (", …" if count > 5 else "")
    say(f"left out: {counted(count, of)}{_of_size(copied)}: {reason} ({named})")


def say_staying(staying: "Mapping[int, StayingFigures]") -> None:
    """A line for each broker."""
    for broker, one in sorted(staying.items()):
        say(f"  {counted(one.replicas, 'replica', 'stay')} on broker {broker}{_of_size(one.bytes)}")


def _of_size(copied: int | None) -> str:
    from kafka_reassign_rpc.support.human_units import size

    return f", {size(copied)}" if copied else ""


_FLAG = "--broker-weights"
MEASURES = ("bytes", "replicas", "leaders", "produce", "fetch", "bytes_in", "potential_out", "messages_in", "cpu")
"""What brokers hold, in the order of the planner, which takes long to import."""
_LEAST, _MOST = 0.000001, 1_000_000.0


def add_broker_weights(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        _FLAG,
        metavar="FILE",
        help="CSV with the columns broker,weight: how much each broker should hold next to the others; a column bytes, "
        "replicas, leaders or of a rate is for that measure alone (default: by the size of disks where all "
        "brokers report it, equally where not)",
    )


def read_broker_weights(path: str | None) -> dict[int, dict[str, float]]:
    """By broker and measure; empty without a path. The file is CSV with the columns broker, and weight or names of
    measures. Raises UsageError.
    """
    if path is None:
        return {}
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, skipinitialspace=True)
            columns = [*(rows.fieldnames or ())]
            _check_columns(columns)
            return _weights(rows, columns)
    except OSError as error:
        raise UsageError(f"{_FLAG}: {error_text(error)}") from None
    except (UnicodeDecodeError, csv.Error):
        raise UsageError(f"{_FLAG}: {path} is no CSV in UTF-8") from None


def _check_columns(columns: list[str]) -> None:
    wrong = sorted({*columns} - {"broker", "weight", *MEASURES})
    if wrong or "broker" not in columns or len(columns) < 2 or len({*columns}) < len(columns):
        raise UsageError(
            f"{_FLAG}: expected a first line of broker,weight (weight is for all measures; a column of "
            f"{', '.join(MEASURES)} is for that one), got {told(','.join(columns))}"
        )


def _weights(rows: "csv.DictReader[str]", columns: list[str]) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for row in rows:
        where = f"{_FLAG}: line {rows.line_num}"
        if None in row or None in row.values():
            raise UsageError(f"{where}: expected {len(columns)} values, as in the first line")
        try:
            broker = whole(0, 2**31 - 1)(row["broker"])
            by_measure = {name: share(_LEAST, _MOST)(row[name]) for name in columns if name != "broker"}
        except ValueError as error:
            raise UsageError(f"{where}: {error}; a broker that is to hold nothing is drained") from None
        if broker in found:
            raise UsageError(f"{where}: broker {broker} occurs twice")
        found[broker] = _of_all_measures(by_measure)
    if not found:
        raise UsageError(f"{_FLAG}: the file names no broker")
    return found


def _of_all_measures(given: Mapping[str, float]) -> dict[str, float]:
    of_all = dict.fromkeys(MEASURES, given["weight"]) if "weight" in given else {}
    return of_all | {name: value for name, value in given.items() if name != "weight"}
