"""The stock command-line tools. One JVM per version runs them all, since a JVM for each call would cost 1.5 s."""

import asyncio
import base64
import hashlib
import itertools
import json
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.jvm import QUICK

from . import class_archives
from .jars import CACHE, classpath, locked

_DRIVER = Path(__file__).with_name("ToolDriver.java")
_LOG4J = Path(__file__).with_name("log4j-tools.properties")
_LOG4J2 = Path(__file__).with_name("log4j2.properties")

MAIN_CLASSES = {
    "reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "topics": "org.apache.kafka.tools.TopicCommand",
    "configs": "kafka.admin.ConfigCommand",
    "log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "acls": "org.apache.kafka.tools.AclCommand",
    "features": "org.apache.kafka.tools.FeatureCommand",
}
"""Main class of each tool `kafka-NAME.sh`, as 4.1 has them."""

_OTHER_MAIN_CLASSES = {
    "3.9": {"broker-api-versions": "kafka.admin.BrokerApiVersionsCommand", "acls": "kafka.admin.AclCommand"},
    "4.4": {"configs": "org.apache.kafka.tools.ConfigCommand"},
}
"""Where other releases differ."""


@dataclass(frozen=True)
class Output:
    """The result of a tool: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.out.splitlines() if line.strip()]


class Tools:
    """The tools of one version. `run` may be called concurrently; the JVM runs each call in a thread.

    jvm    more options of the JVM
    """

    def __init__(self, version: str, jvm: Sequence[str] = ()) -> None:
        self.version = version
        self._jvm = jvm
        self._classes = MAIN_CLASSES | _OTHER_MAIN_CLASSES.get(version.rpartition(".")[0], {})
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread
        self._ids = itertools.count(1)
        self._waiting: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Future[Output]]] = {}

    @property
    def pid(self) -> int:
        """Of the JVM."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        command = ["java", "-Xmx256m", *QUICK, *class_archives.of_tools(self.version), *self._jvm]
        command += [f"-Dlog4j.configuration=file:{_LOG4J}", f"-Dlog4j2.configurationFile={_LOG4J2}"]
        command += ["-cp", f"{classpath(self.version)}:{_compiled_driver(self.version)}", _DRIVER.stem]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stdout,), name=f"tools-{self.version}", daemon=True
        )
        self._reader.start()

    def stop(self) -> None:
        """End the JVM; calls that wait get an error."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.wait()
        self._reader.join()  # it has the rest of the output, and must not find it closed
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    async def run(self, tool: str, *args: str, timeout: float = 240) -> Output:
        """Run one tool with these arguments. Raises TimeoutError, KeyError for an unknown tool."""
        if self._process is None or self._process.stdin is None:
            raise RuntimeError("the tools' JVM is not running")
        name = str(next(self._ids))
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Output] = loop.create_future()
        self._waiting[name] = (loop, answer)
        encoded = [base64.b64encode(arg.encode()).decode() for arg in args]
        self._process.stdin.write("\t".join([name, self._classes[tool], *encoded]) + "\n")
        self._process.stdin.flush()
        return await asyncio.wait_for(answer, timeout)

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            name, code, out, err = line.rstrip("\n").split("\t")
            loop, answer = self._waiting.pop(name)
            output = Output(int(code), _decode(out), _decode(err))
            loop.call_soon_threadsafe(_settle, answer, output)
        for loop, answer in self._waiting.values():
            loop.call_soon_threadsafe(_settle, answer, ConnectionError("the tools' JVM ended"))


@cache
def _compiled_driver(version: str) -> Path:
    """The folder of the driver's classes. Java takes ten times as long to start it from its source, so it is kept."""
    folder = CACHE / f"tool-driver-{hashlib.sha256(_DRIVER.read_bytes()).hexdigest()[:16]}"
    with locked(CACHE / "tool-driver.lock"):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
                classes = Path(scratch) / "classes"
                options = [
                    "-J-XX:TieredStopAtLevel=1",
                    "--release",
                    "17",
                    "-cp",
                    classpath(version),
                    "-d",
                    str(classes),
                ]
                subprocess.run(["javac", *options, str(_DRIVER)], check=True)
                classes.rename(folder)
    return folder


def _settle(answer: "asyncio.Future[Output]", result: Output | Exception) -> None:
    if answer.done():
        return
    if isinstance(result, Exception):
        answer.set_exception(result)
    else:
        answer.set_result(result)


def _decode(text: str) -> str:
    return base64.b64decode(text).decode()
