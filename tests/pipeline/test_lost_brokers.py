"""Submit goes on although a broker is lost to which moves are in flight: it does all else, and then does not wait for
ever."""

from argparse import Namespace
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.submit_command import _how_to_cancel
from kafka_reassign_rpc.client import QUEUE, MoveTerms, TopicPartition
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.pipeline.submission.stop_conditions import SubmitStopped
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit
from tests.pipeline.simulated_cluster import SimulatedCluster, moves, submission

NAMES = [TopicPartition("t", index) for index in range(4)]
A, B, C, D = NAMES
BATCH = moves(p0=((5,), (1,)), p1=((2,), (1,)), p2=((3,), (1,)), p3=((2,), (1,)))
BOTH_WAYS = pytest.mark.parametrize("by_batch", [False, True], ids=["as_others_end", "by_batch"])


def with_a_move_to_a_lost_broker() -> SimulatedCluster:
    """The move of A is in flight to broker 5, which is lost; broker 1 sends it."""
    made = SimulatedCluster(dict.fromkeys(range(4), (1,)), {1, 2, 3, 5})
    made.alter_partition_reassignments({A: MoveTerms((5,))})
    made.live.discard(5)
    made.altered.clear()
    return made


def test_dp_4_a_move_to_a_lost_broker_takes_no_place_and_submit_stops_when_all_others_are_done(tmp_path: Path) -> None:
    made, said = with_a_move_to_a_lost_broker(), list[str]()
    run = submission(made, tmp_path / "p", BATCH, said=said, caps=PlanCaps(1, 1))
    with pytest.raises(SubmitStopped) as stopped:
        run.execute(accept_health=True)
    assert made.replicas == {A: (1,), B: (2,), C: (3,), D: (2,)}
    assert str(stopped.value) == (
        "p: nothing else is left to do. What is left ends when its brokers are back, or when it is cancelled; run the "
        "same command again then:\n1 move waits for broker 5, which is lost: t-0"
    )
    assert said.count("p: 1 move waits for broker 5, which is lost: t-0") == 1, "when it happens"
    assert any(
        line.startswith("plan |") and line.endswith("; 1 move waits for broker 5, which is lost") for line in said
    )
    assert run.under_way.moves.keys() == {A}
    cancel = _how_to_cancel(run, Namespace(bootstrap_server="h:1", command_config=None))
    assert cancel.endswith(f"--reassignment-json-file {tmp_path}/p/under-way.json --cancel")
    with pytest.raises(SubmitStopped, match="1 move waits for broker 5"):
        submission(made, tmp_path / "p").execute(accept_health=True)


def test_dp_4_by_batch_submit_stops_when_all_that_is_left_of_a_batch_waits_for_a_lost_broker(tmp_path: Path) -> None:
    made, said = with_a_move_to_a_lost_broker(), list[str]()
    with pytest.raises(SubmitStopped) as stopped:
        submission(made, tmp_path / "p", BATCH, moves(), said=said, by_batch=True).execute(accept_health=True)
    assert made.replicas == {A: (1,), B: (2,), C: (3,), D: (2,)}
    assert str(stopped.value).startswith("p: all others of the batch are done, those of later ones have not begun. ")
    assert str(stopped.value).endswith("\n1 move waits for broker 5, which is lost: t-0")
    assert said.count("p: 1 move waits for broker 5, which is lost: t-0") == 1
    assert any(
        line.endswith("; 1 move waits for broker 5, which is lost") for line in said if line.startswith("plan |")
    )


@BOTH_WAYS
@pytest.mark.parametrize("when", ["while_others_move", "at_the_last_look"])
def test_dp_4_a_move_to_a_broker_that_comes_back_ends_as_any_other(tmp_path: Path, by_batch: bool, when: str) -> None:
    made, said = with_a_move_to_a_lost_broker(), list[str]()

    def bring_back() -> None:
        waited = any("waits for broker 5" in line for line in said)
        if waited and (when == "while_others_move" or made.moves.keys() == {A}):
            made.live.add(5)

    made.on_list = bring_back
    made.lists_to_end = 4
    begun = submission(made, tmp_path / "p", BATCH, said=said, by_batch=by_batch).execute(accept_health=True)
    assert begun == 3
    assert made.replicas == {A: (5,), B: (2,), C: (3,), D: (2,)}


def test_dp_4_submit_says_that_moves_go_on_whose_broker_is_back(tmp_path: Path) -> None:
    made, said = with_a_move_to_a_lost_broker(), list[str]()
    made.lists_to_end = 10**6

    def bring_back() -> None:
        if any("waits for broker 5" in line for line in said):
            made.live.add(5)
        if any("goes on" in line for line in said):
            made.lists_to_end = 0

    made.on_list = bring_back
    submission(made, tmp_path / "p", BATCH, said=said).execute(accept_health=True)
    assert said.count("p: 1 move goes on, its broker is back: t-0") == 1
    assert "batch-0001: 4 done" in said


def test_dp_4_moves_left_out_are_named_beside_those_that_wait_for_a_lost_broker(tmp_path: Path) -> None:
    made = with_a_move_to_a_lost_broker()
    made.refusals[B] = [PolicyViolation("not here")]
    with pytest.raises(SubmitStopped) as stopped:
        submission(made, tmp_path / "p", BATCH).execute(accept_health=True)
    assert str(stopped.value).endswith(
        "\n1 move waits for broker 5, which is lost: t-0\np: 1 move was left out; these will not begin:\nt-1: not here"
    )


@BOTH_WAYS
def test_dp_4_a_move_to_a_lost_broker_that_is_cancelled_is_waited_for_no_more(tmp_path: Path, by_batch: bool) -> None:
    made, said = with_a_move_to_a_lost_broker(), list[str]()

    def cancel() -> None:
        if A in made.moves and any("waits for broker 5" in line for line in said):
            made.cancel_partition_reassignments([A])

    made.on_list = cancel
    made.lists_to_end = 8
    with pytest.raises(PlanDoesNotFit, match="t-0: it was cancelled"):
        submission(made, tmp_path / "p", BATCH, said=said, by_batch=by_batch).execute(accept_health=True)
    assert made.replicas == {A: (1,), B: (2,), C: (3,), D: (2,)}


def test_dp_4_a_move_that_waits_in_the_queue_for_a_lost_broker_is_taken_back_as_submit_stops(tmp_path: Path) -> None:
    made = SimulatedCluster(dict.fromkeys(range(4), (1,)), {1, 2, 3})
    made.queues = True
    made.alter_partition_reassignments({A: MoveTerms((5,), QUEUE, moves_per_broker=0)})
    with pytest.raises(SubmitStopped, match="1 move waits for broker 5"):
        submission(made, tmp_path / "p", BATCH).execute(accept_health=True)
    assert made.moves == {}
