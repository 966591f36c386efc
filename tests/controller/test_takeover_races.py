"""A server that starts to take the controllership from a stock broker does so, whatever comes between (sv-3)."""

from collections.abc import Awaitable, Callable

import pytest

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.controller_election import Leadership
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, SetData
from kafka_reassign_rpc.zookeeper.znode_contents import encode_broker, encode_controller, encode_controller_epoch
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent
from tests.controller.cluster import LISTENERS
from tests.waiting import eventually

SERVER = 1000


def server(connect: str) -> ControllerProcess:
    return ControllerProcess(ServerConfig(zookeeper_connect=connect, listeners=LISTENERS, server_id=SERVER))


async def controlled_by_a_broker(zk: ZooKeeper) -> None:
    """Brokers 1 and 2 are registered, and 1 is the controller."""
    await zk.ensure_path(znode_paths.BROKER_IDS)
    here = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1)
    for broker in (1, 2):
        await zk.create(znode_paths.broker(broker), encode_broker([here], 0), ephemeral=True)
    await zk.create(znode_paths.CONTROLLER_EPOCH, encode_controller_epoch(7))
    await zk.create(znode_paths.CONTROLLER, encode_controller(1, 0, []), ephemeral=True)


async def another_broker_is_elected(zk: ZooKeeper) -> None:
    """As KafkaZkClient.registerControllerAndIncrementControllerEpoch does it."""
    await zk.multi(
        [
            SetData(znode_paths.CONTROLLER_EPOCH, encode_controller_epoch(8)),
            Delete(znode_paths.CONTROLLER),
            Create(znode_paths.CONTROLLER, encode_controller(2, 0, []), ephemeral=True),
        ]
    )


async def another_server_is_elected(zk: ZooKeeper) -> None:
    await controller_election.campaign(zk, 1001, (), lambda: 0, seize=await controller_election.owner(zk))


async def zookeeper_cannot_be_asked(_zk: ZooKeeper) -> None:
    raise NotSent("the connection was just lost")


@pytest.mark.parametrize(
    ("between", "epoch"),
    [(another_broker_is_elected, 9), (zookeeper_cannot_be_asked, 8)],
    ids=["election", "no answer"],
)
async def test_sv_3_a_server_that_lost_the_race_for_the_controllership_takes_it_from_the_next_broker(
    zk: ZooKeeper,
    zk_connect: str,
    monkeypatch: pytest.MonkeyPatch,
    between: Callable[[ZooKeeper], Awaitable[None]],
    epoch: int,
) -> None:
    await controlled_by_a_broker(zk)
    campaign, campaigns = controller_election.campaign, list[Leadership | None]()

    async def disturbed(*arguments: object, **options: object) -> Leadership | None:
        if not campaigns:
            campaigns.append(None)
            await between(zk)
        return await campaign(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(controller_election, "campaign", disturbed)
    async with server(zk_connect) as started:
        await started.ready()

        async def controls() -> bool:
            found = await controller_election.owner(zk)
            return found is not None and found.id == SERVER

        await eventually(controls)
        assert (await zk.get(znode_paths.CONTROLLER_EPOCH))[0] == b"%d" % epoch


async def test_sv_3_a_server_leaves_alone_a_broker_that_it_has_not_seen_as_the_controller(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await controlled_by_a_broker(zk)
    seen = await controller_election.owner(zk)
    async with ZooKeeper(zk_connect) as other:
        await another_server_is_elected(other)
        assert await controller_election.campaign(zk, SERVER, (), lambda: 0, seize=seen) is None
        found = await controller_election.owner(zk)
    assert found is not None
    assert found.id == 1001
