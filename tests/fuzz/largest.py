"""The largest frame of every API, version and array, beside an honest client: `python -m tests.fuzz.largest`.

Each is sent twice: with as many elements as the API accepts, and as large as a frame may be. Then eight at once of each
API: the accepted one that took longest. Prints how long others have waited, and the server's memory at its most and a
minute later. Exit code 1 where a goal is missed.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.protocol.messages import REQUESTS
from kafka_reassign_rpc.protocol.served_connection import MAX_REQUEST_BYTES
from tests.fuzz.connections import HOSTS, connected
from tests.fuzz.site import Honest, Site, honest_client, site
from tests.fuzz.verdict import Finding, in_log, in_memory
from tests.largest_frames import arrays, largest_frame, most_accepted

WAIT_S, WAIT_OF_MANY_S = 0.020, 0.100
"""How long others may wait beside one frame; beside an accepted one with more elements than MANY."""
MANY = 10_000
AT_ONCE = len(HOSTS)
MEMORY, MEMORY_LATER = 600 * 2**20, 200 * 2**20
LATER_S = 60.0
ANSWER_S = 300.0
LOOK_EVERY_S = 0.02
ROUNDS = 3
"""How often a frame is sent whose wait is over its goal: the median counts."""


class Case(NamedTuple):
    """One frame; `elements` None: as many as fit into a frame, which the server refuses."""

    key: int
    version: int
    path: tuple[str, ...]
    elements: int | None

    def data(self) -> bytes:
        return largest_frame(self.key, self.version, self.path, MAX_REQUEST_BYTES, self.elements)

    @property
    def goal(self) -> float:
        """How long others may wait, in seconds."""
        return WAIT_OF_MANY_S if self.elements is not None and self.elements > MANY else WAIT_S

    def __str__(self) -> str:
        size = "as large as a frame may be" if self.elements is None else f"{self.elements} elements"
        return f"{SERVER_APIS[self.key].name} v{self.version} {'.'.join(self.path)}, {size}"


class Seen(NamedTuple):
    """What became of some frames: seconds until all were answered, the longest wait of others, bytes of memory."""

    took: float
    wait: float
    memory: int

    def __str__(self) -> str:
        return f"{self.took:6.2f} s, others waited {self.wait * 1000:4.0f} ms, {self.memory / 2**20:4.0f} MiB"


def cases() -> Iterator[Case]:
    for api in SERVER_APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            for path in arrays(REQUESTS[api.key], version):
                yield Case(api.key, version, path, most_accepted(api.key, version, path, api.max_elements))
                yield Case(api.key, version, path, None)


def heaviest(found: Mapping[Case, Seen]) -> Iterator[Case]:
    """Of each API the accepted frame that took longest."""
    for key in SERVER_APIS:
        accepted = [case for case in found if case.key == key and case.elements is not None]
        if accepted:
            yield max(accepted, key=lambda case: found[case].took)


class Measurement:
    """Sends frames to a server, and watches its memory and an honest client in that time."""

    def __init__(self, made: Site, honest: Honest) -> None:
        self._site = made
        self._honest = honest

    async def seen(self, frames: list[bytes]) -> Seen:
        """Frames that are sent at the same time, each from an address of its own."""
        self._honest.longest.clear()
        since, memory = time.monotonic(), self._site.memory()
        sending = asyncio.gather(*(self._send(data, host) for data, host in zip(frames, HOSTS, strict=False)))
        while not sending.done():
            await asyncio.wait([sending], timeout=LOOK_EVERY_S)
            memory = max(memory, self._site.memory())
        await sending
        took = time.monotonic() - since
        await self._next_reports()
        return Seen(took, max(self._honest.longest.values()), memory)

    async def single(self, case: Case) -> Seen:
        """One frame; where others wait longer than its goal, the median of some rounds."""
        data = await asyncio.to_thread(case.data)
        found = [await self.seen([data])]
        while found[0].wait > case.goal and len(found) < ROUNDS:
            found.append(await self.seen([data]))
        return Seen(found[0].took, statistics.median(one.wait for one in found), max(one.memory for one in found))

    async def _send(self, data: bytes, host: str) -> None:
        """Until the answer has come whole, or the server has closed the connection."""
        async with asyncio.timeout(ANSWER_S), connected(self._site.address, host) as (reader, writer):
            writer.write(data)
            with suppress(EOFError, ConnectionError):
                await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))

    async def _next_reports(self) -> None:
        """The honest client reports once a second: the second report from now has all until now."""
        until = self._honest.reports + 2
        while self._honest.reports < until:
            await asyncio.sleep(LOOK_EVERY_S)


async def measure(only: frozenset[str], directory: Path) -> list[Finding]:
    chosen = [case for case in cases() if not only or SERVER_APIS[case.key].name in only]
    findings = []
    found: dict[Case, Seen] = {}
    async with site(directory) as made, honest_client(made) as honest:
        epoch, work = await made.epoch(), Measurement(made, honest)
        print(f"{len(chosen)} frames one by one; with none of them {await work.seen([])}", flush=True)
        for case in chosen:
            found[case] = seen = await work.single(case)
            late = seen.wait > case.goal
            print(f"{seen}  {'LATE ' * late}{case}", flush=True)
            if late:
                findings.append(Finding("wait", f"{case}: {seen.wait:.3f} s, the goal is {case.goal:g} s"))
        most = max(seen.memory for seen in found.values())
        print(f"{AT_ONCE} at once", flush=True)
        for case in heaviest(found):
            data = await asyncio.to_thread(case.data)
            seen = await work.seen([data] * AT_ONCE)
            most = max(most, seen.memory)
            print(f"{seen}  {case}", flush=True)
        await asyncio.sleep(LATER_S)
        later = made.memory()
        print(f"resident memory at most {most / 2**20:.0f} MiB, {LATER_S:g} s later {later / 2**20:.0f} MiB")
        findings += [*in_memory(most, MEMORY), *in_memory(later, MEMORY_LATER)]
        findings += [Finding("honest", text) for text in honest.errors]
        if await made.epoch() != epoch:
            findings.append(Finding("session", "the server's term has ended"))
        await made.moves_a_partition()
        findings += in_log(made.server.log.splitlines())
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.largest", description=__doc__)
    names = sorted(api.name for api in SERVER_APIS.values())
    parser.add_argument("--apis", nargs="+", choices=names, default=[], metavar="NAME", help="only these APIs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="largest-") as directory:
        findings = asyncio.run(measure(frozenset(given.apis), Path(directory)))
    for finding in findings:
        print(f"FINDING ({finding.kind}): {finding.text}")
    print(f"{len(findings) or 'no'} finding{'s' * (len(findings) != 1)}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
