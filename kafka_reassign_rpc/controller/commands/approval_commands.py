"""The command that approves repairs. `core.healing.approval` says which ones need it."""

from collections import Counter
from collections.abc import Collection, Generator, Iterator
from typing import NamedTuple

from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.controller.commands.lost_replicas import count_lost
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.healing import approval, repair_targets
from kafka_reassign_rpc.core.healing.brake import brake
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome
from kafka_reassign_rpc.core.queue import holding
from kafka_reassign_rpc.core.state.queue_entries import QueuePlace
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import counted


class Approval(NamedTuple):
    """`held_back`: why nothing was approved; None: nothing was in the way."""

    held_back: str | None
    outcome: ApprovalOutcome


class ApproveRepairs(Command[Approval]):
    """`brokers` None: all that wait for approval. The brake holds for this order too. What a lost commit has approved
    counts as approved; for the rest the brake is asked again."""

    def __init__(self, brokers: Collection[int] | None, by: Requester) -> None:
        super().__init__()
        self.by = by
        self._brokers = None if brokers is None else frozenset(brokers)
        self._approved: dict[TopicPartition, tuple[bool, frozenset[int]]] = {}
        """Whether each is also held, and the brokers that it repairs."""

    def decide(self, work: Round) -> Iterator[None]:
        view = work.view
        lost = yield from count_lost(work)
        waiting = yield from self._waiting(work)
        for name in waiting:
            self._approved.pop(name, None)  # the commit that approved it has failed
            yield
        is_needed = waiting or (view.cluster.queue.unapproved and not self._approved)
        held_back = brake(lost.brokers, view.cluster.brokers, view.cluster.soft.in_force.healing) if is_needed else None
        for name, place in waiting.items() if held_back is None else ():
            move = view.queue.now(name, place)
            holding.approve(view, name, place)
            of = frozenset(repair_targets.repaired_brokers(move.terms.reason, move.terms.target))
            self._approved[name] = move.held is not None, of
            yield
        held, of_brokers = 0, Counter[int]()
        for is_held, of in self._approved.values():
            held += is_held
            of_brokers.update(of)
            yield
        for broker, count in sorted(of_brokers.items()):
            view.report(Event(catalogue.HEAL_APPROVED, broker=broker, reason=f"{counted(count, 'move')} may start"))
        outcome = ApprovalOutcome(len(self._approved), held, sorted(of_brokers))
        self.answer(Approval(None if self._approved else held_back, outcome))

    def _waiting(self, work: Round) -> Generator[None, None, dict[TopicPartition, QueuePlace]]:
        view, queue = work.view, work.view.cluster.queue
        found = {}
        for stored in list(queue.names.values()) if queue.unapproved else ():
            yield
            name = TopicPartition(*stored)
            place = queue.place(*name)
            if place is None or view.queue.gone(name, place.path):
                continue
            if approval.awaits(view.queue.now(name, place), self._brokers):
                found[name] = place
        return found
