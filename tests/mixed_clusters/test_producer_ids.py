"""A stock controller 3.9.1 gives out producer ids in a cluster that a server of ours has begun."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.protocol.messages import InitProducerIdRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bad_znodes.test_garbage import serving
from tests.faults.cluster import address_of, ask
from tests.stock.cluster import StockCluster
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.release]

INIT = InitProducerIdRequest(version=0, transactional_id=None, transaction_timeout_ms=1000)


@pytest.mark.parametrize("left_empty", [False, True], ids=["a new cluster", "one with an empty block"])
async def test_sv_4_a_stock_controller_gives_out_producer_ids_where_a_server_of_ours_was_first(
    tmp_path: Path, left_empty: bool
) -> None:
    async with EmbeddedZooKeeper(tmp_path / "zookeeper") as zookeeper, ZooKeeper(zookeeper.address) as zk:
        if left_empty:
            await zk.create(znode_paths.PRODUCER_ID_BLOCK, b"")
        async with serving(zookeeper.address):
            pass
        stock = StockCluster(zookeeper.address, tmp_path, (1,))
        await stock.start()
        try:
            address = address_of(stock.brokers[1].address)

            async def given() -> bool:
                return bool((await ask(address, INIT, 0)).error_code == 0)

            await eventually(given, within=30)
        finally:
            await stock.kill()
