"""Requests to the leader of the log's only partition. Each is sent once: callers repeat, and know what is durable.

A broker that is cut off from the others goes on to name itself the leader. So two are asked who leads, the later epoch
counts, and requests have the epoch: a broker that has another one answers with an error.

Batches of the topic from an offset on, one Fetch each.
"""

import asyncio
import random
from functools import partial
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.client.client_errors import name_of
from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.kraft.state_log.log_errors import LogLost, LogRefused, LogUnavailable
from kafka_reassign_rpc.kraft.state_log.log_reading import DAMAGED, TermReading
from kafka_reassign_rpc.kraft.state_log.record_batches import BadBatch, Batch, batches
from kafka_reassign_rpc.protocol.messages import (
    DeleteRecordsRequest,
    FetchRequest,
    ListOffsetsRequest,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
)

FETCH_BYTES = 4 << 20
"""Of one answer; a single batch may be larger, up to `max.message.bytes`."""
ACKS_MS = 4_000
"""How long the leader waits for its followers before it says that it does not know."""
LOOKS, LOOK_AGAIN_S = 5, 1.0
"""Brokers learn of topics a little later than the controller: so many looks in a row show that one, or a record, is
gone."""
OTHER_MS = 1_000
"""How long the second broker of a look may take: a hung one must not make the log seem silent."""
NOT_LEADER = frozenset({3, 5, 6, 9, 74, 75, 100, 103})
"""The broker asked is not the leader, or no longer, or does not know yet: look, and ask again."""
WAIT = frozenset({-1, 2, 7, 8, 13, 14, 15, 16, 19, 20, 38, 51, 56, 78, 89})
"""The cluster cannot do it for now."""
NOT_ALLOWED = {
    29: "READ, WRITE and DELETE on the topic {topic}",
    53: "WRITE and DESCRIBE on the transactional id {topic}",
}
NOT_READ = "the state log cannot be read"
TAKES_NO_RECORD = "the state log takes no record"
_EARLIEST, _LATEST = -2, -1


class Produced(NamedTuple):
    error: int
    message: str | None
    base_offset: int
    throttle_s: float


class Fetched(NamedTuple):
    """`end`: the high watermark. `diverges`: the leader has other records than those read before."""

    error: int
    end: int
    data: bytes
    throttle_s: float
    diverges: bool


class _Leader(NamedTuple):
    """As one broker names it. `node`: -1 if there is none."""

    error: int
    topic_id: UUID | None
    node: int
    epoch: int


class LeaderCalls:
    """All may raise Unreachable."""

    def __init__(self, router: RequestRouter, topic: str, topic_id: UUID) -> None:
        self.router = router
        self.topic = topic
        self.topic_id = topic_id
        self._leader: _Leader | None = None
        self._former: int | None = None
        """The leader about which there was doubt last."""
        self._newest = -1
        """The latest epoch of a leader that is known."""
        self.in_the_way = ""
        """What keeps the caller from going on for now, without addresses; "": nothing."""

    async def leader(self, since: int = -1) -> _Leader:
        """`since`: the epoch of a record that was read; no leader before that is asked.

        Raises LogUnavailable while there is none; LogLost if the topic is gone, or is another one of its name.
        """
        self._newest = max(self._newest, since)
        if self._leader is not None and self._leader.epoch < self._newest:
            self.look_again()
        if self._leader is None:
            for look in range(LOOKS):
                if look:
                    await asyncio.sleep(LOOK_AGAIN_S)
                found = await self._look()
                if self._is_this(found):
                    break
                if found.error and found.error != 3:
                    raise self.trouble(found.error)
            else:
                named = "" if found.error else ", and another one has its name"
                raise LogLost(
                    f"the topic {self.topic} was deleted{named}: the state log is lost; moves in flight go on."
                    " Stop the servers, and start them: they say how to begin an empty log"
                )
            if found.node < 0:
                raise LogUnavailable(f"the topic {self.topic} has no leader")
            if found.epoch < self._newest:
                raise LogUnavailable(f"brokers name a former leader of the topic {self.topic}")
            self._leader, self._newest = found, found.epoch
        return self._leader

    def look_again(self) -> None:
        """Who leads may be another broker by now."""
        if self._leader is not None:
            self._former, self._leader = self._leader.node, None

    def _is_this(self, found: _Leader) -> bool:
        return not found.error and found.topic_id == self.topic_id

    async def _look(self) -> _Leader:
        """As any broker names it, or another one that is not the former leader and knows a later one."""
        one = MetadataRequest.MetadataRequestTopic(topic_id=None, name=self.topic)
        request = MetadataRequest(topics=[one], allow_auto_topic_creation=False)
        any_one = partial(self.router.ask_any, lambda _: request, MetadataRequest)
        others = [node for node in self.router.nodes if node != self._former]
        random.shuffle(others)
        some = [partial(self.router.ask_node_once, node, lambda _: request, MetadataRequest) for node in others[:1]]
        first, second = await asyncio.gather(self.router.at_once([any_one]), self.router.at_once(some, OTHER_MS))
        found = [_named(answer) for answer in (*first, *second) if not isinstance(answer, KafkaError)]
        if not found:
            raise next(one for one in first if isinstance(one, KafkaError))
        return max(found, key=lambda one: (self._is_this(one), one.epoch))

    def not_now(self, what: str, why: Exception | str) -> None:
        """The text of an error of a connection has addresses; its name has none."""
        of_connection = why.__cause__ if isinstance(why, LogUnavailable) else why
        self.in_the_way = f"{what} for now: {of_connection.name if isinstance(of_connection, KafkaError) else why}"

    async def produce(self, batch: bytes) -> Produced:
        of_topic = ProduceRequest.TopicProduceData
        data = of_topic.PartitionProduceData(index=0, records=batch)

        def build(version: int) -> ProduceRequest:
            named = {"topic_id": self.topic_id} if version >= 13 else {"name": self.topic}
            topic = of_topic(partition_data=[data], **named)
            return ProduceRequest(transactional_id=None, acks=-1, timeout_ms=ACKS_MS, topic_data=[topic])

        answer = await self.router.ask_node_once((await self.leader()).node, build, ProduceRequest)
        (topic,) = answer.responses
        (one,) = topic.partition_responses
        message = getattr(one, "error_message", None)
        return Produced(one.error_code, message, one.base_offset, answer.throttle_time_ms / 1000)

    async def fetch(self, offset: int, last_epoch: int, wait_ms: int) -> Fetched:
        """`last_epoch`: the leader's epoch of the batch before `offset`, -1 if that is not known."""
        of_topic, leader = FetchRequest.FetchTopic, await self.leader(last_epoch)

        def build(version: int) -> FetchRequest:
            partition = of_topic.FetchPartition(
                partition=0,
                current_leader_epoch=leader.epoch,
                fetch_offset=offset,
                last_fetched_epoch=last_epoch,
                log_start_offset=-1,
                partition_max_bytes=FETCH_BYTES,
            )
            named = {"topic_id": self.topic_id} if version >= 13 else {"topic": self.topic}
            return FetchRequest(
                replica_id=-1,
                max_wait_ms=wait_ms,
                min_bytes=1,
                max_bytes=FETCH_BYTES,
                isolation_level=0,
                session_id=0,
                session_epoch=-1,
                topics=[of_topic(partitions=[partition], **named)],
                forgotten_topics_data=[],
                rack_id="",
            )

        answer = await self.router.ask_node_once(leader.node, build, FetchRequest)
        throttle_s = answer.throttle_time_ms / 1000
        if getattr(answer, "error_code", 0):
            return Fetched(answer.error_code, -1, b"", throttle_s, diverges=False)
        found = [one for topic in answer.responses for one in topic.partitions]
        if not found:  # while the broker throttles it
            return Fetched(0, -1, b"", throttle_s, diverges=False)
        (one,) = found
        diverging = getattr(one, "diverging_epoch", None)
        diverges = diverging is not None and diverging.end_offset >= 0
        return Fetched(one.error_code, one.high_watermark, one.records or b"", throttle_s, diverges)

    async def first_offset(self) -> int:
        """Raises LogUnavailable."""
        return await self._offset(_EARLIEST)

    async def end_offset(self) -> int:
        """Behind the last durable record. Only the leader tells it, where a Fetch is answered by followers, too, which
        may lag. Raises LogUnavailable.
        """
        return await self._offset(_LATEST)

    async def _offset(self, timestamp: int) -> int:
        of_topic, leader = ListOffsetsRequest.ListOffsetsTopic, await self.leader()
        partition = of_topic.ListOffsetsPartition(
            partition_index=0, current_leader_epoch=leader.epoch, timestamp=timestamp
        )
        request = ListOffsetsRequest(
            replica_id=-1, isolation_level=0, topics=[of_topic(name=self.topic, partitions=[partition])]
        )
        answer = await self.router.ask_node_once(leader.node, lambda _: request, ListOffsetsRequest)
        (topic,) = answer.topics
        (one,) = topic.partitions
        if one.error_code:
            self.look_again()
            raise self.trouble(one.error_code)
        return int(one.offset)

    async def delete_before(self, offset: int) -> None:
        """Raises LogUnavailable, LogRefused."""
        of_topic = DeleteRecordsRequest.DeleteRecordsTopic
        partition = of_topic.DeleteRecordsPartition(partition_index=0, offset=offset)
        request = DeleteRecordsRequest(topics=[of_topic(name=self.topic, partitions=[partition])], timeout_ms=ACKS_MS)
        answer = await self.router.ask_node_once((await self.leader()).node, lambda _: request, DeleteRecordsRequest)
        (topic,) = answer.topics
        (one,) = topic.partitions
        if one.error_code:
            self.look_again()
            raise self.trouble(one.error_code)

    def trouble(self, error: int, message: str | None = None) -> LogUnavailable | LogRefused:
        """Of an error that is no answer to what the caller does."""
        if (rights := NOT_ALLOWED.get(error)) is not None:
            return LogRefused(f"this server may not use the state log: allow it {rights.format(topic=self.topic)}")
        text = f"{name_of(error)}{f': {message}' if message else ''}, of the topic {self.topic}"
        if error in NOT_LEADER | WAIT:
            return LogUnavailable(text)
        return LogRefused(text)


def _named(answer: MetadataResponse) -> _Leader:
    (topic,) = answer.topics
    one = next((one for one in topic.partitions if one.partition_index == 0), None)
    node, epoch = (-1, -1) if one is None else (one.leader_id, one.leader_epoch)
    return _Leader(topic.error_code, topic.topic_id, node, epoch)


_OUT_OF_RANGE = 1
_OTHER_EPOCH = frozenset({74, 75})
"""FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH."""


class RecordsDeleted(Exception):
    """A snapshot has replaced them: reading starts again at the first offset that is there."""

    def __init__(self, first: int) -> None:
        super().__init__(first)
        self.first = first


class Fetch(NamedTuple):
    """`end`: the offset behind the last durable record, -1 if the broker did not tell."""

    batches: list[Batch]
    end: int
    throttle_s: float


async def fetch(calls: LeaderCalls, at: TermReading, wait_ms: int) -> Fetch:
    """What follows `at`. Raises RecordsDeleted, LogLost, LogRefused, LogUnavailable, Unreachable."""
    for look in range(LOOKS):
        if look:
            await asyncio.sleep(LOOK_AGAIN_S)
            calls.look_again()
        found = await _fetched(calls, at, wait_ms)
        if not _lacks(found):
            break
        await calls.end_offset()  # a leader that does not know yet what is durable says so here
    else:
        raise LogLost(
            f"the state log does not have the records before offset {at.position} that were acknowledged: brokers have"
            f" lost their disks, or an unclean election was held; {DAMAGED}"
        )
    if found.error:
        calls.look_again()
        raise calls.trouble(found.error)
    try:
        whole = [*batches(found.data)]
    except BadBatch as error:
        raise LogLost(f"the state log cannot be read from offset {at.position} on: {error}; {DAMAGED}") from None
    if found.data and not whole:
        raise LogLost(f"the batch at offset {at.position} of the state log is too large to be read; {DAMAGED}")
    return Fetch(whole, found.end, found.throttle_s)


async def _fetched(calls: LeaderCalls, at: TermReading, wait_ms: int) -> Fetched:
    """Raises RecordsDeleted."""
    found = await calls.fetch(at.position, at.leader_epoch, wait_ms)
    if found.error in _OTHER_EPOCH:  # mostly the same leader in its next epoch
        calls.look_again()
        found = await calls.fetch(at.position, at.leader_epoch, wait_ms)
    if found.error == _OUT_OF_RANGE:
        first = await calls.first_offset()
        if first > at.position:
            raise RecordsDeleted(first)
        if first == at.position and at.leader_epoch >= 0:  # nothing is left of the epoch before it
            return await calls.fetch(at.position, -1, wait_ms)
    return found


def _lacks(found: Fetched) -> bool:
    """Whether the broker has not the records before."""
    return found.diverges or found.error == _OUT_OF_RANGE


async def read_to_end(calls: LeaderCalls, reading: TermReading | None) -> TermReading:
    """All that is durable by now, from `reading` on, which advances; None: from the first record on. Raises as `fetch`,
    without RecordsDeleted.
    """
    at, end = reading, await calls.end_offset()
    while at is None or at.position < end:
        if at is None:
            at = TermReading(await calls.first_offset())
        try:
            found = await fetch(calls, at, 0)
        except RecordsDeleted as deleted:
            at = TermReading(deleted.first)
            continue
        for batch in found.batches:
            at.take(batch)
    return at
