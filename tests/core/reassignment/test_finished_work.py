"""A request or plan is finished when its last move has ended: reported once, by the sample that finds it."""

from msgspec.structs import replace

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, RPC, MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import QueuePart, WaitingMove
from kafka_reassign_rpc.core.writers.topic_writes import put_partition
from tests.core.build import TOPIC, cluster, moving, not_moving

DRAIN = "drain of broker 1"


def move(number: int, reason: str = DRAIN, route: str = RPC) -> Partition:
    return replace(moving((1, 2), (3, 4)), move=MoveRecord(MoveTerms((3, 4), route, reason), (1, 2), number))


class Work:
    def __init__(self, *moves: Partition) -> None:
        self.cluster: Cluster = cluster(*moves)
        self.tracker = ProgressTracker(60.0)

    def sample(self, begins: tuple[int, Partition] | None = None) -> list[Event]:
        """The events of a sample, in the middle of which a move may begin."""
        events: list[Event] = []
        for step, _ in enumerate(self.tracker.update(0.0, self.cluster, {}, events, {})):
            if begins is not None and step == 0:
                self.put(*begins)
                self.tell(catalogue.MOVE_STARTED, begins[0], begins[1])
        return events

    def put(self, index: int, value: Partition) -> None:
        put_partition(self.cluster, self.cluster.topics[TOPIC], index, value)

    def end(self, index: int, name: str = catalogue.MOVE_COMPLETED) -> None:
        before = self.cluster.topics[TOPIC].partitions[index]
        self.put(index, not_moving(3, 4))
        self.tell(name, index, before)

    def tell(self, name: str, index: int, value: Partition) -> None:
        assert value.move is not None
        event = Event(name, TOPIC, index, value.move.id, value.move.terms.route, reason=value.move.terms.reason or None)
        assert list(self.tracker.ended([event], self.cluster))


def done(count: int, reason: str | None = DRAIN) -> list[Event]:
    return [Event(catalogue.MOVES_DONE, route=RPC, reason=reason, count=count)]


def test_dh_8_a_plan_is_done_once_its_last_move_has_ended_however_and_others_go_on() -> None:
    work = Work(move(1), move(2), move(3, "another plan"))
    assert work.sample() == []
    work.end(0)
    assert work.sample() == []
    work.end(1, catalogue.MOVE_CANCELLED)
    assert work.sample() == done(2)
    assert work.sample() == []
    work.end(2)
    assert work.sample() == done(1, "another plan")
    assert work.sample() == []


def test_dh_8_moves_that_no_sample_has_seen_are_done_too_and_those_without_a_reason_are_one_request() -> None:
    work = Work(move(1, ""), move(2, ""))
    work.end(0)
    work.end(1)
    assert work.sample() == done(2, None)


def test_dh_8_a_plan_is_not_done_while_a_move_of_it_waits_or_has_just_begun() -> None:
    work = Work(move(1), not_moving(1, 2))
    work.sample()
    list(work.cluster.queue.put(QueuePart("/q", "/q/1", {(TOPIC, 1): WaitingMove(MoveTerms((3, 4), RPC, DRAIN))})))
    work.end(0)
    assert work.sample() == []
    list(work.cluster.queue.remove("/q/1"))
    assert work.sample() == done(1)
    work = Work(move(1), not_moving(1, 2), move(3, "another plan"))
    work.sample()
    work.end(0)
    assert work.sample(begins=(1, move(2))) == []
    work.end(1)
    assert work.sample() == done(1)


def test_dh_8_a_repair_says_itself_that_it_is_done() -> None:
    work = Work(move(1, "heal broker 1", HEAL))
    work.sample()
    work.end(0)
    assert work.sample() == []
