"""How a simulated broker shrinks and expands an ISR: what its leader wants, and proposes to the controller, in one
request at a time with all proposals that are due.

A follower that is late (`leader_replication`, replica.lag.time.max.ms) leaves the ISR; one that has caught up joins it.
A partition that may need another ISR is *due*. The wanted ISR is computed when a request is built, so any number of
changes costs one proposal. A partition has at most one in flight.

| answer | consequence |
|---|---|
| 0 | the answer's ISR and partition epoch hold, unless there is a newer leader epoch |
| 3, 42, 74, 95, 100 | the controller knows better: no further proposal before its next LeaderAndIsr |
| 107 a member is not eligible | the proposal is dropped, and made again after a while if it is still wanted |
| any other error | tried again |

Sources: kafka.cluster.Partition, DefaultAlterPartitionManager.
"""

import asyncio
import logging
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.core.kafka_errors import (
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidRequest,
    InvalidUpdateVersion,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.leadership.broker_changes import UNKNOWN_BROKER_EPOCH
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet.controller_connection import ControllerConnection
from kafka_reassign_rpc.fleet.controller_requests import shared
from kafka_reassign_rpc.fleet.leader_replication import LeaderReplication
from kafka_reassign_rpc.fleet.replica_table import ReplicaTable, SimulatedReplica
from kafka_reassign_rpc.protocol.messages import AlterPartitionRequest
from kafka_reassign_rpc.support.tasks import end

_AWAIT_LEADER_AND_ISR = frozenset(
    error.code
    for error in (UnknownTopicOrPartition, InvalidRequest, FencedLeaderEpoch, InvalidUpdateVersion, UnknownTopicId)
)


class IsrProposal(NamedTuple):
    name: TopicPartition
    topic_id: UUID | None
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]


class IsrProposals:
    def __init__(
        self, broker_id: int, table: ReplicaTable, leading: LeaderReplication, is_alive: Callable[[int], bool]
    ) -> None:
        self._broker_id = broker_id
        self._table = table
        self._leading = leading
        self._is_alive = is_alive
        self._due: dict[TopicPartition, None] = {}
        self._in_flight: dict[TopicPartition, IsrProposal] = {}
        self._awaiting: set[TopicPartition] = set()

    @property
    def is_due(self) -> bool:
        return bool(self._due)

    def followers_changed(self, name: TopicPartition) -> None:
        self._due[name] = None

    def leader_and_isr_received(self, name: TopicPartition) -> None:
        self._awaiting.discard(name)
        self._in_flight.pop(name, None)
        self._due[name] = None

    def forget(self, name: TopicPartition) -> None:
        self._awaiting.discard(name)
        self._in_flight.pop(name, None)
        self._due.pop(name, None)

    def take(self, limit: int, now: float) -> list[IsrProposal]:
        """Each has to be given back (`resolve`, `retry`)."""
        proposals: list[IsrProposal] = []
        for name in list(islice(self._due, limit)):
            del self._due[name]
            replica = self._table.leads(name, self._broker_id)
            if replica is None or name in self._in_flight or name in self._awaiting:
                continue
            isr = self.wanted(replica, now)
            if isr == replica.isr:
                continue
            proposal = IsrProposal(name, replica.log.topic_id, replica.leader_epoch, replica.partition_epoch, isr)
            self._in_flight[name] = proposal
            proposals.append(proposal)
        return proposals

    def wanted(self, replica: SimulatedReplica, now: float) -> tuple[int, ...]:
        name = replica.name
        stay = [
            member
            for member in replica.isr
            if member == self._broker_id or not self._leading.is_late(name, member, now)
        ]
        joining = [
            follower
            for follower in self._leading.caught_up_followers(name)
            if follower in replica.replicas and follower not in replica.isr and self._is_alive(follower)
        ]
        return shared(stay + joining)

    def resolve(self, proposal: IsrProposal, error: int, isr: tuple[int, ...], leader_epoch: int, epoch: int) -> bool:
        """Returns False if the proposal has to be made again after a while (`retry`)."""
        if self._in_flight.get(proposal.name) is not proposal:
            return True  # A LeaderAndIsr has overtaken the answer.
        if error in _AWAIT_LEADER_AND_ISR:
            del self._in_flight[proposal.name]
            self._awaiting.add(proposal.name)
            return True
        if error:
            return False
        del self._in_flight[proposal.name]
        replica = self._table.leads(proposal.name, self._broker_id)
        if replica is not None and leader_epoch == replica.leader_epoch and epoch >= replica.partition_epoch:
            replica.isr = shared(isr)
            replica.partition_epoch = epoch
        self._due[proposal.name] = None
        return True

    def retry(self, proposals: list[IsrProposal]) -> None:
        for proposal in proposals:
            if self._in_flight.get(proposal.name) is proposal:
                del self._in_flight[proposal.name]
                self._due[proposal.name] = None


def is_slow_retry(error: int) -> bool:
    """The broker that is not eligible has to come back first."""
    return error == IneligibleReplica.code


def alter_partition(
    broker_id: int, broker_epoch: int, proposals: list[IsrProposal], version: int
) -> AlterPartitionRequest:
    """AlterPartition 0-3."""
    # Tuples are used for the structures of the request, with all fields of the version in order: they are several times
    # cheaper to make.
    topics: dict[str, tuple[UUID | None, list[tuple[object, ...]]]] = {}
    for proposal in proposals:
        name, topic_id, leader_epoch, partition_epoch, isr = proposal
        members = [(member, UNKNOWN_BROKER_EPOCH) for member in isr] if version >= 3 else list(isr)
        recovery_state = (0,) if version >= 1 else ()
        topics.setdefault(name.topic, (topic_id, []))[1].append(
            (name.partition, leader_epoch, members, *recovery_state, partition_epoch)
        )
    return AlterPartitionRequest(
        version=version,
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        topics=[(topic_id if version >= 2 else topic, found) for topic, (topic_id, found) in topics.items()],
    )


log = logging.getLogger(__name__)

PROPOSALS_PER_REQUEST = 1000
"""Building such a request takes well below 20 ms."""
RETRY_S = 0.05
"""Kafka's AlterPartitionManager.IsrChangePropagationConfig."""
SLOW_RETRY_S = 0.5


class AlterPartitionSender:
    """epochs() gives (broker id, broker epoch), late() the partitions with an ISR member that is late."""

    def __init__(
        self,
        keeper: IsrProposals,
        link: ControllerConnection,
        epochs: Callable[[], tuple[int, int]],
        lag_time_max_s: float,
        late: Callable[[float], list[TopicPartition]],
    ) -> None:
        self._keeper = keeper
        self._link = link
        self._epochs = epochs
        self._lag_time_max_s = lag_time_max_s
        self._late = late
        self._wake = asyncio.Event()
        self._tasks = [
            asyncio.create_task(self._send_all(), name="alter-partition"),
            asyncio.create_task(self._find_late(), name="isr-expiration"),
        ]
        self._later: set[asyncio.TimerHandle] = set()

    def wake(self) -> None:
        self._wake.set()

    async def close(self) -> None:
        for handle in self._later:
            handle.cancel()
        await end(*self._tasks)

    async def _find_late(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._lag_time_max_s / 2)
            for name in self._late(loop.time()):
                self._keeper.followers_changed(name)
            if self._keeper.is_due:
                self.wake()

    async def _send_all(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._keeper.is_due:
                proposals = self._keeper.take(PROPOSALS_PER_REQUEST, loop.time())
                if proposals:
                    await self._send(proposals)
                else:
                    await asyncio.sleep(0)

    async def _send(self, proposals: list[IsrProposal]) -> None:
        used_version = 0

        def build(version: int) -> AlterPartitionRequest:
            nonlocal used_version
            used_version = version
            return alter_partition(*self._epochs(), proposals, version)

        answer = await self._link.call(AlterPartitionRequest, build)
        if answer.error_code:
            # Mostly a stale broker epoch: the error ends once both sides know the new registration.
            log.info(
                "broker %d: AlterPartition refused, it is sent again: error %d", self._epochs()[0], answer.error_code
            )
            self._retry_later(proposals, RETRY_S)
            return
        left = {_key(proposal, used_version): proposal for proposal in proposals}
        for topic in answer.topics:
            for item in topic.partitions:
                named = topic.topic_id if used_version >= 2 else topic.topic_name
                proposal = left.pop((named, item.partition_index), None)
                if proposal is None:
                    continue
                isr = tuple(item.isr)
                if not self._keeper.resolve(proposal, item.error_code, isr, item.leader_epoch, item.partition_epoch):
                    self._retry_later([proposal], SLOW_RETRY_S if is_slow_retry(item.error_code) else RETRY_S)
        self._retry_later(list(left.values()), RETRY_S)

    def _retry_later(self, proposals: list[IsrProposal], delay_s: float) -> None:
        if not proposals:
            return

        def again() -> None:
            self._later.discard(handle)
            self._keeper.retry(proposals)
            self.wake()

        handle = asyncio.get_running_loop().call_later(delay_s, again)
        self._later.add(handle)


def _key(proposal: IsrProposal, version: int) -> tuple[UUID | str | None, int]:
    return (proposal.topic_id if version >= 2 else proposal.name.topic), proposal.name.partition
