"""Brokers look for their controller on a listener of one name. A server that does not have it controls nothing: they
could report no ISR to it, and no move would end.
"""

import logging

import pytest

from kafka_reassign_rpc.transport.broker_links import CONTROL_PLANE, LISTENER
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.cluster import Cluster, cluster
from tests.waiting import eventually


async def _controls(here: Cluster) -> bool:
    return await here.zk.exists(znode_paths.CONTROLLER) is not None


async def _does_not(here: Cluster) -> bool:
    return not await _controls(here)


@pytest.mark.parametrize("setting", [LISTENER, CONTROL_PLANE])
async def test_sv_4_a_server_whose_listener_brokers_do_not_look_for_gives_the_controllership_back_until_they_do(
    zk_connect: str, caplog: pytest.LogCaptureFixture, setting: str
) -> None:
    async with cluster(zk_connect, brokers=(1,)) as here:
        await eventually(lambda: _controls(here))
        here.broker_configs = {setting: "Internal"}
        with caplog.at_level(logging.ERROR):
            await here.start_broker(2)
            await eventually(lambda: _does_not(here))
        await here.kill_broker(2)
        await eventually(lambda: _controls(here))
    (told,) = [one for one in caplog.messages if one.startswith("standing by")]
    assert told == (
        "standing by: broker 2 looks for a controller on INTERNAL, and this server has PLAINTEXT: no ISR could be"
        " reported to it. Give it a listener of that name (--listeners)"
    )
