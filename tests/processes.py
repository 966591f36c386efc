"""Our commands as real processes: tests start them by the command line and wait for their ready line."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.fork_server import CLI, ForkedProcess, fork_server

READY_S = 120.0
END_S = 120.0
SHOWN_BYTES = 20_000
"""How much of the end of each log a failed test shows."""


async def ended(process: asyncio.subprocess.Process) -> None:
    """Ends it if it still runs, and closes its pipes.

    asyncio closes them at their end, which comes after that of the process, or never: a child of the process may hold
    them. Once the loop is closed, that is a warning in whichever test runs while the garbage is collected.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
    await process.wait()
    process._transport.close()  # type: ignore[attr-defined]
    await asyncio.sleep(0)


class NotReady(AssertionError):
    """The process ended before it was ready; the message shows its log."""


class Process:
    """One process. Its standard error is kept in `log`."""

    def __init__(self, process: ForkedProcess, output: asyncio.StreamReader, log: Path) -> None:
        self._process = process
        self._output = output
        self._last_output = b""
        self._log = log
        self.ready_line = ""

    @classmethod
    async def start(cls, log: Path, *arguments: str, cwd: Path | None = None) -> "Process":
        """Start it and wait for its ready line."""
        readable, writable = os.pipe()
        with log.open("ab") as errors:
            process = fork_server().start(CLI, arguments, writable, errors.fileno(), cwd)
        os.close(writable)
        output = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(output), os.fdopen(readable, "rb")
        )
        started = cls(process, output, log)
        try:
            line = await asyncio.wait_for(output.readline(), READY_S)
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
        return self._process.poll() is None

    def ready_value(self, key: str) -> str:
        """The value of `key` in the ready line."""
        return dict(part.partition("=")[::2] for part in self.ready_line.split()[1:])[key]

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    async def kill(self) -> None:
        """SIGKILL: the process cannot clean up."""
        self._process.kill()
        await self.ended()

    async def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask the process to end; returns its exit code."""
        self._process.send_signal(number)
        return await self.ended()

    async def ended(self) -> int:
        """Wait until the process has ended by itself, or was made to; returns its exit code."""
        code = await self._process.ended(END_S)
        self._last_output += await self._output.read()  # its end closes the pipe
        return code

    async def rest_of_output(self) -> bytes:
        """Standard output after the ready line, until the process ends."""
        return self._last_output + await self._output.read()


class Processes:
    """Starts processes and ends them all when the test ends, also when the test fails."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._started: list[Process] = []

    async def start(self, name: str, *arguments: str, cwd: Path | None = None) -> Process:
        """Start a process. Its working directory is the directory of the logs unless `cwd` is given."""
        process = await Process.start(self._logs / f"{name}.log", *arguments, cwd=cwd or self._logs)
        self._started.append(process)
        return process

    async def end(self) -> None:
        for process in self._started:
            if process.alive:
                process.thaw()
                await process.kill()

    def logs(self) -> dict[str, str]:
        """The end of each log, by its name."""
        paths = (path for path in sorted(self._logs.glob("*.log")) if path.is_file())
        return {path.stem: path.read_bytes()[-SHOWN_BYTES:].decode(errors="replace") for path in paths}


_groups: list[Processes] = []
"""Those of the tests and fixtures that run."""


def logs_of_processes() -> dict[str, str]:
    """The end of the log of each process of the present test and its fixtures."""
    return {name: text for group in _groups for name, text in group.logs().items()}


@asynccontextmanager
async def processes(logs: Path) -> AsyncIterator[Processes]:
    """A group of processes; the end of the block kills those that still run."""
    group = Processes(logs)
    _groups.append(group)
    try:
        yield group
    finally:
        _groups.remove(group)
        await group.end()


def children_of(pid: int) -> set[int]:
    """The ids of all descendants of a process (Linux)."""
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
    """Whether the process runs. A zombie does not count."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
