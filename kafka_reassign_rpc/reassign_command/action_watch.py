"""--watch: shows the progress of moves until they end.

On a terminal it shows progress bars, once a second. Elsewhere it prints a line whenever something has changed, and with
--json a document each second. It works with any Kafka: see `client.move_progress`.
"""

import shutil
import time
from collections.abc import Callable, Sequence
from typing import Any

from kafka_reassign_rpc.client import (
    KafkaError,
    LogDirProgressTracker,
    Progress,
    ProgressSnapshot,
    TopicPartition,
    Unreachable,
    text_format,
)
from kafka_reassign_rpc.client.move_progress import read_progress
from kafka_reassign_rpc.reassign_command import action_list
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import from_server
from kafka_reassign_rpc.reassign_command.output import Output, partition_fields, plural
from kafka_reassign_rpc.reassign_command.reassignment_json import parse_reassignment, read_file

POLL_INTERVAL_S = 1.0
REPEAT_LINE_EVERY_S = 30.0
BAR_WIDTH = 24

Clock = Callable[[], float]
Sleep = Callable[[float], None]


def run(context: ActionContext) -> None:
    path = context.options.value("reassignment-json-file")
    follow(context, None if path is None else list(parse_reassignment(read_file(path)).targets))


def follow(
    context: ActionContext,
    partitions: Sequence[TopicPartition] | None,
    *,
    clock: Clock = time.monotonic,
    sleep: Sleep = time.sleep,
) -> None:
    """Watch until none of these partitions moves or waits. `partitions` of None: all of the cluster."""
    screen = Screen(context.output, clock)
    tracker = LogDirProgressTracker()
    began = clock()
    while True:
        polled_at = clock()
        try:
            listed, snapshot = read_progress(context.client, tracker, polled_at, partitions)
        except Unreachable as error:
            screen.say(f"No answer, trying again: {error.message}")
        except KafkaError as error:
            raise from_server(error) from None
        else:
            if not listed:
                screen.end(snapshot, clock() - began)
                return
            screen.show(snapshot)
        sleep(max(0.0, polled_at + POLL_INTERVAL_S - clock()))


class Screen:
    """Where the snapshots go."""

    def __init__(self, output: Output, clock: Clock) -> None:
        self._output = output
        self._clock = clock
        self._drawn = 0
        self._last: tuple[int, ...] | None = None
        self._said_at = 0.0

    def show(self, snapshot: ProgressSnapshot) -> None:
        if self._output.as_json:
            self._output.document(document(snapshot))
        elif self._output.is_terminal:
            columns, rows = shutil.get_terminal_size()
            self._draw(block(snapshot, columns, rows))
        else:
            now = self._clock()
            state = (len(snapshot.moves), snapshot.waiting, snapshot.finished, snapshot.stalled, snapshot.total.done)
            if state != self._last or now - self._said_at >= REPEAT_LINE_EVERY_S:
                self._last, self._said_at = state, now
                self._output.line(summary(snapshot))

    def say(self, text: str) -> None:
        if self._output.as_json:
            self._output.document({"note": text})
        else:
            self._erase()
            self._output.line(text)

    def end(self, snapshot: ProgressSnapshot, seconds: float) -> None:
        if self._output.as_json:
            self._output.document(document(snapshot))
        elif snapshot.finished:
            self._erase()
            self._output.line(
                f"Nothing moves any more: {snapshot.finished} partition{plural(snapshot.finished)}, "
                f"{text_format.size(snapshot.total.done)}, {text_format.duration(seconds)}."
            )
        else:
            self._output.line(action_list.NOTHING)

    def _draw(self, lines: Sequence[str]) -> None:
        self._erase()
        self._output.write("".join(f"{line}\n" for line in lines))
        self._drawn = len(lines)

    def _erase(self) -> None:
        """Take back what was drawn: up to its first line, then clear to the end of the screen."""
        if self._drawn:
            self._output.write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0


def summary(snapshot: ProgressSnapshot) -> str:
    """The progress of all moves in one line."""
    count = len(snapshot.moves)
    done = f", {snapshot.finished} done" if snapshot.finished else ""
    unknown = "".join(f"; broker {broker} does not answer" for broker in snapshot.unknown_brokers)
    waiting = f", {snapshot.waiting} waiting" if snapshot.waiting else ""
    stalled = f", {snapshot.stalled} stalled" if snapshot.stalled else ""
    return (
        f"{count} move{plural(count)} in flight{stalled}{waiting}{done}: {text_format.amounts(snapshot.total)}{unknown}"
    )


def block(snapshot: ProgressSnapshot, columns: int, rows: int) -> list[str]:
    """The total and, as many as there is room for, the moves that are furthest from their end; in order of name."""
    moves = sorted(snapshot.moves.items(), key=lambda item: (_share(item[1]), item[0]))
    room = max(1, rows - 3)
    shown = sorted(moves[: room if len(moves) <= room else room - 1], key=lambda item: item[0])
    width = max((len(str(partition)) for partition, _ in shown), default=0)
    lines = [summary(snapshot)]
    lines += [
        f"{partition!s:<{width}} |{text_format.bar(progress.share, BAR_WIDTH)}| {text_format.amounts(progress)}"
        for partition, progress in shown
    ]
    if len(shown) < len(moves):
        lines.append(f"… and {len(moves) - len(shown)} more")
    return [line[: max(1, columns - 1)] for line in lines]


def _share(progress: Progress) -> float:
    return -1.0 if progress.share is None else progress.share


def document(snapshot: ProgressSnapshot) -> dict[str, Any]:
    return {
        "moves": [
            {
                **partition_fields(partition),
                **_numbers(progress),
                "copied": {str(b): n for b, n in progress.copied.items()},
                "stalled": progress.stalled,
            }
            for partition, progress in sorted(snapshot.moves.items(), key=lambda item: item[0])
        ],
        "stalled": snapshot.stalled,
        "waiting": snapshot.waiting,
        "finished": snapshot.finished,
        "total": _numbers(snapshot.total),
        "brokers_without_answer": {str(broker): why for broker, why in snapshot.unknown_brokers.items()},
    }


def _numbers(progress: Progress) -> dict[str, Any]:
    return {
        "done_bytes": progress.done,
        "total_bytes": progress.total,
        "bytes_per_second": None if progress.rate is None else round(progress.rate),
        "remaining_seconds": None if progress.remaining_seconds is None else round(progress.remaining_seconds, 1),
    }
