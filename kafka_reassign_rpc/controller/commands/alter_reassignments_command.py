"""Starts, retargets, queues or cancels moves (KIP-455, KIP-236)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.api.ports import AlterReassignments, ItemResult
from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events.decided_events import Refusals, reassigned
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NoReassignmentInProgress
from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.core.reassignment import reassign_partitions
from kafka_reassign_rpc.core.reassignment.alter import alter, cancel
from kafka_reassign_rpc.core.round.round_view import PartitionChange
from kafka_reassign_rpc.core.state.partition import CancelMove, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition


def _nothing(_: Sequence[ItemResult]) -> Iterator[None]:
    return iter(())


class _Rules(NamedTuple):
    """Why no move may start, why none with a lease, and whether the replication factor may change."""

    disabled: KafkaError | None
    no_lease: KafkaError | None
    may_change_factor: bool


class AlterReassignmentsCommand(Command[Sequence[ItemResult]]):
    """If a lost commit has carried a partition's change out, the first decision's answer holds. (Otherwise a cancel
    would answer that nothing is in progress.)

    A target that the caps do not allow yet joins the end of the queue. One of a request for the queue joins it even
    while reassignments are disabled or brokers of the target are not alive.
    """

    def __init__(self, request: AlterReassignments, by: Requester = CONTROLLER) -> None:
        super().__init__()
        self.by = by
        self.on_durable: Callable[[Sequence[ItemResult]], Iterator[None]] = _nothing
        """Gets the results before the sender does."""
        self._request = request
        self._wanted: dict[TopicPartition, Partition] = {}
        """Each partition as the last decision wanted it."""
        self._withdrawn: set[TopicPartition] = set()
        """Partitions of which this command withdrew a waiting move, while none was in flight."""

    def before_answer(self) -> Iterator[None]:
        return self.on_durable(self._answer)

    def decide(self, work: Round) -> Iterator[None]:
        yield from work.count_moves_in_flight()
        if not work.view.may_be_written:
            self._wanted.clear()
            self._withdrawn.clear()
        cluster = work.view.cluster
        rules = _Rules(
            None if self._request.queue else restrictions.reassignments_disabled(cluster),
            restrictions.lease_refused(cluster),
            cluster.soft.in_force.replication_factor_change_allowed,
        )
        results: list[ItemResult] = []
        refusals = Refusals()
        for topic, items in self._request.topics:
            too_large = work.refused.get(topic)
            for index, asked in items:
                error = too_large or self._decide_one(work, rules, TopicPartition(topic, index), asked)
                results.append((topic, index, error))
                if error is not None:
                    refusals.add(topic, index, asked.target if isinstance(asked, MoveTerms) else None, error)
                yield
            yield
        for event in refusals.events():
            work.view.report(event)
        self.answer(results)

    def _decide_one(
        self, work: Round, rules: _Rules, name: TopicPartition, asked: MoveTerms | CancelMove
    ) -> KafkaError | None:
        wanted = self._wanted.get(name)
        if wanted is not None:
            current = work.view.get(*name)
            if current is not None and not reassigned(current, wanted):
                return self._withdraw_others(work, name, None)
        if isinstance(asked, MoveTerms):
            return self._start(work, rules, name, asked)
        error, changes = cancel(work.view, name, expected=asked.expected)
        self._add(work, name, changes)
        return self._withdraw_others(work, name, error)

    def _start(self, work: Round, rules: _Rules, name: TopicPartition, terms: MoveTerms) -> KafkaError | None:
        if rules.disabled is not None or (rules.no_lease is not None and terms.throttle):
            return rules.disabled or rules.no_lease
        error, changes = alter(
            work.view,
            name,
            terms,
            allow_replication_factor_change=rules.may_change_factor and self._request.allow_replication_factor_change,
            adding_must_live=not self._request.queue,
        )
        for change in changes:
            if self._has_to_wait(work, name, terms.target, change.value):
                move = WaitingMove(replace(terms, expected=None))
                return reassign_partitions.withdraw_for_client(
                    work.view, name, queue_admission.append(work.view, name, move)
                )
        self._add(work, name, changes)
        return self._withdraw_others(work, name, restrictions.with_reason(error, forbidden=not rules.may_change_factor))

    def _add(self, work: Round, name: TopicPartition, changes: Iterable[PartitionChange]) -> None:
        for change in changes:
            work.view.add(change)
            self._wanted[name] = change.value

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
