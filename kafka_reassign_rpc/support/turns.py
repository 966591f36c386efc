"""Long work gives others their turn: it says after each item that others may run, and the clock decides here whether
they do.

`core` may contain long work: there it is a plain generator (`Steps`) that yields after each item, and a coroutine
awaits it with `in_turns`. A coroutine with many items of its own says `await rest()` after each.
"""

import asyncio
import threading
import time
from asyncio.tasks import _enter_task, _leave_task
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from types import coroutine
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
Steps = Generator[None, None, T]
"""Work that never waits, and its result."""

TURN_S = 0.001
"""How long a task works before others run. Several kinds of work have a turn in each iteration of the event loop, and a
small request waits for all of them."""
SHORT_S = 0.0005
"""Work that is done within this leaves time for the next in the same turn of the loop."""

_clock = time.perf_counter


class Pace:
    """How long its task, or several that share it, has worked since others last ran."""

    def __init__(self) -> None:
        self._until = _clock() + TURN_S

    async def rest(self) -> None:
        until = self._until
        if _clock() > until:
            await asyncio.sleep(0)
            if self._until == until:  # else another task with this pace has its time now
                self._until = _clock() + TURN_S

    async def through(self, steps: Iterator[None]) -> None:
        """Others run between the steps when it is time to. The clock goes on from one call to the next: a round of many
        short commands is long work too.
        """
        for _ in steps:
            if _clock() > self._until:
                await self.rest()


class _Slice:
    """The piece of work that a thread does now.

    ends   by the clock; 0 if it does none
    loop   of the last work that has begun
    early  one that no task has become
    """

    __slots__ = ("early", "ends", "loop")

    def __init__(self) -> None:
        self.ends = 0.0
        self.loop: asyncio.AbstractEventLoop | None = None
        self.early: _Early | None = None


class _Slices(threading.local):
    def __init__(self) -> None:
        self.here = _Slice()


_slices = _Slices()


@coroutine
def rest() -> Steps[None]:
    """Others run if the slice of this work is over. Costs a look at the clock, however deep the coroutine is. Outside
    of slices (`start`, `in_turns`) others run each time: a task that works by itself has a `Pace`.
    """
    if _clock() > _slices.here.ends:
        yield


def _run(step: Callable[[Any], Any], given: BaseException | None, seconds: float) -> Any:
    """Work goes on until it waits, for a future that this returns, or has to rest (None). StopIteration is its end."""
    here = _slices.here
    before, here.ends = here.ends, _clock() + seconds
    try:
        return step(given)
    finally:
        here.ends = before


class Turn:
    """A line of work that takes turns, and what that took in this iteration of the event loop: many short pieces are
    long work too.
    """

    def __init__(self) -> None:
        self._line: deque[asyncio.Future[None]] = deque()
        self._since: float | None = None
        """When the first work of this iteration of the loop began."""
        self._is_called = False
        self._has_let_in = False

    @property
    def is_over(self) -> bool:
        """Whether others have to run before there is more work."""
        return self._since is not None and _clock() - self._since > SHORT_S

    def begin(self) -> None:
        """Begins a turn, also when work goes on."""
        if self._since is None:
            self._since = _clock()
            self._call()

    async def come(self) -> None:
        """In each second iteration of the loop the first of the line has its turn: others run between two turns."""
        if self._line or self._has_let_in or self.is_over:
            place = asyncio.get_running_loop().create_future()
            self._line.append(place)
            self._call()
            await place

    def _call(self) -> None:
        if not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._next_iteration)

    def _next_iteration(self) -> None:
        self._since = None
        self._is_called = False
        one_works, self._has_let_in = self._has_let_in, False
        if self._line:
            self._call()
            if not one_works:
                self._let_in()

    def _let_in(self) -> None:
        while self._line and not self._has_let_in:
            place = self._line.popleft()
            if not place.done():  # it was not cancelled
                place.set_result(None)
                self._has_let_in = True


_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, Turn] = WeakKeyDictionary()


def _turn_of_requests() -> Turn:
    loop = asyncio.get_running_loop()
    turn = _TURNS.get(loop)
    if turn is None:
        turn = _TURNS[loop] = Turn()
    return turn


class _Early:
    """What `asyncio.current_task` is for work that begins before it has a task. Timeouts and task groups keep that, and
    cancel the task by it.
    """

    __slots__ = ("_cancelled", "_task")

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._cancelled = 0

    def become(self, task: "asyncio.Task[Any]") -> None:
        self._task = task
        for _ in range(self._cancelled):
            task.cancel()

    def cancel(self, msg: object = None) -> bool:
        if self._task is not None:
            return self._task.cancel(msg)
        self._cancelled += 1
        return True

    def uncancel(self) -> int:
        if self._task is not None:
            return self._task.uncancel()
        self._cancelled -= 1
        return self._cancelled

    def done(self) -> bool:
        return self._task is not None and self._task.done()

    def cancelling(self) -> int:
        return self._cancelled if self._task is None else self._task.cancelling()


def start(work: Coroutine[Any, Any, T]) -> T | Coroutine[Any, Any, T]:
    """Returns the result of short work, for which nothing need switch tasks; of longer work, or work that waits, what
    is left of it, which goes on in turns.
    """
    here = _slices.here
    loop = here.loop
    if loop is None or not loop.is_running():
        loop = here.loop = asyncio.get_running_loop()  # asks the system for the process: that takes a while
    early: Any = here.early or _Early()
    try:
        _enter_task(loop, early)
        here.early = None
    except RuntimeError:  # it has a task already
        early = None
    before, here.ends = here.ends, _clock() + SHORT_S
    try:
        waits = work.send(None)
    except StopIteration as end:
        if early is not None:
            here.early = early
        result: T = end.value
        return result
    finally:
        here.ends = before
        if early is not None:
            _leave_task(loop, early)
    return _finished(work, waits, _turn_of_requests(), early)


def at_once(work: Coroutine[Any, Any, T], rests: int) -> T | None:
    """The result of work that rests no more often than that; else None, and the work is given up."""
    try:
        for _ in range(rests):
            _run(work.send, None, -1)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    return None


async def in_turns(steps: Steps[T], turn: Turn | None = None) -> T:
    """Goes through the steps, and returns their result. One at a time has the turn, for `TURN_S`; then other tasks
    run, then the next work of the same loop. So a hundred hold up the loop no longer than
    one: clients choose how many requests there are. With a `turn` of their own, other kinds of work do not queue among
    requests. What already works in slices goes on in those.
    """
    if _slices.here.ends:
        return await _through(steps)
    turn = turn or _turn_of_requests()
    await turn.come()
    work = _through(steps)
    turn.begin()
    try:
        waits = _run(work.send, None, TURN_S)
    except StopIteration as end:
        result: T = end.value
        return result
    return await _finished(work, waits, turn)


async def _through(steps: Steps[T]) -> T:
    here = _slices.here
    try:
        while True:
            next(steps)
            if _clock() > here.ends:
                await rest()
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        steps.close()


async def _finished(work: Coroutine[Any, Any, T], waits: Any, turn: Turn, early: _Early | None = None) -> T:
    """Work that has waited goes on for `SHORT_S` before it queues: most has only its answer to make. But hundreds may
    have waited for the same round, so they too queue when the turn is over.
    """
    if early is not None:
        task = asyncio.current_task()
        assert task is not None
        early.become(task)
    while True:
        seconds = SHORT_S
        step: Callable[[Any], Any] = work.send
        given = None
        try:
            await _handed_on(waits)
            if waits is None or turn.is_over:
                await turn.come()
                seconds = TURN_S
        except BaseException as error:  # a cancellation: it is for the work
            step, given = work.throw, error
        turn.begin()
        try:
            waits = _run(step, given, seconds)
        except StopIteration as end:
            result: T = end.value
            return result


@coroutine
def _handed_on(waits: Any) -> Generator[Any, None, None]:
    yield waits


class LoopTime:
    """For how long awaitables have kept the event loop."""

    def __init__(self, ns: int = 0) -> None:
        self.ns = ns

    @coroutine
    def of(self, awaitable: Awaitable[T]) -> Generator[Any, Any, T]:
        steps: Any = awaitable.__await__()
        step, given = steps.send, None
        while True:
            begun = time.perf_counter_ns()
            try:
                waits_for = step(given)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self.ns += time.perf_counter_ns() - begun
            try:
                step, given = steps.send, (yield waits_for)
            except BaseException as error:  # a cancellation: it is for the awaitable
                step, given = steps.throw, error
