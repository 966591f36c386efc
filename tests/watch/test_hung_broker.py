"""kr-1: one process that is frozen (SIGSTOP: its sockets take requests, and none is answered) delays nothing else."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import Cluster
from tests.processes import processes
from tests.waiting import eventually
from tests.watch.hung import IMPATIENT, Looks, is_heard_again, others_go_on, silence_is_said
from tests.watch.watching import watching

SLOW = 20_000
"""Bytes/s: the moves take minutes."""
TO_GOOD, TO_HUNG = "t-0", "t-1"


@pytest_asyncio.fixture
async def cluster(zk: ZooKeeper, zk_connect: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    """Partition 0 moves to broker 2, and partition 1 to broker 3, which is a process of its own."""
    async with processes(tmp_path) as group:
        made = Cluster(group, zk, zk_connect, tmp_path)
        await made.server("a")
        await made.fleet("1", "t:2:1:6000000", bandwidth=SLOW)
        await made.fleet("2", bandwidth=SLOW)
        await made.fleet("3", bandwidth=SLOW, session_ms=60_000)
        assert set((await made.alter("a", {("t", 0): [2], ("t", 1): [3]})).values()) == {0}
        yield made


async def test_kr_1_while_a_broker_hangs_moves_of_others_and_their_throttles_are_seen_as_before(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(monkeypatch)
    host, port = cluster.address("a")
    async with watching(f"{host}:{port}", tmp_path / "watched", **IMPATIENT) as watch:

        async def are_measured() -> bool:
            moves = await watch.moves()
            return len(moves) == 2 and all(one["bytes_copied"] for one in moves.values())

        await eventually(are_measured)
        cluster.fleets["3"].freeze()
        said = await silence_is_said(watch, 3)
        held, last = (await watch.moves())[TO_GOOD]["bytes_copied"], (await watch.moves())[TO_HUNG]

        def copied(moves: Any) -> bool:
            one = moves[TO_HUNG]
            assert (one["copied"], one["rate"]) == (last["copied"], None), "as its last answer told it"
            return bool(moves[TO_GOOD]["bytes_copied"] > held)

        await others_go_on(watch, looks, 3, copied, other=1)
        assert await silence_is_said(watch, 3) == said, "its last answer is no later one"
        cluster.fleets["3"].thaw()
        await is_heard_again(watch, 3)
