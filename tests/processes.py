"""Our commands as real processes, started through the command line and waited for by their ready line."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

READY_S = 40.0
END_S = 30.0


class NotReady(AssertionError):
    """It ended before it could be used; the message shows what it said."""


class Process:
    """One process. Its standard error is kept in `log`."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log
        self.ready_line = ""

    @classmethod
    async def start(cls, log: Path, *arguments: str, cwd: Path | None = None) -> "Process":
        """Start it and wait for its ready line."""
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "kafka_reassign_rpc.cli.main",
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                cwd=cwd,
                start_new_session=True,
            )
        started = cls(process, log)
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), READY_S)
        except BaseException:
            await started.kill()
            raise
        started.ready_line = line.decode().rstrip("\n")
        if not started.ready_line.startswith("ready "):
            await started.kill()
            raise NotReady(f"{' '.join(arguments)}: {line!r}\n{started.log[-3000:]}")
        return started

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    def told(self, key: str) -> str:
        """What the ready line says of `key`."""
        return dict(part.partition("=")[::2] for part in self.ready_line.split()[1:])[key]

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    async def kill(self) -> None:
        """SIGKILL: it has no chance to do anything."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    async def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        with suppress(ProcessLookupError):
            self._process.send_signal(number)
        return await asyncio.wait_for(self._process.wait(), END_S)

    async def rest_of_output(self) -> bytes:
        """What it has said on standard output after its ready line, to its end."""
        assert self._process.stdout is not None
        return await self._process.stdout.read()


class Processes:
    """Starts processes that do not outlive the test, whatever happens in it."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._started: list[Process] = []

    async def start(self, name: str, *arguments: str, cwd: Path | None = None) -> Process:
        """What it keeps without being told where lies beside the logs."""
        process = await Process.start(self._logs / f"{name}.log", *arguments, cwd=cwd or self._logs)
        self._started.append(process)
        return process

    async def end(self) -> None:
        for process in self._started:
            if process.alive:
                process.thaw()
                await process.kill()


@asynccontextmanager
async def processes(logs: Path) -> AsyncIterator[Processes]:
    """Processes that all are gone at the end of the block."""
    group = Processes(logs)
    try:
        yield group
    finally:
        await group.end()


def children_of(pid: int) -> set[int]:
    """The processes under a process, at any depth (Linux)."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
    found: set[int] = set()
    level = {pid}
    while level:
        level = {child for child, parent in parents.items() if parent in level} - found
        found |= level
    return found


def exists(pid: int) -> bool:
    """Whether the process is there and not only waiting to be reaped."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
