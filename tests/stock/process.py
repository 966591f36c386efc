"""A child process whose output goes to a file, with the signals that tests send."""

import asyncio
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kafka_reassign_rpc.embedded_zookeeper import tied_to_us
from tests.fork_server import ForkedProcess, fork_server
from tests.waiting import pause_s


class LoggedProcess:
    """A process with its output in a file. Signals and ends are those of the process itself."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self._from = 0

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The id of the process that was started last (its launcher becomes that process by exec)."""
        assert self._process is not None
        return self._process.pid

    def launch(self, command: Sequence[str]) -> None:
        """Start the process; what it prints is appended to the log. It does not outlive this process."""
        program = shutil.which(command[0])
        assert program is not None, f"{command[0]} is not installed"
        self._from = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                tied_to_us([program, *command[1:]]),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def launch_ours(self, module: str, arguments: Sequence[str]) -> None:
        """Start one of our commands likewise, by the fork server."""
        self._from = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as output:
            self._process = fork_server().start(module, arguments, output.fileno(), output.fileno())

    def printed(self) -> bytes:
        """The output since the last start."""
        with self.log.open("rb") as log:
            log.seek(self._from)
            return log.read()

    async def wait_for_line(self, pattern: re.Pattern[bytes], timeout: float = 180) -> re.Match[bytes]:
        """The first match in the output since the last start. Raises RuntimeError when the process ends first."""
        now = asyncio.get_running_loop().time
        began = now()
        async with asyncio.timeout(timeout):
            while True:
                running = self.is_running
                if found := pattern.search(self.printed()):
                    return found
                if not running:
                    tail = self.printed()[-2000:].decode(errors="replace")
                    raise RuntimeError(f"ended before it was ready: …{tail}")
                await asyncio.sleep(pause_s(now() - began))

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    async def ended(self, timeout: float = 180) -> int:
        """Wait for the end of the process; its exit code."""
        assert self._process is not None
        return await asyncio.to_thread(self._process.wait, timeout)

    async def kill(self) -> None:
        """kill -9."""
        if self.is_running:
            self.send(signal.SIGKILL)
            await self.ended()

    async def stop(self) -> None:
        """A node of Kafka shuts down in a controlled way."""
        if self.is_running:
            self.send(signal.SIGTERM)
            await self.ended(120)  # it flushes every log

    def freeze(self) -> None:
        """SIGSTOP: the process keeps its connections and answers nothing."""
        self.send(signal.SIGSTOP)

    def thaw(self) -> None:
        self.send(signal.SIGCONT)
