"""Blocks of producer ids."""

from collections.abc import Sequence

import pytest

from kafka_reassign_rpc.controller.duties.producer_ids import BLOCK, ProducerIds
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import SessionOver
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
