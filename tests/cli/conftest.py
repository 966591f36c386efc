"""Commands as processes that end with the test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.processes import Processes, processes


@pytest_asyncio.fixture
async def commands(tmp_path: Path) -> AsyncIterator[Processes]:
    async with processes(tmp_path) as group:
        yield group
