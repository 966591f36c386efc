"""The same scenarios on a cluster in KRaft mode, and by way of our service in front of it: the transcripts differ only
as intended. No recording: what KRaft does is asked of the same brokers. A gate has a third of the scenarios in turn.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from tests import first_failures
from tests.effort import in_turn
from tests.stock.jars import require
from tests.stock.kraft import VERSION

from .comparing import compare, unexpected
from .differences import IN_FRONT_OF_KRAFT, NOT_ALIKE_IN_FRONT
from .kraft_clusters import InFront, StockKRaft
from .runner import FAILED, Transcript, run, run_again
from .scenarios import SCENARIOS

pytestmark = [pytest.mark.stock, pytest.mark.release, pytest.mark.timeout(900)]

CHAPTERS = "abcdefk"
"""Requests, targets, moves, retargets, cancels, lists, the guard. The others are about topics, configs and brokers:
brokers answer them, and we hand that on."""
NAMES = [
    name for name, one in SCENARIOS.items() if name[0] in CHAPTERS and not one.alone and name not in NOT_ALIKE_IN_FRONT
]


class Both(NamedTuple):
    stock: StockKRaft
    ours: InFront
    transcripts: dict[str, dict[str, Transcript]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Both]:
    """One after the other: they are the same brokers."""
    require(VERSION)
    directory = tmp_path_factory.mktemp("in-front-of-kraft")
    chosen = {item.callspec.params.get("scenario") for item in request.session.items if hasattr(item, "callspec")}
    names = [name for name in NAMES if name in chosen]
    stock = StockKRaft(directory / "stock")
    ours = InFront(stock, directory / "ours")
    async with AsyncExitStack() as stack:
        for cluster in (stock, ours):
            stack.push_async_callback(cluster.end)
            await cluster.start()
        yield Both(stock, ours, {one.name: await run(one, names) for one in (stock, ours)})


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("scenario", in_turn(NAMES, 3))
async def test_kr_9_the_same_happens_as_without_us(scenario: str, both: Both, request: pytest.FixtureRequest) -> None:
    found = {name: transcripts[scenario] for name, transcripts in both.transcripts.items()}
    if first_failures.attempt(request.node) > 1:
        found = {one.name: await run_again(one, scenario) for one in (both.stock, both.ours)}
    failures = [f"{name}: {value}" for name, steps in found.items() for label, value in steps if label == FAILED]
    assert not failures, "\n".join(failures)
    wanted = [one for one in IN_FRONT_OF_KRAFT if one.scenario == scenario]
    stock, ours = (_without_texts(found[name]) for name in ("stock", "ours"))
    assert not (problems := unexpected(compare(stock, ours), wanted)), "\n".join(problems)


def _without_texts(value: Any) -> Any:
    """Without the texts of errors: those of a dictionary, and those behind a code."""
    if isinstance(value, dict):
        return {key: _without_texts(one) for key, one in value.items() if key not in ("message", "error_message")}
    if not isinstance(value, list | tuple):
        return value
    *others, last = value or (None,)
    is_text = len(others) > 0 and isinstance(others[-1], int) and (last is None or isinstance(last, str))
    return [_without_texts(one) for one in (others if is_text else value)]


def test_every_wanted_difference_belongs_to_a_scenario() -> None:
    assert {one.scenario for one in IN_FRONT_OF_KRAFT} <= {*NAMES}
    assert NOT_ALIKE_IN_FRONT.keys() <= SCENARIOS.keys()
    assert all(one.why for one in IN_FRONT_OF_KRAFT)
