"""Starts, retargets, queues or cancels moves (KIP-455, KIP-236)."""

from collections.abc import Iterator, Sequence

from kafka_reassign_rpc.api.ports import AlterReassignments, ItemResult
from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events.decided_events import Refusals, reassigned
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NoReassignmentInProgress
from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.core.reassignment.alter import alter
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.znode_routes import reassign_partitions


class AlterReassignmentsCommand(Command[Sequence[ItemResult]]):
    """If a lost commit has carried a partition's change out, the first decision's answer holds. (Otherwise a cancel
    would answer that nothing is in progress.)

    A target that the caps do not allow yet joins the end of the queue. One of a request for the queue joins it even
    while reassignments are disabled or brokers of the target are not alive.
    """

    def __init__(self, request: AlterReassignments, by: Requester = CONTROLLER) -> None:
        super().__init__()
        self.by = by
        self._request = request
        self._wanted: dict[TopicPartition, Partition] = {}
        """Each partition as the last decision wanted it."""
        self._withdrawn: set[TopicPartition] = set()
        """Partitions of which this command withdrew a waiting move, while none was in flight."""

    def decide(self, work: Round) -> Iterator[None]:
        yield from work.count_moves_in_flight()
        disabled = None if self._request.queue else restrictions.reassignments_disabled(work.view.cluster)
        if self._request.throttle > 0:
            disabled = disabled or restrictions.lease_refused(work.view.cluster)
        may_change = work.view.cluster.soft.in_force.replication_factor_change_allowed
        results: list[ItemResult] = []
        refusals = Refusals()
        for topic, items in self._request.topics:
            too_large = work.refused.get(topic)
            for index, target, expected in items:
                error = too_large or self._decide_one(
                    work, TopicPartition(topic, index), target, expected, disabled=disabled, may_change=may_change
                )
                results.append((topic, index, error))
                if error is not None:
                    refusals.add(topic, index, target, error)
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
        disabled: KafkaError | None,
        may_change: bool,
    ) -> KafkaError | None:
        wanted = self._wanted.get(name)
        if wanted is not None:
            current = work.view.get(*name)
            if current is not None and not reassigned(current, wanted):
                return self._withdraw_others(work, name, None)
        if target is not None and disabled is not None:
            return disabled
        error, changes = alter(
            work.view,
            *name,
            target,
            allow_replication_factor_change=may_change and self._request.allow_replication_factor_change,
            expected=expected,
            route=self._request.route,
            reason=self._request.reason,
            throttle=self._request.throttle,
            lifts=self._request.lifts,
            adding_must_live=not self._request.queue,
        )
        for change in changes:
            if target is not None and self._has_to_wait(work, name, target, change.value):
                asked = self._request
                move = WaitingMove(
                    target, asked.route, asked.reason, asked.throttle, asked.moves_per_broker, lifts=asked.lifts
                )
                return reassign_partitions.withdraw_for_client(
                    work.view, name, queue_admission.append(work.view, name, move)
                )
            work.view.add(change)
            self._wanted[name] = change.value
        return self._withdraw_others(work, name, restrictions.with_reason(error, forbidden=not may_change))

    def _has_to_wait(self, work: Round, name: TopicPartition, target: tuple[int, ...], after: Partition) -> bool:
        if work.in_flight.unlimited and not self._request.queue:
            return False
        before = work.view.get(*name)
        if before is None or (before.is_moving and before.target == target):
            return False
        return self._request.queue or work.has_to_wait(name, before, after)

    def _withdraw_others(self, work: Round, name: TopicPartition, error: KafkaError | None) -> KafkaError | None:
        """The answer depends on what left the batch and the queue."""
        answer = queue_admission.withdraw_for_client(work.view, name, error)
        answer = reassign_partitions.withdraw_for_client(work.view, name, answer)
        if isinstance(error, NoReassignmentInProgress):
            if answer is None:
                self._withdrawn.add(name)
            elif name in self._withdrawn:
                return None
        return answer
