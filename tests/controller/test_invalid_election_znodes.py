"""Znodes of the election that no election has written: what a server does, and what it says, once (hm-4)."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.znode_contents import encode_controller
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.cli.test_processes import MIGRATION
from tests.controller.bare_controller import register
from tests.controller.settings.test_migration_to_kraft import is_controlled_by, server
from tests.waiting import eventually

KRAFT = encode_controller(3000, 0).replace(b'"kraftControllerEpoch":-1', b'"kraftControllerEpoch":5')
STANDS, ELECTED = "standing by", "controlling"


@asynccontextmanager
async def standing_by(zk: ZooKeeper, connect: str, log: pytest.LogCaptureFixture) -> AsyncIterator[None]:
    """A standby: it has looked many times, and was not elected."""
    with log.at_level(logging.INFO):
        async with server(connect, 1000) as here:
            await eventually(lambda: STANDS in log.text)
            for broker in (2, 3):
                await register(zk, broker)
                await eventually(lambda broker=broker: broker in here.live_brokers())  # type: ignore[misc]
            yield
    assert "Traceback" not in log.text
    assert ELECTED not in log.text


def said(log: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in log.records if one.levelno >= logging.ERROR]


@pytest.mark.parametrize("stands", [False, True], ids=["at its start", "while it runs"])
async def test_hm_4_a_migration_znode_without_data_is_no_migration(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture, stands: bool
) -> None:
    if not stands:
        await zk.create(znode_paths.MIGRATION, b"")
    else:
        await zk.create(znode_paths.CONTROLLER, encode_controller(9, 0), ephemeral=True)
    async with server(zk_connect, 1000) as here:
        if stands:
            await zk.create(znode_paths.MIGRATION, b"")
            await zk.delete(znode_paths.CONTROLLER)
        await here.ready()
        await eventually(lambda: is_controlled_by(zk, 1000))
    told = [one for one in caplog.records if "/migration has no data, so it is no migration" in one.getMessage()]
    assert [one.levelno for one in told] == [logging.WARNING]
    assert "delete it before a migration begins" in caplog.text


@pytest.mark.parametrize(
    "garbage", [b"?", b"{}", b"[1]", MIGRATION.replace(b'"version":0', b'"version":1'), b"0" * 5000]
)
async def test_hm_4_a_migration_znode_that_cannot_be_read_may_be_a_migration(
    zk: ZooKeeper, zk_connect: str, garbage: bytes
) -> None:
    await zk.create(znode_paths.MIGRATION, garbage)
    with pytest.raises(controller_election.MigrationToKRaft, match="that this server does not know: if no migration"):
        async with server(zk_connect, 1000):
            pass
    assert await zk.exists(znode_paths.CONTROLLER) is None


async def test_hm_4_a_server_takes_part_as_soon_as_the_migration_znode_is_emptied(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    await zk.create(znode_paths.CONTROLLER, encode_controller(9, 0), ephemeral=True)
    async with server(zk_connect, 1000) as here:
        await here.ready()
        await zk.create(znode_paths.MIGRATION, b"{garbage")
        await zk.delete(znode_paths.CONTROLLER)
        await eventually(lambda: "standing by: /migration: " in caplog.text)
        await zk.set(znode_paths.MIGRATION, b"", 0)
        await eventually(lambda: is_controlled_by(zk, 1000))


@pytest.mark.parametrize(
    ("data", "ephemeral", "what"),
    [
        (b"", False, "/controller is persistent (it has no data): no session owns it"),
        (b"?", False, "/controller is persistent (JSON is malformed"),
        (encode_controller(7, 0), False, "/controller is persistent (it names 7)"),
        (KRAFT, False, "/controller is of the KRaft controller 3000, epoch 5"),
        (
            b"",
            True,
            "/controller cannot be understood (it has no data), and no controller is elected while it is there: find",
        ),
        (b"[]", True, "/controller cannot be understood (Expected `object`"),
    ],
)
async def test_hm_4_a_server_says_once_what_controller_holds_and_goes_on_when_it_is_gone(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture, data: bytes, ephemeral: bool, what: str
) -> None:
    await zk.create(znode_paths.CONTROLLER, data, ephemeral=ephemeral)
    async with standing_by(zk, zk_connect, caplog):
        assert [text.startswith(f"standing by: {what}") for text in said(caplog)] == [True], said(caplog)
        assert ("it goes with the session" in caplog.text) == ephemeral
        assert (await zk.get(znode_paths.CONTROLLER))[0] == data
    async with server(zk_connect, 1000):
        await zk.delete(znode_paths.CONTROLLER)
        await eventually(lambda: is_controlled_by(zk, 1000))


@pytest.mark.parametrize("data", [b"", b"?", b"-1", b"99999999999", b"1 "])
async def test_hm_4_a_server_says_once_that_the_controller_epoch_cannot_be_understood_and_what_to_write(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    await zk.create(znode_paths.CONTROLLER_EPOCH, data)
    async with standing_by(zk, zk_connect, caplog):
        (text,) = said(caplog)
        assert text.startswith("standing by: /controller_epoch cannot be understood (")
        assert "write the epoch of the last controller into it, or any higher number" in text
        assert (await zk.get(znode_paths.CONTROLLER_EPOCH))[0] == data
    async with server(zk_connect, 1000):
        await zk.set(znode_paths.CONTROLLER_EPOCH, b"7", 0)
        await eventually(lambda: is_controlled_by(zk, 1000))
        assert (await zk.get(znode_paths.CONTROLLER_EPOCH))[0] == b"8"


async def test_hm_4_a_kraft_controller_is_not_seized_from_although_a_broker_has_its_id(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    await register(zk, 3000)
    await zk.create(znode_paths.CONTROLLER, KRAFT)
    async with standing_by(zk, zk_connect, caplog):
        assert (await zk.get(znode_paths.CONTROLLER))[0] == KRAFT
