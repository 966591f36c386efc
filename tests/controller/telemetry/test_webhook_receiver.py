"""What the log says of a receiver of notifications: once for as long as it holds, and again after it has changed."""

import asyncio
import logging
from unittest.mock import AsyncMock, Mock

import aiohttp
import msgspec
import pytest

from kafka_reassign_rpc.controller.telemetry import webhooks
from kafka_reassign_rpc.controller.telemetry.webhook_requests import Outcome, WebhookConfig, WebhookSession
from kafka_reassign_rpc.controller.telemetry.webhooks import Receiver
from kafka_reassign_rpc.core.events import notifications
from kafka_reassign_rpc.core.events.notifications import Notice, Notification, Sender, notice
from kafka_reassign_rpc.security.properties import Password

WORKS, BROKEN, OTHER, REFUSED = Outcome(), Outcome("it is down"), Outcome("it is slow"), Outcome("too long", True)
NOW = 1_000_000


def some(seq: int, at: int = NOW) -> Notice:
    line = msgspec.json.encode({"seq": seq, "at": at, "server": 1, "epoch": 0, "event": "broker.lost"})
    return notice(line, f"broker.lost {seq}", "1")


class World:
    """A receiver with room for two events, which answers as `sends` says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
        monkeypatch.setattr(notifications, "MOST_EVENTS", 2)
        monkeypatch.setattr(webhooks, "now_ms", lambda: NOW)
        caplog.set_level(logging.INFO, webhooks.__name__)
        self._caplog = caplog
        self.changed = AsyncMock()
        config = WebhookConfig(("https://a/secret",), Password(""), frozenset(), max_age_ms=60_000)
        self.receiver = Receiver(config.urls[0], config, lambda: Sender("c", 1), self.changed)

    async def sends(self, *outcomes: Outcome) -> None:
        session = Mock(post=AsyncMock(side_effect=outcomes))
        for outcome in outcomes:
            assert await self.receiver._send(session) is (not outcome.why or outcome.refused)
        assert session.post.await_count == len(outcomes)

    def said(self) -> list[str]:
        found = [one.message.removeprefix("https://a ") for one in self._caplog.records]
        self._caplog.clear()
        return found


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> World:
    return World(monkeypatch, caplog)


async def test_dh_8_a_receiver_for_which_too_much_waits_is_named_once_and_again_after_it_took_some(
    world: World,
) -> None:
    full = "gets no new events until it accepts some: 2 events wait for it"
    for seq in range(2):
        world.receiver.add(some(seq))
    assert world.said() == []
    for seq in range(2, 5):
        world.receiver.add(some(seq))
    assert world.said() == [full]
    await world.sends(WORKS)
    assert world.said() == ["takes notifications again; 0 events wait for it"]
    for seq in range(5, 9):
        world.receiver.add(some(seq))
    assert world.said() == [full]


async def test_dh_8_each_reason_of_a_receiver_is_named_once_and_its_end_too(world: World) -> None:
    world.receiver.add(some(1))
    await world.sends(BROKEN, BROKEN, OTHER, OTHER)
    waits = "events wait for it for up to 1 min 0 s"
    assert world.said() == [
        f"takes no notification: it is down; {waits}",
        f"takes no notification: it is slow; {waits}",
    ]
    assert world.receiver.outbox.failed == 4
    assert world.changed.await_count == 0, "nothing was taken or dropped"
    await world.sends(WORKS)
    assert world.said() == ["takes notifications again; 0 events wait for it"]
    world.receiver.add(some(2))
    await world.sends(WORKS)
    assert world.said() == []
    assert world.changed.await_count == 2
    world.receiver.add(some(3))
    await world.sends(OTHER)
    assert world.said() == [f"takes no notification: it is slow; {waits}"]


async def test_dh_8_what_a_receiver_refuses_is_dropped_and_what_comes_after_it_is_sent(world: World) -> None:
    world.receiver.add(some(1))
    await world.sends(REFUSED)
    assert world.said() == ["takes no notification: too long; what it refuses is dropped"]
    assert (len(world.receiver.outbox), world.receiver.outbox.dropped, world.changed.await_count) == (0, 1, 1)
    assert await world.receiver._send(Mock()) is True, "nothing waits"


async def test_dh_8_events_that_are_too_old_are_dropped_with_a_warning(world: World) -> None:
    world.receiver.add(some(1, at=NOW - 60_001))
    world.receiver.add(some(2, at=NOW - 60_000))
    await world.sends(WORKS)
    assert world.said() == ["did not get 1 event: it did not take them within 1 min 0 s"]
    assert (world.receiver.outbox.dropped, world.changed.await_count) == (1, 2)


async def test_dh_8_an_attempt_that_fails_in_any_way_has_a_reason_without_url_and_what_the_receiver_sent() -> None:
    ends: dict[str, BaseException] = {
        "no answer within 10 s": TimeoutError("secret"),
        "the answer is not HTTP": aiohttp.ClientResponseError(Mock(), (), message="secret"),
        "the connection was closed (ServerDisconnectedError)": aiohttp.ServerDisconnectedError("secret"),
        "the connection was closed (ConnectionResetError)": ConnectionResetError("secret"),
        "the attempt failed (ValueError)": ValueError("secret"),
    }
    session = WebhookSession(WebhookConfig(("https://a/secret",), Password("s" * 32), frozenset()))
    body = Notification("1", b"{}", (), 0)
    try:
        for why, error in ends.items():
            session._session.post = Mock(side_effect=error)  # type: ignore[method-assign]
            assert await session.post("https://a/secret", body) == Outcome(why)
        session._session.post = Mock(side_effect=asyncio.CancelledError)  # type: ignore[method-assign]
        with pytest.raises(asyncio.CancelledError):
            await session.post("https://a/secret", body)
    finally:
        await session.close()
