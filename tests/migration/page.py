"""docs/migrate.md, carried out: its commands run word for word, but for addresses and folders.

A block of commands runs in the operator's shell, or in the folder of a host that its title names. What the prose after
it says of processes (they are started, or restarted one after the other) is the test's.
"""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from tests.docs.pages import DOCS, text_of
from tests.docs.secured_page import BLOCK, as_printed
from tests.jvm import QUICK
from tests.processes import ended
from tests.stock import class_archives
from tests.stock.jars import BROKER_VERSION, classpath
from tests.stock.kraft import VERSION as KRAFT_VERSION

STOCK_TOOLS = {
    "kafka-cluster.sh": (BROKER_VERSION, "org.apache.kafka.tools.ClusterTool"),
    "kafka-features.sh": (KRAFT_VERSION, "org.apache.kafka.tools.FeatureCommand"),
    "kafka-storage.sh": (BROKER_VERSION, "kafka.tools.StorageTool"),
    "zookeeper-shell.sh": (BROKER_VERSION, "org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka -server"),
}
"""What Kafka's scripts of these names run, and of which release they are."""
_END = re.compile(rb"=== (\d+)\n")
PATIENCE_S = 300

Done = Callable[[str], Coroutine[Any, Any, None]]
"""What a test does with a block that is not the operator's, from its text."""


def section(name: str) -> str:
    """The part of the page with this heading of the second level."""
    _, found = text_of(DOCS / "migrate.md").split(f"\n## {name}\n")
    return found.partition("\n## ")[0]


def subsection(text: str, name: str) -> str:
    """The part of a section with this heading of the third level."""
    _, found = text.split(f"\n### {name}\n")
    return found.partition("\n### ")[0]


class Shell:
    """A bash that runs one block after the other, and keeps its variables and its children."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def run(self, text: str) -> str:
        """What the block prints. Raises AssertionError where one of its commands fails."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f'{text}\necho "=== $?"\n'.encode())
        said = b""
        async with asyncio.timeout(PATIENCE_S):
            while not _END.search(said):
                piece = await self._process.stdout.read(4096)
                assert piece, f"a command has failed: {text}\n{said.decode()}"
                said += piece
        return _END.sub(b"", said).decode()


@asynccontextmanager
async def shell(folder: Path, programs: Path) -> AsyncIterator[Shell]:
    """`programs`: the folder of what the page calls besides our commands."""
    path = os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))
    process = await asyncio.create_subprocess_exec(
        *("bash", "-euo", "pipefail"),
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield Shell(process)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await ended(process)


def put_program(programs: Path, name: str, command: str) -> None:
    programs.mkdir(exist_ok=True)
    path = programs / name
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)


def put_stock_tools(programs: Path) -> None:
    for name, (version, main_class) in STOCK_TOOLS.items():
        options = " ".join(("-Xmx128m", *QUICK, *class_archives.of_tools(version)))
        put_program(programs, name, f'exec java {options} -cp "{classpath(version)}" {main_class} "$@"')


def block(text: str, part: str, replaced: Mapping[str, str], title: str = "") -> str:
    """The one block of this title with these words in it."""
    for old, new in replaced.items():
        text = text.replace(old, new)
    found: list[str] = [one for _, its, one in BLOCK.findall(text) if its == title and part in one]
    assert len(found) == 1, found
    return found[0]


async def carry_out(text: str, operator: Shell, replaced: Mapping[str, str], elsewhere: Mapping[str, Done]) -> None:
    """Carries out a part of the page. `elsewhere`: what is done with a block that has a title."""
    for old, new in replaced.items():
        text = text.replace(old, new)
    said = ""
    for kind, title, found in BLOCK.findall(text):
        if title:
            await elsewhere[title](found)
        elif kind:
            said = await operator.run(found)
        else:
            assert as_printed(found).search(said), f"{found}\n{said}"
