"""`watch` in this process, and what it shows."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.client.polling_pace import Ask
from kafka_reassign_rpc.controller.telemetry.event_log import EventLog
from kafka_reassign_rpc.controller.telemetry.webhook_requests import WebhookConfig
from kafka_reassign_rpc.server.http_server import HttpSecurity
from kafka_reassign_rpc.watch.served_http import ClusterWatch, ServedWatch
from tests.http_client import get

PATIENCE_MS = 3_000


class Watch:
    def __init__(self, served: ServedWatch) -> None:
        self.served = served
        self.watcher = served.watches[0].watcher

    async def document(self, name: str) -> Any:
        answer = await get(self.served.address, f"/api/v1/{name}")
        assert answer.status == 200, answer
        return json.loads(answer.body)

    async def moves(self) -> dict[str, Any]:
        return {f"{one['topic']}-{one['partition']}": one for one in (await self.document("moves"))["moves"]}

    async def events(self) -> list[tuple[str, str | None]]:
        """The oldest first."""
        found = (await self.document("events"))["events"]
        return [(one["event"], one.get("topic")) for one in reversed(found)]

    async def problems(self) -> list[str]:
        return [one["text"] for one in (await self.document("status"))["problems"]]


def looks_every(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on each question has this pause, in place of up to a minute."""
    monkeypatch.setattr("kafka_reassign_rpc.client.polling_pace.LONGEST_S", seconds)
    monkeypatch.setattr("kafka_reassign_rpc.client.polling_pace.SOON_S", seconds)
    monkeypatch.setattr("kafka_reassign_rpc.client.polling_pace.PAUSES_S", dict.fromkeys(Ask, (seconds, seconds)))


@asynccontextmanager
async def watching(
    bootstrap: str, log: Path, webhooks: WebhookConfig | None = None, **configs: Any
) -> AsyncIterator[Watch]:
    settings = {
        "bootstrap_servers": bootstrap.split(","),
        "request_timeout_ms": PATIENCE_MS,
        "bootstrap_timeout_ms": PATIENCE_MS,
        **configs,
    }
    one = ClusterWatch(settings, EventLog(log), webhooks, full=True)
    async with ServedWatch([one], ("127.0.0.1", 0), HttpSecurity(), page=True) as served:
        yield Watch(served)
