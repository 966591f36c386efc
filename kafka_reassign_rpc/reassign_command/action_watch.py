"""`kafka-reassign watch`, and --watch of --execute: shows the progress of moves until they end.

On a terminal it shows progress bars, once a second, drawn with rich. Elsewhere it prints a line whenever something has
changed, and with --json a document each second. It works with any Kafka: see `client.move_progress`.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from kafka_reassign_rpc.client import (
    LogDirProgressTracker,
    Progress,
    ProgressSnapshot,
    TopicPartition,
    Unreachable,
    text_format,
)
from kafka_reassign_rpc.client.move_progress import read_progress, together
from kafka_reassign_rpc.core.status.documents import Status
from kafka_reassign_rpc.reassign_command import action_list
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, Output, partition_fields
from kafka_reassign_rpc.reassign_command.reassignment_json import parse_reassignment, read_file
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand
from kafka_reassign_rpc.support.bounded_text import abridged
from kafka_reassign_rpc.support.counted import plural

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live

POLL_INTERVAL_S = 1.0
REPEAT_LINE_EVERY_S = 30.0
BAR_WIDTH = 24
LEAST_BAR_WIDTH = 8
"""On a narrow screen the bar gives way to the words: rate and remaining time are what people look for."""
LEAST_NAME = 12
_GAP = 2
_OTHER_LINES = 4
"""The line about all moves, the table's heading, the line about moves not shown, and the cursor's line."""
_PARTITION = "Partition"

Row = tuple[TopicPartition, Progress]
Clock = Callable[[], float]
Sleep = Callable[[float], None]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reassignment-json-file", metavar="FILE", help="only the partitions of this file")


def _run(context: ActionContext, asked: argparse.Namespace) -> None:
    path = asked.reassignment_json_file
    follow(context, None if path is None else list(parse_reassignment(read_file(path)).targets))


def follow(
    context: ActionContext,
    partitions: Sequence[TopicPartition] | None,
    *,
    clock: Clock = time.monotonic,
    sleep: Sleep = time.sleep,
) -> None:
    """Watches until none of these partitions moves or waits. None: all of the cluster."""
    tracker = LogDirProgressTracker()
    began = clock()
    with ProgressReporter(context.output, clock) as reporter:
        while True:
            polled_at = clock()
            try:
                listed, snapshot = read_progress(
                    context.client, tracker, polled_at, partitions, with_document=partitions is None
                )
            except Unreachable as error:
                reporter.print_line(f"No answer, trying again: {error.message}")
            else:
                if not listed:
                    reporter.end(snapshot, clock() - began)
                    return
                reporter.show(snapshot)
            sleep(max(0.0, polled_at + POLL_INTERVAL_S - clock()))


class ProgressReporter:
    def __init__(self, output: Output, clock: Clock) -> None:
        self._output = output
        self._clock = clock
        self._screen: WatchScreen | None = None
        self._shown: ProgressSnapshot | None = None
        self._last: tuple[int, ...] | None = None
        self._printed_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._screen is not None:
            self._screen.close(erase=False)

    def show(self, snapshot: ProgressSnapshot) -> None:
        self._shown = snapshot
        if self._output.as_json:
            self._output.document(document(snapshot))
        elif self._output.is_terminal:
            if self._screen is None:
                self._screen = WatchScreen(self._output.stream)
            self._screen.show(summary(snapshot), snapshot)
        else:
            now = self._clock()
            state = (
                len(snapshot.moves),
                snapshot.waiting,
                snapshot.finished,
                snapshot.stalled,
                snapshot.total.done or 0,
            )
            if state != self._last or now - self._printed_at >= REPEAT_LINE_EVERY_S:
                self._last, self._printed_at = state, now
                self._output.line(summary(snapshot))

    def print_line(self, text: str) -> None:
        """The line stays above the bars."""
        if self._output.as_json:
            self._output.document({"note": text})
        elif self._screen is not None:
            self._screen.print_line(text)
        else:
            self._output.line(text)

    def end(self, snapshot: ProgressSnapshot, seconds: float) -> None:
        """No move is left. `seconds`: how long this took. The sums are those that were shown: the server begins at 0
        again."""
        finished, status = snapshot.finished, None if self._shown is None else self._shown.status
        if finished and status is not None and status.work is not None and status.work.moves >= finished:
            finished, every = status.work.moves, status.work.bytes_total
            if every is not None:
                snapshot = replace(snapshot, total=replace(snapshot.total, done=every, total=every))
        if self._output.as_json:
            self._output.document(document(snapshot))
            return
        if self._screen is not None:
            self._screen.close(erase=True)
        if finished:
            done = snapshot.total.done
            size = "an unknown size" if done is None else text_format.size(done)
            self._output.line(
                f"Nothing moves any more: {finished} partition{plural(finished)}, "
                f"{size}, {text_format.duration(seconds)}."
            )
        else:
            self._output.line(action_list.NOTHING)


class WatchScreen:
    """A line about all moves, and a table of progress bars. Draws snapshots over one another. Call `close` at the end:
    it shows the cursor again.
    """

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console  # importing rich takes time: only a command that draws on a terminal does it

        self._console = Console(file=stream, markup=False, highlight=False, emoji=False)
        self._live: Live | None = None

    def show(self, summary: str, snapshot: ProgressSnapshot) -> None:
        from rich.live import Live

        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
            self._live.start()
        self._live.update(self._drawing(summary, snapshot), refresh=True)

    def print_line(self, line: str) -> None:
        """The line stays, above the drawing."""
        from rich.text import Text

        self._console.print(Text(line), soft_wrap=True)

    def close(self, *, erase: bool) -> None:
        """`erase` takes the last drawing away."""
        if self._live is not None:
            self._live.transient = erase
            self._live.stop()
            self._live = None

    def _drawing(self, summary: str, snapshot: ProgressSnapshot) -> "Group":
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        def cut_off(text: str) -> Text:
            """By the width of the screen."""
            return Text(text, no_wrap=True, overflow="ellipsis")

        rows = rows_that_fit(snapshot, self._console.size.height)
        lines: list[Text | Table] = [cut_off(summary)]
        if rows:
            width = self._console.size.width
            names = names_that_fit(rows, width)
            bar = bar_width(names, rows, width)
            table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
            table.add_column(_PARTITION, no_wrap=True)
            table.add_column("Progress", width=bar, no_wrap=True)
            table.add_column("Copied")  # this column shrinks first where the screen is narrow
            for name, (_, progress) in zip(names, rows, strict=True):
                share = progress.share
                drawn = Text("?" * bar) if share is None else ProgressBar(total=1.0, completed=share, width=bar)
                table.add_row(Text(name), drawn, cut_off(text_format.amounts(progress)))
            lines.append(table)
        if len(rows) < len(snapshot.moves):
            lines.append(cut_off(f"… and {len(snapshot.moves) - len(rows)} more"))
        return Group(*lines)


def rows_that_fit(snapshot: ProgressSnapshot, height: int) -> list[Row]:
    """Moves furthest from their end, in order of partition."""
    moves = sorted(snapshot.moves.items(), key=lambda item: (_share(item[1]), item[0]))
    return sorted(moves[: max(1, height - _OTHER_LINES)], key=lambda item: item[0])


def _share(progress: Progress) -> float:
    return -1.0 if progress.share is None else progress.share


def names_that_fit(rows: Sequence[Row], width: int) -> list[str]:
    """Cuts names in the middle where words and the shortest bar leave no room."""
    room = max(LEAST_NAME, width - _words(rows) - LEAST_BAR_WIDTH - 2 * _GAP - 1)
    return [abridged(str(partition), room) for partition, _ in rows]


def bar_width(names: Sequence[str], rows: Sequence[Row], width: int) -> int:
    longest = max(len(_PARTITION), *map(len, names))
    return min(BAR_WIDTH, max(LEAST_BAR_WIDTH, width - longest - _words(rows) - 2 * _GAP - 1))


def _words(rows: Sequence[Row]) -> int:
    """The reason of a stall may be long and is cut off, so it does not count."""
    return max(len(text_format.amounts(replace(progress, stalled=None, waits_for=None))) for _, progress in rows)


def summary(snapshot: ProgressSnapshot) -> str:
    unknown = "".join(f"; broker {broker} does not answer" for broker in snapshot.unknown_brokers)
    if snapshot.status is not None:
        return headline(snapshot.status) + unknown
    counts = len(snapshot.moves), snapshot.stalled, snapshot.waiting, snapshot.finished
    return _line(*counts, snapshot.total) + unknown


def headline(status: Status) -> str:
    work, totals = status.work, status.totals
    if work is None or totals is None:
        who = "there is no controller" if status.controller.id is None else f"ask broker {status.controller.id}"
        return f"The server that answers does not control the moves, and does not know them: {who}."
    waiting = sum((totals.waiting or {}).values())
    return _line(totals.in_flight, totals.stalled or 0, waiting, work.ended, together(status))


def _line(moving: int, stalled: int, waiting: int, ended: int, total: Progress) -> str:
    counts = ((stalled, "stalled"), (waiting, "waiting"), (ended, "ended"))
    text = "".join(f", {count} {state}" for count, state in counts if count)
    # Where nothing moves or waits there is nothing that has a share, a rate or a remaining time.
    amounts = f": {text_format.amounts(total)}" if moving or (waiting and total.total != 0) else "."
    return (f"{moving} move{plural(moving)} in flight" if moving else "Nothing moves") + text + amounts


def document(snapshot: ProgressSnapshot) -> dict[str, Any]:
    return {
        "moves": [
            {
                **partition_fields(partition),
                **numbers(progress),
                "copied": {str(b): n for b, n in progress.copied.items()},
                "stalled": progress.stalled,
                "waits_for": progress.waits_for,
            }
            for partition, progress in sorted(snapshot.moves.items(), key=lambda item: item[0])
        ],
        "stalled": snapshot.stalled,
        "waiting": snapshot.waiting,
        "finished": snapshot.finished,
        "total": numbers(snapshot.total),
        "brokers_without_answer": {str(broker): why for broker, why in snapshot.unknown_brokers.items()},
    }


def numbers(progress: Progress) -> dict[str, Any]:
    return {
        "done_bytes": progress.done,
        "total_bytes": progress.total,
        "bytes_per_second": None if progress.rate is None else round(progress.rate),
        "remaining_seconds": None if progress.remaining_seconds is None else round(progress.remaining_seconds, 1),
        "no_estimate": progress.no_estimate,
    }


COMMAND = OurCommand(
    "watch",
    "follow moves until they are done",
    "Shows the progress of the active reassignments, or of those of --reassignment-json-file, until they are done: "
    "bytes, rate and remaining time.",
    _run,
    _add_arguments,
    is_ours=False,
)
