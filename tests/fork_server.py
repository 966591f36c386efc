"""Starts our commands as processes without importing their modules each time: that costs longer than most tests.

`python -m tests.fork_server SOCKET MODULE…` imports the modules once and forks for each start: each start is a process
of its own, in a session of its own, with its own standard output, standard error and exit code.
"""

import array
import asyncio
import atexit
import ctypes
import gc
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from tests.stock.tools import Output
from tests.waiting import eventually

CLI = "kafka_reassign_rpc.cli.main"
KAFKA_REASSIGN = "kafka_reassign_rpc.reassign_command.main"
_ALSO_IMPORTED = ("kafka_reassign_rpc.cli.serve_command", "kafka_reassign_rpc.cli.fleet_command")
MOVED_CLOCK = "TESTS_MOVED_CLOCK"
"""A variable of the environment: the path of a file by which the wall clock of a started process goes wrong, in ms."""
_PR_SET_PDEATHSIG = 1


class ForkedProcess:
    """A started process, used like a `subprocess.Popen`. Negative exit codes are signals."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self.pid = int(self._lines.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, or None while the process runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Block until the process has ended. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            if line := self._lines.readline():  # empty: another thread has read it
                self.returncode = int(line)
                self._lines.close()
                self._connection.close()
        assert self.returncode is not None
        return self.returncode

    async def ended(self, timeout: float) -> int:
        """Wait for the end without a thread. Raises TimeoutError."""
        loop = asyncio.get_running_loop()
        if self.poll() is None:
            readable = asyncio.Event()
            loop.add_reader(self._connection, readable.set)
            try:
                await asyncio.wait_for(readable.wait(), timeout)
            finally:
                loop.remove_reader(self._connection)
        return self.wait()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has just ended, which is not told here yet
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """Forks processes of one imported process. It ends with the process that has started it."""

    def __init__(self, *modules: str) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="forks-")
        self._socket = str(Path(self._directory.name) / "socket")
        command = [sys.executable, "-m", "tests.fork_server", self._socket, *modules]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def start(
        self, module: str, arguments: Sequence[str], output: int, errors: int, folder: Path | None = None
    ) -> ForkedProcess:
        """Run `main(arguments)` of a module with these file descriptors as its standard output and error."""
        request = {"module": module, "arguments": list(arguments), "folder": str(folder or Path.cwd())}
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._socket)
        text = json.dumps({**request, "environment": dict(os.environ)}).encode() + b"\n"
        descriptors = array.array("i", [output, errors])
        sent = connection.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
        connection.sendall(text[sent:])
        return ForkedProcess(connection)

    def close(self) -> None:
        self._process.communicate()  # the end of its standard input ends it and all its forks
        self._directory.cleanup()


@cache
def fork_server() -> ForkServer:
    """One for the whole run of the tests."""
    server = ForkServer(CLI, KAFKA_REASSIGN, *_ALSO_IMPORTED)
    atexit.register(server.close)
    return server


async def output_of(
    module: str, arguments: Sequence[str], *, timeout: float = 180, first_line: asyncio.Event | None = None
) -> Output:
    """Run a command to its end. `first_line` is set when it has printed its first line."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = fork_server().start(module, arguments, out.fileno(), err.fileno())
        try:
            if first_line is not None:
                await eventually(lambda: os.fstat(out.fileno()).st_size > 0)
                first_line.set()
            code = await process.ended(timeout)
        finally:
            process.kill()
        return Output(code, *(_content(file) for file in (out, err)))


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


class _Forks:
    """The server's side: who runs, and who waits for whose end."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._waiting: dict[int, tuple[int, socket.socket]] = {}

    def serve(self) -> None:
        """Fork for each connection until standard input ends, which it does with the parent."""
        self._selector.register(sys.stdin, selectors.EVENT_READ)
        self._selector.register(self._listener, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    self._fork(self._listener.accept()[0])
                elif key.fileobj is sys.stdin:
                    self._kill_all()
                    return
                else:
                    assert isinstance(key.fileobj, int)
                    self._tell_end(key.fileobj)

    def _fork(self, connection: socket.socket) -> None:
        text, control, _, _ = connection.recvmsg(65536, socket.CMSG_SPACE(8))
        while not text.endswith(b"\n"):
            text += connection.recv(65536)
        descriptors = array.array("i", control[0][2])
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become(json.loads(text), descriptors, parent)
        for descriptor in descriptors:
            os.close(descriptor)
        connection.sendall(f"{pid}\n".encode())
        watched = os.pidfd_open(pid)
        self._waiting[watched] = pid, connection
        self._selector.register(watched, selectors.EVENT_READ)

    def _tell_end(self, watched: int) -> None:
        pid, connection = self._waiting.pop(watched)
        self._selector.unregister(watched)
        os.close(watched)
        _, status = os.waitpid(pid, 0)
        with connection:
            connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())

    def _kill_all(self) -> None:
        for pid, _ in self._waiting.values():
            os.kill(pid, signal.SIGKILL)


def _become(request: dict[str, Any], descriptors: Sequence[int], parent: int) -> None:
    """The fork: run the command as its own session, tied to the server's life, and end."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, *descriptors)):
        os.dup2(descriptor, number)
    os.closerange(3, 1024)
    module, arguments, folder, environment = (request[k] for k in ("module", "arguments", "folder", "environment"))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if MOVED_CLOCK in environment:
        _move_clock(Path(environment[MOVED_CLOCK]))
    os._exit(_run(import_module(module).main, arguments))


def _move_clock(offset: Path) -> None:
    """The wall clock of this process goes wrong by so many ms as the file says at each time."""
    right = time.time_ns
    time.time_ns = lambda: right() + int(offset.read_text()) * 1_000_000


def _run(main: object, arguments: object) -> int:
    """What `sys.exit(main())` of a script does."""
    assert callable(main)
    code: object = 1
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else 0 if code is None else 1


def main(path: str, *modules: str) -> None:
    for module in modules:
        import_module(module)
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        _Forks(listener).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
