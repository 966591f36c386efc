"""What submit warns of: racks that a move loses, and a throttle below what producers write."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.client import Progress, TopicPartition
from kafka_reassign_rpc.client.rack_loss import loses_racks
from kafka_reassign_rpc.pipeline.submission.plan_warnings import ThrottleWatch
from tests.pipeline.simulated_cluster import SimulatedCluster, moves, submission

RACKS = {1: "a", 2: "a", 3: "b", 4: None, 5: None}
A = TopicPartition("t", 0)


@pytest.mark.parametrize(
    ("target", "standing", "loses"),
    [
        ((1, 2), (1, 3), True),
        ((1, 3), (1, 2), False),
        ((3, 1), (1, 3), False),
        ((4, 5), (1, 4), True),
        ((1, 2), (1, 9), False),  # nobody knows the rack of a broker that is gone
    ],
)
def test_dp_4_a_move_loses_racks_if_its_live_replicas_are_in_fewer_afterwards(
    target: tuple[int, ...], standing: tuple[int, ...], loses: bool
) -> None:
    assert loses_racks(standing, target, RACKS) is loses


def test_dp_4_submit_warns_of_lost_racks_and_carries_the_plan_out(tmp_path: Path) -> None:
    cluster, said = SimulatedCluster({0: (1, 3), 1: (3, 1)}, {1, 2, 3}), list[str]()
    cluster.racks = {1: "a", 2: "b", 3: "b"}
    batch = moves(p0=((2, 3), (1, 3)), p1=((3, 2, 1)[:2], (3, 1)))
    assert submission(cluster, tmp_path / "p", batch, said=said).execute() == 2
    assert "warning: 2 moves leave their partitions on fewer racks: t-0, t-1" in said


def test_dp_4_a_move_of_which_more_and_more_is_left_is_named_once() -> None:
    watch = ThrottleWatch(20_000)

    def left(count: int) -> dict[TopicPartition, Progress]:
        return {A: Progress(1000, 1000 + count), TopicPartition("t", 1): Progress(5, None)}

    assert watch.growing(0, left(500)) == []
    assert watch.growing(30, left(600)) == [], "a minute is not over"
    assert watch.growing(60, left(501)) == [A]
    assert watch.growing(120, left(900)) == [], "it was named"
    assert watch.growing(121, {}) == []
    assert ThrottleWatch(1).growing(0, left(1)) == []
    assert watch.warning([A]) == (
        "warning: producers write faster than the throttle of 20.0 kB/s lets replicas copy: t-0; run the same command "
        "again with a higher --throttle"
    )


def test_dp_4_a_move_that_gets_on_is_not_named() -> None:
    watch = ThrottleWatch(20_000)
    for now, left in ((0, 500), (60, 500), (120, 400), (180, 400)):
        assert watch.growing(now, {A: Progress(0, left)}) == []
