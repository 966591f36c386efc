"""Very many hostile connections at once, beside an honest client: `python -m tests.fuzz.hostile --connections 30000`.

Prints how long the honest client has waited, also when all of them end at once, and what the server has done. Exit code
1 where a request failed, `/ready` was not true, or the server no longer works. The processes of the crowd need as many
file descriptors as they open connections: each opens at most CROWD.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.fuzz.site import Honest, Site, honest_client, site
from tests.fuzz.verdict import Finding, in_log

CROWD = 7_500


class Crowd:
    """Hostile connections of one process, as of its last line. See `tests.fuzz.crowd`."""

    COUNTS = ("open", "opened", "closed")

    def __init__(self) -> None:
        self.open = self.opened = self.closed = 0

    def take(self, line: bytes) -> None:
        report = json.loads(line)
        self.open, self.opened, self.closed = report["open"], report["opened"], report["closed"]


@asynccontextmanager
async def crowd(made: Site, number: int, first: int) -> AsyncIterator[Crowd]:
    """Hostile connections until the end of the block."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fuzz.crowd", "{}:{}".format(*made.address), str(number), str(first)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    found, output = Crowd(), process.stdout

    async def read() -> None:
        while line := await output.readline():
            found.take(line)

    reading = asyncio.create_task(read())
    try:
        yield found
    finally:
        process.stdin.close()
        await process.wait()
        await reading


async def withstand(
    connections: int, seconds: float, directory: Path, *options: str
) -> tuple[Honest, list[Finding], str]:
    """What an honest client has seen, the findings, and what the server's metrics say of its connections."""
    async with site(directory, *options) as made, honest_client(made) as honest:
        async with AsyncExitStack() as stack:
            sizes = [CROWD] * (connections // CROWD) + [connections % CROWD] * (connections % CROWD > 0)
            crowds = [await stack.enter_async_context(crowd(made, size, 10 + n)) for n, size in enumerate(sizes)]
            for _ in range(int(seconds / 5)):
                await asyncio.sleep(5)
                now_open, opened, closed = (sum(getattr(one, what) for one in crowds) for what in Crowd.COUNTS)
                print(f"hostile: {now_open} open, {opened} opened, {closed} closed by the server; {honest}", flush=True)
                print(f"  resident memory {made.memory() / 2**20:.0f} MiB", flush=True)
            metrics = await made.connection_metrics()
            print(f"while they are there: {honest}", flush=True)
        findings = [Finding("honest", text) for text in honest.errors]
        try:
            await made.moves_a_partition()
        except Exception as error:
            findings.append(Finding("work", f"a partition cannot be moved: {type(error).__name__}: {error}"))
        findings += in_log(made.server.log.splitlines())
    return honest, findings, metrics


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.hostile", description=__doc__)
    parser.add_argument("--connections", type=int, default=30_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hostile-") as directory:
        honest, findings, metrics = asyncio.run(withstand(given.connections, given.seconds, Path(directory)))
    print(metrics)
    print(f"with their end, all at once: {honest}")
    for finding in findings:
        print(f"FINDING ({finding.kind}): {finding.text}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
