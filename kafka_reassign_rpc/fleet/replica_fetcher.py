"""The follower's side of the simulated replication: one task and one connection for each leader that a broker follows.

A request confirms the grants of the previous answer, so the log is written (`LogSizeFile`) before the next request
leaves.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from itertools import islice

from kafka_reassign_rpc.core.kafka_errors import FencedLeaderEpoch
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition, by_topic
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE
from kafka_reassign_rpc.fleet.leader_replication import PACE_MS, SESSION_ID_NOT_FOUND
from kafka_reassign_rpc.fleet.replica_table import Log, SimulatedReplica
from kafka_reassign_rpc.fleet.throttled_replicas import IDLE_LINK_S, UNLIMITED, ThrottledReplicas, TokenBucket
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import SimulatedFetchRequest, SimulatedFetchResponse
from kafka_reassign_rpc.support.backoff import Backoff, next_wait_s
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.transport.rpc_client import RpcClient

log = logging.getLogger(__name__)

ANNOUNCED_PER_REQUEST = 1000
"""Building and handling such a request takes well below 20 ms."""
ANSWER_TIMEOUT_S = 10.0
ASKS_PER_S = 20
"""Requests of all fetchers of one broker together, while bandwidth or a throttle limits them."""
FIRST_BACKOFF_S, LAST_BACKOFF_S = 0.05, 1.0


class InboundBudget:
    """What one broker can receive, shared by its fetchers: its bandwidth, its follower throttle, its disk (`free`:
    bytes)."""

    def __init__(
        self, broker_id: int, throttles: ThrottledReplicas, bandwidth: float | None, free: Callable[[], int], now: float
    ) -> None:
        self._broker_id = broker_id
        self._throttles = throttles
        self._bandwidth = TokenBucket(bandwidth, now, IDLE_LINK_S)
        self._throttle = TokenBucket(None, now)
        self._free = free
        self._coming = 0
        """Reserved bytes that are not settled yet."""
        self.busy = 0
        """The number of fetchers that copy: they share the budget."""

    def reserve(self, now: float) -> tuple[int, int]:
        """Reserves (bytes, bytes of throttled partitions). Return unused bytes with `release`."""
        self._throttle.set_rate(self._throttles.rate(FOLLOWER_RATE, self._broker_id), now)
        free = self._free()
        room = free if free == UNLIMITED else max(0, free - self._coming)
        amount, throttled = min(room, self._share(self._bandwidth, now)), self._share(self._throttle, now)
        self._coming += amount
        self._bandwidth.hold(amount, now)
        self._throttle.hold(throttled, now)
        return amount, throttled

    def pace_s(self) -> float:
        return max(PACE_MS / 1000, self.busy / ASKS_PER_S)

    def release(self, reserved: tuple[int, int], used: tuple[int, int], now: float) -> None:
        self._coming -= reserved[0]
        for bucket, held, passed in zip((self._bandwidth, self._throttle), reserved, used, strict=True):
            bucket.hold(-held, now)
            bucket.take(passed, now)

    def is_throttled(self, name: TopicPartition) -> bool:
        return self._throttles.follower_throttled(self._broker_id, name)

    def _share(self, bucket: TokenBucket, now: float) -> int:
        """Half of what is left, if several fetchers copy: leaders that can send make up for those that cannot."""
        available = bucket.available(now)
        if bucket.rate is None or self.busy <= 1:
            return available
        return min(available, max(available // 2, int(bucket.rate * 2 / ASKS_PER_S)))


class ReplicaFetcher:
    """find        the leader's endpoint, or None
    written     called with (name, log) when a log has grown or was cut
    flush       called before a request leaves: written sizes must survive the end of the process
    heartbeat_s the longest time without a request
    """

    def __init__(
        self,
        broker_id: int,
        leader: int,
        inbound: InboundBudget,
        find: Callable[[], Endpoint | None],
        written: Callable[[TopicPartition, Log], None],
        flush: Callable[[], None],
        heartbeat_s: Callable[[], float],
    ) -> None:
        self._broker_id = broker_id
        self._leader = leader
        self._inbound = inbound
        self._find = find
        self._written = written
        self._flush = flush
        self._heartbeat_s = heartbeat_s
        self._followed: dict[TopicPartition, SimulatedReplica] = {}
        self._to_announce: dict[TopicPartition, SimulatedReplica] = {}
        self._to_remove: set[TopicPartition] = set()
        self._copying: dict[TopicPartition, bool] = {}
        """Replicas that lag, and whether they were announced as throttled."""
        self._refused: dict[TopicPartition, tuple[float, float]] = {}
        """For replicas that the leader refused: when to announce them again, and how long that wait is."""
        self._due: list[tuple[float, TopicPartition]] = []
        """A heap of these times: there may be thousands. Outdated ones are in it until their time comes."""
        self._wake = asyncio.Event()
        self._busy = False
        self._task = asyncio.create_task(self._run(), name=f"fetcher-{broker_id}-{leader}")

    async def close(self) -> None:
        await end(self._task)
        self._set_busy(False)

    def follow(self, replica: SimulatedReplica) -> None:
        """The replica has a new leader epoch."""
        self._followed[replica.name] = replica
        self._to_announce[replica.name] = replica
        self._refused.pop(replica.name, None)
        self._wake.set()

    def unfollow(self, name: TopicPartition) -> None:
        if self._followed.pop(name, None) is not None:
            self._to_announce.pop(name, None)
            self._refused.pop(name, None)
            self._copying.pop(name, None)
            self._to_remove.add(name)
            self._wake.set()

    def throttles_changed(self) -> None:
        for name, throttled in self._copying.items():
            if throttled != self._inbound.is_throttled(name):
                self._to_announce[name] = self._followed[name]
        if self._copying:
            self._wake.set()

    async def _run(self) -> None:
        backoff = Backoff(FIRST_BACKOFF_S, LAST_BACKOFF_S)
        while True:
            if not self._followed:
                self._wake.clear()
                await self._wake.wait()
                backoff.reset()
            endpoint = self._find()
            if endpoint is not None:
                connection: RpcClient | None = None
                try:
                    client_id = f"follower-{self._broker_id}"
                    connection = await RpcClient.open(endpoint.host, endpoint.port, client_id, ANSWER_TIMEOUT_S)
                    backoff.reset()
                    while True:
                        await self._session(connection)
                except (OSError, TimeoutError, EOFError, ProtocolError) as error:
                    reason = error or type(error).__name__
                    log.debug("broker %d: fetching from leader %d failed: %s", self._broker_id, self._leader, reason)
                finally:
                    if connection is not None:
                        connection.close()
                    self._set_busy(False)
            await backoff.sleep()

    async def _session(self, connection: RpcClient) -> None:
        loop = asyncio.get_running_loop()
        session_id = secrets.randbits(62)
        sequence = 0
        self._to_remove.clear()
        self._refused.clear()
        self._due.clear()
        self._to_announce = dict(self._followed)
        while True:
            self._wake.clear()
            request = self._request(session_id, sequence, loop.time())
            reserved = (request.max_bytes, request.max_throttled_bytes)
            used = (0, 0)
            try:
                self._flush()
                answer = await connection.call(SimulatedFetchRequest, request, 0)
                used = self._take_in(answer, loop.time())
            finally:
                self._inbound.release(reserved, used, loop.time())
            if answer.error_code == SESSION_ID_NOT_FOUND:
                return
            sequence += 1
            await self._pause(answer.wait_ms, idle=reserved[0] > 0, now=loop.time())

    def _request(self, session_id: int, sequence: int, now: float) -> SimulatedFetchRequest:
        while self._due and self._due[0][0] <= now:
            due, name = heappop(self._due)
            if name in self._followed and self._refused.get(name, (0.0, 0.0))[0] == due:
                self._to_announce[name] = self._followed[name]
        # Tuples are used for the structures of the request: they are several times cheaper to make.
        added: dict[str, list[tuple[int, int, int, bool]]] = {}
        for name in list(islice(self._to_announce, ANNOUNCED_PER_REQUEST)):
            replica = self._to_announce.pop(name)
            throttled = self._inbound.is_throttled(name)
            self._copying[name] = throttled
            added.setdefault(name.topic, []).append((name.partition, replica.leader_epoch, replica.log.size, throttled))
        removed = by_topic(self._to_remove)
        self._to_remove.clear()
        self._set_busy(bool(self._copying))
        max_bytes, max_throttled_bytes = self._inbound.reserve(now)
        return SimulatedFetchRequest(
            version=0,
            replica_id=self._broker_id,
            session_id=session_id,
            sequence=sequence,
            max_bytes=max_bytes,
            max_throttled_bytes=max_throttled_bytes,
            added=list(added.items()),
            removed=list(removed.items()),
        )

    def _take_in(self, answer: SimulatedFetchResponse, now: float) -> tuple[int, int]:
        """Returns (bytes, bytes of throttled partitions)."""
        used = throttled_used = 0
        for topic in answer.topics:
            for partition in topic.partitions:
                name = TopicPartition(topic.topic, partition.partition)
                used += partition.bytes
                if self._copying.get(name, False):
                    throttled_used += partition.bytes
                replica = self._followed.get(name)
                if replica is None:
                    continue
                if partition.error_code:
                    self._was_refused(name, partition.error_code, now)
                    continue
                self._refused.pop(name, None)
                before = replica.log.size
                replica.log.size = min(before + partition.bytes, partition.leader_size)
                if replica.log.size != before:
                    self._written(name, replica.log)
                if replica.log.size >= partition.leader_size:
                    self._copying.pop(name, None)
        return used, throttled_used

    def _was_refused(self, name: TopicPartition, error: int, now: float) -> None:
        """Has it announced again later. A fenced replica waits for its LeaderAndIsr, which has a newer leader epoch
        (AbstractFetcherThread.onPartitionFenced)."""
        self._copying.pop(name, None)
        if name in self._to_announce:
            return
        if error == FencedLeaderEpoch.code:
            self._refused.pop(name, None)
            return
        _, waited = self._refused.get(name, (0.0, 0.0))
        wait = next_wait_s(waited, FIRST_BACKOFF_S, LAST_BACKOFF_S)
        self._refused[name] = (now + wait, wait)
        heappush(self._due, (now + wait, name))

    async def _pause(self, wait_ms: int, *, idle: bool, now: float) -> None:
        """`idle` False: the budget was empty, so the next request waits too."""
        if self._to_announce or self._to_remove:
            return
        if not self._followed:
            await self._wake.wait()
            return
        wait = self._heartbeat_s() if wait_ms < 0 else wait_ms / 1000
        if wait_ms > 0 or (wait_ms == 0 and not idle):
            wait = max(wait, self._inbound.pace_s())
        if self._due:
            wait = min(wait, max(0.0, self._due[0][0] - now))
        if wait > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._wake.wait()

    def _set_busy(self, busy: bool) -> None:
        if busy != self._busy:
            self._inbound.busy += 1 if busy else -1
            self._busy = busy
