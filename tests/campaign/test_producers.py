"""A producer of which nothing was taken says so, of whichever kind it is."""

import asyncio
from pathlib import Path

import pytest

from tests.campaign import producers
from tests.campaign.generator import IDEMPOTENT, PLAIN, TRANSACTIONAL
from tests.campaign.record_checks import refused
from tests.waiting import eventually

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "log_level": "0"}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producers, "PATIENCE_S", 0.3)
    monkeypatch.setattr(producers, "CALL_S", 0.1)


@pytest.mark.parametrize("kind", [PLAIN, IDEMPOTENT])
async def test_455_9_records_that_no_broker_takes_are_a_difference(kind: str, tmp_path: Path) -> None:
    producer = producers.LoadProducer(NOBODY, "t", 0, kind, 1, tmp_path)

    async def has_sent() -> bool:
        return bool(producer.journal.sent)

    await eventually(has_sent)
    await asyncio.to_thread(producer.stop)
    assert any("records were not taken" in line for line in refused(producer.journal))


def test_455_9_a_producer_that_never_commits_is_a_difference(tmp_path: Path) -> None:
    producer = producers.LoadProducer(NOBODY, "t", 0, TRANSACTIONAL, 1, tmp_path)
    producer.stop()
    assert refused(producer.journal) == [
        "t: 1 times no transaction was committed; its client saw partitions none; brokers none"
    ]


def test_455_9_a_producer_that_is_given_up_is_no_difference(tmp_path: Path) -> None:
    producer = producers.LoadProducer(NOBODY, "t", 0, TRANSACTIONAL, 1, tmp_path)
    producer.abandon()
    assert not refused(producer.journal)


async def test_455_9_a_producer_that_never_gets_a_coordinator_logs_why(tmp_path: Path) -> None:
    producer = producers.LoadProducer({"bootstrap.servers": "127.0.0.1:1"}, "t", 0, TRANSACTIONAL, 1, tmp_path)
    log = tmp_path / "producer-t-0.log"

    async def tells_why() -> bool:
        return log.exists() and "Connection refused" in log.read_text()

    await eventually(tells_why)
    await asyncio.to_thread(producer.stop)
