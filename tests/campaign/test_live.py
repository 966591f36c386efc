"""Three short campaigns. CI and STOCK_LIVE=1 run them; `make campaign` runs longer ones."""

import asyncio

import pytest

from tests.stock.jars import BROKER_VERSION, require

from .campaign import campaign
from .steps import SWITCHED_OFF

SECONDS = 40
SEEDS = (1, 2, 3)

pytestmark = [pytest.mark.stock, pytest.mark.stock_live, pytest.mark.timeout(SECONDS + 500)]


@pytest.mark.parametrize("seed", SEEDS)
def test_sv_4_stock_brokers_lose_nothing_and_come_to_rest_whatever_happens_to_them_and_to_us(seed: int) -> None:
    require(BROKER_VERSION)
    assert asyncio.run(campaign(seed, SECONDS, tuple(SWITCHED_OFF)))
