"""Blocks of producer ids."""

from collections.abc import Sequence

import pytest

from kafka_reassign_rpc.controller.duties.producer_ids import BLOCK, ProducerIds
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.znode_contents import decode_producer_id_block
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import SessionOver
from tests.controller.bad_znodes.test_garbage import serving
from tests.controller.bare_controller import elected_controller

SERVER = 1000


async def test_sv_4_a_broker_that_needs_producer_ids_when_the_session_ends_asks_again(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker takes NOT_CONTROLLER for what passes."""
    async with elected_controller(zk_connect) as controller:
        ids = ProducerIds(controller.store, SERVER)
        assert [await ids.allocate(1), await ids.allocate(2)] == [(0, BLOCK), (BLOCK, BLOCK)]

        async def away(_: ZooKeeper, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
            raise SessionOver("over")

        with monkeypatch.context() as patched:
            patched.setattr(ZooKeeper, "multi_get", away)
            with pytest.raises(NotController, match="session is over"):
                await ids.allocate(1)
        assert await ids.allocate(1) == (2 * BLOCK, BLOCK)
        assert (await zk.get(znode_paths.PRODUCER_ID_BLOCK))[1].version == 2


async def test_sv_4_no_producer_id_is_given_out_twice_though_the_znode_is_set_back_and_another_term_begins(
    zk: ZooKeeper, zk_connect: str
) -> None:
    path = znode_paths.PRODUCER_ID_BLOCK
    async with elected_controller(zk_connect) as controller:
        ids = ProducerIds(controller.store, SERVER)
        first = [(await ids.allocate(1))[0] for _ in range(3)]
        at_first, _ = await zk.get(path)
        first += [(await ids.allocate(2))[0] for _ in range(3)]
        await zk.set(path, at_first)
    async with elected_controller(zk_connect) as controller:
        ids = ProducerIds(controller.store, SERVER)
        first += [(await ids.allocate(1))[0] for _ in range(2)]
    assert first[:6] == [BLOCK * number for number in range(6)]
    assert first[6] >= 6 * BLOCK
    assert first[7] == first[6] + BLOCK, "each once more"


async def test_sv_4_a_server_leaves_no_empty_block_behind_which_stock_controllers_cannot_read(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Its own is without data until a block is given out, as a broker creates it."""
    path = znode_paths.PRODUCER_ID_BLOCK
    for _ in range(2):
        async with serving(zk_connect):
            data, stat = await zk.get_or_null(path)
            assert (data, stat.version) == (None, 0)
    await zk.set(path, b"")
    await zk.set(path, b"")
    async with serving(zk_connect):
        data, stat = await zk.get_or_null(path)
        assert (decode_producer_id_block(data), stat.version) == (2 * BLOCK + BLOCK - 1, 3), "two may be given out"
