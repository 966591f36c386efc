"""The controller of brokers, topics and leaders as the APIs call it; that of moves is `moves_service`."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from random import SystemRandom
from typing import NamedTuple, TypeVar
from uuid import uuid4

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.ports import (
    LONGEST_WAIT_MS,
    AlterPartition,
    CreatedTopic,
    ItemResult,
    NewPartitions,
    NewTopic,
)
from kafka_reassign_rpc.controller.commands import leadership_commands, topic_commands
from kafka_reassign_rpc.controller.duties.producer_ids import ProducerIds
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesService, MovesTerm
from kafka_reassign_rpc.core.kafka_errors import (
    BrokerIdNotRegistered,
    KafkaError,
    NotController,
    RequestTimedOut,
    StaleBrokerEpoch,
)
from kafka_reassign_rpc.core.quotas.mutation_quotas import MutationQuota
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.turns import in_turns

T = TypeVar("T")

STOPPING_S = 2.0
"""How long the answer to a controlled shutdown waits for the broker's StopReplica: once it has the answer, a stock
broker soon takes no more requests. Stock controllers send StopReplica before they write the ISRs, so it mostly comes
first. A broker waits for the answer for controller.socket.timeout.ms (30 s)."""
LEADERS_S = 0.1
"""How often new topics without leaders are checked while their clients wait."""


def _successes(outcomes: Mapping[str, object]) -> Collection[str]:
    return [name for name, outcome in outcomes.items() if not isinstance(outcome, KafkaError)]


def _too_late(outcomes: Mapping[str, T | KafkaError], late: Iterable[str]) -> Mapping[str, T | KafkaError]:
    """These have been changed, but the client's time is over. It gets the same answer as from Kafka."""
    return {**outcomes, **dict.fromkeys(late, RequestTimedOut())}


class TermServices(NamedTuple):
    """What one term offers to the APIs.

    deletion_known  set once `delete.topic.enable` is known, and at the end of the term
    stops_answered  waits, for this many seconds at most, until a broker has stopped the replicas that it has to stop
    """

    moves: MovesTerm
    producer_ids: ProducerIds
    deletion_known: asyncio.Event
    stops_answered: Callable[[int, float], Awaitable[None]]


class ControllerService(MovesService):
    """The `ControllerPort`."""

    def __init__(self) -> None:
        super().__init__()
        self._random = SystemRandom()
        self._brokers: TermServices | None = None

    def begin_term(self, term: TermServices, lease_left: Callable[[], float]) -> None:
        """As `begin`."""
        self._brokers = term
        self.begin(term.moves, lease_left)

    def _of_brokers(self) -> TermServices:
        moves, term = self._active(), self._brokers
        if term is None or term.moves is not moves:
            raise NotController
        return term

    async def create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        validate_only: bool,
        quota: MutationQuota,
        timeout_ms: int,
        ctx: RequestContext,
    ) -> Mapping[str, CreatedTopic | KafkaError]:
        outcomes = await self.submit(
            topic_commands.CreateTopicsCommand(
                topics, validate_only=validate_only, new_id=uuid4, random=self._random, quota=quota, by=ctx.requester
            )
        )
        return outcomes if validate_only else await self._led_in_time(outcomes, timeout_ms)

    async def delete_topics(
        self, names: Sequence[str], *, quota: MutationQuota, timeout_ms: int, ctx: RequestContext
    ) -> Mapping[str, KafkaError | None]:
        known = self._of_brokers().deletion_known
        if not known.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(known.wait(), min(max(timeout_ms, 0), LONGEST_WAIT_MS) / 1000)
        outcomes = await self.submit(topic_commands.DeleteTopicsCommand(names, quota, ctx.requester))
        return outcomes if timeout_ms > 0 else _too_late(outcomes, _successes(outcomes))

    async def create_partitions(
        self,
        topics: Sequence[NewPartitions],
        *,
        validate_only: bool,
        quota: MutationQuota,
        timeout_ms: int,
        ctx: RequestContext,
    ) -> Mapping[str, KafkaError | None]:
        outcomes = await self.submit(
            topic_commands.CreatePartitionsCommand(topics, validate_only=validate_only, quota=quota, by=ctx.requester)
        )
        return outcomes if validate_only else await self._led_in_time(outcomes, timeout_ms)

    async def elect_leaders(
        self, partitions: Sequence[TopicPartition] | None, *, unclean: bool, ctx: RequestContext
    ) -> Sequence[ItemResult]:
        return await self.submit(leadership_commands.ElectLeadersCommand(partitions, unclean=unclean, by=ctx.requester))

    async def alter_partition(self, request: AlterPartition) -> Sequence[Partition | KafkaError]:
        return await self._active().loop.submit(leadership_commands.AlterPartitionCommand(request))

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> Sequence[TopicPartition]:
        term = self._of_brokers()
        left = await term.moves.loop.submit(leadership_commands.ControlledShutdownCommand(broker_id, broker_epoch))
        await term.stops_answered(broker_id, STOPPING_S)
        return left

    async def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> tuple[int, int]:
        term = self._of_brokers()
        cluster = term.moves.loop.cluster
        broker = cluster.brokers.get(broker_id)
        if broker is None:
            raise BrokerIdNotRegistered
        if broker_epoch != broker.epoch:
            raise StaleBrokerEpoch
        return await term.producer_ids.allocate(broker_id)

    async def producer_id(self) -> int:
        return await self._of_brokers().producer_ids.one()

    async def _led_in_time(
        self, outcomes: Mapping[str, T | KafkaError], timeout_ms: int
    ) -> Mapping[str, T | KafkaError]:
        """Answers once all partitions have leaders or the client's time is over (ZkAdminManager,
        DelayedCreatePartitions)."""
        late: Collection[str] = _successes(outcomes)
        if timeout_ms <= 0:
            return _too_late(outcomes, late)
        until = time.monotonic() + min(timeout_ms, LONGEST_WAIT_MS) / 1000
        while True:
            late = await in_turns(self._leaderless(late))
            if not late or time.monotonic() >= until:
                return _too_late(outcomes, late)
            await asyncio.sleep(LEADERS_S)

    def _leaderless(self, names: Iterable[str]) -> Generator[None, None, Collection[str]]:
        found = []
        for name in names:
            topic = None if self.cluster is None else self.cluster.topics.get(name)
            if topic is None or any(one.leader == NO_LEADER for one in topic.partitions.values()):
                found.append(name)
            yield
        return found
