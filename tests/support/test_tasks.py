"""How background tasks are ended.

Parts start in their order and stop in the reverse one, whatever fails.
"""

import asyncio

import pytest

from kafka_reassign_rpc.support.tasks import Part, Parts, end, nothing


async def slow_to_end(begun: asyncio.Event, may_end: asyncio.Event) -> None:
    try:
        begun.set()
        await asyncio.Event().wait()
    finally:
        await may_end.wait()


async def test_tasks_are_over_when_end_returns() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()
    may_end.set()
    tasks = [asyncio.create_task(slow_to_end(begun, may_end)) for _ in range(2)]
    await begun.wait()
    await end(*tasks)
    assert all(task.cancelled() for task in tasks)
    await end()


async def test_a_task_that_is_cancelled_while_it_ends_another_is_cancelled() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(slow_to_end(begun, may_end))
    await begun.wait()
    ending = asyncio.create_task(end(task))
    while not task.cancelling():
        await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    may_end.set()
    await asyncio.wait([task])


async def test_what_a_task_failed_with_is_raised_when_it_is_ended() -> None:
    async def fails() -> None:
        raise ValueError("nonsense")

    task = asyncio.create_task(fails())
    await asyncio.wait([task])
    with pytest.raises(ValueError, match="nonsense"):
        await end(task)


class Done:
    """What parts have done. `fails`: what of it raises; `hangs`: what does not return."""

    def __init__(self, *, fails: tuple[str, ...] = (), hangs: str = "") -> None:
        self.steps: list[str] = []
        self._fails = fails
        self._hangs = hangs

    async def _step(self, step: str) -> None:
        self.steps.append(step)
        if step in self._fails:
            raise OSError(step)
        if step == self._hangs:
            await asyncio.Event().wait()

    def parts(self, *names: str) -> Parts:
        return Parts([Part(lambda n=n: self._step(n), lambda n=n: self._step(f"-{n}")) for n in names])  # type: ignore[misc]


async def test_sv_3_parts_start_in_their_order_and_stop_in_the_reverse_one() -> None:
    done = Done()
    parts = done.parts("a", "b", "c")
    await parts.start()
    assert done.steps == ["a", "b", "c"]
    await parts.stop()
    assert done.steps[3:] == ["-c", "-b", "-a"]
    await parts.stop()
    assert len(done.steps) == 6, "each stops once"


async def test_sv_3_a_part_that_fails_to_start_is_stopped_with_those_before_it_and_no_other_begins() -> None:
    done = Done(fails=("b", "-a"))
    with pytest.raises(OSError, match=r"^b$"):
        await done.parts("a", "b", "c").start()
    assert done.steps == ["a", "b", "-b", "-a"]


async def test_sv_3_a_start_that_is_cancelled_stops_what_has_begun() -> None:
    done = Done(hangs="b")
    starting = asyncio.create_task(done.parts("a", "b", "c").start())
    while done.steps[-1:] != ["b"]:
        await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert done.steps == ["a", "b", "-b", "-a"]


async def test_sv_3_a_part_that_cannot_stop_keeps_no_other_from_it_and_its_error_is_raised() -> None:
    done = Done(fails=("-b",))
    parts = done.parts("a", "b", "c")
    await parts.start()
    with pytest.raises(OSError, match="-b"):
        await parts.stop()
    assert done.steps[3:] == ["-c", "-b", "-a"]


async def test_sv_3_a_part_may_only_stop_or_only_start() -> None:
    done = Done()
    parts = Parts([Part(nothing), Part(nothing, lambda: done._step("-a"))])
    await parts.start()
    await parts.stop()
    assert done.steps == ["-a"]
