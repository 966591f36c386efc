"""kr-5, kr-6, kr-7: random histories of terms, each by its seed (docs/campaign.md)."""

import asyncio

import pytest

from tests.effort import examples
from tests.kraft import virtual_time
from tests.kraft.random_terms import differences
from tests.tables import for_each

FIRST = 20_000


@pytest.mark.more
def test_kr_5_and_kr_6_whatever_happens_to_terms_each_move_ends_once_as_was_asked_and_by_the_rules() -> None:
    found = {seed: wrong for seed in range(FIRST, FIRST + examples(160)) if (wrong := differences(seed)[0])}
    assert not found, "python -m tests.kraft.random_terms SEED 1 --show"


@for_each("hours", [0.0, 1.0, 1_000.0])
def test_virtual_time_passes_only_while_all_tasks_wait(hours: float) -> None:
    async def waits() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.gather(asyncio.sleep(hours * 3_600), asyncio.sleep(hours * 60))
        return loop.time() - began

    assert virtual_time.run(waits()) == hours * 3_600


def test_virtual_time_says_when_nothing_will_happen_any_more() -> None:
    async def waits() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="forever"):
        virtual_time.run(waits())
