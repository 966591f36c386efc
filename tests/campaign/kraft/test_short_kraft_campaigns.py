"""kr-13: short campaigns on stock clusters in KRaft mode. `make campaign KRAFT=1` runs longer ones."""

import pytest

from tests.campaign.campaign import campaign
from tests.stock.jars import require
from tests.stock.kraft import VERSION
from tests.tiers import submissions

from .kraft_course import in_front_of_kraft

SECONDS = 12.0
"""In which steps begin. With the start and the checks a campaign takes half a minute to a minute."""
SEEDS = (89, 236, 398)
"""Together they draw almost every kind of step, which a test of the plan holds."""
CASES = [
    pytest.param(
        seed, version, marks=pytest.mark.gate if at == submissions() % (2 * len(SEEDS)) else pytest.mark.release
    )
    for at, (seed, version) in enumerate(zip(SEEDS * 2, (VERSION, "4.4.0") * len(SEEDS), strict=True))
]
"""A gate has one of them for sure, and the next gate the next, of the other release."""

pytestmark = [pytest.mark.stock, pytest.mark.timeout(1200)]


@pytest.mark.parametrize(("seed", "version"), CASES)
async def test_kr_5_under_load_kills_and_outages_every_acknowledged_move_ends_once_and_nothing_is_left(
    seed: int, version: str
) -> None:
    require(version)
    said: list[str] = []
    held = await campaign(seed, in_front_of_kraft(seed, SECONDS, version=version, small=True), say=said.append)
    assert held, "\n".join(said)
