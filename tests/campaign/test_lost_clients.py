"""A client that was answered without a broker, and has lost all that it knew, is replaced by another one (librdkafka
#5301).
"""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.campaign import producers, readers
from tests.campaign.generator import IDEMPOTENT, PLAIN, TRANSACTIONAL
from tests.campaign.newborn_broker import NewbornBroker, newborn_broker
from tests.campaign.record_checks import delivered, refused
from tests.waiting import eventually

QUICK = {"statistics.interval.ms": 200, "topic.metadata.refresh.interval.ms": 100}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producers, "_COMMON", {**producers._COMMON, **QUICK})
    monkeypatch.setattr(producers, "CALL_S", 1.0)


def producer_of(broker: NewbornBroker, kind: str, directory: Path) -> producers.LoadProducer:
    return producers.LoadProducer({"bootstrap.servers": broker.address}, "t", 0, kind, 2, directory)


@pytest.mark.parametrize("kind", [PLAIN, IDEMPOTENT, TRANSACTIONAL])
async def test_455_9_another_client_goes_on_where_one_has_lost_every_broker(kind: str, tmp_path: Path) -> None:
    async with newborn_broker() as broker:
        producer = producer_of(broker, kind, tmp_path)
        journal = producer.journal
        await eventually(lambda: journal.acknowledged)
        broker.newborn = True
        await eventually(lambda: journal.clients_lost)
        broker.newborn = False
        before = journal.acknowledged
        await eventually(lambda: journal.acknowledged > before)
        await asyncio.to_thread(producer.stop)
    assert not refused(journal)
    assert sum(journal.sent.values()) > journal.acknowledged, "what the lost client had no answer for is given up"
    assert not delivered(journal, broker.taken)
    log = (tmp_path / "producer-t-0.log").read_text()
    assert "librdkafka #5301" in log
    assert f"{broker.address}/1: 0 brokers" in log


@pytest.mark.parametrize("kind", [PLAIN, IDEMPOTENT])
async def test_455_9_a_client_that_is_lost_in_the_end_is_replaced_and_records_are_taken(
    kind: str, tmp_path: Path
) -> None:
    async with newborn_broker() as broker:
        broker.newborn = True
        producer = producer_of(broker, kind, tmp_path)
        stopped = asyncio.create_task(asyncio.to_thread(producer.stop))
        await eventually(lambda: producer.journal.clients_lost)
        broker.newborn = False
        await stopped
    assert producer.journal.acknowledged
    assert not refused(producer.journal)


async def test_455_9_records_of_clients_that_are_lost_again_and_again_are_a_difference(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(producers, "PATIENCE_S", 2.0)
    async with newborn_broker() as broker:
        broker.newborn = True
        producer = producer_of(broker, PLAIN, tmp_path)
        await eventually(lambda: producer.journal.clients_lost)
        await asyncio.to_thread(producer.stop)
    assert "2 records were not taken in 2 s" in refused(producer.journal)[0]


class Lost:
    """A consumer that knows no broker."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._hear: Callable[[str], None] = config["stats_cb"]
        self.closed = threading.Event()

    def subscribe(self, topics: list[str]) -> None:
        assert topics == ["^t$"]

    def consume(self, count: int, timeout: float) -> list[object]:
        self._hear(json.dumps({"brokers": {"GroupCoordinator": {"nodeid": -1, "state": "UP"}}}))
        self.closed.wait(0.01)
        return []

    def close(self) -> None:
        self.closed.set()


async def test_455_9_a_reader_that_has_lost_every_broker_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Lost] = []

    def consumer(config: dict[str, Any]) -> Lost:
        made.append(Lost(config))
        return made[-1]

    monkeypatch.setattr(readers, "Consumer", consumer)
    reader = readers.Reader({}, "^t$", {})
    await eventually(lambda: len(made) > 2)
    await asyncio.to_thread(reader.stop)
    await eventually(lambda: all(one.closed.is_set() for one in made))
