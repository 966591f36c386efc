"""`watch` as an operator starts it, in an environment of the wheel: by the words of its image, or of its docs."""

import asyncio
import json
import re
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tests.http_client import get
from tests.packaging.conftest import CHECKOUT, Environment
from tests.processes import ended
from tests.waiting import eventually

BASE, OWN = CHECKOUT / "Dockerfile", CHECKOUT / "deploy/watch/Dockerfile"
VARIABLE = "KAFKA_REASSIGN_BOOTSTRAP_SERVER"
PORT = "8090"


def instructions(file: Path) -> list[tuple[str, str]]:
    """Those of the last stage, which is what runs."""
    text = re.sub(r"^#.*\n", "", file.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    found = [(name, rest) for name, _, rest in (line.partition(" ") for line in text.splitlines() if line.strip())]
    last = max(place for place, (name, _) in enumerate(found) if name == "FROM")
    return found[last:]


def words(file: Path, instruction: str) -> list[str]:
    [found] = [rest for name, rest in instructions(file) if name == instruction]
    made: list[str] = json.loads(found[found.index("[") :])
    return made


@asynccontextmanager
async def watch(
    environment: Environment, program: Path, command: Sequence[str], variables: Mapping[str, str]
) -> AsyncIterator[str]:
    """Runs these words, on any port; gives what it prints when it is ready. It has to end well on SIGTERM."""
    assert command[0] == program.name
    arguments = [word.replace(f":{PORT}", ":0") for word in command[1:]]
    process = await asyncio.create_subprocess_exec(
        environment.python, program, *arguments, stdin=DEVNULL, stdout=PIPE, env=variables, cwd=environment.packages
    )
    try:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode()
        process.terminate()
        assert await process.wait() == 0
    finally:
        await ended(process)


async def until_seen(address: str, moves: int) -> None:
    """Wait until its page shows this many moves."""

    async def are_seen() -> bool:
        totals = json.loads((await get(address, "/api/v1/status")).body)["totals"]
        return totals is not None and totals["in_flight"] == moves

    await eventually(are_seen, within=60)
