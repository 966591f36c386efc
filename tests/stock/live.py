"""Recordings of what stock Kafka does, so that a run of the tests need not wait for it.

Once in each run of CI (and with STOCK_LIVE=1) stock Kafka runs as well, and must do what is recorded. With
STOCK_LIVE=record the recordings are written anew:

    STOCK_LIVE=record .venv/bin/python -m pytest tests/interop tests/foreign_clients tests/reassign_command
"""

import json
import os
from pathlib import Path
from typing import Any

VARIABLE = "STOCK_LIVE"

Transcript = list[tuple[str, Any]]
"""What was seen, step by step, under a label each."""


def runs_live() -> bool:
    """Whether stock Kafka runs in this run of the tests."""
    return os.environ.get("CI") == "true" or os.environ.get(VARIABLE) in {"1", "record"}


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
        """What stock Kafka has done just now is what is recorded; with STOCK_LIVE=record it becomes that."""
        done = plain(live)
        if os.environ.get(VARIABLE) == "record":
            self._directory.mkdir(exist_ok=True)
            steps = ",\n".join(json.dumps(step, sort_keys=True) for step in done)
            (self._directory / f"{name}.json").write_text(f"[\n{steps}\n]\n")
        assert done == self.get(name), f"stock Kafka does not do what is recorded of it ({__name__})"
