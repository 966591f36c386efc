"""kr-9: a broker that does not answer, or is elsewhere by now, behind a client of the front."""

from typing import Any

import pytest

from kafka_reassign_rpc.kraft.front import FrontSettings, caller_link
from kafka_reassign_rpc.kraft.front.caller_link import CallerLink, LinkLost
from kafka_reassign_rpc.kraft.front.front import MOST_TRIED, Front
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.support.host_port import Address
from tests.silent_server import silent_server


async def test_kr_9_a_frozen_broker_that_is_asked_for_rights_keeps_no_client_waiting_for_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a move would wait for it, although it does not need that broker."""
    monkeypatch.setattr(caller_link, "RIGHTS_S", 0.05)
    lost = list[bool]()
    async with silent_server() as silent:
        link = CallerLink(lambda: [Address("127.0.0.1", silent.port)], None, lambda: lost.append(True))
        with pytest.raises(LinkLost, match="the broker did not answer within"):
            await link.allowed("a client")
        with pytest.raises(LinkLost, match="has closed the connection"):
            await link.ask(bytes(8))


async def test_kr_9_where_all_brokers_have_moved_while_no_client_has_asked_the_given_addresses_are_tried() -> None:
    """Else nobody would come through any more, and only who comes through tells where they are."""
    given, at = Address("bootstrap", 9_092), Address("127.0.0.1", 0)
    listener = Listener(*at, "FRONT")
    handler: Any = None
    front = Front(FrontSettings(listener=listener, advertised=at, node_id=1_000, brokers=[given]), handler)
    assert front.where("FRONT", None) == [given]
    known = {one: Address(f"10.0.0.{one}", 9_092) for one in range(20)}
    await front.learn(known)
    *tried, last = front.where("FRONT", None)
    assert last == given
    assert len(tried) == MOST_TRIED
    assert {*tried} <= {*known.values()}
    orders = {front.where("FRONT", None)[0] for _ in range(200)}
    assert len(orders) > 1, "the first broker has not all clients"
