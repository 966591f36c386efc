"""Commands about KIP-236's queue; what is decided about what waits in it stands in `core.znode_routes.queue_admission`.

Who submits moves from within the controller takes back what has not started by `WithdrawQueuedMoves`.
"""

from collections.abc import Callable, Iterator, Sequence

from kafka_reassign_rpc.controller.commands.command import SLICE, Command, Round
from kafka_reassign_rpc.controller.commands.reassign_partitions_commands import settle
from kafka_reassign_rpc.controller.loading.load_queue import QueueRootRead, ZnodeProblem
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import CONTROLLER, Event
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.znode_routes import queue_admission


class StartQueuedMoves(Command[None]):
    """There may be room for what waits in the queue."""

    def decide(self, work: Round) -> Iterator[None]:
        yield from work.look_at_queue()
        self.answer(None)


class QueueZnodesRead(Command[None]):
    """The queues' own znodes as they were just read.

    One that is gone may have been made by ourselves since: so that is found out with the next write. Where it is
    gone indeed, everything is read again.
    """

    def __init__(self, roots: Sequence[QueueRootRead]) -> None:
        super().__init__()
        self._roots: Sequence[QueueRootRead] = roots
        self._problems: list[ZnodeProblem] = []

    def decide(self, work: Round) -> Iterator[None]:
        roots, self._roots = self._roots, ()  # once: what is read after a lost commit is newer
        for seen in roots:
            yield from self._put(work, seen)
        for problem in self._problems:
            work.view.report(Event(catalogue.ENTRY_REFUSED, who=f"znode {problem.root}", reason=problem.text))
        yield from settle(work)
        self.answer(None)

    def _put(self, work: Round, seen: QueueRootRead) -> Iterator[None]:
        queue = work.view.cluster.queue
        known = queue.parts.get(seen.root)
        if seen.part is None:
            if known is not None:
                work.view.queue.verify[seen.root] = None
            return
        if known is not None and seen.part.changed <= known.changed:
            return
        if known is not None and seen.part.created > known.created:
            for part in queue.of(seen.root):
                queue_admission.discard_changes(work.view, part.path)
                yield from queue.remove(part.path)
        yield from queue.put(seen.part)
        queue.more = True
        if seen.occupied:
            queue.occupied.add(seen.root)
        else:
            queue.occupied.discard(seen.root)
        self._problems += seen.problems


class WithdrawQueuedMoves(Command[int]):
    """Moves that wait, and that `which` is true of, are given up. Answers with how many."""

    def __init__(self, which: Callable[[TopicPartition, WaitingMove], bool], by: str = CONTROLLER) -> None:
        super().__init__()
        self.by = by
        self._which = which

    def decide(self, work: Round) -> Iterator[None]:
        dropped = looked = 0
        view = work.view
        for topic, places in list(view.cluster.queue.topics.items()):
            for index, place in places.items():
                name = TopicPartition(topic, index)
                if self._which(name, place.move) and queue_admission.find(view, name) == place.move:
                    queue_admission.withdraw(view, name)
                    dropped += 1
                looked += 1
                if looked % SLICE == 0:
                    yield
        for name, move in list(view.queue.appended.items()):
            if self._which(name, move):
                queue_admission.withdraw(view, name)
                dropped += 1
        self.answer(dropped)
