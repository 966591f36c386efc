"""The duties of one term, and what else they begin. Any failure ends the term."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, NamedTuple

from kafka_reassign_rpc.controller.store import ControllerMoved, ReloadNeeded
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

log = logging.getLogger(__name__)

Work = Coroutine[Any, Any, None]

MOVED = "another server is the controller, or may be"


class Duty(NamedTuple):
    """run         what it raises ends the term
    stop        called first at the end of the term, whether `run` has begun or not: nothing may wait for the duty
    at_once     it begins with the loop, and not only after the failover
    """

    name: str
    run: Callable[[], Work]
    stop: Callable[[], None] = lambda: None
    at_once: bool = False


class TermTasks:
    def __init__(self) -> None:
        self.why = MOVED
        """Why the term ends: the first reason."""
        self._over = asyncio.Event()
        self._failed_over = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._duties: list[Duty] = []
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._is_stopped = False

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def end_term(self, why: str = MOVED) -> None:
        if not self._over.is_set():
            self.why = why
            self._over.set()

    def start(self, loop: Work, duties: Iterable[Duty]) -> None:
        self._loop = asyncio.create_task(loop, name="controller-loop")
        self._tasks[self._loop] = None
        self._loop.add_done_callback(self._loop_ended)
        for duty in duties:
            self._duties.append(duty)
            self.begin(self._run(duty), duty.name)

    def failed_over(self) -> None:
        self._failed_over.set()

    async def over(self) -> str:
        await self._over.wait()
        return self.why

    def _loop_ended(self, loop: asyncio.Task[None]) -> None:
        defect = None if loop.cancelled() else loop.exception()
        self.end_term(MOVED if defect is None else _reason(defect))

    def raise_defect(self) -> None:
        if self._loop is not None and self._loop.done() and not self._loop.cancelled():
            self._loop.result()

    def begin_steps(self, steps: Iterator[None]) -> None:
        self.begin(Pace().through(steps))

    def begin(self, work: Work, name: str | None = None) -> None:
        """For what has to be done once; not after the end."""
        if self._is_stopped:
            work.close()
            return
        task = asyncio.create_task(self._guarded(work), name=name)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        task.add_done_callback(lambda _: work.close())  # it was never awaited if it was cancelled before it began

    async def stop(self) -> None:
        """The last first. It waits for all together: none holds up the others."""
        self.end_term()
        self._is_stopped = True
        for duty in reversed(self._duties):
            try:
                duty.stop()
            except Exception:
                log.exception("a defect at the end of the duty %s; the others end anyway", duty.name)
        tasks = list(reversed(self._tasks))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, duty: Duty) -> None:
        if not duty.at_once:
            await self._failed_over.wait()
        await duty.run()

    async def _guarded(self, work: Work) -> None:
        try:
            await work
        except ControllerMoved as reason:
            log.warning("this term ends: %s", reason)
            self.end_term(str(reason) or MOVED)
        except (ReloadNeeded, ZkError) as reason:
            log.warning("this term ends, and the next one does it again: %s", reason)
            self.end_term(str(reason) or type(reason).__name__)
        except Exception as defect:
            log.exception("a defect ends this term; the next one starts from what ZooKeeper holds")
            self.end_term(_reason(defect))


def _reason(defect: BaseException) -> str:
    return f"a defect in the server: {defect!r}"
