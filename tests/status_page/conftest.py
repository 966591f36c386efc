"""A cluster whose server shows the page with everything, and a tab of a browser."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest_asyncio

from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from tests import pictures
from tests.controller.cluster import Cluster, cluster
from tests.http_client import streamed
from tests.status_page.browser import Tab, browser
from tests.waiting import eventually

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


Look = Callable[[str, str], Awaitable[None]]


@pytest_asyncio.fixture
async def look(tmp_path: Path) -> AsyncIterator[Look]:
    """Takes pictures of the page at an address, wide and on a phone, where the run keeps pictures."""

    async def at_nothing(name: str, page: str) -> None:
        pass

    if not pictures.wanted():
        yield at_nothing
        return
    async with browser(tmp_path / "profile") as opened:

        async def at(name: str, page: str) -> None:
            for width, height in ((1280, 900), (360, 780)):
                await opened.looks(width=width, height=height, scheme="light", phone=width < 720)
                await opened.open(f"http://{page}/")
                await eventually(lambda: opened.shows("#live", "live, "))
                await opened.unfold()
                for table in "#brokers", "#events", "#moves":
                    await eventually(partial(opened.text, f"{table} tbody"))
                await opened.picture(f"{name}-{width}")
                assert await opened.fits()
            await opened.open("about:blank")

            async def nobody_looks() -> bool:
                """What others look at already is up to two seconds old."""
                asked_at = time.time() * 1000
                [(_, first)] = await streamed(f"http://{page}/api/v1/stream", 1)
                return bool(first["at"] >= asked_at)

            await eventually(nobody_looks)

        yield at
