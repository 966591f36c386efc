"""What submit warns of: racks that a move loses, and a throttle below what producers write."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli import submit_command
from kafka_reassign_rpc.client import Progress, TopicPartition
from kafka_reassign_rpc.client.config_calls import Config
from kafka_reassign_rpc.client.target_warnings import loses_racks
from kafka_reassign_rpc.core.status.documents import StartWindow
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE
from kafka_reassign_rpc.pipeline.submission import submit_plan
from kafka_reassign_rpc.pipeline.submission.plan_warnings import ThrottleWatch
from tests.pipeline.plans import write_plan
from tests.pipeline.simulated_cluster import AT_ONCE, SimulatedCluster, moves, submission
from tests.pipeline.test_export import run

RACKS = {1: "a", 2: "a", 3: "b", 4: None, 5: None}
A = TopicPartition("t", 0)
BOTH_WAYS = pytest.mark.parametrize("way", [[], ["--by-batch"]], ids=["as_others_end", "by_batch"])


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


@contextmanager
def given(cluster: SimulatedCluster) -> Iterator[SimulatedCluster]:
    """Takes the place of `connected`."""
    yield cluster


def submit(
    cluster: SimulatedCluster, monkeypatch: pytest.MonkeyPatch, plan: Path, *options: str
) -> tuple[int, list[str]]:
    """`submit --execute` as it is called, without its pauses: the exit code, and what it says that stays."""
    monkeypatch.setattr(submit_command, "connected", lambda _: given(cluster))
    at_once = partial(submit_plan.Submission, intervals=replace(AT_ONCE, growing=0))
    monkeypatch.setattr(submit_plan, "Submission", at_once)
    code, _, err = run("submit", "--bootstrap-server", "h:1", "--plan", str(plan), "--execute", *options)
    return code, err.splitlines()


@BOTH_WAYS
def test_dp_4_submit_warns_of_lost_racks_and_carries_the_plan_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: list[str]
) -> None:
    cluster = SimulatedCluster({0: (1, 3), 1: (3, 1), 2: (1, 2), 3: (1, 3)}, {1, 2, 3})
    cluster.racks = {1: "a", 2: "b", 3: "b"}
    cluster.replicas[TopicPartition("t", 3)] = (2, 3)  # an earlier run has moved it
    batch = moves(p0=((2, 3), (1, 3)), p1=((3, 2), (3, 1)), p2=((1, 3), (1, 2)), p3=((2, 3), (1, 3)))
    plan = write_plan(tmp_path / "p", "c1", batch)
    code, said = submit(cluster, monkeypatch, plan, *way)
    assert [line for line in said if line.startswith("warning")] == [
        "warning: 2 moves leave their partitions on fewer racks, or less even over them: t-0, t-1"
    ]
    assert code == 0
    assert cluster.replicas == {TopicPartition(*name): tuple(target) for name, (target, _) in batch.items()}


@BOTH_WAYS
def test_dp_4_submit_names_moves_to_which_producers_write_faster_than_its_throttle_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: list[str]
) -> None:
    cluster = SimulatedCluster({0: (1, 3), 1: (3, 1)}, {1, 2, 3}, lists_to_end=6)
    cluster.written = 500
    plan = write_plan(tmp_path / "p", "c1", moves(p0=((2, 3), (1, 3)), p1=((3, 2), (3, 1))))
    code, said = submit(cluster, monkeypatch, plan, "--throttle", "20kB", *way)
    assert [line for line in said if line.startswith("warning")] == [
        "warning: producers write faster than the throttle of 20.0 kB/s lets replicas copy: t-0, t-1; run the same "
        "command again with a higher --throttle"
    ]
    assert code == 0, "it goes on"


@BOTH_WAYS
@pytest.mark.parametrize(
    ("written", "throttle"),
    [(0, ["--throttle", "20kB"]), (500, []), (500, ["--throttle", "0"]), (None, ["--throttle", "20kB"])],
    ids=["nothing_is_written", "submit_sets_no_throttle", "submit_takes_throttles_off", "no_sizes_are_told"],
)
def test_dp_4_submit_does_not_warn_of_a_throttle_that_it_has_not_set_or_that_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: list[str], written: int | None, throttle: list[str]
) -> None:
    cluster = SimulatedCluster({0: (1, 3)}, {1, 2, 3}, lists_to_end=6)
    cluster.written = written
    plan = write_plan(tmp_path / "p", "c1", moves(p0=((2, 3), (1, 3))))
    code, said = submit(cluster, monkeypatch, plan, *throttle, *way)
    assert (code, [line for line in said if "warning" in line]) == (0, [])
    assert len(cluster.asked_for_sizes) > 2, "it looked at them while the move went on"


def test_dp_4_a_move_of_which_more_and_more_is_left_is_named_once() -> None:
    watch = ThrottleWatch(20_000, 60)

    def left(count: int) -> dict[TopicPartition, Progress]:
        return {A: Progress(1000, 1000 + count), TopicPartition("t", 1): Progress(5, None)}

    assert watch.growing(0, left(500)) == []
    assert watch.growing(30, left(600)) == [], "a minute is not over"
    assert watch.growing(60, left(501)) == [A]
    assert watch.growing(120, left(900)) == [], "it was named"
    assert watch.growing(121, {}) == []
    assert ThrottleWatch(1, 60).growing(0, left(1)) == []
    assert watch.warning([A]) == (
        "warning: producers write faster than the throttle of 20.0 kB/s lets replicas copy: t-0; run the same command "
        "again with a higher --throttle"
    )


def test_dp_4_a_move_that_gets_on_is_not_named() -> None:
    watch = ThrottleWatch(20_000, 60)
    for now, left in ((0, 500), (60, 500), (120, 400), (180, 400)):
        assert watch.growing(now, {A: Progress(0, left)}) == []


def shown_in_all(plan: Path, throttle: int, defaults: list[Config]) -> set[str]:
    """How the lines of a new run end, which show the whole plan."""
    cluster, said = SimulatedCluster({0: (1, 3)}, {1, 2, 3}), list[str]()
    cluster.defaults = defaults
    submission(cluster, plan, said=said, throttle=throttle).execute()
    return {line.rpartition("; ")[2] for line in said if line.startswith("plan |")}


def test_fg_4_submit_says_which_limit_holds_and_what_that_means_for_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = SimulatedCluster({0: (1, 3)}, {1, 2, 3})
    cluster.defaults = [Config(FOLLOWER_RATE, "50", 3)]
    plan = write_plan(tmp_path / "p", "c1", moves(p0=((2, 3), (1, 3))))
    summary = json.loads((plan / "summary.json").read_text())
    summary["expected_seconds"], summary["bandwidth"] = 4.0, 3000
    summary["timeline"] = {"seconds": 4.0, "brokers": [{"broker": 2, "sent": [0], "received": [6000]}]}
    (plan / "summary.json").write_text(json.dumps(summary))
    _, said = submit(cluster, monkeypatch, plan, "--throttle", "300B")
    assert said[0].startswith(
        "On brokers 1,2,3 it stays 50 B/s to receive: the dynamic config of all brokers is stricter"
    )
    assert said[1] == "with these limits the plan takes 2 min 0 s at least, not 4 s as planned"
    assert shown_in_all(plan, 300, cluster.defaults) == {"at least 2 min 0 s in all with these limits"}
    assert shown_in_all(plan, 3000, []) == {"planned 4 s in all"}
    (plan / "summary.json").write_text(json.dumps(summary | {"bandwidth": 1000}))
    assert shown_in_all(plan, 1000, []) == {"at least 6 s in all with these limits"}
    assert shown_in_all(plan, 3000, []) == {"at least 2 s in all with these limits"}, "planned with another rate"
    cluster = SimulatedCluster({0: (1, 3)}, {1, 2, 3})
    _, said = submit(cluster, monkeypatch, plan, "--throttle", "3000")
    assert not [line for line in said if "limit" in line]
    cluster.window = StartWindow(True, "outside of windows until six", None, 30)
    _, said = submit(cluster, monkeypatch, plan, "--throttle", "3000")
    assert said[:2] == [
        "The rate of the window goes before --throttle: outside of windows until six.",
        "with these limits the plan takes 3 min 20 s at least, not 4 s as planned",
    ]
