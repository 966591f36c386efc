"""The command of AlterPartitionReassignments: start, retarget, queue or cancel moves (KIP-455, KIP-236)."""

from collections.abc import Iterator, Sequence

from kafka_reassign_rpc.api.ports import AlterReassignments, ItemResult
from kafka_reassign_rpc.controller.commands.command import SLICE, Command, Round
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events.decided_events import CONTROLLER, Refusals, reassigned
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NoReassignmentInProgress
from kafka_reassign_rpc.core.reassignment.alter import alter
from kafka_reassign_rpc.core.state.cluster import Partition, TopicPartition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.znode_routes import queue_admission, reassign_partitions


class AlterReassignmentsCommand(Command[Sequence[ItemResult]]):
    """AlterPartitionReassignments.

    Decided again after a lost commit, a partition that stands as the first decision wanted it was done then: its
    answer is the first one's, not (for a cancel) that nothing is in progress.

    A target that may not start yet, as the caps on moves in flight go, joins the queue, behind what waits there; so
    does every target of a request for the queue, which need not find the guard open or its brokers alive.
    """

    def __init__(self, request: AlterReassignments, by: str = CONTROLLER) -> None:
        super().__init__()
        self.by = by
        self._request = request
        self._wanted: dict[TopicPartition, Partition] = {}
        """What the last decision wanted to stand."""
        self._given_up: set[TopicPartition] = set()
        """Partitions that had nothing in flight, but something that waited."""

    def decide(self, work: Round) -> Iterator[None]:
        yield from work.schedule_moves()
        closed = None if self._request.queue else restrictions.reassignments_disabled(work.view.cluster)
        may_change = restrictions.replication_factor_may_change(work.view.cluster, work.rules)
        results: list[ItemResult] = []
        refusals = Refusals(self.by)
        for topic, items in self._request.topics:
            too_large = work.refused.get(topic)
            for count, (index, target, expected) in enumerate(items, 1):
                error = too_large or self._decide_one(
                    work, TopicPartition(topic, index), target, expected, closed=closed, may_change=may_change
                )
                results.append((topic, index, error))
                if error is not None:
                    refusals.add(topic, index, target, error)
                if count % SLICE == 0:
                    yield
            yield
        for event in refusals.events():
            work.view.report(event)
        self.answer(results)

    def _decide_one(
        self,
        work: Round,
        name: TopicPartition,
        target: tuple[int, ...] | None,
        expected: tuple[int, ...] | None,
        *,
        closed: KafkaError | None,
        may_change: bool,
    ) -> KafkaError | None:
        wanted = self._wanted.get(name)
        if wanted is not None:
            standing = work.view.get(*name)
            if standing is not None and not reassigned(standing, wanted):
                return self._overruling(work, name, None)
        if target is not None and closed is not None:
            return closed
        error, changes = alter(
            work.view,
            *name,
            target,
            allow_replication_factor_change=may_change and self._request.allow_replication_factor_change,
            expected=expected,
            route=self._request.route,
            reason=self._request.reason,
            throttle=self._request.throttle,
            adding_must_live=not self._request.queue,
        )
        for change in changes:
            if target is not None and self._has_to_wait(work, name, target, change.value):
                move = WaitingMove(target, self._request.route, self._request.reason, self._request.throttle)
                return reassign_partitions.withdraw_for_client(
                    work.view, name, queue_admission.append(work.view, name, move)
                )
            work.view.add(change)
            self._wanted[name] = change.value
        return self._overruling(work, name, restrictions.with_reason(error, forbidden=not may_change))

    def _has_to_wait(self, work: Round, name: TopicPartition, target: tuple[int, ...], after: Partition) -> bool:
        if work.schedule.limits.unlimited and not self._request.queue:
            return False
        before = work.view.get(*name)
        if before is None or (before.is_moving and before.target == target):
            return False
        return self._request.queue or work.has_to_wait(name, before, after)

    def _overruling(self, work: Round, name: TopicPartition, error: KafkaError | None) -> KafkaError | None:
        """What the batch and the queue have for the partition leaves them: the answer that stands then."""
        answer = queue_admission.withdraw_for_client(work.view, name, error)
        answer = reassign_partitions.withdraw_for_client(work.view, name, answer)
        if isinstance(error, NoReassignmentInProgress):
            if answer is None:
                self._given_up.add(name)
            elif name in self._given_up:
                return None
        return answer
