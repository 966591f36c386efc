"""Short campaigns on stock brokers (sv-3, sv-5). `make campaign` runs longer ones."""

import pytest

from tests.effort import in_all
from tests.stock.jars import BROKER_VERSION, require
from tests.tiers import submissions

from .campaign import campaign, in_front_of_zookeeper

SECONDS = 20.0
"""In which steps begin. With the start and the checks a campaign takes one to two minutes."""
OPEN, ONLY_IN_ALL, SECURED = (175, 354), 85, 49
"""Seeds. Together they draw every kind of step, and but for `kill_two_brokers` without the second: a test of the
generator holds that. Of OPEN a gate has one, and the next gate the other."""

pytestmark = [pytest.mark.stock, pytest.mark.release, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("seed", in_all((ONLY_IN_ALL, *OPEN), elsewhere=OPEN[submissions() % 2 :][:1]))
async def test_sv_3_under_load_kills_and_outages_nothing_is_lost_and_nothing_is_left(seed: int) -> None:
    await _held(seed)


async def test_sv_5_a_secured_cluster_loses_nothing_either() -> None:
    await _held(SECURED, secure=True)


async def _held(seed: int, *, secure: bool = False) -> None:
    require(BROKER_VERSION)
    said: list[str] = []
    held = await campaign(seed, in_front_of_zookeeper(seed, SECONDS, (), secure=secure), say=said.append)
    assert held, "\n".join(said)
