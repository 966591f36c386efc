"""Notes of a plan follow from its snapshot and from what was asked for."""

import random
from pathlib import Path

import msgspec
import pytest

from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.planning.verify_job import verify
from kafka_reassign_rpc.pipeline.plans.plan_summary import SUMMARY
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import OF_ALL_BROKERS, SnapshotMeta
from kafka_reassign_rpc.pipeline.topic_pieces import CallHere
from kafka_reassign_rpc.planner.goals_and_options import Effort, Goal, GoalKind, GoalWeights, PlanOptions
from kafka_reassign_rpc.planner.network_limits import NetworkLimits


def write_noted_snapshot(path: Path) -> Path:
    """Broker 2 is cordoned, 4 lost, 5 has no rack, 6 tells more free than there is, 20 is not listed; sizes of some
    partitions are not known, and of others the replicas are odd.
    """
    chance = random.Random(7)
    with SnapshotWriter(path) as writer:
        for broker, rack in enumerate("abcab", 1):
            sizes = (4_000_000, 2_000_000) if broker != 4 else (None, None)
            writer.brokers.add((broker, None if broker == 5 else rack, "h", 9092, *sizes, broker != 4, broker == 2))
        writer.brokers.add((6, "c", "h", 9092, 10, 20, True, False))
        for index in range(60):
            held = [chance.randrange(1, 7), 20] if index == 20 else chance.sample(range(1, 7), 2)
            isr = [broker for broker in held if broker not in (4, 20)]
            size = None if index % 7 == 0 else chance.randrange(20_000)
            if index in (11, 14):
                held = [1, 1] if index == 11 else []
            leader = isr[0] if isr and index != 11 else None
            writer.partitions.add(("t", index, held, leader, isr if held else [], [], [], size, None, None, None, None))
        writer.partitions.add(("u", 0, [3], 3, [3], [], [], 10, None, None, None, None))
        writer.configs.add(("topic", "t", "min.insync.replicas", "2"))
        rate = ("broker", "", "follower.replication.throttled.rate", "1000", OF_ALL_BROKERS)
        writer.configs.add(rate)
        writer.finish(SnapshotMeta(cluster_id="c", at=5))
    return path


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        (Goal(GoalKind.DRAIN, (3,)), ["cordoned", "no change can begin", "does not list", "no size is known of",
                                      "lose", "fall", "stricter", "cordons", "the mean of the others", "no rack",
                                      "bytes free of", "allows already"]),
        (Goal(GoalKind.REBALANCE), ["changes nothing", "the disks of"]),
    ],
    ids=lambda given: str(given.kind) if isinstance(given, Goal) else "",
)  # fmt: skip
def test_dp_3_a_note_that_is_left_out_changed_or_invented_is_found(goal: Goal, said: list[str], tmp_path: Path) -> None:
    snapshot, plan = write_noted_snapshot(tmp_path / "snapshot"), tmp_path / "plan"
    options = PlanOptions(
        network=NetworkLimits(throttle=5_000), weights=GoalWeights(cpu=1.0), effort=Effort.NONE,
        broker_max={"replicas": {1: 3}},
    )  # fmt: skip
    made = plan_job.run_here(PlanJob(snapshot, plan, goal, options))
    assert [one for one in said if not any(one in note for note in made.notes)] == []
    changed = [[*made.notes[:place], *made.notes[place + 1 :]] for place in range(len(made.notes))]
    changed += [
        [note.replace("1", "8") + " now" if note is other else note for note in made.notes] for other in made.notes
    ]
    for notes in (*changed, [*made.notes, "all is well"], [*made.notes, made.notes[0]], made.notes[::-1]):
        (plan / SUMMARY).write_bytes(msgspec.json.encode(msgspec.structs.replace(made, notes=notes)))
        assert {(one.rule, one.name) for one in verify(CallHere(), snapshot, plan)} == {("summary", "notes")}
