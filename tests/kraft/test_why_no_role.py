"""kr-5: why a server in front of KRaft neither leads nor stands by, as its page says it."""

import pytest

from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.kraft.front import FrontSettings
from kafka_reassign_rpc.kraft.kraft_process import NOBODY_LEADS, KRaftConfig, KRaftProcess
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog
from kafka_reassign_rpc.kraft.term_duties import Asked
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.transport.broker_links import BrokerLinks


async def test_kr_5_a_server_that_cannot_lead_for_now_says_what_is_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    at = Address("127.0.0.1", 9)
    configs = {"bootstrap_servers": "127.0.0.1:9"}
    config = KRaftConfig(
        upstream=configs,
        client=client_settings(configs),
        asked=Asked(BrokerLinks()),
        front=FrontSettings(listener=Listener(*at, "PLAINTEXT"), advertised=at, node_id=1_000, brokers=[at]),
        common=ServerConfig("", []),
    )
    process = KRaftProcess(config)
    assert (process.view().role, process.view().reason) == ("", NOBODY_LEADS)
    why = "the state log takes no record for now: NOT_ENOUGH_REPLICAS (19)"
    monkeypatch.setattr(StateLog, "in_the_way", why)
    assert (process.view().role, process.view().reason) == ("", why)
