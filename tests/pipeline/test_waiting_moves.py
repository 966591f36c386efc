"""Moves that wait in the queue: a snapshot has them, plans leave them alone, audits count their targets."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafka_reassign_rpc.client import (
    QUEUE,
    ClusterNode,
    KafkaError,
    MoveTerms,
    PartitionInfo,
    PartitionReassignment,
    ReassignmentClient,
    TopicPartition,
)
from kafka_reassign_rpc.pipeline.plans import plan_summary
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.growth_rates import EarlierSizes
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.planner.proposals.forced_proposals import ON_ITS_WAY
from tests.pipeline.test_export import PartlySilentCluster, exported, run

pytestmark = [pytest.mark.gate, pytest.mark.usefixtures("shared")]

INCOMPLETE = 4
"""The exit code of a plan that leaves out partitions which it should move."""
QUEUED = 40
"""Partitions whose repairs wait."""


def healing_cluster(*, reordered: bool = True) -> PartlySilentCluster:
    """Broker 4 of four is lost, and held a replica of all partitions. Self-healing has queued all repairs but two.

    reordered: the first partition waits for another order of its replicas: it has no adding and no removing replicas
    """
    names = [TopicPartition("a", index) for index in range(QUEUED + 2)]
    repair = PartitionReassignment((1, 4), (2,), (4,), state="waiting", route="heal")
    reorder = PartitionReassignment((1, 4), state="waiting")
    cluster = PartlySilentCluster(dict.fromkeys(names[:QUEUED], repair) | ({names[0]: reorder} if reordered else {}))
    cluster.nodes = [ClusterNode(broker, "h", 1, None) for broker in (1, 2, 3)]
    cluster.topics = {"a": {name.partition: PartitionInfo(1, (1, 4), (1,)) for name in names}}
    cluster.errors, cluster.silent = {}, frozenset()
    return cluster


def planned_moves(path: Path) -> dict[tuple[str, int], Any]:
    return {
        (entry["topic"], entry["partition"]): entry["replicas"]
        for file in sorted((path / "batches").iterdir())
        for entry in json.loads(file.read_bytes())["partitions"]
    }


def without_waiting(snapshot: Path) -> None:
    """Make it a snapshot of release 0.1.0."""
    for file in (snapshot / "partitions").iterdir():
        pq.write_table(pq.read_table(file).drop_columns(["waiting"]), file)


@pytest.mark.parametrize("is_old", [False, True])
def test_dp_1_a_plan_that_heals_after_repairs_were_queued_plans_none_of_them_again(
    tmp_path: Path, is_old: bool
) -> None:
    snapshot, plan = tmp_path / "snapshot", tmp_path / "plan"
    found = exported(healing_cluster(), snapshot)
    assert (found.moving, found.waiting) == (0, QUEUED)
    if is_old:
        without_waiting(snapshot)
        assert EarlierSizes(snapshot).rate("a", 0, 10, 2**62) == 0
        assert snapshot_files.read(snapshot, "partitions")["waiting"].null_count == QUEUED + 2

    code, _, err = run("plan", "heal", "--snapshot", str(snapshot), "--out", str(plan))

    assert code == (0 if is_old else INCOMPLETE), err
    # A snapshot of that release cannot tell that the first one waits.
    assert planned_moves(plan).keys() == {("a", index) for index in (QUEUED, QUEUED + 1, *range(is_old))}
    left_out = {one.reason: one.partitions for one in plan_summary.read_summary(plan).left_out}
    assert left_out == {ON_ITS_WAY: QUEUED - 1} | ({} if is_old else {"its reassignment is in flight": 1})


def test_dp_2_a_plan_is_complete_where_all_that_it_leaves_out_is_on_its_way(tmp_path: Path) -> None:
    snapshot, plan = tmp_path / "snapshot", tmp_path / "plan"
    exported(healing_cluster(reordered=False), snapshot)

    code, out, err = run("plan", "heal", "--snapshot", str(snapshot), "--out", str(plan))

    assert code == 0, err
    assert out.startswith(f"{plan}: 2 of {QUEUED + 2} partitions move in 1 batch\n")
    assert f"left out: {QUEUED} partitions, 400 B: {ON_ITS_WAY} (a-0, a-1, a-2, a-3, a-4, …)" in err.splitlines()
    assert plan_summary.read_summary(plan).complete


def test_dp_5_an_audit_counts_a_waiting_partition_with_its_target(tmp_path: Path) -> None:
    for at, adding, removing, waiting in ((5, [], [], False), (6, [3], [2], True)):
        with SnapshotWriter(tmp_path / "snaps" / str(at)) as writer:
            racks = {1: "a", 2: "b", 3: "a"}
            writer.brokers.extend((broker, rack, "h", 1, None, None, True) for broker, rack in racks.items())
            writer.partitions.add(("t", 0, [1, 2], 1, [1, 2], adding, removing, 10, None, None, waiting))
            writer.finish(SnapshotMeta("c1", at))
    _, out, _ = run("audit", "--snapshots", str(tmp_path / "snaps"), "--json")
    found = json.loads(out)
    assert found["drift"]["total"] == 0, "it had two replicas, and will have two"
    [violation] = found["rack_violations"]["rows"]
    assert violation["replicas"] == [1, 3], "the waiting move leads into one rack"


def test_dp_4_a_plan_made_while_moves_wait_leaves_them_out_and_fits_the_cluster(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    snapshot, plan = str(tmp_path / "snapshot"), str(tmp_path / "plan")
    topic = client.describe_topics(["orders"])["orders"]
    assert not isinstance(topic, KafkaError)
    on_six = [("orders", index) for index, partition in topic.items() if 6 in partition.replicas]
    queued = {name: MoveTerms(tuple(b for b in topic[name[1]].replicas if b != 6), QUEUE) for name in on_six[:2]}
    client.disable()
    try:
        assert not any(client.alter_partition_reassignments(queued).values())
        code, said, err = run("export", "--bootstrap-server", bootstrap, "--out", snapshot)
        assert (code, err) == (0, "")
        assert "42 partitions, 2 waiting to move, " in said
        arguments = ("--brokers", "6", "--topics", "orders", "--snapshot", snapshot, "--out", plan)
        code, _, err = run("plan", "drain", *arguments)
        assert code == 0, err
        assert planned_moves(tmp_path / "plan").keys() == set(on_six) - queued.keys()
        code, out, err = run("submit", "--plan", plan, "--bootstrap-server", bootstrap)
        assert code == 0, err
        assert f"{len(on_six) - 2} moves to begin" in out
    finally:
        client.enable()
        client.cancel_partition_reassignments(client.list_partition_reassignments())
