"""What the interpreter itself may not do to the event loop."""

import asyncio
import gc
import sys
import time
from collections.abc import Iterator

import pytest

from kafka_reassign_rpc.server import garbage_collection
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def interpreter() -> Iterator[None]:
    """As it was, whatever a test has done to it."""
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    yield
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)
    gc.unfreeze()


def test_sv_1_the_oldest_objects_are_collected_by_the_clock_alone() -> None:
    garbage_collection.prepare()

    assert gc.isenabled()
    assert gc.get_threshold() == (garbage_collection.YOUNG, garbage_collection.MIDDLE, garbage_collection.NEVER)
    assert gc.get_freeze_count() > 0
    assert sys.getswitchinterval() == pytest.approx(garbage_collection.SWITCH_S)


def test_sv_1_what_was_loaded_is_out_of_the_collector_s_sight() -> None:
    garbage_collection.prepare()
    loaded = [[number] for number in range(1000)]
    seen = {id(one) for one in gc.get_objects()}
    assert all(id(one) in seen for one in loaded)

    garbage_collection.settled()

    seen = {id(one) for one in gc.get_objects()}
    assert not any(id(one) in seen for one in loaded)


async def test_sv_7_a_loop_that_is_held_up_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collection, "MEASURE_EVERY_S", 0.01)
    found: list[float] = []
    task = asyncio.create_task(garbage_collection.measure(found.append))
    await eventually(lambda: found)
    time.sleep(0.1)  # the loop is held up: that is what is measured
    await eventually(lambda: max(found) > 0.08)
    assert min(found) >= 0
    task.cancel()


async def test_sv_1_garbage_in_cycles_does_go(monkeypatch: pytest.MonkeyPatch) -> None:
    collected = asyncio.Event()
    monkeypatch.setattr(garbage_collection, "COLLECT_EVERY_S", 0.001)
    loop = asyncio.get_running_loop()

    class Cycle:
        def __init__(self) -> None:
            self.own = self

        def __del__(self) -> None:
            loop.call_soon(collected.set)

    gc.set_threshold(*[garbage_collection.NEVER] * 3)
    Cycle()
    task = asyncio.create_task(garbage_collection.collect_by_the_clock())
    async with asyncio.timeout(20):
        await collected.wait()
    task.cancel()
