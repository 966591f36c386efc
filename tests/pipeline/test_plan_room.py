"""Room as plan and verifier read it from a snapshot, each by itself: volumes, and what is on its way."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.chunk_callers import CallsHere, CallsOnSpark
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob, read_brokers
from kafka_reassign_rpc.pipeline.planning.snapshot_survey import with_arriving
from kafka_reassign_rpc.pipeline.planning.verify_room import BrokerSpace, broker_spaces, overfull_brokers, still_coming
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import META, SnapshotMeta
from kafka_reassign_rpc.pipeline.topic_pieces import CallOnSpark
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanOptions
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, Volume
from tests.pipeline.test_plan_in_memory import arriving

pytestmark = pytest.mark.gate


def write_snapshot(path: Path) -> Path:
    """Broker 4 is lost. Broker 1 tells no sizes, 2 has 1000 bytes free, 3 has three log dirs on two volumes and one
    that is offline, 5 tells its capacity alone.

    Two moves bring 900 and 60 bytes to 2, of which 10 are there; one of unknown size is on its way to 3, and one of
    30 bytes waits to bring them to 2 and 5.
    """
    with SnapshotWriter(path) as writer:
        sizes = {1: (None, None), 2: (5000, 1000), 3: (2000, 800), 4: (None, None), 5: (2000, None)}
        writer.brokers.extend((broker, None, "h", 1, *size, broker != 4) for broker, size in sizes.items())
        writer.log_dirs.extend([
            (3, "/a", True, 0, 1000, 500),
            (3, "/b", True, 1, 1000, 300),
            (3, "/c", True, 1, 1000, 300),
            (3, "/d", False, None, None, None),
        ])  # fmt: skip
        writer.partitions.extend([
            ("t", 0, [2, 1, 5], 1, [1], [2], [5], 900, None, None),
            ("t", 1, [2, 1], 1, [1], [2], [], 60, None, None),
            ("t", 2, [3, 1], 1, [1], [3], [], None, None, None),
            ("t", 3, [1], 1, [1], [2, 5], [1], 30, None, None, True),
            ("u", 0, [4, 5], 5, [5], [], [], 900, None, None),
        ])  # fmt: skip
        writer.replicas.extend([
            ("t", 0, 1, 900, "/x", False),
            ("t", 0, 2, 10, "/x", False),
            ("t", 1, 2, 60, "/x", True),  # a copy to another log dir
        ])  # fmt: skip
        writer.finish(SnapshotMeta("c1", 5))
    return path


def test_dp_2_plan_and_verifier_read_the_same_room_from_a_snapshot(tmp_path: Path, spark: SparkSession) -> None:
    path = write_snapshot(tmp_path / "s")
    found = arriving(CallsOnSpark(CallOnSpark(spark, 5), path, None))
    assert found == arriving(CallsHere(path))
    assert with_arriving(read_brokers(path), found) == {
        1: PlannerBroker(1),
        2: PlannerBroker(2, None, True, 5000, 1000, arriving=890 + 60 + 30),
        3: PlannerBroker(3, None, True, 2000, 800, arriving_unknown=1, volumes=(Volume(1000, 500), Volume(1000, 300))),
        4: PlannerBroker(4, None, False),
        5: PlannerBroker(5, None, True, 2000, arriving=30),
    }
    assert broker_spaces(path, 0.1, still_coming(path)) == {
        2: BrokerSpace(500 - 980, (500,)),
        3: BrokerSpace(600, (400, 200)),
        5: BrokerSpace(2000 - 1800 - 30 - 200, (-30,)),
    }


def test_dp_2_a_snapshot_without_log_dirs_has_brokers_of_one_volume(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "s")
    snapshot_files.table_path(path, "log_dirs").unlink()
    (path / META).write_text('{"cluster_id": "c1", "at": 5}')  # as of that release
    assert snapshot_files.check(path).cluster_id == "c1"
    assert read_brokers(path)[3] == PlannerBroker(3, None, True, 2000, 800)


def test_dp_2_room_that_moves_in_flight_will_take_is_not_planned_again(tmp_path: Path, spark: SparkSession) -> None:
    """The lost replica of u-0 has 900 bytes: 2 has 1000 free, but 980 are on their way; 3 has no volume for it."""
    path = write_snapshot(tmp_path / "s")
    goal, options = Goal(GoalKind.HEAL), PlanOptions(headroom=0.0)
    summary = plan_job.run(spark, PlanJob(path, tmp_path / "plan", goal, options))
    (to,) = [broker.broker for broker in summary.brokers if broker.after.replicas > broker.before.replicas]
    assert to == 1, "the only one with room, as far as one knows"


@pytest.mark.parametrize(
    ("sizes", "saying"),
    [
        ((500, 300), None),
        ((501,), "gets 1 replica of 501 bytes or more, its volumes have places for 0"),
        ((200, 200, 200, 200), "gets 4 replicas of 200 bytes or more, its volumes have places for 3"),
        ((300, 300, 201), "gets 801 bytes, has room for 800"),
    ],
)
def test_dp_3_the_verifier_finds_brokers_whose_volumes_cannot_hold_what_comes(
    sizes: tuple[int, ...], saying: str | None, tmp_path: Path, spark: SparkSession
) -> None:
    path = write_snapshot(tmp_path / "s")
    spaces = broker_spaces(path, 0.0, still_coming(path))
    found = dict(overfull_brokers(spaces, {3: sizes, 1: [10_000]}))
    assert list(found) == ([3] if saying else [])
    assert (saying or "") in found.get(3, "")


def test_dp_3_the_verifier_counts_what_is_on_its_way(tmp_path: Path, spark: SparkSession) -> None:
    path = write_snapshot(tmp_path / "s")
    spaces = broker_spaces(path, 0.0, still_coming(path))
    assert dict(overfull_brokers(spaces, {2: [21]})) == {2: "gets 21 bytes, has room for 20"}


def test_dp_3_a_broker_that_is_too_full_already_breaks_no_rule_if_nothing_comes(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "s")
    spaces = broker_spaces(path, 0.1, still_coming(path))
    assert spaces[2].total < 0
    assert list(overfull_brokers(spaces, {3: [1]})) == []
    assert [broker for broker, _ in overfull_brokers(spaces, {2: [1]})] == [2]
