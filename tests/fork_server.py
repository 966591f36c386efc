"""Runs a command line many times without importing its modules each time.

A server process imports the command once and forks for each call: each call is a process of its own, with its own
standard output, standard error and exit code. `python -m tests.fork_server SOCKET MODULE` is the server.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from importlib import import_module
from pathlib import Path

from tests.stock.tools import Output


class ForkServer:
    """Runs `main(arguments)` of a module in forks of one process. It ends with the process that has started it."""

    def __init__(self, module: str) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="forks-")
        self._socket = str(Path(self._directory.name) / "socket")
        self._calls = 0
        command = [sys.executable, "-m", "tests.fork_server", self._socket, module]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    async def run(self, arguments: tuple[str, ...]) -> Output:
        """One call, to its end."""
        self._calls += 1
        files = [str(Path(self._directory.name) / f"{self._calls}.{name}") for name in ("out", "err")]
        reader, writer = await asyncio.open_unix_connection(self._socket)
        try:
            writer.write(json.dumps({"arguments": arguments, "files": files, "folder": os.getcwd()}).encode() + b"\n")
            code = int(await reader.readline())
        finally:
            writer.close()
        return Output(code, *(Path(file).read_text() for file in files))

    def close(self) -> None:
        self._process.communicate()  # the end of its standard input ends it and all its forks
        self._directory.cleanup()


def serve(path: str, module: str) -> None:
    """Accept calls until standard input ends, which it does with the parent."""
    main = import_module(module).main
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait for a call
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        if os.fork() == 0:
            while True:
                connection, _ = listener.accept()
                if os.fork() == 0:
                    _call(connection, main)
                connection.close()
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)


def _call(connection: socket.socket, main: object) -> None:
    """Run one call in a fork, wait for it, and tell its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request = json.loads(connection.makefile("rb").readline())
    child = os.fork()
    if child == 0:
        for descriptor, file in zip((1, 2), request["files"], strict=True):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
        os.chdir(request["folder"])
        os._exit(_run(main, request["arguments"]))
    _, status = os.waitpid(child, 0)
    connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _run(main: object, arguments: list[str]) -> int:
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


if __name__ == "__main__":
    os.setpgid(0, 0)
    serve(*sys.argv[1:])
