"""Brokers look for their controller on a listener of one name. A server that does not have it, or has it at an address
of its own host alone, controls nothing: they could report no ISR to it, and no move would end.
"""

import logging

import pytest

from kafka_reassign_rpc.controller.duties.broker_survey import BrokerSurvey
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.transport.broker_links import CONTROL_PLANE, LISTENER
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.znode_contents import encode_controller
from tests.controller.cluster import Cluster, cluster
from tests.http_client import get
from tests.waiting import eventually


async def _controls(here: Cluster) -> bool:
    return await here.zk.exists(znode_paths.CONTROLLER) is not None


async def _does_not(here: Cluster) -> bool:
    return not await _controls(here)


async def _says_why(here: Cluster) -> bool:
    return b"this server must not be one: its log says why" in (await get(here.metrics_address, "/ready")).body


@pytest.mark.parametrize("setting", [LISTENER, CONTROL_PLANE])
async def test_sv_4_a_server_whose_listener_brokers_do_not_look_for_gives_the_controllership_back_until_they_do(
    zk_connect: str, caplog: pytest.LogCaptureFixture, setting: str
) -> None:
    async with cluster(zk_connect, brokers=(1,), metrics=True) as here:
        await eventually(lambda: _controls(here))
        here.broker_configs = {setting: "Internal"}
        with caplog.at_level(logging.ERROR):
            await here.start_broker(2)
            await eventually(lambda: _does_not(here))
            await eventually(lambda: _says_why(here))
        await here.kill_broker(2)
        await eventually(lambda: _controls(here))
    (told,) = [one for one in caplog.messages if one.startswith("standing by")]
    assert told == (
        "standing by: broker 2 looks for a controller on INTERNAL, and this server has PLAINTEXT: no ISR could be"
        " reported to it. Give it a listener of that name (--listeners), with an address that brokers reach (or"
        " --advertised-listeners)"
    )


async def test_sv_4_a_server_whose_address_means_another_host_to_a_broker_gives_the_controllership_back(
    zk_connect: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of `serve` without `--listeners`, which is for clients of this host alone."""
    async with cluster(zk_connect, brokers=(), broker_configs={LISTENER: "PLAINTEXT"}) as here:
        await eventually(lambda: _controls(here))
        host, port = here.addresses["PLAINTEXT"]
        monkeypatch.setattr(RpcClient, "is_of_this_host", False)
        with caplog.at_level(logging.ERROR):
            await here.start_broker(1)
            await eventually(lambda: _does_not(here))
    (told,) = [one for one in caplog.messages if one.startswith("standing by")]
    assert f"broker 1 looks for a controller at {host}:{port}, where others do not reach this server: " in told


async def test_sv_4_a_server_that_some_brokers_would_not_find_takes_nothing_from_a_broker_that_controls_them(
    zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of its own host, say, answers before the others do."""
    async with cluster(zk_connect, brokers=(1,)) as here:
        await here.stop_server()
        here.broker_configs = {LISTENER: "INTERNAL"}
        await here.start_broker(2)
        await here.zk.create(znode_paths.CONTROLLER, encode_controller(1, 0), ephemeral=True)
        before = [await here.zk.get(path) for path in (znode_paths.CONTROLLER, znode_paths.CONTROLLER_EPOCH)]
        asked = BrokerSurvey._has_answered

        async def after_the_first(survey: BrokerSurvey, broker: Broker) -> bool:
            if broker.id == 2:
                await survey.first_answer()
            return await asked(survey, broker)

        monkeypatch.setattr(BrokerSurvey, "_has_answered", after_the_first)
        await here.start_server()
        assert before == [await here.zk.get(path) for path in (znode_paths.CONTROLLER, znode_paths.CONTROLLER_EPOCH)]
