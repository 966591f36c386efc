"""`submit --undo`: the way back of a plan, for what was moved."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from kafka_reassign_rpc.client import PartitionReassignment, TopicPartition
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit
from tests.pipeline.plans import write_plan
from tests.pipeline.simulated_cluster import Results, SimulatedCluster, moves, submission

A, B, C, D, E = (TopicPartition("t", index) for index in range(5))
FIRST = moves(p0=((2, 3), (1, 3)), p1=((2, 3), (3, 1)))
SECOND = moves(p2=((3, 2), (1, 2)), p3=((1, 2), (2, 3)), p4=((2, 3), (2, 1)))
BEFORE = {A: (1, 3), B: (3, 1), C: (1, 2), D: (2, 3), E: (2, 1)}
BOTH_WAYS = pytest.mark.parametrize("by_batch", [False, True], ids=["as_others_end", "by_batch"])


def half_done() -> SimulatedCluster:
    """A has moved, and E in the second batch; B moves, D waits in the queue, C has not begun."""
    cluster = SimulatedCluster({0: (2, 3), 1: (3, 1), 2: (1, 2), 3: (2, 3), 4: (2, 3)}, {1, 2, 3}, lists_to_end=50)
    cluster.moves = {
        B: PartitionReassignment((2, 3, 1), (2,), (1,)),
        D: PartitionReassignment((2, 3), (1,), (3,), state="waiting"),
    }
    return cluster


@BOTH_WAYS
def test_dp_4_an_undo_takes_back_what_has_moved_cancels_what_moves_and_leaves_the_rest(
    tmp_path: Path, by_batch: bool
) -> None:
    cluster, said = half_done(), list[str]()
    undo = submission(cluster, tmp_path / "p", FIRST, SECOND, said=said, undo=True, by_batch=by_batch)
    assert undo.dry_run() == 4
    assert said == [
        "rollback-0002: 1 to cancel, 1 done, 0 moving, 1 to begin",
        "rollback-0001: 1 to cancel, 0 done, 0 moving, 1 to begin",
    ]
    assert cluster.altered == []

    assert undo.execute() == 2

    assert cluster.replicas == BEFORE
    cancelled, *begun = cluster.altered
    assert cancelled.targets == {B: None, D: None}
    assert [name for one in begun for name in one.targets] == [E, A], "the last batch is undone first"
    assert "2 moves were cancelled" in said
    assert submission(cluster, tmp_path / "p", undo=True, by_batch=by_batch).execute() == 0
    reasons = {one.terms.reason.split(",")[0] for one in begun}
    assert reasons == {"undo of plan p (rebalance)"}


def test_dp_4_an_undo_leaves_alone_what_others_move_or_have_changed(tmp_path: Path) -> None:
    cluster = SimulatedCluster({0: (2, 3), 1: (2, 1), 2: (3, 2), 3: (2, 3), 4: (2, 1)}, {1, 2, 3})
    elsewhere = PartitionReassignment((1, 3, 2), (1,), (2,))
    cluster.moves, cluster.lists_to_end = {C: elsewhere}, 1000
    undo = submission(cluster, tmp_path / "p", FIRST, SECOND, undo=True)
    cluster.lists_to_end = 1000
    cluster.on_list = lambda: cluster.end(A) if A in cluster.moves else None
    with pytest.raises(PlanDoesNotFit) as told:
        undo.execute()
    assert "t-1: has the replicas [2, 1], the plan was made for [2, 3]" in str(told.value)
    assert "t-2: moves to [1, 3] already" in str(told.value)
    assert cluster.replicas[A] == (1, 3)
    assert cluster.moves == {C: elsewhere}


def test_dp_4_a_move_that_ends_as_it_is_cancelled_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = half_done()
    cluster.lists_to_end = 2
    cancel = cluster.cancel_partition_reassignments

    def too_late(names: Iterable[TopicPartition]) -> Results:
        cluster.end(B)
        return cancel(names)

    monkeypatch.setattr(cluster, "cancel_partition_reassignments", too_late)
    assert submission(cluster, tmp_path / "p", FIRST, SECOND, undo=True).execute() == 3
    assert cluster.replicas == BEFORE


def test_dp_4_a_cancel_that_is_refused_ends_the_undo_before_anything_goes_back(tmp_path: Path) -> None:
    cluster = half_done()
    cluster.refusals[D] = [ClusterAuthorizationFailed("never")]
    with pytest.raises(JobFailed, match=r"1 move was not cancelled:\nt-3: never"):
        submission(cluster, tmp_path / "p", FIRST, SECOND, undo=True).execute()
    [asked] = cluster.altered
    assert asked.targets == {B: None, D: None}


def test_dp_4_the_way_back_of_a_topic_that_was_made_again_is_no_way(tmp_path: Path) -> None:
    cluster = half_done()
    cluster.moves = {}
    path = write_plan(tmp_path / "p", "c1", FIRST, topic_ids={"t": "aTopicThatIsNoMore-aaa"})
    with pytest.raises(PlanDoesNotFit, match="deleted and made again"):
        submission(cluster, path, undo=True).dry_run()


def test_dp_4_an_undo_does_not_compare_with_the_health_before_the_plan(tmp_path: Path) -> None:
    cluster = half_done()
    cluster.lists_to_end = 2
    undo = submission(cluster, tmp_path / "p", FIRST, SECOND, undo=True)
    (tmp_path / "p" / "submit.json").write_text("garbage")
    undo.execute()
    with pytest.raises(BadInput, match=r"submit\.json"):
        submission(cluster, tmp_path / "p").execute()


def test_dp_4_the_order_before_comes_back_where_a_first_leader_is_in_front(tmp_path: Path) -> None:
    """A cancel leaves the order from which the move began. A killed submit leaves partitions that never began."""
    cluster = SimulatedCluster({0: (3, 1), 1: (1, 3), 2: (2, 1)}, {1, 2, 3}, lists_to_end=1000)
    cluster.moves = {A: PartitionReassignment((2, 3, 1), (2,), (1,))}
    plan = moves(p0=((2, 3), (1, 3)), p1=((2, 1), (3, 1)), p2=((2, 3), (1, 2)))
    path = write_plan(tmp_path / "p", "c1", plan, first_leaders={("t", 0): 3, ("t", 1): 1})
    said = list[str]()
    undo = submission(cluster, path, said=said, undo=True)
    with pytest.raises(PlanDoesNotFit, match=r"t-2: has the replicas \[2, 1\]"):
        undo.dry_run()
    assert said == ["rollback-0001: 1 to cancel, 1 to put in order, 0 done, 0 moving, 0 to begin, 1 does not fit"]
    with pytest.raises(PlanDoesNotFit, match="t-2") as told:
        undo.execute()
    assert "t-0" not in str(told.value)
    assert cluster.replicas == {A: (1, 3), B: (3, 1), C: (2, 1)}, "nobody knows who has turned t-2 round"
    assert cluster.elected[0] == {A, B}


def test_dp_4_an_undo_cancels_no_move_that_only_leads_to_the_same_replicas(tmp_path: Path) -> None:
    """t-0 has come from elsewhere before; t-1 is of a topic that was made again."""
    cluster = SimulatedCluster({0: (4, 3), 1: (3, 1)}, {1, 2, 3, 4}, lists_to_end=1000)
    of_others = {A: PartitionReassignment((2, 3, 4), (2,), (4,)), B: PartitionReassignment((2, 3, 1), (2,), (1,))}
    cluster.moves = dict(of_others)
    undo = submission(cluster, write_plan(tmp_path / "p", "c1", FIRST), undo=True)
    cluster.moves.pop(B)
    with pytest.raises(PlanDoesNotFit, match=r"t-0: moves to \[2, 3\] already"):
        undo.execute()
    assert cluster.moves == {A: of_others[A]}
    cluster.moves = dict(of_others)
    path = write_plan(tmp_path / "again", "c1", FIRST, topic_ids={"t": "aTopicThatIsNoMore-aaa"})
    with pytest.raises(PlanDoesNotFit, match="deleted and made again"):
        submission(cluster, path, undo=True).execute()
    assert cluster.moves == of_others


def test_dp_4_moves_that_have_ended_do_not_count_as_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, said = half_done(), list[str]()
    cluster.lists_to_end = 2
    cancel = cluster.cancel_partition_reassignments

    def too_late(names: Iterable[TopicPartition]) -> Results:
        cluster.end(B)
        return cancel(names)

    monkeypatch.setattr(cluster, "cancel_partition_reassignments", too_late)
    submission(cluster, tmp_path / "p", FIRST, SECOND, undo=True, said=said).execute()
    assert "1 move was cancelled" in said


@pytest.mark.parametrize("folder", ["batches", "rollback"])
def test_dp_4_a_way_back_with_a_part_missing_is_none(tmp_path: Path, folder: str) -> None:
    path = write_plan(tmp_path / "p", "c1", FIRST, SECOND)
    next((path / folder).glob("*-0002.json")).unlink()
    with pytest.raises(BadInput, match=f"batch 2 has no file in {folder}/"):
        submission(half_done(), path, undo=True)
