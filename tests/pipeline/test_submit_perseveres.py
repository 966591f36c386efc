"""Submit on a cluster that answers late, with errors, or not at all; and that changes under it."""

import threading
from pathlib import Path

import pytest

from kafka_reassign_rpc.client import KafkaError, PartitionReassignment, TopicPartition, Unreachable, UnsupportedHere
from kafka_reassign_rpc.client.client_errors import error_of
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    CoordinatorLoadInProgress,
    InvalidReplicaAssignment,
    PolicyViolation,
    RequestTimedOut,
    ThrottlingQuotaExceeded,
)
from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.submission.stop_conditions import SubmitStopped
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit, PollIntervals
from tests.pipeline.simulated_cluster import SimulatedCluster, moves, submission

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
BOTH_WAYS = pytest.mark.parametrize("by_batch", [False, True], ids=["as_others_end", "by_batch"])
BATCH = moves(p0=((2, 3), (1, 3)), p1=((3, 2), (3, 1)))


def three_brokers(**options: int) -> SimulatedCluster:
    return SimulatedCluster({0: (1, 3), 1: (3, 1)}, {1, 2, 3}, **options)


def leader_not_available() -> KafkaError:
    """A retriable error that this product has no class for."""
    found = error_of(5, None)
    assert found is not None
    return found


@BOTH_WAYS
@pytest.mark.parametrize("call", ["list", "topics", "everything", "can", "alter"])
def test_dp_4_a_retriable_error_that_a_broker_answers_with_does_not_end_submit(
    tmp_path: Path, call: str, by_batch: bool
) -> None:
    cluster, said = three_brokers(), list[str]()
    cluster.errors[call] = [RequestTimedOut("later"), CoordinatorLoadInProgress("soon"), leader_not_available()]
    assert submission(cluster, tmp_path / "p", BATCH, said=said, by_batch=by_batch).execute() == 2
    assert cluster.replicas == {A: (2, 3), B: (3, 2)}
    assert any("later" in line for line in said)


@BOTH_WAYS
@pytest.mark.parametrize("call", ["list", "topics", "everything", "can", "alter"])
def test_dp_4_an_error_that_does_not_pass_or_does_not_pass_in_time_ends_submit(
    tmp_path: Path, call: str, by_batch: bool
) -> None:
    cluster = three_brokers()
    cluster.errors[call] = [ClusterAuthorizationFailed("never")]
    with pytest.raises(ClusterAuthorizationFailed):
        submission(cluster, tmp_path / "p", BATCH, by_batch=by_batch).execute()
    cluster.errors[call] = [RequestTimedOut("later")] * 1000
    impatient = PollIntervals(poll=0, health=0, mismatch=0, patience=0.05)
    with pytest.raises(RequestTimedOut if call != "alter" else JobFailed, match="later"):
        submission(cluster, tmp_path / "p", intervals=impatient, by_batch=by_batch).execute()
    assert not cluster.moves


def test_dp_4_moves_that_are_refused_for_the_moment_are_sent_again_and_the_others_are_not(tmp_path: Path) -> None:
    cluster = three_brokers(lists_to_end=20)
    cluster.refusals[A] = [ThrottlingQuotaExceeded(), ThrottlingQuotaExceeded()]
    assert submission(cluster, tmp_path / "p", BATCH).execute() == 2
    assert [set(one.targets) for one in cluster.altered] == [{A, B}, {A}, {A}]
    assert cluster.replicas == {A: (2, 3), B: (3, 2)}


@BOTH_WAYS
def test_dp_4_a_move_that_is_refused_for_good_is_left_out_and_by_batch_no_other_batch_begins(
    tmp_path: Path, by_batch: bool
) -> None:
    cluster, said, rest = three_brokers(), list[str](), moves(p2=((2, 3), (1, 3)))
    cluster.replicas |= {TopicPartition(*name): tuple(before) for name, (_, before) in rest.items()}
    cluster.refusals[A] = [PolicyViolation("not here")]
    with pytest.raises(PlanDoesNotFit) as refused:
        submission(cluster, tmp_path / "p", BATCH, rest, said=said, by_batch=by_batch).execute()
    others = "of the batch are done, those of later ones have not begun" if by_batch else "are done"
    assert str(refused.value) == f"p: 1 move was left out; all others {others}:\nt-0: not here"
    assert cluster.replicas == {A: (1, 3), B: (3, 2), TopicPartition("t", 2): (1, 3) if by_batch else (2, 3)}
    assert "batch-0001: 1 done, 1 left out" in said


def test_dp_4_submit_begins_no_more_where_the_controller_refuses_a_hundred_moves_for_good(tmp_path: Path) -> None:
    names = [TopicPartition("t", index) for index in range(200)]
    cluster = SimulatedCluster({name.partition: (1, 3) for name in names}, {1, 2, 3})
    cluster.refusals = {name: [PolicyViolation("not here")] for name in names}
    with pytest.raises(PlanDoesNotFit, match="100 moves were left out; the controller refuses too much"):
        submission(cluster, tmp_path / "p", dict.fromkeys(names, ((2, 3), (1, 3)))).execute()
    assert sum(len(one.targets) for one in cluster.altered) == 100, "ten at a time, as many as the plan allows"


def test_dp_4_a_lost_answer_is_no_lost_move_and_no_second_one(tmp_path: Path) -> None:
    """The request was lost, then its answer was."""
    cluster, said = three_brokers(lists_to_end=20), list[str]()
    cluster.errors["alter"] = [Unreachable("The request is lost.")]
    assert submission(cluster, tmp_path / "p", BATCH, said=said).execute() == 2
    assert len(cluster.altered) == 2
    assert "p: The request is lost. Checking whether the moves have begun." in said


@pytest.mark.parametrize("compares", [True, False], ids=["by_the_controller", "by_submit"])
def test_860_5_a_partition_that_changes_after_the_plan_was_read_is_left_out(tmp_path: Path, compares: bool) -> None:
    """A controller without compare-and-set would begin the move."""
    cluster = three_brokers()
    cluster.compares = compares

    def change() -> None:
        if A in cluster.moves:
            cluster.replicas[B] = (1, 3)

    cluster.on_list = change
    with pytest.raises(PlanDoesNotFit) as refused:
        submission(cluster, tmp_path / "p", BATCH, caps=PlanCaps(1, 1)).execute()
    assert str(refused.value).startswith("p: 1 move was left out; all others are done:\nt-1: ")
    assert cluster.replicas == {A: (2, 3), B: (1, 3)}
    asked = [one.expected for one in cluster.altered if B in one.targets]
    assert asked == ([{B: (3, 1)}] if compares else [])


def waiting(*replicas: int) -> PartitionReassignment:
    return PartitionReassignment(replicas, (2,), (1,), state="waiting")


def test_dp_4_a_resumed_submit_changes_the_throttle_of_moves_in_flight_and_in_the_queue(tmp_path: Path) -> None:
    cluster = three_brokers(lists_to_end=50)
    cluster.moves = {A: PartitionReassignment((2, 3, 1), (2,), (1,)), B: waiting(3, 1)}
    submission(cluster, tmp_path / "p", BATCH, throttle=7).execute()
    [asked] = cluster.altered
    assert asked.targets == {A: (2, 3), B: (3, 2)}
    assert asked.expected == {A: (2, 3, 1), B: (3, 1)}, "as they stand now"
    assert (asked.terms.throttle, asked.may_change_factor) == (7, False)


def test_dp_4_a_throttle_that_cannot_be_changed_is_an_error_that_names_the_moves(tmp_path: Path) -> None:
    cluster = three_brokers(lists_to_end=1000)
    cluster.moves = {A: PartitionReassignment((2, 3, 1), (2,), (1,)), B: waiting(3, 1)}
    cluster.refusals = {B: [PolicyViolation("reassignments are disabled")] * 1000}
    with pytest.raises(JobFailed) as failed:
        submission(cluster, tmp_path / "p", BATCH, throttle=7).execute()
    assert str(failed.value) == (
        "p: 1 move keeps its throttle, and goes on. The controller refuses:\nt-1: reassignments are disabled"
    )
    assert set(cluster.moves) == {A, B}


def test_dp_4_a_waiting_move_that_starts_or_ends_meanwhile_is_no_error(tmp_path: Path) -> None:
    cluster = three_brokers(lists_to_end=3)
    cluster.moves = {A: PartitionReassignment((2, 3, 1), (2,), (1,)), B: waiting(3, 1)}
    cluster.refusals = {one: [InvalidReplicaAssignment("not the expected one")] for one in (A, B)}
    patient = PollIntervals(poll=0, health=0, mismatch=20, arrival=0)
    assert submission(cluster, tmp_path / "p", BATCH, throttle=7, intervals=patient).execute() == 0
    assert cluster.replicas == {A: (2, 3), B: (3, 2)}


EXPAND = (moves(p0=((5,), (1,))), moves(p1=((5,), (1,))))
"""Two batches, to a broker that held nothing before."""
ONE_BY_ONE = PlanCaps(1, 1)


@BOTH_WAYS
def test_dp_4_the_loss_of_a_new_broker_while_its_first_moves_run_stops_submit(tmp_path: Path, by_batch: bool) -> None:
    cluster = SimulatedCluster({0: (1,), 1: (1,)}, {1, 5})
    cluster.on_list = lambda: cluster.live.discard(5) if cluster.moves else None
    with pytest.raises(SubmitStopped, match="broker 5 lost"):
        submission(cluster, tmp_path / "p", *EXPAND, by_batch=by_batch, caps=ONE_BY_ONE).execute()
    assert set(cluster.moves) == {A}, "the second move did not begin"


@BOTH_WAYS
def test_dp_4_the_loss_of_a_new_broker_between_two_runs_stops_the_second(tmp_path: Path, by_batch: bool) -> None:
    cluster = SimulatedCluster({0: (1,), 1: (1,)}, {1, 5}, lists_to_end=1000)
    lists = 0

    def press_ctrl_c() -> None:
        nonlocal lists
        lists += bool(cluster.moves)
        if lists == 3:
            raise KeyboardInterrupt

    cluster.on_list = press_ctrl_c
    first = submission(cluster, tmp_path / "p", *EXPAND, by_batch=by_batch, caps=ONE_BY_ONE)
    with pytest.raises(KeyboardInterrupt):
        first.execute()
    assert first.under_way.moves.keys() == {A}
    cluster.live.discard(5)
    with pytest.raises(SubmitStopped, match="broker 5 lost"):
        submission(cluster, tmp_path / "p", by_batch=by_batch).execute()


@BOTH_WAYS
def test_dp_4_metadata_that_are_late_do_not_fail_a_move_that_has_ended(tmp_path: Path, by_batch: bool) -> None:
    cluster = three_brokers()

    def be_late() -> None:
        if cluster.moves:
            cluster.late = 100

    cluster.on_list = be_late
    intervals = PollIntervals(poll=0, health=0, mismatch=0, arrival=20, confirm=0)
    assert submission(cluster, tmp_path / "p", BATCH, intervals=intervals, by_batch=by_batch).execute() == 2
    assert cluster.late == 0


def test_dp_4_frozen_brokers_do_not_keep_submit_from_checking_the_health_of_the_cluster(tmp_path: Path) -> None:
    cluster = three_brokers(lists_to_end=10**9)
    cluster.silent = {1, 2}

    def end_once_checked() -> None:
        if cluster.checks > 3:
            cluster.lists_to_end = 0

    cluster.on_list = end_once_checked
    submission(cluster, tmp_path / "p", BATCH).execute()
    assert cluster.asked_for_sizes[0] == ([1, 2, 3], 250), "milliseconds: the interval `sizes`"
    assert [brokers for brokers, _ in cluster.asked_for_sizes[1:] if brokers] == [[3]] * (
        len(cluster.asked_for_sizes) - 2
    ), "they are not asked again soon"


def test_dp_4_a_reason_goes_to_the_controller_and_where_none_is_kept_nothing_begins(tmp_path: Path) -> None:
    for name, called in (("p", "plan p"), ("plan", "plan"), ("plan-7", "plan-7"), ("planets", "plan planets")):
        submission(three := three_brokers(), tmp_path / name, BATCH, reason="OPS-17").execute()
        [asked] = three.altered
        assert asked.terms.reason == f"OPS-17; {called} (rebalance)"
    stock = three_brokers()
    stock.keeps_reasons = False
    with pytest.raises(UnsupportedHere, match="does not keep what moves are for"):
        submission(stock, tmp_path / "q", BATCH, reason="OPS-17").execute()
    assert not stock.altered


def test_dp_4_submit_says_that_the_cluster_does_not_answer_before_it_gives_up(tmp_path: Path) -> None:
    cluster, said, heard = three_brokers(), list[str](), threading.Event()

    def status(text: str) -> None:
        said.append(text)
        heard.set()

    def answer_late() -> None:
        assert heard.wait(60)

    cluster.on_list = answer_late
    slow = submission(cluster, tmp_path / "p", BATCH, intervals=PollIntervals(poll=0, mismatch=0, slow=0.01))
    slow.output.status = status
    assert slow.execute() == 2
    assert said[0] == "the cluster has not answered for 0.01 s, waiting"
