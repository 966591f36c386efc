"""What is not there is watched, and read if it has come meanwhile: answers of ZooKeeper in turn, and none too many."""

from functools import partial
from unittest.mock import AsyncMock, Mock, call

from kafka_reassign_rpc.controller.controller_election import owner, read_migration
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode

STAT = Mock(name="a stat")


def answers(*reads: object, there: tuple[object, ...] = ()) -> Mock:
    """A ZooKeeper with these answers to `get` and `exists`."""
    zk = Mock(get=AsyncMock(side_effect=reads), exists=AsyncMock(side_effect=there))
    zk.if_there = partial(ZooKeeper.if_there, zk)
    return zk


async def test_hm_4_a_migration_is_read_without_a_watch_in_one_call() -> None:
    assert await read_migration(answers((b"{}", STAT))) == b"{}"
    assert await read_migration(answers(NoNode())) is None


async def test_hm_4_a_migration_that_is_not_there_is_watched_until_it_comes() -> None:
    zk = answers(NoNode(), there=(None,))
    assert await read_migration(zk, watch=True) is None
    assert zk.get.mock_calls == [call(znode_paths.MIGRATION, watch=True)]
    assert zk.exists.mock_calls == [call(znode_paths.MIGRATION, watch=True)]


async def test_hm_4_a_migration_that_comes_between_two_calls_is_read() -> None:
    assert await read_migration(answers(NoNode(), (b"{}", STAT), there=(STAT,)), watch=True) == b"{}"
    gone_again = answers(NoNode(), NoNode(), there=(STAT, None))
    assert await read_migration(gone_again, watch=True) is None


async def test_sv_3_a_controller_that_is_not_there_is_watched_until_it_comes() -> None:
    assert await owner(answers(NoNode())) is None
    zk = answers(NoNode(), NoNode(), there=(STAT, None))
    assert await owner(zk, watch=True) is None
    assert zk.get.mock_calls == [call(znode_paths.CONTROLLER, watch=True)] * 2
    assert zk.exists.mock_calls == [call(znode_paths.CONTROLLER, watch=True)] * 2
