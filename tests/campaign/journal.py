"""What producers have sent to an incarnation of a topic, and what they were answered."""

import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

PADDING = bytes(300)


class Record(NamedTuple):
    """The name of a record: each producer numbers its records of each partition from 0."""

    incarnation: int
    partition: int
    number: int

    def encode(self) -> bytes:
        return b"%d %d %d %s" % (*self, PADDING)

    @classmethod
    def decode(cls, value: bytes | None) -> "Record":
        """Raises ValueError for what no producer of a campaign writes."""
        incarnation, partition, number, _ = (value or b"").split(b" ", 3)
        return cls(int(incarnation), int(partition), int(number))


@dataclass
class Journal:
    """The records of one incarnation of a topic, which has one producer.

    once       whether each record is to be read once at most (idempotent, transactional)
    bumps      whether it is once for each epoch of the producer (idempotent): librdkafka begins a new one where a
               leader misses a record that it has not answered, and sends all again that are without an answer
    sent       by partition: how many were handed to the producer
    acked      by partition: the numbers of those that were acknowledged, or committed
    aborted    by partition: the numbers of those whose transaction was aborted
    refused    why records were not acknowledged
    told       with acks=1: partition, number and moment of each acknowledgement; `acked` has what is promised of it
    clients_lost    how many clients the producer has had to replace, as in docs/campaign.md
    ended      whether the topic was deleted: nothing is promised from that moment on
    """

    topic: str
    incarnation: int
    once: bool
    bumps: bool = False
    sent: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    acked: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    aborted: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    refused: list[str] = field(default_factory=list)
    told: list[tuple[int, int, float]] = field(default_factory=list)
    clients_lost: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def next(self, partition: int) -> Record:
        number = self.sent[partition]
        self.sent[partition] = number + 1
        return Record(self.incarnation, partition, number)

    def promise(self, begin: float, end: float) -> int:
        """With acks=1, what was acknowledged between these moments is safe: the followers in sync had time to fetch it
        before anything happened."""
        safe = [(partition, number) for partition, number, at in list(self.told) if begin <= at <= end]
        for partition, number in safe:
            self.acked[partition].add(number)
        return len(safe)

    @property
    def acknowledged(self) -> int:
        return sum(map(len, self.acked.values()))
