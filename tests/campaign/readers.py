"""A group of consumers that reads all topics of the load while everything happens."""

import threading
import time
from contextlib import suppress

from confluent_kafka import Consumer, KafkaException

from .journal import Record
from .producers import Configs

GROUP = "readers"
COMMIT_EVERY_S = 1.0
CLOSE_S = 30.0
"""For a consumer to leave the group. librdkafka can wait for ever there; the group then drops the member by itself."""


class Reader:
    """A member of the group. What it has read is committed after it was noted: each record is read at least once."""

    def __init__(self, configs: Configs, topics: str, read: dict[str, set[Record]]) -> None:
        """`topics`: a regular expression. `read`: gets every record, by topic; members share it."""
        self._config = {
            **configs,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "topic.metadata.refresh.interval.ms": 2_000,
            "session.timeout.ms": 10_000,
            "reconnect.backoff.max.ms": 1_000,
            "log_level": 0,
        }
        self._topics = topics
        self._read = read
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, name="reads", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave the group. Blocks for CLOSE_S at most."""
        self._end.set()
        self._thread.join(CLOSE_S)

    def _work(self) -> None:
        consumer = Consumer(self._config)
        consumer.subscribe([self._topics])
        committed = time.monotonic()
        while not self._end.is_set():
            for record in consumer.consume(500, timeout=0.5):
                topic = record.topic()
                if record.error() is None and topic is not None:
                    self._read[topic].add(Record.decode(record.value()))
            if time.monotonic() > committed + COMMIT_EVERY_S:
                committed = time.monotonic()
                with suppress(KafkaException):  # nothing to commit
                    consumer.commit(asynchronous=True)
        consumer.close()
