"""Webhooks over real sockets: receivers that fail, are slow, are gone and come back, and answer anything."""

import asyncio
import base64
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kafka_reassign_rpc.controller.telemetry import webhooks
from kafka_reassign_rpc.controller.telemetry.event_log import EventLog
from kafka_reassign_rpc.controller.telemetry.event_recorder import EventRecorder
from kafka_reassign_rpc.controller.telemetry.webhook_requests import WebhookConfig
from kafka_reassign_rpc.controller.telemetry.webhooks import Webhooks
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.events.notifications import MOST_EVENTS, WebhookCounts, kinds
from kafka_reassign_rpc.security.properties import Password
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.znode_contents import decode_cluster_id
from tests.controller.cluster import cluster
from tests.controller.telemetry.webhook_receivers import FAILS, OK, SECRET, Receiver, is_signed, receiving, says
from tests.waiting import eventually

CLUSTER, SERVER = "cluster-1", 1000
LOST = Event(catalogue.BROKER_LOST, broker=7)
DONE = Event(catalogue.MOVES_DONE, route="rpc", reason="drain of broker 7", count=3)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "GATHER_S", 0.01)
    monkeypatch.setattr(webhooks, "FIRST_WAIT_S", 0.02)
    monkeypatch.setattr(webhooks, "LONGEST_WAIT_S", 0.05)
    monkeypatch.setattr(webhooks, "CLOSE_S", 0.5)


@asynccontextmanager
async def recording(
    *urls: str,
    directory: Path | None = None,
    secret: str = SECRET,
    timeout_s: float = 60.0,
    max_age_ms: int = 600_000,
    name: str | None = None,
) -> AsyncIterator[tuple[EventRecorder, Webhooks]]:
    config = WebhookConfig(urls, Password(secret), kinds(["default"]), None, timeout_s, max_age_ms)
    server = SERVER if name is None else None
    hooks = Webhooks(config, lambda: CLUSTER, server, name)
    event_log = None if directory is None else EventLog(directory)
    recorder = EventRecorder(now_ms, event_log, server, notifier=hooks)
    await recorder.open()
    try:
        yield recorder, hooks
    finally:
        await recorder.close()


async def taken(receiver: Receiver, count: int = 1) -> None:
    await eventually(lambda: len(receiver.requests) >= count)


@pytest.mark.parametrize("secret", [SECRET, "whsec_" + base64.b64encode(bytes(range(80))).decode()])
async def test_dh_8_a_notification_is_signed_and_says_what_happened_to_whom_and_when(secret: str) -> None:
    key = bytes(range(80)) if secret.startswith("whsec_") else SECRET.encode()
    async with receiving() as receiver:
        async with recording(receiver.url, secret=secret) as (recorder, hooks):
            recorder.record(4, [LOST, Event(catalogue.TOPIC_CREATED, topic="not asked for"), DONE])
            await taken(receiver)
        [request] = receiver.requests
        assert is_signed(request, key)
        assert not is_signed(request, b"another secret, just as long")
        assert abs(int(request.headers["webhook-timestamp"]) - time.time()) < 60
        assert request.path == "/hook?token=private"
        document = request.document
        first, second = document.pop("events")
        assert document == {
            "version": 1,
            "id": request.headers["webhook-id"],
            "cluster": CLUSTER,
            "server": SERVER,
            "name": None,
            "dropped": 0,
            "text": "broker.lost broker 7\nmoves.done: 3 moves have ended; drain of broker 7",
        }
        at = first["event"]["at"]
        assert first == {
            "id": f"{SERVER}-{at}-0",
            "text": "broker.lost broker 7",
            "event": {"seq": 0, "at": at, "server": SERVER, "epoch": 4, "event": "broker.lost", "broker": 7},
        }
        assert second["event"] | {"at": 0, "seq": 0} == {
            "seq": 0, "at": 0, "server": SERVER, "epoch": 4, "event": "moves.done", "route": "rpc",
            "reason": "drain of broker 7", "count": 3,
        }  # fmt: skip
        assert [*hooks.counts.values()] == [WebhookCounts(sent=1)]


async def closes(writer: asyncio.StreamWriter) -> None:
    writer.write(OK[:12])
    await writer.drain()
    writer.transport.abort()


async def never_ends(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-Endless: 1\r\n" * 1000)
        await writer.drain()


async def one_long_header(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        writer.write(b"x" * 65_536)
        await writer.drain()


async def hangs(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


BAD_ANSWERS = {
    "status 500": says(FAILS),
    "redirects are not followed": says(
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    ),
    "status 404": says(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
    "connection was closed": closes,
    "not HTTP": says(b"220 smtp.example.com ESMTP\r\n\r\n"),
    "not HTTP ": never_ends,
    "not HTTP  ": one_long_header,
    "no answer within 0.3 s": hangs,
}


@pytest.mark.parametrize("said", BAD_ANSWERS)
async def test_dh_8_an_attempt_that_fails_is_logged_once_and_repeated_with_the_same_id_until_it_is_taken(
    said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with receiving() as receiver:
        receiver.answer = BAD_ANSWERS[said]
        async with recording(receiver.url, timeout_s=0.3 if "0.3" in said else 60) as (recorder, hooks):
            recorder.record(1, [LOST])
            await taken(receiver, 3)
            receiver.answer = says(OK)
            await eventually(lambda: next(iter(hooks.counts.values())).sent == 1)
    assert len({(one.headers["webhook-id"], one.body) for one in receiver.requests}) == 1
    assert all(is_signed(one, SECRET.encode()) for one in receiver.requests)
    assert [*hooks.counts.values()] == [WebhookCounts(sent=1, failed=len(receiver.requests) - 1)]
    lines = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING and "takes no" in one.message]
    assert len(lines) == 1, lines
    assert said.strip() in lines[0]
    assert "takes notifications again" in caplog.text
    assert "private" not in caplog.text
    assert SECRET not in caplog.text


async def test_dh_8_a_receiver_that_is_gone_gets_everything_in_order_when_it_is_back_and_others_do_not_wait() -> None:
    async with receiving() as stopped, receiving() as running:
        await stopped.stop()
        async with recording(stopped.url, running.url) as (recorder, _):
            for broker in range(5):
                recorder.record(1, [Event(catalogue.BROKER_LOST, broker=broker)])
                await told_of(running, broker + 1)
            assert stopped.requests == []
            await stopped.start()
            await eventually(lambda: brokers(stopped) == [0, 1, 2, 3, 4])
        assert brokers(running) == [0, 1, 2, 3, 4]


async def told_of(receiver: Receiver, count: int) -> None:
    await eventually(lambda: len(brokers(receiver)) == count)


def brokers(receiver: Receiver) -> list[int]:
    return [one["event"]["broker"] for request in receiver.requests for one in request.document["events"]]


async def test_dh_8_a_flood_of_events_is_bounded_sent_in_few_bodies_and_says_how_many_were_dropped() -> None:
    count = MOST_EVENTS + 2_000
    async with receiving() as receiver:
        receiver.answer = hangs
        async with recording(receiver.url, timeout_s=2) as (recorder, hooks):
            recorder.record(1, (Event(catalogue.MOVE_STALLED, "orders", index) for index in range(count)))
            await eventually(lambda: next(iter(hooks.counts.values())).dropped >= 2_000)
            receiver.answer = says(OK)
            await eventually(lambda: partitions_of(receiver) == set(range(MOST_EVENTS)))
            recorder.record(1, [LOST])
            await eventually(lambda: receiver.requests[-1].events == ["broker.lost"])
    assert max(len(one.body) for one in receiver.requests) < 300_000
    by_id = {one.headers["webhook-id"]: one.document for one in receiver.requests}
    assert sum(one["dropped"] for one in by_id.values()) == 2_000
    assert next(iter(hooks.counts.values())).dropped == 2_000


def partitions_of(receiver: Receiver) -> set[int]:
    return {one["event"]["partition"] for request in receiver.requests for one in request.document["events"]}


async def test_dh_8_a_body_that_is_refused_and_events_that_are_too_old_are_dropped_and_do_not_stop_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with receiving() as refuses, receiving() as fails:
        refuses.answer = says(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        fails.answer = says(FAILS)
        async with recording(refuses.url, fails.url, max_age_ms=1_000) as (recorder, hooks):
            recorder.record(1, [LOST])
            await taken(refuses)
            await eventually(lambda: all(one.dropped == 1 for one in hooks.counts.values()))
            refuses.answer = fails.answer = says(OK)
            recorder.record(1, [DONE])
            await eventually(lambda: all(one.sent == 1 for one in hooks.counts.values()))
        for receiver in (refuses, fails):
            assert receiver.requests[-1].events == ["moves.done"]
            assert receiver.requests[-1].document["dropped"] == 1
    assert "status 413; what it refuses is dropped" in caplog.text
    assert "it did not take them within 1 s" in caplog.text


async def test_dh_8_what_waits_at_the_end_gets_a_short_time_and_the_next_start_sends_the_rest_under_the_same_ids(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with receiving() as receiver:
        async with asyncio.timeout(60), recording(receiver.url, directory=tmp_path, timeout_s=600) as (recorder, _):
            recorder.record(1, [Event(catalogue.BROKER_LOST, broker=1)])
            await taken(receiver)
            receiver.answer = hangs
            recorder.record(1, [Event(catalogue.BROKER_LOST, broker=2)])
            await taken(receiver, 2)
        assert "did not get 1 event: the next start sends them" in caplog.text
        first = receiver.requests[-1].document["events"]
        receiver.answer = says(OK)
        async with recording(receiver.url, directory=tmp_path) as (recorder, _):
            await taken(receiver, 3)
            assert receiver.requests[-1].document["events"] == first
            recorder.record(2, [Event(catalogue.BROKER_LOST, broker=3)])
            await taken(receiver, 4)
        async with recording(receiver.url, directory=tmp_path) as (recorder, _):
            recorder.record(2, [Event(catalogue.BROKER_LOST, broker=4)])
            await taken(receiver, 5)
    assert brokers(receiver) == [1, 2, 2, 3, 4]
    assert "private" not in (tmp_path / "webhooks.json").read_text()


async def test_dh_8_what_is_too_old_at_the_next_start_is_counted_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with receiving() as receiver:
        receiver.answer = says(FAILS)
        async with recording(receiver.url, directory=tmp_path) as (recorder, _):
            recorder.record(1, [LOST, LOST])
            await taken(receiver)
        receiver.answer = says(OK)
        async with recording(receiver.url, directory=tmp_path, max_age_ms=-1) as (recorder, hooks):
            assert [*hooks.counts.values()] == [WebhookCounts(dropped=2)]
    assert "webhooks do not get 2 events of the last run: too old" in caplog.text


async def test_dh_8_a_process_that_was_killed_before_a_receiver_took_an_event_sends_it_after_its_next_start(
    tmp_path: Path,
) -> None:
    """Nothing is closed: the files are as a kill leaves them."""
    async with receiving() as receiver:
        receiver.answer = says(FAILS)
        async with recording(receiver.url, directory=tmp_path) as (recorder, _hooks):
            recorder.record(1, [LOST])
            await taken(receiver)
            await eventually((tmp_path / "webhooks.json").exists)
            await eventually(lambda: any(b"broker.lost" in one.read_bytes() for one in tmp_path.glob("events-*")))
            killed = tmp_path.with_name("killed")
            killed.mkdir()
            for one in tmp_path.iterdir():
                (killed / one.name).write_bytes(one.read_bytes())
            receiver.answer = says(OK)
            async with recording(receiver.url, directory=killed):
                await taken(receiver, 3)
    assert set(brokers(receiver)) == {7}
    assert len({one.document["events"][0]["id"] for one in receiver.requests}) == 1


async def test_dh_8_a_server_names_its_cluster_by_the_id_that_all_know_and_itself_by_its_own(zk_connect: str) -> None:
    async with receiving() as receiver:
        config = WebhookConfig((receiver.url,), Password(SECRET), frozenset({catalogue.CONTROLLER_ELECTED}))
        async with cluster(zk_connect, brokers=(), webhooks=config) as here:
            await taken(receiver)
            known = decode_cluster_id((await here.zk.get(znode_paths.CLUSTER_ID))[0])
        document = receiver.requests[0].document
        assert (document["cluster"], document["server"], document["name"]) == (known, here.server_id, None)


async def test_dh_8_watch_says_which_cluster_it_means_and_its_ids_are_those_of_no_other_watch(tmp_path: Path) -> None:
    async with receiving() as receiver:
        for folder in ("east", "west", "east"):
            async with recording(receiver.url, directory=tmp_path / folder, name=folder) as (recorder, _):
                recorder.record(None, [LOST])
                await taken(receiver, len(receiver.requests) + 1)
    documents = [one.document for one in receiver.requests]
    assert [(one["server"], one["name"]) for one in documents] == [(None, "east"), (None, "west"), (None, "east")]
    assert documents[0]["text"] == "cluster east:\nbroker.lost broker 7"
    east, west, again = (one["events"][0]["id"].rpartition("-")[0].rpartition("-")[0] for one in documents)
    assert east.startswith("watch-")
    assert east == again != west


async def test_dh_8_a_name_server_that_hangs_holds_up_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, asked = threading.Event(), []

    def hangs(host: str, *_: object, **__: object) -> None:
        asked.append(host)
        answers.wait(30)
        raise socket.gaierror(socket.EAI_AGAIN, "temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    urls = [f"https://hooks-{number}.example.com/" for number in range(10)]
    async with recording(*urls, timeout_s=0.05) as (recorder, hooks):
        recorder.record(1, [LOST])
        await eventually(lambda: sum(one.failed for one in hooks.counts.values()) > 20)
        assert await asyncio.wait_for(asyncio.to_thread(lambda: "done"), 10) == "done"
        assert len(asked) == 2
        answers.set()


def test_dh_8_a_process_ends_while_a_name_server_hangs() -> None:
    hangs = """
import asyncio, socket, time
from contextlib import suppress
from kafka_reassign_rpc.controller.telemetry.webhook_requests import ReceiverNames
socket.getaddrinfo = lambda *_, **__: time.sleep(600)
async def main():
    names = ReceiverNames()
    with suppress(TimeoutError):
        await asyncio.wait_for(names.resolve("hooks.example.com"), 0.05)
    await names.close()
asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", hangs], check=True, timeout=60)


async def test_dh_8_a_receiver_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving() as receiver, recording(receiver.url.replace("127.0.0.1", "localhost")) as (recorder, _):
        recorder.record(1, [LOST])
        await taken(receiver)


def test_dh_8_events_to_send_are_chosen_by_name_and_an_unknown_one_is_answered_with_all() -> None:
    assert kinds(["heal.*"]) == {name for name in catalogue.EVENTS if name.startswith("heal.")}
    assert kinds(["default", "move.completed"]) > {
        "broker.lost",
        "move.stalled",
        "heal.held_back",
        "heal.unapproved",
        "move.completed",
    }
    for wrong in ("broker.losst", "nothing.*", "*", ".*"):
        with pytest.raises(ValueError, match=r"there is no event .*broker\.lost.*controller\.resigned"):
            kinds([wrong])
