"""Recordings of what stock Kafka does, so that a run of the tests need not wait for it.

In runs of more than `make test` has (`--run gate` and `--run all`) stock Kafka runs as well, and must do what is
recorded. With `--record` the recordings are written again:

    .venv/bin/python -m pytest --record tests/interop tests/foreign_clients tests/reassign_command
"""

import json
from pathlib import Path
from typing import Any

from tests.tiers import does_more, records

Transcript = list[tuple[str, Any]]
"""What was seen, step by step, under a label each."""


def runs_live() -> bool:
    """Whether stock Kafka runs in this run of the tests."""
    return does_more()


def plain(transcript: Transcript) -> Transcript:
    """The transcript as JSON holds it: tuples are lists, keys are text."""
    return [(label, value) for label, value in json.loads(json.dumps(transcript))]


class Recordings:
    """The transcripts of stock Kafka in one directory, a file for each name."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def names(self) -> set[str]:
        return {path.stem for path in self._directory.glob("*.json")}

    def get(self, name: str) -> Transcript:
        """What stock Kafka did when it was recorded."""
        return [(label, value) for label, value in json.loads((self._directory / f"{name}.json").read_text())]

    def check(self, name: str, live: Transcript) -> None:
        """What stock Kafka has done just now is what is recorded; with --record it becomes that."""
        done = plain(live)
        if records():
            self._directory.mkdir(exist_ok=True)
            steps = ",\n".join(json.dumps(step, sort_keys=True) for step in done)
            (self._directory / f"{name}.json").write_text(f"[\n{steps}\n]\n")
        assert done == self.get(name), f"stock Kafka does not do what is recorded of it ({__name__})"
