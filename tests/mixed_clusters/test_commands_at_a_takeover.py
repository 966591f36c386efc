"""Commands that need our server, given while it takes over from a stock broker 3.9.1."""

import asyncio
from pathlib import Path

import pytest

from kafka_reassign_rpc.client import ReassignmentClient
from tests.waiting import eventually

from .mixed_cluster import behind_our_server, controller

pytestmark = [pytest.mark.stock, pytest.mark.release]


async def test_dh_2_as_soon_as_our_server_is_elected_settings_and_cordons_wait_for_its_term(tmp_path: Path) -> None:
    """Brokers name the former controller still, which serves neither."""
    async with behind_our_server(tmp_path, (1, 2)) as mixed:

        def change() -> tuple[str, frozenset[int]]:
            with ReassignmentClient(bootstrap_servers=mixed.stock.bootstrap) as client:
                client.change_settings({"failure.interval.ms": "3600000"})
                found = {one.name: one.value for one in client.settings()}
                return found["failure.interval.ms"], client.cordon([2])

        await mixed.cluster.servers["a"].kill()
        await eventually(mixed.stock_controls, within=60)
        starting = asyncio.create_task(mixed.cluster.server("b"))

        async def is_elected() -> bool:
            return await controller(mixed.zk) == 1000

        await eventually(is_elected, within=60)
        assert await asyncio.to_thread(change) == ("3600000", frozenset({2}))
        await starting
