"""Somebody lowers or deletes `/controller_epoch` of stock brokers 3.9.1, which obey no lower epoch than they know."""

import json
from pathlib import Path

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.waiting import eventually

from .mixed_cluster import MixedCluster, behind_our_server

pytestmark = [pytest.mark.stock, pytest.mark.release]


async def epoch(mixed: MixedCluster) -> int:
    return int((await mixed.zk.get(znode_paths.CONTROLLER_EPOCH))[0])


async def test_sv_3_stock_brokers_obey_a_server_whose_epoch_was_lowered_deleted_or_is_unknown(tmp_path: Path) -> None:
    async with behind_our_server(tmp_path) as mixed:
        await mixed.create("t", {0: (1, 2)})

        async def moves(*target: int) -> None:
            async def is_taken() -> bool:
                return await mixed.alter({("t", 0): target}) == {("t", 0): 0}

            await eventually(is_taken, within=60)  # NOT_CONTROLLER until the server is elected again
            await mixed.rest_at({("t", 0): target})

        await mixed.zk.set(znode_paths.CONTROLLER_EPOCH, b"50")
        await moves(2, 3)
        assert await epoch(mixed) == 51
        await mixed.zk.set(znode_paths.CONTROLLER_EPOCH, b"0")
        await moves(3, 1)
        await mixed.zk.delete(znode_paths.CONTROLLER_EPOCH)
        await moves(1, 2)
        assert await epoch(mixed) == 53
        await mixed.zk.set(znode_paths.CONTROLLER_EPOCH, b"500")
        await moves(2, 3)
        await mixed.cluster.servers["a"].kill()
        await forget(mixed.zk)
        await mixed.serve("b")
        await moves(3, 1)
        assert await epoch(mixed) > 501


async def forget(zk: ZooKeeper) -> None:
    """Brokers alone know the last epoch."""
    await zk.set(znode_paths.CONTROLLER_EPOCH, b"0")
    await zk.delete(znode_paths.LAST_CONTROL)
    path = znode_paths.partition_state("t", 0)
    state = json.loads((await zk.get(path))[0])
    await zk.set(path, json.dumps(state | {"controller_epoch": 1}).encode())
