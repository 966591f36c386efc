"""Writes records during a scenario, and checks afterwards that none is lost."""

import asyncio
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Self

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from tests.effort import in_all
from tests.waiting import eventually

RECORD_BYTES = 400
EVERY_S = in_all(0.004, elsewhere=0.02)
PATIENCE_S = 90
REQUEST_TIMEOUT_MS = 30_000
"""So long brokers may hold a request of the producer."""


class Load:
    """An idempotent producer with acks=all that writes numbered records, in turn to each partition of a topic.

    As a context manager it writes until the end of the block, which begins once each partition has acknowledged a
    record: a broker that a fault has cut off from ZooKeeper gives out no producer ids. At the end every acknowledged
    record must be readable.
    """

    def __init__(
        self, bootstrap: str, topic: str, partitions: Sequence[int], request_timeout_ms: int = REQUEST_TIMEOUT_MS
    ) -> None:
        self._bootstrap = bootstrap
        self._request_timeout_ms = request_timeout_ms
        self._topic = topic
        self._partitions = partitions
        self._acked: set[tuple[int, int]] = set()
        self._refused: list[str] = []
        self._end = threading.Event()

    async def __aenter__(self) -> Self:
        self._writing = asyncio.create_task(asyncio.to_thread(self._write))
        await eventually(self._is_under_way, within=PATIENCE_S)
        return self

    def _is_under_way(self) -> bool:
        return {partition for partition, _ in self._acked.copy()} == set(self._partitions)

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._end.set()
        await self._writing
        if kind is None:
            assert not self._refused, sorted(set(self._refused))[:5]
            assert self._acked
            found = await asyncio.to_thread(self._read)
            assert not self._acked - found, f"{len(self._acked - found)} of {len(self._acked)} records are lost"

    @property
    def acked(self) -> int:
        return len(self._acked)

    def _write(self) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "message.timeout.ms": PATIENCE_S * 1000,
                "request.timeout.ms": self._request_timeout_ms,
                "linger.ms": 1,
                "log_level": 0,
            }
        )
        number = 0
        while not self._end.wait(EVERY_S):
            for partition in self._partitions:
                value = b"%d %s" % (number, bytes(RECORD_BYTES))
                producer.produce(self._topic, value, partition=partition, on_delivery=self._on_delivery)
            producer.poll(0)
            number += 1
        if producer.flush(PATIENCE_S):
            self._refused.append("not all was taken in time")

    def _on_delivery(self, error: KafkaError | None, record: Message) -> None:
        if error is not None:
            self._refused.append(str(error))
        else:
            self._acked.add(_named(record))

    def _read(self) -> set[tuple[int, int]]:
        return {_named(record) for record in read_to_end(self._bootstrap, [(self._topic, i) for i in self._partitions])}


def read_to_end(
    bootstrap: str, partitions: Iterable[tuple[str, int]], security: Mapping[str, str] | None = None
) -> Iterator[Message]:
    """Every committed record of these partitions, to the offset after the last one that is written now.

    `security`: librdkafka's configs of TLS and SASL.

    Raises AssertionError where an end is not reached in PATIENCE_S: a record cannot be read, or a transaction is open.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "none",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "log_level": 0,
            **(security or {}),
        }
    )
    with closing(consumer):
        ends = _ends(bootstrap, partitions, security or {})
        left = {name for name, end in ends.items() if end}
        consumer.assign([TopicPartition(*name, 0) for name in left])
        reached: dict[tuple[str, int], int] = {}
        deadline = time.monotonic() + PATIENCE_S
        while left and time.monotonic() < deadline:
            for record in consumer.consume(500, timeout=1):
                name = (record.topic(), record.partition())
                error = record.error()
                if error is None:
                    yield record
                elif error.code() == KafkaError._PARTITION_EOF:
                    reached[name] = record.offset()
                    if record.offset() >= ends[name]:
                        left.discard(name)
    short = {name: (reached.get(name), ends[name]) for name in left}
    assert not left, f"could not be read to the end (reached, end): {short}"


def _ends(
    bootstrap: str, partitions: Iterable[tuple[str, int]], security: Mapping[str, str]
) -> dict[tuple[str, int], int]:
    """The high watermark of each partition."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "none", "isolation.level": "read_uncommitted", **security}
    with closing(Consumer({**settings, "log_level": 0})) as consumer:
        return {name: consumer.get_watermark_offsets(TopicPartition(*name), timeout=30)[1] for name in partitions}


def _named(record: Message) -> tuple[int, int]:
    """Partition and number."""
    value = record.value()
    assert value is not None
    return record.partition(), int(value.partition(b" ")[0])
