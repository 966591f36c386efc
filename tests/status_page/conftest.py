"""A cluster whose server shows the page with everything, and a tab of a browser."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from tests.controller.cluster import Cluster, cluster
from tests.status_page.browser import Tab, browser

RACKS = {1: "rack-a", 2: "rack-b", 3: "rack-c", 4: "rack-d"}


@pytest_asyncio.fixture
async def world(zk_connect: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    sampling = Sampling(interval_s=0.2, stall_s=2.0)
    async with cluster(
        zk_connect,
        metrics=True,
        status_page="full",
        sampling=sampling,
        event_log=tmp_path / "events",
        racks=RACKS,
    ) as made:
        yield made


@pytest_asyncio.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Tab]:
    async with browser(tmp_path / "profile") as made:
        yield made
