"""The duties of a term: the order of their starts and stops, and what ends the term."""

import asyncio

import pytest

from kafka_reassign_rpc.controller.duties.term_tasks import MOVED, Duty, TermTasks, Work
from kafka_reassign_rpc.controller.store import ControllerMoved, ReloadNeeded
from kafka_reassign_rpc.zookeeper.zookeeper_errors import SessionOver


class Term:
    """Duties that note what becomes of them. `fails`: what one raises as soon as it may."""

    def __init__(self) -> None:
        self.tasks = TermTasks()
        self.noted: list[str] = []
        self.may_end = asyncio.Event()
        self.may_fail = asyncio.Event()
        self.loop_defect: Exception | None = None
        self.loop_ends = asyncio.Event()

    async def loop(self) -> None:
        await self.loop_ends.wait()
        if self.loop_defect is not None:
            raise self.loop_defect

    async def _run(self, name: str, fails: Exception | None, *, slow: bool) -> None:
        self.noted.append(name)
        try:
            if fails is None:
                await asyncio.Event().wait()
            await self.may_fail.wait()
            raise fails or AssertionError
        finally:
            if slow:
                await self.may_end.wait()
            self.noted.append(f"{name} ended")

    def duty(
        self,
        name: str,
        fails: Exception | None = None,
        *,
        at_once: bool = False,
        slow: bool = False,
        defect: bool = False,
    ) -> Duty:
        def stop() -> None:
            self.noted.append(f"stop {name}")
            if defect:
                raise LookupError(name)

        return Duty(name, lambda: self._run(name, fails, slow=slow), stop, at_once)

    def start(self, *duties: Duty) -> None:
        self.tasks.start(self.loop(), duties)


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def others() -> int:
    return len(asyncio.all_tasks()) - 1


async def test_sv_3_duties_begin_in_their_order_some_only_after_the_failover_and_stop_in_the_reverse_one() -> None:
    term = Term()
    term.start(term.duty("a", at_once=True), term.duty("b"), term.duty("c", at_once=True), term.duty("d"))
    await turns()
    assert term.noted == ["a", "c"]
    term.tasks.failed_over()
    await turns()
    assert term.noted == ["a", "c", "b", "d"]
    term.noted.clear()
    await term.tasks.stop()
    assert term.noted[:4] == ["stop d", "stop c", "stop b", "stop a"]
    assert term.noted[4:] == ["d ended", "c ended", "b ended", "a ended"]
    assert others() == 0


async def test_sv_3_a_duty_that_has_not_begun_is_stopped_too_since_others_may_wait_for_it() -> None:
    term = Term()
    term.start(term.duty("a"))
    await turns()
    await term.tasks.stop()
    assert term.noted == ["stop a"]
    assert others() == 0


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ControllerMoved("the epoch is 8"), "the epoch is 8"),
        (ControllerMoved(), MOVED),
        (ReloadNeeded("BadVersion"), "BadVersion"),
        (SessionOver("expired"), "expired"),
        (ZeroDivisionError("oh"), "a defect in the server: ZeroDivisionError('oh')"),
    ],
)
async def test_sv_3_a_duty_that_fails_ends_the_term_with_its_reason(error: Exception, why: str) -> None:
    term = Term()
    term.start(term.duty("a", at_once=True), term.duty("b", error, at_once=True))
    await turns()
    assert not term.tasks.is_over
    term.may_fail.set()
    assert await term.tasks.over() == why
    term.tasks.end_term("later")
    await term.tasks.stop()
    assert term.tasks.why == why, "the first reason holds"
    term.tasks.raise_defect()
    assert "a ended" in term.noted


async def test_sv_3_work_that_a_duty_has_begun_ends_the_term_too_where_it_fails() -> None:
    term = Term()
    term.start(term.duty("a", at_once=True))
    term.tasks.begin(term._run("work", SessionOver("expired"), slow=False))
    term.may_fail.set()
    assert await term.tasks.over() == "expired"
    await term.tasks.stop()


async def test_sv_3_a_duty_that_is_slow_to_stop_holds_up_no_other() -> None:
    term = Term()
    term.start(term.duty("a", at_once=True), term.duty("b", at_once=True, slow=True), term.duty("c", at_once=True))
    await turns()
    stopping = asyncio.create_task(term.tasks.stop())
    await turns()
    assert {"a ended", "c ended", "stop a", "stop b", "stop c"} <= set(term.noted)
    assert not stopping.done()
    term.may_end.set()
    await stopping
    assert others() == 0


async def test_sv_3_a_duty_with_a_defect_in_its_stop_keeps_no_other_from_ending(
    caplog: pytest.LogCaptureFixture,
) -> None:
    term = Term()
    term.start(term.duty("a", at_once=True), term.duty("b", at_once=True, defect=True))
    await turns()
    await term.tasks.stop()
    assert {"stop a", "a ended", "b ended"} <= set(term.noted)
    assert "a defect at the end of the duty b" in caplog.text
    assert others() == 0


async def test_sv_3_the_end_of_the_loop_is_the_end_of_the_term_and_its_defect_is_raised() -> None:
    for defect, why in (None, MOVED), (ValueError("oh"), "a defect in the server: ValueError('oh')"):
        term = Term()
        term.loop_defect = defect
        term.start(term.duty("a", at_once=True))
        await turns()
        term.tasks.raise_defect()
        term.loop_ends.set()
        assert await term.tasks.over() == why
        if defect is None:
            term.tasks.raise_defect()
        else:
            with pytest.raises(ValueError, match="oh"):
                term.tasks.raise_defect()
        await term.tasks.stop()
        assert others() == 0


async def test_sv_3_nothing_begins_after_the_end_of_a_term() -> None:
    term = Term()
    begun: list[int] = []

    async def late() -> None:
        begun.append(1)

    work: Work = late()
    term.start()
    await term.tasks.stop()
    term.tasks.begin(work)
    term.tasks.begin_steps(iter(()))
    await turns()
    assert begun == []
    assert others() == 0
