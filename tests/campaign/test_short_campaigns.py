"""Three short campaigns on stock brokers (sv-3). `make campaign` runs longer ones."""

import pytest

from tests.stock.jars import BROKER_VERSION, require

from .campaign import campaign
from .steps import SWITCHED_OFF

SECONDS = 20.0
"""In which steps begin. With the start and the checks a campaign takes one to two minutes."""

pytestmark = [pytest.mark.stock, pytest.mark.stock_live, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_sv_3_under_load_kills_and_outages_nothing_is_lost_and_nothing_is_left(seed: int) -> None:
    require(BROKER_VERSION)
    said: list[str] = []
    held = await campaign(seed, SECONDS, SWITCHED_OFF, say=said.append)
    assert held, "\n".join(said)
