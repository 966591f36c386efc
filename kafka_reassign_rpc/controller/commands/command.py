"""What the loop works on: a command decides against a view, and is answered once its round is durable."""

import asyncio
from collections.abc import Iterator
from typing import Generic, TypeVar

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events.decided_events import CONTROLLER
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.reassignment.in_flight_caps import Schedule
from kafka_reassign_rpc.core.restrictions import NO_RULES, Rules
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster, Partition, TopicPartition
from kafka_reassign_rpc.core.znode_routes import queue_admission
from kafka_reassign_rpc.zookeeper import znode_paths

Answer = TypeVar("Answer")

BY_QUEUE = f"znode {znode_paths.REASSIGN_QUEUE}"

SLICE = 100
"""Partitions decided between two looks at the clock."""


def every_partition(cluster: Cluster) -> Iterator[TopicPartition]:
    """Of the topics that stand now: what a later slice finds gone is skipped by the decision."""
    for topic in list(cluster.topics.values()):
        for index in list(topic.partitions):
            yield TopicPartition(topic.name, index)


class Round:
    """One pass of the loop over what was queued: the view that its commands share.

    refused   topics whose znode would not fit into ZooKeeper with this round's changes, with the reason: a
              command that changes their assignment answers with it instead
    rules     what this server was told to hold every new move to
    """

    def __init__(self, view: RoundView, refused: dict[str, KafkaError], rules: Rules = NO_RULES) -> None:
        self.view = view
        self.refused = refused
        self.rules = rules
        self.schedule: Schedule
        """What is in flight, and what may join it: there once `schedule_moves` has been gone through."""

    def schedule_moves(self) -> Iterator[None]:
        """Count what is in flight, once in a round."""
        if not hasattr(self, "schedule"):
            schedule = Schedule(
                self.view.cluster,
                restrictions.limits(self.view.cluster, self.rules),
                sizes_sampled=self.rules.sizes_sampled,
            )
            yield from schedule.count(self.view)
            self.schedule = schedule

    def starts(self, name: TopicPartition, before: Partition, after: Partition) -> bool:
        """Whether a partition may be changed so now, as far as the caps go."""
        if self.schedule.waits_for(name, before, after) is not None:
            return False
        self.schedule.replace(name, before, after)
        return True

    def has_to_wait(self, name: TopicPartition, before: Partition, after: Partition) -> bool:
        """Whether a partition may not be changed so yet, since others wait for room already, or there is none."""
        if self.schedule.limits.unlimited or not after.adding:
            return False
        return queue_admission.is_room_claimed(self.view.cluster) or not self.starts(name, before, after)

    def look_at_queue(self) -> Iterator[None]:
        """Let start what waits and may start now."""
        asked_by, self.view.by = self.view.by, BY_QUEUE
        yield from self.schedule_moves()
        yield from queue_admission.start_waiting_moves(self.view, self.rules, self.schedule, self.refused)
        self.view.by = asked_by


class Command(Generic[Answer]):
    """Subclasses decide. `decide` may run again for the same command after a lost commit, on the state re-read.

    by   who has asked for it, as events say it
    """

    by: str = CONTROLLER

    def __init__(self) -> None:
        self.future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answer: Answer

    def decide(self, work: Round) -> Iterator[None]:
        """Add changes to `work.view`, yielding at least every `SLICE` partitions; then call `answer`."""
        raise NotImplementedError

    def answer(self, answer: Answer) -> None:
        """What to answer once everything that this round changes is durable."""
        self._answer = answer

    def durable(self) -> None:
        if not self.future.done():
            self.future.set_result(self._answer)

    def failed(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)
            self.future.exception()  # nobody may be waiting any more: that is not worth a warning
