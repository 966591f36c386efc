"""The command as its users run it: a process, its exit code and what it prints."""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.stock.tools import Output


async def kafka_reassign(*args: str, timeout: float = 60, said: asyncio.Event | None = None) -> Output:
    """Run it to its end. `said` is set when it has printed its first line."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "kafka_reassign_rpc.reassign_command.main",
        *args,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(timeout):
        first = b""
        if said is not None:
            assert process.stdout is not None
            first = await process.stdout.readline()
            said.set()
        out, err = await process.communicate()
    assert process.returncode is not None
    return Output(process.returncode, (first + out).decode(), err.decode())


class Command:
    """The command for one cluster."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    async def __call__(self, *args: str, said: asyncio.Event | None = None) -> Output:
        return await kafka_reassign("--bootstrap-server", self._bootstrap, *args, said=said)

    async def json(self, *args: str) -> Any:
        """The document that it prints where it succeeds."""
        output = await self(*args, "--json")
        assert (output.code, output.err) == (0, "")
        [line] = output.lines
        return json.loads(line)


class Files:
    """JSON files for the options that want one."""

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
        """For --reassignment-json-file; `more` stands in every entry."""
        partitions = [{"topic": topic, "partition": index, "replicas": list(to), **more} for index, to in moves]
        return self.json({"version": 1, "partitions": partitions})

    def topics(self, *names: str) -> str:
        return self.json({"version": 1, "topics": [{"topic": name} for name in names]})
