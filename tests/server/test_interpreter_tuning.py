"""Garbage collection and thread switching must not hold up the event loop."""

import asyncio
import gc
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest

from kafka_reassign_rpc.server import interpreter_tuning, open_connections
from tests.raw_client import connected
from tests.server.conftest import StartServer, address
from tests.server.test_server_connections import versions
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def interpreter() -> Iterator[None]:
    """Restores the interpreter's settings after the test."""
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    yield
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)
    gc.unfreeze()


def test_sv_1_the_oldest_objects_are_collected_by_the_clock_alone() -> None:
    interpreter_tuning.tune_interpreter()

    assert gc.isenabled()
    assert gc.get_threshold() == (interpreter_tuning.YOUNG, interpreter_tuning.MIDDLE, interpreter_tuning.NEVER)
    assert gc.get_freeze_count() > 0
    assert sys.getswitchinterval() == pytest.approx(interpreter_tuning.SWITCH_S)


def test_sv_1_loaded_objects_are_excluded_from_collection() -> None:
    interpreter_tuning.tune_interpreter()
    loaded = [[number] for number in range(1000)]
    seen = {id(one) for one in gc.get_objects()}
    assert all(id(one) in seen for one in loaded)

    interpreter_tuning.leave_loaded_objects_alone()

    seen = {id(one) for one in gc.get_objects()}
    assert not any(id(one) in seen for one in loaded)


async def test_sv_7_a_loop_that_is_held_up_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter_tuning, "MEASURE_EVERY_S", 0.01)
    found: list[float] = []
    task = asyncio.create_task(interpreter_tuning.measure_loop_delay(found.append))
    await eventually(lambda: found)
    time.sleep(0.1)  # the loop is held up: that is what is measured
    await eventually(lambda: max(found) > 0.08)
    assert min(found) >= 0
    task.cancel()


async def test_sv_1_a_full_pass_comes_before_too_many_objects_are_old() -> None:
    """Whoever waits for the clock finds a minute's objects, and holds up the loop for as long as they take."""
    interpreter_tuning.tune_interpreter()
    passes: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            passes.append(phase)

    gc.callbacks.append(note)
    task = asyncio.create_task(interpreter_tuning.collect_garbage_periodically())
    kept = []
    try:
        for _ in range(4):
            kept.append([[number] for number in range(200_000)])
            await eventually(lambda: gc.get_count()[2] < interpreter_tuning.MIDDLE_PASSES)
    finally:
        gc.callbacks.remove(note)
        task.cancel()
    assert len(passes) >= len(kept)


async def test_sv_1_garbage_in_cycles_does_go(monkeypatch: pytest.MonkeyPatch) -> None:
    collected = asyncio.Event()
    monkeypatch.setattr(interpreter_tuning, "COLLECT_EVERY_S", 0.001)
    loop = asyncio.get_running_loop()

    class Cycle:
        def __init__(self) -> None:
            self.own = self

        def __del__(self) -> None:
            loop.call_soon(collected.set)

    gc.set_threshold(*[interpreter_tuning.NEVER] * 3)
    Cycle()
    task = asyncio.create_task(interpreter_tuning.collect_garbage_periodically())
    async with asyncio.timeout(20):
        await collected.wait()
    task.cancel()


async def test_sv_6_a_full_pass_waits_for_large_requests_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter_tuning, "LOOK_EVERY_S", 0.001)
    passes = interpreter_tuning.FullPasses()
    with passes.wait():
        with passes.wait():
            waiting = asyncio.create_task(passes.may_run())
            assert not (await asyncio.wait([waiting], timeout=0.05))[0]
        assert not (await asyncio.wait([waiting], timeout=0.05))[0]
    await asyncio.wait_for(waiting, 20)
    monkeypatch.setattr(interpreter_tuning, "LONGEST_DELAY_S", 0.05)
    with passes.wait():
        await asyncio.wait_for(passes.may_run(), 20)


async def test_sv_6_after_many_new_connections_a_full_pass_comes_before_its_time(
    monkeypatch: pytest.MonkeyPatch, start_server: StartServer
) -> None:
    monkeypatch.setattr(interpreter_tuning, "LOOK_EVERY_S", 0.001)
    monkeypatch.setattr(interpreter_tuning, "CONNECTIONS_PER_PASS", 3)
    passes = interpreter_tuning.FullPasses()
    monkeypatch.setattr(open_connections, "full_passes", passes)
    server = await start_server()
    due = asyncio.create_task(passes.due())
    async with AsyncExitStack() as stack:
        for count in (1, 2, 3):
            assert not (await asyncio.wait([due], timeout=0.05))[0]
            client = await stack.enter_async_context(connected(address(server)))
            await client.call(versions(), 0)
            assert server.stats.connections_accepted == count
        await asyncio.wait_for(due, 20)
    assert passes.connections == 0


@pytest.mark.both_loops
async def test_sv_6_a_connection_that_has_closed_leaves_nothing_to_the_collector(start_server: StartServer) -> None:
    """What the collector does not look at again may be a connection: it has to go by itself."""
    server = await start_server()
    gc.disable()
    try:
        async with connected(address(server)) as client, connected(address(server)) as half:
            await client.call(versions(), 0)
            await half.send(client.request(versions(), 0)[:-1])
            await eventually(lambda: server.stats.connections_now == 2)
            found = [weakref.ref(one) for one in server._connections._connections]
        await eventually(lambda: not any(one() for one in found))
    finally:
        gc.enable()
