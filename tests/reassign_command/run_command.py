"""Runs the command as a process, as users do, and gives its exit code and output."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.fork_server import KAFKA_REASSIGN, output_of
from tests.stock.tools import Output


async def kafka_reassign(*args: str, timeout: float = 180, first_line: asyncio.Event | None = None) -> Output:
    """Run the command to its end. `first_line` is set when it has printed its first line."""
    return await output_of(KAFKA_REASSIGN, args, timeout=timeout, first_line=first_line)


class Command:
    """Runs the command for one cluster."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    async def __call__(self, *args: str, first_line: asyncio.Event | None = None) -> Output:
        return await kafka_reassign("--bootstrap-server", self._bootstrap, *args, first_line=first_line)

    async def json(self, *args: str) -> Any:
        """Run it with --json, check that it succeeds, and give the printed document."""
        output = await self(*args, "--json")
        assert (output.code, output.err) == (0, "")
        [line] = output.lines
        return json.loads(line)


class Files:
    """Writes JSON files for options."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._count = 0

    def write(self, text: str) -> str:
        self._count += 1
        path = self._directory / f"{self._count}.json"
        path.write_text(text)
        return str(path)

    def json(self, content: Any) -> str:
        return self.write(json.dumps(content))

    def plan(self, topic: str, *moves: tuple[int, Sequence[int]], **more: Any) -> str:
        """A file for --reassignment-json-file. `more` are further fields of every entry."""
        partitions = [{"topic": topic, "partition": index, "replicas": list(to), **more} for index, to in moves]
        return self.json({"version": 1, "partitions": partitions})

    def topics(self, *names: str) -> str:
        return self.json({"version": 1, "topics": [{"topic": name} for name in names]})
