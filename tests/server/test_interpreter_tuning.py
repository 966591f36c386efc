"""Garbage collection and thread switching must not hold up the event loop."""

import asyncio
import gc
import sys
import time
import weakref
from collections.abc import Iterator

import pytest

from kafka_reassign_rpc.server import process_limits
from tests.raw_client import connected
from tests.server.conftest import StartServer, address
from tests.server.test_server_connections import versions
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def interpreter() -> Iterator[None]:
    """Restores the interpreter's settings after the test, which begins with nothing left out of the collections."""
    thresholds, interval, callbacks = gc.get_threshold(), sys.getswitchinterval(), [*gc.callbacks]
    gc.unfreeze()
    yield
    gc.callbacks[:] = callbacks
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)
    gc.unfreeze()
    gc.collect()
    gc.freeze()  # as pytest_collection in tests/conftest.py did


def test_sv_1_the_collector_and_the_threads_are_set_for_the_loop() -> None:
    process_limits.tune_interpreter()

    assert gc.isenabled()
    assert gc.get_threshold() == (process_limits.YOUNG, process_limits.MIDDLE, process_limits.OLD)
    assert gc.get_freeze_count() > 0
    assert sys.getswitchinterval() == pytest.approx(process_limits.SWITCH_S)


def test_sv_1_loaded_objects_are_excluded_from_collection() -> None:
    process_limits.tune_interpreter()
    loaded = [[number] for number in range(1000)]
    seen = {id(one) for one in gc.get_objects()}
    assert all(id(one) in seen for one in loaded)

    process_limits.leave_loaded_objects_alone()

    seen = {id(one) for one in gc.get_objects()}
    assert not any(id(one) in seen for one in loaded)


async def test_sv_7_a_loop_that_is_held_up_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_limits, "MEASURE_EVERY_S", 0.01)
    found: list[float] = []
    task = asyncio.create_task(process_limits.measure_loop_delay(found.append))
    await eventually(lambda: found)
    time.sleep(0.1)  # the loop is held up: that is what is measured
    await eventually(lambda: max(found) > 0.08)
    assert min(found) >= 0
    task.cancel()


def test_sv_1_no_full_pass_looks_at_many_objects_however_many_become_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has survived a long pass is excluded from the next: each object is looked at once, and not all at a time."""
    monkeypatch.setattr(process_limits, "LONG_S", 0.0)
    before = [[number] for number in range(600_000)]  # whatever the process holds already
    process_limits.tune_interpreter()
    looked_at: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == process_limits.OLDEST:
            looked_at.append(len(gc.get_objects()))

    gc.callbacks.append(note)
    try:
        kept = [[number] for number in range(300_000)]
    finally:
        gc.callbacks.remove(note)
    assert max(looked_at) <= 40_000 < len(before)
    assert len(kept) / 2 <= sum(looked_at) <= 2 * len(kept)


async def test_sv_1_garbage_in_cycles_does_go(monkeypatch: pytest.MonkeyPatch) -> None:
    collected = asyncio.Event()
    monkeypatch.setattr(process_limits, "COLLECT_EVERY_S", 0.001)
    loop = asyncio.get_running_loop()

    class Cycle:
        def __init__(self) -> None:
            self.own = self

        def __del__(self) -> None:
            loop.call_soon(collected.set)

    gc.set_threshold(*[1_000_000] * 3)
    Cycle()
    task = asyncio.create_task(process_limits.collect_garbage_periodically())
    async with asyncio.timeout(120):  # a pass over all that tests before have left, on a busy machine
        await collected.wait()
    task.cancel()


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
