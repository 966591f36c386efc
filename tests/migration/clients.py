"""Clients that go on while their cluster migrates: an idempotent and a transactional producer, and groups."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Self

from confluent_kafka import Consumer, KafkaException, TopicPartition

from kafka_reassign_rpc.protocol.messages import FindCoordinatorRequest
from tests.campaign import record_checks
from tests.campaign.batches import Sender, senders
from tests.campaign.generator import IDEMPOTENT, TRANSACTIONAL
from tests.campaign.journal import Record
from tests.campaign.producers import LoadProducer
from tests.campaign.readers import GROUP, Reader
from tests.faults.cluster import address_of, ask
from tests.mixed_clusters.load import read_to_end
from tests.mixed_clusters.mixed_cluster import MixedCluster
from tests.waiting import eventually

INTERNAL_TOPICS: Mapping[str, str] = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "1",
}
"""Configs of brokers: no restart of one alone keeps groups and transactions waiting."""

Name = tuple[str, int]

TOPICS = {"load": IDEMPOTENT, "paid": TRANSACTIONAL}
PARTITIONS = (0, 1)
NAMES: list[Name] = [(topic, index) for topic in TOPICS for index in PARTITIONS]
_STANDING, _OFFSET = "standing", 3
_GROUP, _TRANSACTION = 0, 1
"""Kinds of keys that have a coordinator."""
PATIENCE_S = 120
EVERY_S = 0.1
"""Between records: a migration takes minutes, and there are enough of them at each of its steps."""


class Clients:
    """Both topics are written and read from the moment when the block begins to its end. Then nothing that was
    acknowledged or committed is lost, nothing is there twice, no aborted record is read, and no offset of a group is
    forgotten: neither of the one that reads, nor of one that has committed once, before all.
    """

    def __init__(self, mixed: MixedCluster, folder: Path) -> None:
        self._mixed = mixed
        self._folder = folder
        self._configs = {"bootstrap.servers": mixed.stock.bootstrap}
        self._producers: list[LoadProducer] = []
        self._readers: list[Reader] = []
        self._read: dict[str, set[Record]] = defaultdict(set)

    async def __aenter__(self) -> Self:
        for topic in TOPICS:
            await self._mixed.create_empty(topic, {0: (1, 2, 3), 1: (2, 3, 1)})
        for key_type in (_GROUP, _TRANSACTION):
            await eventually(partial(self._has_coordinator, key_type), within=PATIENCE_S)
        try:
            for topic, kind in TOPICS.items():
                of_topic = (self._configs, topic, 0, kind, len(PARTITIONS), self._folder)
                self._producers.append(LoadProducer(*of_topic, every_s=EVERY_S))
            for _ in range(2):
                self._readers.append(Reader(self._configs, f"^({'|'.join(TOPICS)})$", self._read))
            await eventually(lambda: all(self._read[topic] for topic in TOPICS), within=PATIENCE_S)
            await eventually(lambda: asyncio.to_thread(self._commit_once), within=PATIENCE_S)
        except BaseException:
            await self._abandon()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                await self._check()
        finally:
            await self._abandon()

    async def _check(self) -> None:
        await asyncio.gather(*(asyncio.to_thread(one.stop) for one in self._producers))
        journals = [one.journal for one in self._producers]
        assert all(one.acknowledged for one in journals)
        found = await asyncio.to_thread(self._found)
        for journal in journals:
            written = {i: found[journal.topic, i] for i in PARTITIONS}
            read = {i: list(records.values()) for i, records in written.items()}
            wrote = {i: await self._senders((journal.topic, i), written[i]) for i in PARTITIONS}
            assert record_checks.refused(journal) + record_checks.delivered(journal, read, wrote) == []
        ends = {name: max(records) + 1 for name, records in found.items()}

        async def has_read_all() -> bool:
            committed = await asyncio.to_thread(self._committed, GROUP)
            return all(committed[name] >= end for name, end in ends.items())

        await eventually(has_read_all, within=PATIENCE_S)
        for journal in journals:
            assert record_checks.consumed(journal, self._read[journal.topic]) == []
        standing = await eventually(lambda: asyncio.to_thread(self._committed, _STANDING), within=PATIENCE_S)
        assert standing == dict.fromkeys(NAMES, _OFFSET)

    def _found(self) -> dict[Name, dict[int, Record]]:
        """What can be read, by offset."""
        found: dict[Name, dict[int, Record]] = {name: {} for name in NAMES}
        for one in read_to_end(self._mixed.stock.bootstrap, NAMES):
            found[str(one.topic()), one.partition()][one.offset()] = Record.decode(one.value())
        return found

    async def _senders(self, name: Name, offsets: Iterable[int]) -> list[Sender]:
        """Of these records, as the partition's leader has them."""

        def known() -> list[Sender]:
            topic, index = name
            with self._consumer("none") as consumer:
                leader = consumer.list_topics(topic, timeout=30).topics[topic].partitions[index].leader
            found = senders(self._folder / str(leader) / "data" / f"{topic}-{index}")
            return [found[offset] for offset in offsets]

        senders_of: list[Sender] = await eventually(lambda: asyncio.to_thread(known), within=PATIENCE_S)
        return senders_of

    async def _has_coordinator(self, key_type: int) -> bool:
        """A broker that is asked creates the topic for it. Our server does not, and a client that happens to know it
        alone asks it for a minute.
        """
        broker = address_of(self._mixed.stock.brokers[1].address)
        answer = await ask(broker, FindCoordinatorRequest(key="any", key_type=key_type), 3)
        return bool(answer.error_code == 0)

    # Groups

    def _commit_once(self) -> bool:
        with self._consumer(_STANDING) as consumer:
            offsets = [TopicPartition(*name, _OFFSET) for name in NAMES]
            return not any(one.error for one in consumer.commit(offsets=offsets, asynchronous=False))

    def _committed(self, group: str) -> dict[Name, int]:
        with self._consumer(group) as consumer:
            found = consumer.committed([TopicPartition(*name) for name in NAMES], timeout=60)
            return {(one.topic, one.partition): one.offset for one in found}

    @contextmanager
    def _consumer(self, group: str) -> Iterator[Consumer]:
        """What brokers refuse becomes an OSError: `eventually` asks again."""
        with closing(Consumer({**self._configs, "group.id": group, "log_level": 0})) as consumer:
            try:
                yield consumer
            except KafkaException as error:
                raise OSError(str(error)) from error

    async def _abandon(self) -> None:
        ends = [one.abandon for one in self._producers] + [one.stop for one in self._readers]
        await asyncio.gather(*(asyncio.to_thread(end) for end in ends))
