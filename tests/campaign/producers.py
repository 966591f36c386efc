"""Producers of numbered records, one in a thread of its own for each incarnation of a topic."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from .client_log import DEBUG, STATISTICS_EVERY_MS, ClientView, client_log, close
from .generator import IDEMPOTENT, PLAIN, TRANSACTIONAL
from .journal import Journal
from .steps import ONE_ACK

EVERY_S = 0.02
PATIENCE_S = 120.0
"""For the last records to be taken, once nothing is harmed any more."""

RECORDS_PER_TRANSACTION = 4
"""To each partition."""

CALL_S = 20.0
"""For one call of a transactional producer."""

Configs = Mapping[str, str]
"""librdkafka's configs that all clients of a campaign share."""

_COMMON: dict[str, Any] = {
    "acks": "all",
    "linger.ms": 5,
    "message.timeout.ms": 300_000,
    "topic.metadata.refresh.interval.ms": 2_000,
    # Longer than a campaign: a client that is older refuses all records when a broker knows no topic yet. librdkafka
    # counts it in microseconds and in 32 bits: 3_600_000, the most that it accepts, would be none at all.
    "topic.metadata.propagation.max.ms": 2_000_000,
    "reconnect.backoff.max.ms": 1_000,
    "statistics.interval.ms": STATISTICS_EVERY_MS,
    "debug": DEBUG,
}
_OF_KIND: dict[str, dict[str, Any]] = {
    PLAIN: {"enable.idempotence": False},
    IDEMPOTENT: {"enable.idempotence": True},
    TRANSACTIONAL: {"message.timeout.ms": 60_000, "transaction.timeout.ms": 60_000},
    ONE_ACK: {"enable.idempotence": False, "acks": "1"},
}
_NO_REFUSAL = (KafkaError._UNKNOWN_PARTITION, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
"""No one's fault: the client has not heard of the partition yet; or it was told to give the record up."""


class LoadProducer:
    """Writes to every partition of an incarnation in turn until it is stopped. `partitions` may grow.

    Where its client has lost every broker (`ClientView.lost`) another one goes on. Records that the lost one has no
    answer for are given up: they may be there or not.

    `directory` gets the log of its client, `producer-TOPIC-INCARNATION.log`. `every_s`: the time between records, or
    between transactions.
    """

    def __init__(
        self,
        configs: Configs,
        topic: str,
        incarnation: int,
        kind: str,
        partitions: int,
        directory: Path,
        every_s: float = EVERY_S,
    ) -> None:
        self.journal = Journal(topic, incarnation, once=kind in (IDEMPOTENT, TRANSACTIONAL), bumps=kind == IDEMPOTENT)
        self.partitions = partitions
        self._every_s = every_s
        self._has_one_ack = kind == ONE_ACK
        self._view = ClientView()
        self._log = client_log(directory / f"producer-{topic}-{incarnation}.log")
        self._config = {**configs, **_COMMON, **_OF_KIND[kind]}
        if kind == TRANSACTIONAL:
            self._config["transactional.id"] = f"{topic}-{incarnation}"
        self._in_flight: Counter[int] = Counter()
        """Records without an answer, by partition."""
        self._taken: set[int] = set()
        """Partitions with a record of this client; a transactional one goes on as the one before."""
        self._deadline: float | None = None
        self._end = threading.Event()
        self._abandoned = threading.Event()
        work = self._transactions if kind == TRANSACTIONAL else self._stream
        self._thread = threading.Thread(target=work, name=f"produces {topic}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the records that were handed over are taken. Blocks, at most about PATIENCE_S."""
        self._end.set()
        self._thread.join()
        close(self._log)

    def abandon(self) -> None:
        """End at once: what is not taken yet is given up."""
        self._abandoned.set()
        self._end.set()
        self._thread.join()
        close(self._log)

    def _client(self) -> Producer:
        self._view = ClientView()
        return Producer({**self._config, "stats_cb": self._view.heard}, logger=self._log)

    def _note_loss(self) -> None:
        self.journal.clients_lost += 1
        self._log.error("LOST no broker is known any more, librdkafka #5301: another client goes on")

    def _is_late(self) -> bool:
        """Whether PATIENCE_S have passed since the first question, which is asked after the end."""
        self._deadline = self._deadline or time.monotonic() + PATIENCE_S
        return time.monotonic() > self._deadline

    # Plain and idempotent

    def _stream(self) -> None:
        while self._streamed(self._client()):
            self._note_loss()

    def _streamed(self, producer: Producer) -> bool:
        """Whether the client was lost, so that another one has to go on: after the end with one record more.

        Plain: without sequence numbers, only a partition with one record in flight keeps the order. While its leader
        changes, a client has requests in flight to both.
        """
        self._in_flight.clear()
        self._taken.clear()
        while not self._view.lost:
            for partition in range(self.partitions):
                if not self._in_flight[partition] or (self.journal.once and self._is_known(partition)):
                    self._produce(producer, partition)
            producer.poll(0)
            if self._end.wait(self._every_s):
                break
        lost = self._view.lost
        while not lost and producer.flush(0.2) and not self._abandoned.is_set():
            if self._is_late():
                left = self._in_flight.total()  # len(producer) counts the client's own events too
                self.journal.refused.append(
                    f"{left} records were not taken in {PATIENCE_S:g} s; {self._view.of(self.journal.topic)}"
                )
                break
            lost = self._view.lost
        producer.purge()
        producer.flush(1)
        return lost and not self._abandoned.is_set()

    def _is_known(self, partition: int) -> bool:
        """Whether the partition has a record of this producer. Before that its leader takes any sequence number: where
        it has refused the first record, and then takes the second one, librdkafka reports both as stored.
        """
        return partition in self._taken

    def _produce(self, producer: Producer, partition: int) -> None:
        record = self.journal.next(partition)

        def delivered(error: KafkaError | None, _: Message) -> None:
            self._in_flight[record.partition] -= 1
            if error is None:
                self._taken.add(record.partition)
                if self._has_one_ack:
                    self.journal.told.append((record.partition, record.number, time.monotonic()))
                else:
                    self.journal.acked[record.partition].add(record.number)
            else:
                self._refuse(error)

        with suppress(KafkaException):  # a partition that this client has not heard of yet
            producer.produce(self.journal.topic, record.encode(), partition=partition, on_delivery=delivered)
            self._in_flight[partition] += 1

    def _refuse(self, error: KafkaError) -> None:
        if error.code() not in _NO_REFUSAL and not self._abandoned.is_set():
            self.journal.refused.append(str(error))

    # Transactional

    def _transactions(self) -> None:
        while self._goes_on():
            producer = self._client()
            # Fenced, lost, or timed out at the coordinator: another instance of the same id goes on.
            with suppress(KafkaException):
                self._retried(producer, partial(producer.init_transactions, CALL_S))
                number = 0
                while self._goes_on() and not self._view.lost:
                    time.sleep(self._every_s)
                    self._transaction(producer, abort=number % 5 == 4)
                    producer.poll(0)
                    number += 1
            producer.poll(0)  # what the client has to say, also where it was never initialized
            producer.purge()
            if self._view.lost:
                self._note_loss()
        if not self.journal.acknowledged and not self._abandoned.is_set():
            self.journal.refused.append(f"no transaction was committed; {self._view.of(self.journal.topic)}")

    def _goes_on(self) -> bool:
        """Until the end; and on, for PATIENCE_S, while not one transaction was committed."""
        if not self._end.is_set():
            return True
        if self.journal.acknowledged or self._abandoned.is_set():
            return False
        return not self._is_late()

    def _transaction(self, producer: Producer, *, abort: bool) -> None:
        """One transaction: a few records to each partition. Raises KafkaException where the producer is done for."""
        taken: dict[int, set[int]] = defaultdict(set)
        producer.begin_transaction()
        for turn in range(RECORDS_PER_TRANSACTION):
            for partition in range(self.partitions):
                if turn and not self._is_known(partition):
                    continue
                record = self.journal.next(partition)
                with suppress(KafkaException):
                    producer.produce(self.journal.topic, record.encode(), partition=partition)
                    taken[partition].add(record.number)
        try:
            if not abort:
                self._retried(producer, partial(producer.commit_transaction, CALL_S))
                self._note(self.journal.acked, taken)
                self._taken |= taken.keys()
                return
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
        self._retried(producer, partial(producer.abort_transaction, CALL_S))
        self._note(self.journal.aborted, taken)

    @staticmethod
    def _note(told: dict[int, set[int]], taken: dict[int, set[int]]) -> None:
        for partition, numbers in taken.items():
            told[partition] |= numbers

    def _retried(self, producer: Producer, call: Callable[[], object]) -> None:
        """Repeat a call of a producer while its error may pass. Raises KafkaException."""
        deadline = time.monotonic() + PATIENCE_S / 2
        while True:
            try:
                call()
            except KafkaException as error:
                producer.poll(0)
                if not error.args[0].retriable() or self._view.lost or self._abandoned.is_set():
                    raise
                if time.monotonic() > deadline:
                    raise
            else:
                return
