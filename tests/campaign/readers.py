"""A group of consumers that reads all topics of the load while everything happens."""

import threading
import time
from contextlib import suppress

from confluent_kafka import Consumer, KafkaException

from .client_log import STATISTICS_EVERY_MS, ClientView
from .journal import Record
from .producers import Configs

GROUP = "readers"
COMMIT_EVERY_S = 1.0
CLOSE_S = 30.0
"""For a consumer to leave the group. librdkafka can wait forever there; the group then drops the member by itself."""


class Reader:
    """A member of the group. What it has read is committed after it was noted: each record is read at least once.

    librdkafka stores the offsets of a batch by itself while it fills the batch, and drops records from a batch in which
    the group is balanced anew. So the member stores the offsets, of the records that it has noted.

    Where its client has lost every broker (`ClientView.lost`) another one goes on.
    """

    def __init__(self, configs: Configs, topics: str, read: dict[str, set[Record]]) -> None:
        """`topics`: a regular expression. `read`: gets every record, by topic; members share it."""
        self._config = {
            **configs,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "isolation.level": "read_committed",
            "topic.metadata.refresh.interval.ms": 2_000,
            "session.timeout.ms": 10_000,
            "reconnect.backoff.max.ms": 1_000,
            "statistics.interval.ms": STATISTICS_EVERY_MS,
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
        while not self._end.is_set():
            view = ClientView()
            consumer = Consumer({**self._config, "stats_cb": view.heard})
            self._consume(consumer, view)
            if self._end.is_set():
                consumer.close()
            else:  # lost: its close may never return
                threading.Thread(target=consumer.close, name="leaves", daemon=True).start()

    def _consume(self, consumer: Consumer, view: ClientView) -> None:
        """Until the end, or until the client has lost every broker: what it has not committed is read again."""
        consumer.subscribe([self._topics])
        committed = time.monotonic()
        while not self._end.is_set() and not view.lost:
            for record in consumer.consume(500, timeout=0.5):
                topic = record.topic()
                if record.error() is None and topic is not None:
                    self._read[topic].add(Record.decode(record.value()))
                    with suppress(KafkaException):  # the partition was taken away meanwhile
                        consumer.store_offsets(record)
            if time.monotonic() > committed + COMMIT_EVERY_S:
                committed = time.monotonic()
                with suppress(KafkaException):  # nothing to commit
                    consumer.commit(asynchronous=True)
