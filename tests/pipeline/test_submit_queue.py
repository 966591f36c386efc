"""Submit on a controller with a queue: moves wait there, and start as soon as others end."""

import threading
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from kafka_reassign_rpc.cli.submit_command import _interrupted
from kafka_reassign_rpc.client import QUEUE, TopicPartition
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed, NotController, PolicyViolation
from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.submission.stop_conditions import SubmitStopped
from kafka_reassign_rpc.pipeline.submission.submit_plan import Submission
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit, PollIntervals
from tests.pipeline.plans import Moves
from tests.pipeline.simulated_cluster import AT_ONCE, SimulatedCluster, moves, submission


class Killed(BaseException):
    """The end of a process that can do nothing more."""


NAMES = [TopicPartition("t", index) for index in range(12)]


def expanded() -> tuple[SimulatedCluster, Moves]:
    """Twelve partitions of brokers 1 and 2 go to brokers 3 and 4."""
    standing = {name.partition: (1 + name.partition % 2,) for name in NAMES}
    cluster = SimulatedCluster(standing, {1, 2, 3, 4})
    cluster.queues = True
    return cluster, {name: ((3 + name.partition // 6,), standing[name.partition]) for name in NAMES}


def test_dp_7_moves_wait_in_the_queue_with_the_caps_of_the_plan_and_each_is_sent_once(tmp_path: Path) -> None:
    cluster, batch = expanded()
    run = submission(cluster, tmp_path / "p", batch, caps=PlanCaps(3, 100))
    assert run.execute() == 12
    assert cluster.replicas == {name: target for name, (target, _) in batch.items()}
    assert cluster.in_flight == 3, "the controller keeps the caps"
    first, *_ = cluster.altered
    assert (first.terms.route, first.terms.moves_per_broker) == (QUEUE, 3)
    assert len(first.targets) > 6, "more than may be in flight: the rest waits there"
    sent = [name for one in cluster.altered for name in one.targets]
    assert sorted(sent) == NAMES


def test_dp_7_moves_in_flight_and_in_the_queue_are_no_more_than_the_cap_in_all(tmp_path: Path) -> None:
    cluster, batch = expanded()
    most = 0

    def count() -> None:
        nonlocal most
        most = max(most, len(cluster.moves))

    cluster.on_list = count
    submission(cluster, tmp_path / "p", batch, caps=PlanCaps(2, 3)).execute()
    assert most == 3


def test_dp_7_a_run_that_is_resumed_finds_its_moves_in_the_queue(tmp_path: Path) -> None:
    cluster, batch = expanded()
    lists = 0

    def kill() -> None:
        nonlocal lists
        lists += bool(cluster.moves)
        if lists == 2:
            raise Killed

    cluster.on_list = kill
    with pytest.raises(Killed):
        submission(cluster, tmp_path / "p", batch, caps=PlanCaps(1, 100)).execute()
    waiting = {name for name, move in cluster.moves.items() if move.is_waiting}
    assert waiting, "it was killed while moves waited"
    cluster.on_list = lambda: None
    before = len(cluster.altered)
    begun = submission(cluster, tmp_path / "p", throttle=7, caps=PlanCaps(1, 100)).execute()
    assert begun < 12
    rethrottled = cluster.altered.pop(before)
    assert rethrottled.targets.keys() >= waiting
    terms = rethrottled.terms
    assert (terms.throttle, terms.route, terms.moves_per_broker) == (7, QUEUE, 1), "they go on waiting"
    assert cluster.in_flight == 1
    assert sorted(name for one in cluster.altered for name in one.targets) == NAMES, "each was begun once"
    assert cluster.replicas == {name: target for name, (target, _) in batch.items()}


def test_dp_7_a_stop_takes_back_what_waits_in_the_queue(tmp_path: Path) -> None:
    cluster, batch = expanded()
    said = list[str]()
    cluster.on_list = lambda: cluster.live.discard(4) if cluster.moves else None
    with pytest.raises(SubmitStopped, match="broker 4 lost"):
        submission(cluster, tmp_path / "p", batch, said=said, caps=PlanCaps(1, 100)).execute()
    assert cluster.moves
    assert not any(move.is_waiting for move in cluster.moves.values())
    assert any(line.endswith("moves that waited in the controller's queue were taken back") for line in said)


@pytest.mark.parametrize("ends", [PlanDoesNotFit, JobFailed])
def test_dp_7_a_run_that_gives_up_takes_back_what_waits_in_the_queue(tmp_path: Path, ends: type[Exception]) -> None:
    """The controller refuses a hundred moves for good, or one for the moment, again and again."""
    refused = 100 if ends is PlanDoesNotFit else 1
    names = range(18 + refused)
    cluster = SimulatedCluster({index: (1,) if index < 18 else (3,) for index in names}, {1, 2, 3, 4}, 10**6)
    cluster.queues = True
    errors = [PolicyViolation("no")] if ends is PlanDoesNotFit else [NotController()] * 1000
    cluster.refusals = {TopicPartition("t", index): list(errors) for index in names if index >= 18}
    batch: Moves = {TopicPartition("t", i): ((2,), (1,)) if i < 18 else ((4,), (3,)) for i in names}
    said, soon = list[str](), replace(AT_ONCE, patience=0.2, poll=0.01)
    with pytest.raises(ends):
        submission(cluster, tmp_path / "p", batch, said=said, caps=PlanCaps(6, 1000), intervals=soon).execute()
    assert cluster.moves, "these go on"
    assert not any(move.is_waiting for move in cluster.moves.values())
    assert any(line.endswith("moves that waited in the controller's queue were taken back") for line in said)


def test_dp_7_a_stop_is_a_stop_where_the_queue_cannot_be_cleared(tmp_path: Path) -> None:
    cluster, batch = expanded()
    said = list[str]()

    def refuse(_: object) -> NoReturn:
        raise ClusterAuthorizationFailed("not you")

    cluster.cancel_partition_reassignments = refuse  # type: ignore[assignment]
    cluster.on_list = lambda: cluster.live.discard(4) if cluster.moves else None
    with pytest.raises(SubmitStopped, match="broker 4 lost"):
        submission(cluster, tmp_path / "p", batch, said=said, caps=PlanCaps(1, 100)).execute()
    assert "moves that wait in the controller's queue could not be taken back: not you" in said


def interrupted(cluster: SimulatedCluster, path: Path, batch: Moves, number: int = 2, **options: Any) -> Submission:
    """A submission that Ctrl-C has ended at the list of moves with this number."""
    cluster.raise_at_list(number, KeyboardInterrupt())
    run = submission(cluster, path, batch, caps=PlanCaps(1, 100), **options)
    with pytest.raises(KeyboardInterrupt):
        run.execute()
    return run


def said_at_the_end(run: Submission) -> list[str]:
    return _interrupted(run, Namespace(bootstrap_server="h:1", command_config=None))


def test_dp_7_an_interrupt_takes_back_what_waits_in_the_queue_and_says_so(tmp_path: Path) -> None:
    cluster, batch = expanded()
    cluster.lists_to_end = 1000
    run = interrupted(cluster, tmp_path / "p", batch)
    assert cluster.moves
    assert not any(move.is_waiting for move in cluster.moves.values())
    assert run.under_way.moves.keys() == cluster.moves.keys(), "the file with which to cancel names these alone"
    went_on, taken_back = len(cluster.moves), run.under_way.taken_back
    assert taken_back > 0
    assert said_at_the_end(run)[0] == (
        f"kafka-reassign-rpc submit: interrupted; {went_on} moves of {tmp_path / 'p'} go on without it; "
        f"{taken_back} that waited in the controller's queue were taken back"
    )


def test_dp_7_an_interrupt_says_what_waits_where_that_cannot_be_taken_back(tmp_path: Path) -> None:
    cluster, batch = expanded()
    cluster.lists_to_end = 1000

    def refuse(_: object) -> NoReturn:
        raise ClusterAuthorizationFailed("not you")

    cluster.cancel_partition_reassignments = refuse  # type: ignore[assignment]
    run = interrupted(cluster, tmp_path / "p", batch)
    waiting = sum(move.is_waiting for move in cluster.moves.values())
    said, _, cancel = said_at_the_end(run)
    assert said.endswith(
        f"interrupted; {len(cluster.moves) - waiting} moves of {tmp_path / 'p'} go on without it; "
        f"{waiting} wait in the controller's queue and will start: not you"
    )
    assert cancel.endswith("under-way.json --cancel")
    assert run.under_way.moves.keys() == cluster.moves.keys()


def test_dp_7_an_interrupt_ends_submit_in_time_where_the_cluster_does_not_answer(tmp_path: Path) -> None:
    cluster, batch = expanded()
    cluster.lists_to_end = 1000
    answer = threading.Event()
    intervals = PollIntervals(poll=0, health=0, mismatch=0, arrival=0, confirm=0, withdrawal=0.1)
    lists = 0

    def hang() -> None:
        nonlocal lists
        lists += bool(cluster.moves)
        if lists == 2:
            raise KeyboardInterrupt
        if lists > 2:
            answer.wait(60)

    cluster.on_list = hang
    run = submission(cluster, tmp_path / "p", batch, caps=PlanCaps(1, 100), intervals=intervals)
    with pytest.raises(KeyboardInterrupt):
        run.execute()
    said, *_ = said_at_the_end(run)
    assert said.endswith("go on without it, those that wait in a queue included: the cluster does not answer")
    assert "interrupted; up to " in said
    answer.set()


def test_dp_7_where_reassignments_are_disabled_submit_says_that_its_moves_wait(tmp_path: Path) -> None:
    cluster, batch = expanded()
    said = list[str]()
    cluster.disabled = "Reassignments are disabled."

    def enable() -> None:
        if cluster.moves:
            cluster.disabled = None

    cluster.on_list = enable
    assert submission(cluster, tmp_path / "p", batch, said=said).execute() == 12
    assert "Reassignments are disabled. Until then moves wait in the controller's queue." in said


def test_dp_7_a_move_with_a_first_leader_waits_too_where_reassignments_are_disabled(tmp_path: Path) -> None:
    """Its partition cannot be reordered now: it is copied from the leader that it has by then."""
    cluster = SimulatedCluster({0: (1, 2, 3), 1: (1, 3)}, {1, 2, 3, 4})
    cluster.queues = True
    cluster.disabled = "Reassignments are disabled."

    def enable() -> None:
        if len(cluster.moves) == 2 and all(move.is_waiting for move in cluster.moves.values()):
            cluster.disabled = None

    cluster.on_list, said = enable, list[str]()
    batch = moves(p0=((2, 3, 4), (1, 2, 3)), p1=((3, 4), (1, 3)))
    assert submission(cluster, tmp_path / "p", batch, first_leaders={("t", 0): 3}, said=said).execute() == 2
    assert cluster.replicas == {("t", 0): (2, 3, 4), ("t", 1): (3, 4)}
    assert any(line.endswith("cannot be changed now (Reassignments are disabled.): t-0") for line in said)
