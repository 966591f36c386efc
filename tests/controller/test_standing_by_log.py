"""What a server that cannot take part in the election says of it, and how often."""

import logging
from unittest.mock import AsyncMock, Mock

import pytest

from kafka_reassign_rpc.controller.lifecycle import supervisor
from kafka_reassign_rpc.controller.lifecycle.server_registration import BrokerIdTaken, IdOfBroker
from kafka_reassign_rpc.controller.lifecycle.supervisor import Supervisor
from kafka_reassign_rpc.controller.lifecycle.term_duties import Surroundings
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent

AWAY, FOUND = NotSent("away"), None


async def levels(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, *looks: object, after: Exception = AWAY
) -> list[str]:
    """The level of each line that says that this server stands by. `looks`: at the election, in turn; `after` follows
    each look that finds it.
    """
    monkeypatch.setattr(supervisor, "RETRY_S", 0)
    caplog.set_level(logging.DEBUG, supervisor.__name__)
    standby = Mock(refresh=AsyncMock(side_effect=[*looks, IdOfBroker("the end")]))
    registration = Mock(check_no_broker=AsyncMock(side_effect=after))
    around = Surroundings(Mock(), Mock(server_id=1000), Mock(), Mock(), Mock(), Mock())
    made = Supervisor(around, Mock(), Mock(), standby, registration, Mock())
    with pytest.raises(IdOfBroker):
        await made.run()
    return [one.levelname for one in caplog.records if one.message.startswith("standing by: ")]


async def test_sv_3_that_zookeeper_is_away_is_a_warning_once_and_again_after_it_was_back(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await levels(caplog, monkeypatch, AWAY, AWAY, AWAY, FOUND, AWAY)
    assert found == ["WARNING", "DEBUG", "DEBUG", "WARNING", "DEBUG"]


async def test_sv_3_that_another_server_has_the_id_is_an_error_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await levels(caplog, monkeypatch, FOUND, FOUND, FOUND, after=BrokerIdTaken("taken")) == ["ERROR"]
