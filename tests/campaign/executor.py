"""Carries out the steps of a campaign, each lane for itself, and prints a line for each."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import ModuleType

from . import broker_steps, edit_steps, mistake_steps, night_steps, server_steps, topic_steps
from .steps import HARMFUL, KINDS, Step

CALM = frozenset(name for name, kind in KINDS.items() if kind.calm)

STEP_S = 900.0
"""No step takes longer, whatever else happens meanwhile."""

_PLACES = (broker_steps, server_steps, topic_steps, night_steps, edit_steps, mistake_steps)


Function = Callable[..., Awaitable[str]]


def functions_in(places: Collection[ModuleType], kinds: Iterable[str]) -> Mapping[str, Function]:
    """For each kind the function of that name: it gets the site and what was drawn, and says how it ended."""
    found = {kind: vars(place)[kind] for kind in kinds for place in places if kind in vars(place)}
    if missing := set(kinds) - found.keys():
        raise LookupError(f"none of these modules has a function for the steps {sorted(missing)}")
    return found


FUNCTIONS = functions_in(_PLACES, KINDS)


class StepFailed(Exception):
    """A step could not be carried out: a process did not start, or something did not come about."""


class Peace:
    """Steps with `calm` wait until nothing is harmed, and what would harm waits until they are over."""

    def __init__(self) -> None:
        self._changed = asyncio.Condition()
        self._harming = 0
        self._calm = 0

    @asynccontextmanager
    async def of(self, step: Step) -> AsyncIterator[None]:
        """For the time of a step."""
        if step.kind in CALM:
            self._calm += 1
            try:
                async with self._changed:
                    await self._changed.wait_for(lambda: not self._harming)
                yield
            finally:
                self._calm -= 1
                await self._tell()
        elif step.lane in HARMFUL:
            async with self._changed:
                await self._changed.wait_for(lambda: not self._calm)
                self._harming += 1
            try:
                yield
            finally:
                self._harming -= 1
                await self._tell()
        else:
            yield

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


class Executor:
    """`say` prints a line. `done`: how often each kind was carried out."""

    def __init__(self, site: object, say: Callable[[str], None], functions: Mapping[str, Function] = FUNCTIONS) -> None:
        self._site = site
        self._say = say
        self._functions = functions
        self._peace = Peace()
        self.done: Counter[str] = Counter()

    async def run(self, steps: Sequence[Step]) -> None:
        """Raises StepFailed; the other lanes end then."""
        start = time.monotonic()
        lanes: dict[str, list[Step]] = {}
        for step in steps:
            lanes.setdefault(step.lane, []).append(step)
        try:
            async with asyncio.TaskGroup() as group:
                for lane in lanes.values():
                    group.create_task(self._lane(lane, start))
        except* StepFailed as failures:
            raise failures.exceptions[0] from None

    async def _lane(self, steps: Sequence[Step], start: float) -> None:
        for step in steps:
            await asyncio.sleep(max(0.0, start + step.at - time.monotonic()))
            began = time.monotonic() - start
            try:
                async with asyncio.timeout(STEP_S), self._peace.of(step):
                    ended = await self._functions[step.kind](self._site, **step.arguments)
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                self._say(f"{step}  -> FAILED after {time.monotonic() - start - began:.1f} s: {error!r}")
                raise StepFailed(f"{step}: {error!r}") from error
            self.done[step.kind] += 1
            self._say(f"{step}  -> {ended}  ({began:.1f} to {time.monotonic() - start:.1f} s)")
