"""One stock broker of 3.9.1 that starts again and again in one JVM: a start takes a second there, not ten."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.jvm import QUICK

from .cluster import DEFAULTS
from .jars import BROKER_VERSION, classpath

_SOURCE = Path(__file__).with_name("RestartBroker.java")
_LOG4J = Path(__file__).with_name("log4j-broker.properties")


class RestartedBroker:
    """Its commands are those of RestartBroker.java. `log`: what it logs."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self.log = log

    async def tell(self, command: str, timeout: float = 120) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\n".encode())
        await self._process.stdin.drain()
        return (await asyncio.wait_for(self._process.stdout.readline(), timeout)).decode().strip()


@asynccontextmanager
async def restarted_broker(
    directory: Path, connect: str, overrides: Mapping[str, str], port: int = 0
) -> AsyncIterator[RestartedBroker]:
    """The broker 1 of the ZooKeeper at `connect`; it does not run yet. Its JVM is killed at the end."""
    directory.mkdir(parents=True, exist_ok=True)
    path = classpath(BROKER_VERSION)
    compiled = ["javac", "--release", "17", "-cp", path, "-d", str(directory), str(_SOURCE)]
    await asyncio.to_thread(subprocess.run, compiled, check=True)
    properties = {
        **DEFAULTS,
        "broker.id": "1",
        "zookeeper.connect": connect,
        "log.dirs": str(directory / "data"),
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controlled.shutdown.enable": "false",
        **overrides,
    }
    file, log = directory / "server.properties", directory / "broker.log"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *("java", "-Xms96m", "-Xmx256m", *QUICK, f"-Dlog4j.configuration=file:{_LOG4J}"),
            *("-cp", f"{directory}:{path}", _SOURCE.stem, str(file)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
        )
    try:
        yield RestartedBroker(process, log)
    finally:
        process.kill()
        await process.wait()
