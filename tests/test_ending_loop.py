"""A loop of tests ends after its connections."""

import asyncio
import random

import pytest

from tests import unlucky_loop
from tests.ending_loop import EndingLoop


async def test_sv_3_a_server_hears_of_the_end_of_its_clients_before_its_loop_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unlucky_loop, "OFTEN", 1.0)
    loops = [EndingLoop(unlucky_loop.LateSelector(random.Random(seed))) for seed in range(5)]

    async def talk() -> None:
        async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await reader.read()
            finally:
                writer.close()

        async with await asyncio.start_server(hear, "127.0.0.1", 0) as server:
            _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.close()

    def run() -> list[bool]:
        left = []
        for loop in loops:
            with asyncio.Runner(loop_factory=lambda loop=loop: loop) as runner:  # type: ignore[misc]
                runner.run(talk())
            left.append(loop.has_connections())
        return left

    assert await asyncio.to_thread(run) == [False] * len(loops)
