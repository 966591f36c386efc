"""The address of the page of the server that leads, as others show it."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from tests.http_client import get
from tests.kraft.stock_cluster import StockCluster
from tests.kraft.test_service import Service
from tests.processes import Process, processes
from tests.waiting import eventually


@pytest_asyncio.fixture
async def service(cluster: StockCluster, tmp_path: Path) -> AsyncIterator[Service]:
    async with processes(tmp_path) as started:
        yield Service(cluster, started, tmp_path)


@pytest.mark.stock
@pytest.mark.gate
async def test_kr_5_and_sv_7_a_server_that_stands_by_links_to_the_page_of_the_one_that_leads(service: Service) -> None:
    shown = ("--metrics-listener", "127.0.0.1:0", "--status-page", "full")
    first = await service.start(1_000, *shown)
    second = await service.start(1_001, *shown)

    async def links(server: Process, to: Process) -> bool:
        answer = await get(server.ready_value("metrics"), "/api/v1/status")
        controller = msgspec.json.decode(answer.body)["controller"]
        return bool(controller["page"] == to.ready_value("page"))

    async def both_link_to_first() -> bool:
        return await links(first, first) and await links(second, first)

    await eventually(both_link_to_first)
    await first.kill()

    async def links_to_itself() -> bool:
        return await links(second, second)

    await eventually(links_to_itself)
