"""kr-9: a broker that does not answer, or is elsewhere by now, behind a client of the front."""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from kafka_reassign_rpc.kraft.front import FrontSettings, caller_link
from kafka_reassign_rpc.kraft.front.caller_link import CallerLink, LinkLost
from kafka_reassign_rpc.kraft.front.front import MOST_TRIED, Front
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.support.host_port import Address
from tests.python_client.scripted_nodes import accepting
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


@asynccontextmanager
async def answering() -> AsyncIterator[tuple[Address, list[bytes]]]:
    """A broker that answers each request with its correlation id alone, and what it was asked."""
    asked = list[bytes]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(EOFError):
            while True:
                asked.append(await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big")))
                writer.write((4).to_bytes(4, "big") + asked[-1][4:8])

    async with accepting(answer) as port:
        yield Address("127.0.0.1", port), asked


async def test_kr_9_a_client_that_comes_to_a_frozen_broker_is_answered_by_another_one_that_is_asked_first_from_then_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel of a frozen broker takes connections."""
    monkeypatch.setattr(caller_link, "FIRST_S", 0.05)
    handler: Any = None
    lost = list[bool]()
    async with silent_server() as silent, answering() as (live, asked):
        frozen, at = Address("127.0.0.1", silent.port), Address("127.0.0.1", 0)
        front = Front(FrontSettings(listener=Listener(*at, "FRONT"), advertised=at, node_id=1_000, brokers=[]), handler)
        await front.learn({1: frozen, 2: live})
        link = CallerLink(lambda: [frozen, live], None, lambda: lost.append(True), front.slow)
        first, second = request(ApiKey.API_VERSIONS, 7), request(ApiKey.CREATE_TOPICS, 8)
        assert [await link.ask(one) for one in (first, second)] == [first[4:8], second[4:8]]
        assert (asked, lost) == ([first, second], [])
        assert {front.where("FRONT", None)[0] for _ in range(50)} == {live}
        link.close()


async def test_kr_9_other_brokers_come_before_one_that_is_frozen_where_the_front_comes_by_tls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It does not answer the handshake."""
    monkeypatch.setattr(caller_link, "CONNECT_S", 0.05)
    slow = list[Address]()
    async with silent_server() as silent:
        frozen, closed = Address("127.0.0.1", silent.port), Address("127.0.0.1", 1)
        link = CallerLink(lambda: [frozen, closed], ssl.create_default_context(), lambda: None, slow.append)
        with pytest.raises(LinkLost):
            await link.ask(request(ApiKey.API_VERSIONS, 7))
    assert slow == [frozen]


async def test_kr_9_a_change_that_a_frozen_broker_has_taken_is_not_sent_to_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(caller_link, "FIRST_S", 0.0)
    async with silent_server() as silent, answering() as (live, asked):
        link = CallerLink(lambda: [Address("127.0.0.1", silent.port), live], None, lambda: None)
        with pytest.raises(LinkLost, match="the broker did not answer within"):
            await link.ask(request(ApiKey.CREATE_TOPICS, 7), 0.05)
    assert asked == []


def request(key: int, correlation_id: int) -> bytes:
    return struct.pack(">hhih", key, 0, correlation_id, -1)


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
