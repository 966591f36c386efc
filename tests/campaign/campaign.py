"""One campaign from its seed to its verdict."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, NamedTuple

from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError
from tests.stock.jars import BROKER_VERSION

from .executor import FUNCTIONS, Executor, StepFailed
from .facts import read_states
from .generator import plan
from .security import OPEN, secured
from .site import OLD_VERSION, Site, site
from .steps import Step
from .verdict import CheckFailed, Counts, judge
from .watch import Registrations, Watch

WATCH_EVERY_S = 1.0
DIFFERENCES_SHOWN = 30
Say = Callable[[str], None]


class Course(NamedTuple):
    """What a campaign is made of.

    about      its first line
    site       the processes, below this directory, with their load; what it gives is passed to all that follows
    functions  by kind of step: carries it out
    watch      raises CheckFailed as soon as something does not hold
    judge      brings the cluster to rest, and raises CheckFailed for what does not hold then
    """

    about: str
    steps: Sequence[Step]
    site: Callable[[Path], AbstractAsyncContextManager[Any]]
    functions: Mapping[str, Callable[..., Awaitable[str]]]
    watch: Callable[[Any], Coroutine[Any, Any, None]]
    judge: Callable[[Any, Say], Awaitable[Counts]]


def in_front_of_zookeeper(
    seed: int, seconds: float, off: Collection[str], *, upgrade: bool = False, secure: bool = False
) -> Course:
    """
    seconds    in which steps begin; the start and the checks come on top
    off        kinds of steps that are not drawn
    upgrade    whether the brokers begin with an older version
    secure     whether everybody has to log in, over TLS
    """
    versions = f"{OLD_VERSION} to {BROKER_VERSION}" if upgrade else BROKER_VERSION
    steps = plan(seed, seconds, off, upgrade=upgrade)
    kind = "secured brokers" if secure else "brokers"

    def made(directory: Path) -> AbstractAsyncContextManager[Site]:
        return site(directory, upgrade=upgrade, security=secured(directory) if secure else OPEN)

    about = f"{seconds:g} s, {len(steps)} steps, {kind} {versions}, without {sorted(off) or 'nothing'}"
    return Course(about, steps, made, FUNCTIONS, _watch, judge)


async def campaign(seed: int, course: Course, *, say: Say = print, keep: bool = False) -> bool:
    """Whether everything held. What the processes leave is kept where it did not, and with `keep`."""
    directory = Path(tempfile.mkdtemp(prefix=f"campaign-{seed}-"))
    say(f"seed {seed}, {course.about}")
    with (directory / "steps.log").open("w", buffering=1) as log:

        def told(line: str) -> None:
            say(line)
            log.write(line + "\n")

        failure = await _outcome(course, directory, told)
        if failure is None:
            told(f"seed {seed}: everything held")
        else:
            told(f"seed {seed}: FAILED: {failure}")
    if failure is None and not keep:
        shutil.rmtree(directory)
    else:
        say(f"what the processes left is in {directory}")
    return failure is None


async def _outcome(course: Course, directory: Path, say: Say) -> str | None:
    """Why it failed, None where it did not."""
    try:
        async with course.site(directory) as made:
            executor = Executor(made, say, course.functions)
            watching = asyncio.create_task(course.watch(made))
            running = asyncio.create_task(executor.run(course.steps))
            try:
                await asyncio.wait([watching, running], return_when=asyncio.FIRST_COMPLETED)
                if watching.done():
                    watching.result()
                await running
                say("the steps are over; the producers end")
                counts = await course.judge(made, say)
            finally:
                for task in (watching, running):
                    task.cancel()
                await asyncio.gather(watching, running, return_exceptions=True)
            kills = sum(times for kind, times in executor.done.items() if kind.startswith("kill_"))
            say(", ".join(f"{kind} {times}" for kind, times in sorted(executor.done.items())))
            say(
                f"{executor.done.total()} steps, {kills} kills; {counts.acknowledged} records acknowledged, "
                f"{counts.of_deleted} of them in topics that were deleted; {counts.read} read, "
                f"{counts.consumed} by the group"
            )
    except CheckFailed as error:
        for line in error.differences[:DIFFERENCES_SHOWN]:
            say(f"  {line}")
        return str(error)
    except StepFailed as error:
        return f"a step could not be carried out: {error}"
    return None


async def _watch(made: Site) -> None:
    """Raises CheckFailed."""
    watch, registrations = Watch(), Registrations()
    while True:
        try:
            if await made.controller() is None:
                watch.interrupted()
            facts = await read_states(made.zk)
        except ZkError:
            watch.interrupted()
        else:
            made.absences += registrations.absences(time.time(), facts)
            if found := watch.seen(time.monotonic(), facts, disturbed=frozenset(made.disturbed), edited=made.older):
                raise CheckFailed("at every moment", found)
        await asyncio.sleep(WATCH_EVERY_S)
