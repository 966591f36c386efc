"""The load of a campaign: a producer for each topic, and a group of readers of all of them."""

import asyncio
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .generator import MEMBERS, PRODUCERS
from .journal import Journal, Record
from .producers import Configs, LoadProducer
from .readers import Reader


class Load:
    """
    journals    of every incarnation, also of the deleted ones
    read        by topic: what the group has read
    """

    def __init__(self, configs: Configs, directory: Path) -> None:
        """`configs`: of every client: where the brokers are, and who the client is. `directory`: of their logs."""
        self._configs = configs
        self._directory = directory
        self._producers: dict[str, LoadProducer] = {}
        self._readers: dict[int, Reader] = {}
        self.journals: list[Journal] = []
        self.read: dict[str, set[Record]] = defaultdict(set)

    def start_producer(self, topic: str, incarnation: int, partitions: int) -> None:
        producer = LoadProducer(self._configs, topic, incarnation, PRODUCERS[topic], partitions, self._directory)
        self._producers[topic] = producer
        self.journals.append(producer.journal)

    def grow(self, topic: str, partitions: int) -> None:
        self._producers[topic].partitions = partitions

    def promise(self, topic: str, begin: float, end: float) -> int:
        """What was acknowledged between these moments (`time.monotonic`) must be there in the end; how many records."""
        return self._producers[topic].journal.promise(begin, end)

    def end(self, topic: str) -> None:
        """The topic will be deleted: nothing is promised of its records from now on."""
        self._producers[topic].journal.ended.set()

    def drop_producer(self, topic: str) -> None:
        """Blocks until nothing of the producer is in flight any more."""
        self._producers.pop(topic).abandon()

    def start_readers(self) -> None:
        for member in MEMBERS:
            self.start_reader(member)

    def start_reader(self, member: int) -> None:
        self._readers[member] = Reader(self._configs, f"^({'|'.join(PRODUCERS)})$", self.read)

    def stop_reader(self, member: int) -> None:
        self._readers.pop(member).stop()

    @property
    def living(self) -> list[Journal]:
        """The journals of topics that exist."""
        return [one for one in self.journals if not one.ended.is_set()]

    def finish(self) -> None:
        """Stop all producers; returns when everything is taken. Blocks."""
        with ThreadPoolExecutor(max_workers=len(PRODUCERS)) as pool:
            list(pool.map(lambda producer: producer.stop(), self._producers.values()))
        self._producers.clear()

    async def abandon(self) -> None:
        """End whatever still runs, at once."""
        ends = [one.abandon for one in self._producers.values()] + [one.stop for one in self._readers.values()]
        self._producers.clear()
        self._readers.clear()
        await asyncio.gather(*(asyncio.to_thread(end) for end in ends))
