"""Short campaigns on stock clusters in KRaft mode (sv-3). `make campaign KRAFT=1` runs longer ones, also of 4.4."""

import pytest

from tests.campaign.campaign import campaign
from tests.stock.jars import require
from tests.stock.kraft import VERSION
from tests.tiers import submissions

from .kraft_course import in_front_of_kraft

SECONDS = 12.0
"""In which steps begin. With the start and the checks a campaign takes half a minute to a minute."""
SEEDS = (89, 236, 398)
"""Together they draw almost every kind of step, which a test of the plan holds. A gate has one of them for sure, and
the next gate the next."""
CASES = [
    pytest.param(seed, marks=pytest.mark.gate if at == submissions() % len(SEEDS) else pytest.mark.release)
    for at, seed in enumerate(SEEDS)
]

pytestmark = [pytest.mark.stock, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("seed", CASES)
async def test_kr_5_under_load_kills_and_outages_every_acknowledged_move_ends_once_and_nothing_is_left(
    seed: int,
) -> None:
    require(VERSION)
    said: list[str] = []
    held = await campaign(seed, in_front_of_kraft(seed, SECONDS, small=True), say=said.append)
    assert held, "\n".join(said)
