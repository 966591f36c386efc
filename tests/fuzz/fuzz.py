"""One fuzz from its seed to its findings."""

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.lanes import USUAL, Lanes
from tests.fuzz.site import Honest, Site, honest_client, site
from tests.fuzz.verdict import Finding, in_log, in_memory, in_waits

WATCH_EVERY_S = 0.5
TOLD_EVERY_S = 30.0
KINDS_SHOWN = 60


class Options(NamedTuple):
    """What is sent, and what counts as a finding.

    lanes      which of WORKERS run
    first      number of the first case of each lane
    largest    bytes of the largest frame
    memory     bytes of resident memory that the server may have
    wait       seconds that an honest client may wait; None: any
    sessions   whether a lost ZooKeeper session or controllership is a finding
    """

    seed: int
    seconds: float
    lanes: frozenset[str] = USUAL
    first: int = 0
    largest: int = 10 * 2**20 - 1000
    memory: int = 600 * 2**20
    wait: float | None = None
    sessions: bool = True


async def fuzz(options: Options, *, say: Callable[[str], None] = print, keep: bool = False) -> list[Finding]:
    """The findings. What the processes leave is kept where there are some, and with `keep`."""
    directory = Path(tempfile.mkdtemp(prefix=f"fuzz-{options.seed}-"))
    say(f"seed {options.seed}, {options.seconds:g} s, {', '.join(sorted(options.lanes))} from case {options.first}")
    async with site(directory) as made:
        lanes = Lanes(options.seed, made, largest=options.largest, first=options.first)
        run = _Run(options, made, lanes, say)
        findings = await run.findings()
    _write_journal(directory, lanes)
    counts = Counter((finding.kind, finding.about) for finding in findings)
    for finding in {(finding.kind, finding.about): finding for finding in reversed(findings)}.values():
        count = counts[finding.kind, finding.about]
        say(f"FINDING ({finding.kind}{f', the first of {count}' * (count > 1)}): {finding.text}")
    if findings or keep:
        say(f"logs, and the last cases of each lane, are in {directory}")
    else:
        shutil.rmtree(directory)
    say(f"seed {options.seed}: {len(findings) or 'no'} finding{'s' * (len(findings) != 1)}")
    return findings


def _write_journal(directory: Path, lanes: Lanes) -> None:
    for lane, cases in lanes.journal.items():
        (directory / f"{lane}.cases").write_text("\n".join(cases) + "\n")


class _Run:
    """The lanes against one server, watched."""

    def __init__(self, options: Options, made: Site, lanes: Lanes, say: Callable[[str], None]) -> None:
        self._options = options
        self._site = made
        self._lanes = lanes
        self._say = say
        self._most_memory = 0

    async def findings(self) -> list[Finding]:
        epoch = await self._site.epoch()
        async with honest_client(self._site) as honest:
            await self._under_fire(honest)
        self._tell(honest)
        if self._site.server.alive:
            self._say(await self._site.connection_metrics())
        found = [*self._lanes.findings]
        if not self._site.server.alive:
            found.append(Finding("crash", "the server has ended"))
        else:
            found += await self._works()
            if self._options.sessions and await self._site.epoch() != epoch:
                found.append(Finding("session", "the server's term has ended"))
        found += [Finding("honest", f"{text} ({count} times)", text) for text, count in honest.errors.most_common(10)]
        found += in_waits(honest.longest, self._options.wait)
        found += in_memory(self._most_memory, self._options.memory)
        log = in_log(self._site.server.log.splitlines())
        return found + [one for one in log if one.kind != "session" or self._options.sessions]

    async def _under_fire(self, honest: Honest) -> None:
        loop = asyncio.get_running_loop()
        until, told = loop.time() + self._options.seconds, loop.time()
        firing = asyncio.create_task(self._lanes.run(self._options.lanes))
        try:
            while loop.time() < until and self._site.server.alive and not firing.done():
                await asyncio.wait([firing], timeout=WATCH_EVERY_S)
                self._most_memory = max(self._most_memory, self._site.memory())
                if loop.time() - told > TOLD_EVERY_S:
                    told = loop.time()
                    self._tell(honest)
        finally:
            if not firing.done():
                firing.cancel()
        await asyncio.wait([firing])
        if not firing.cancelled() and firing.exception() is not None:
            raise firing.exception()  # type: ignore[misc]

    async def _works(self) -> list[Finding]:
        """Whether the server does its work when all is over."""
        try:
            await self._site.moves_a_partition()
        except Exception as error:
            return [Finding("work", f"a partition cannot be moved: {type(error).__name__}: {error}")]
        return []

    def _tell(self, honest: Honest) -> None:
        memory = f"resident memory {self._site.memory() / 2**20:.0f} MiB, at most {self._most_memory / 2**20:.0f} MiB"
        self._say(f"{honest}; {memory}; {len(self._lanes.findings)} findings in answers")
        self._say("  " + ", ".join(self._counts()))

    def _counts(self) -> Iterator[str]:
        for what, count in sorted(self._lanes.counts.items())[:KINDS_SHOWN]:
            yield f"{what} {count}"
