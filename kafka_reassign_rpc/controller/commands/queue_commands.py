"""Commands about KIP-236's queue. `core.znode_routes.queue_admission` decides about the waiting moves.

Code of the controller that has queued moves withdraws those that have not started with `WithdrawQueuedMoves`.
"""

from collections.abc import Callable, Iterator, Sequence

from kafka_reassign_rpc.controller.commands.command import SLICE, Command, Round
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import process_batch_and_queue
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.state.cluster import Cluster, TopicPartition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.core.writers.facts import QueueRootFound
from kafka_reassign_rpc.core.znode_routes import queue_admission
from kafka_reassign_rpc.core.znode_routes.znodes_read import QueueRootRead, ZnodeProblem
from kafka_reassign_rpc.support.slices import SliceCounter


class StartQueuedMoves(Command[None]):
    """Start queued moves: there may be room in flight."""

    def decide(self, work: Round) -> Iterator[None]:
        yield from work.start_queued_moves()
        self.answer(None)


class QueueZnodesRead(Command[None]):
    """The root znodes of the queues, as just read.

    A root that was not there may have been created by this controller since. The next write finds out: if the root
    is really gone, the write fails and everything is read again.
    """

    def __init__(self, roots: Sequence[QueueRootRead]) -> None:
        super().__init__()
        self._roots = roots
        self._problems: list[ZnodeProblem] = []
        self._missing: list[str] = []

    def learn(self, cluster: Cluster) -> Iterator[None]:
        for root in self._roots:
            if root.part is None:
                self._missing.append(root.root)
            elif (yield from QueueRootFound(root.root, root.part, root.occupied).apply(cluster)):
                self._problems += root.problems

    def decide(self, work: Round) -> Iterator[None]:
        for root in self._missing:
            if root in work.view.cluster.queue.parts:
                work.view.queue.verify[root] = None
        for problem in self._problems:
            work.view.report(Event(catalogue.ENTRY_REFUSED, who=f"znode {problem.root}", reason=problem.text))
        yield from process_batch_and_queue(work)
        self.answer(None)


class WithdrawQueuedMoves(Command[int]):
    """Withdraw the waiting moves for which `which` is true. Answers how many they were."""

    def __init__(self, which: Callable[[TopicPartition, WaitingMove], bool], by: Requester = CONTROLLER) -> None:
        super().__init__()
        self.by = by
        self._which = which

    def decide(self, work: Round) -> Iterator[None]:
        withdrawn = 0
        slices = SliceCounter(SLICE)
        view = work.view
        for topic, places in list(view.cluster.queue.topics.items()):
            for index, place in places.items():
                name = TopicPartition(topic, index)
                if self._which(name, place.move) and queue_admission.find(view, name) == place.move:
                    queue_admission.withdraw(view, name)
                    withdrawn += 1
                if slices.step():
                    yield
        for name, move in list(view.queue.appended.items()):
            if self._which(name, move):
                queue_admission.withdraw(view, name)
                withdrawn += 1
        self.answer(withdrawn)
