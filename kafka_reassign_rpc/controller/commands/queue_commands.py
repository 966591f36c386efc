"""Commands about KIP-236's queue, and about the rates of throttle leases of moves in flight and waiting.
`core.queue.queue_admission` decides about the waiting moves, `core.queue.lease_rates` about rates.
"""

from collections.abc import Iterator, Sequence

from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import process_batch_and_queue
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.queue import holding, lease_rates
from kafka_reassign_rpc.core.queue.holding import HoldOutcome, Selection
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.settings.settings_in_force import WindowNow
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.queue_entries import Held
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import QueueRootFound, QueueRootRead, TimeTold, ZnodeProblem
from kafka_reassign_rpc.support.counted import counted


class ChangeLeaseRates(Command[ThrottledMoves | KafkaError]):
    """The answer counts a move that has the rate already too, so that it is the same after a lost commit; it is an
    error where no lease is given."""

    def __init__(self, wanted: lease_rates.Wanted, rate: int, by: Requester = CONTROLLER) -> None:
        super().__init__()
        self.by = by
        self._wanted = wanted
        self._rate = rate

    def decide(self, work: Round) -> Iterator[None]:
        refused = restrictions.lease_refused(work.view.cluster) if self._rate > 0 else None
        if refused is not None:  # a broker may have joined the migration since the client asked
            self.answer(refused)
            return
        found = yield from lease_rates.change_rates(work.view, self._wanted, self._rate)
        if found.moving or found.waiting:
            work.view.report(rate_event(self._rate, found.moving, found.waiting))
        self.answer(found)


def end_leases_while_brokers_migrate(work: Round) -> Iterator[None]:
    """Moves go on and start without leases: after the migration to KRaft nothing would end them."""
    refused = restrictions.lease_refused(work.view.cluster)
    if refused is None:
        return
    ended = yield from lease_rates.change_rates(work.view, None, 0)
    if ended.moving or ended.waiting:
        work.view.report(rate_event(0, ended.moving, ended.waiting, str(refused)))


def rate_event(rate: int, moving: int, waiting: int, why: str = "") -> Event:
    reason = f"{counted(moving, 'move')} in flight, {waiting} waiting{why and '; '}{why}"
    return Event(catalogue.THROTTLE_CHANGED, bytes=rate if rate > 0 else None, reason=reason)


class StartQueuedMoves(Command[None]):
    def decide(self, work: Round) -> Iterator[None]:
        yield from work.start_queued_moves()
        self.answer(None)


class HoldMoves(Command[HoldOutcome]):
    """`held`: why the selected moves are held; None: they are released. What a lost commit has changed counts as
    changed."""

    def __init__(self, selection: Selection, held: Held | None, by: Requester) -> None:
        super().__init__()
        self.by = by
        self._selection = selection
        self._held = held
        self._changed: set[TopicPartition] = set()

    def decide(self, work: Round) -> Iterator[None]:
        view = work.view
        queue = view.cluster.queue
        selected = 0
        for stored in list(queue.names.values()):
            yield
            name = TopicPartition(*stored)
            place = queue.place(*name)
            if place is None or view.queue.gone(name, place.path):
                continue
            move = place.move
            if not self._selection.takes(name, view.get(*name), move.terms.target, move.terms.reason):
                continue
            selected += 1
            held = self._held
            if holding.release(view, name, place) if held is None else holding.hold(view, name, place, held):
                self._changed.add(name)
        in_flight = 0
        for topic in list(view.cluster.moving):
            for index in list(view.cluster.moving.get(topic, ())):
                yield
                partition = view.get(topic, index)
                record = None if partition is None else partition.move
                if partition is not None and partition.is_moving:
                    reason = "" if record is None else record.terms.reason
                    in_flight += self._selection.takes(TopicPartition(topic, index), partition, (), reason)
        changed = len(self._changed)
        self.answer(HoldOutcome(changed, max(0, selected - changed), in_flight))


class TimePassed(Command[None]):
    """The time of day, for windows: waiting moves start if it lets them."""

    def __init__(self, now_ms: int) -> None:
        super().__init__()
        self._found = TimeTold(now_ms)
        self._before: WindowNow | None = None

    def learn(self, cluster: Cluster) -> Iterator[None]:
        self._before = cluster.soft.window
        yield from self._found.apply(cluster)

    def decide(self, work: Round) -> Iterator[None]:
        window = work.view.cluster.soft.window
        if window != self._before:
            reason = "there are no windows now: waiting moves start" if window is None else window.meaning
            work.view.report(Event(catalogue.WINDOW_CHANGED, reason=reason))
            yield from process_batch_and_queue(work)
        self.answer(None)


class QueueZnodesRead(Command[None]):
    """This controller may have created a root since that was absent in the read. If it is really gone, the next write
    fails and everything is read again."""

    def __init__(self, roots: Sequence[QueueRootRead]) -> None:
        super().__init__()
        self._roots = roots
        self._problems: list[ZnodeProblem] = []
        self._missing: list[str] = []

    def learn(self, cluster: Cluster) -> Iterator[None]:
        for root in self._roots:
            if root.part is None:
                self._missing.append(root.root)
            elif (yield from QueueRootFound(root.root, root.part, root.has_children).apply(cluster)):
                self._problems += root.problems

    def decide(self, work: Round) -> Iterator[None]:
        for root in self._missing:
            if root in work.view.cluster.queue.parts:
                work.view.queue.verify[root] = None
        for problem in self._problems:
            work.view.report(Event(catalogue.ENTRY_REFUSED, who=f"znode {problem.root}", reason=problem.text))
        if any(self._throttles()):
            yield from end_leases_while_brokers_migrate(work)
        yield from process_batch_and_queue(work)
        self.answer(None)

    def _throttles(self) -> Iterator[bool]:
        for root in self._roots:
            if root.part is not None:
                yield from (bool(move.terms.throttle) for move in root.part.entries.values())
