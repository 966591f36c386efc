"""`plan show --bootstrap-server`: a plan beside the cluster as it is."""

import json
from collections import Counter
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.client import PartitionInfo, PartitionReassignment, ReassignmentClient, TopicPartition
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.pipeline.plans.move_list import ListedMove
from kafka_reassign_rpc.pipeline.submission import plan_difference
from kafka_reassign_rpc.pipeline.submission.plan_difference import ClusterNow, MoveState, compare, difference_text
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from tests.pipeline.plans import write_full_plan
from tests.pipeline.test_submit import assignment


def moved(topic: str, partition: int, before: list[int], after: list[int]) -> ListedMove:
    return ListedMove(topic, partition, before, after, before[0], 5, "why", "bytes", 1, 0)


def at_rest(topic: str, topic_id: str, *partitions: tuple[int, ...]) -> TopicInfo:
    return TopicInfo(topic, {i: PartitionInfo(one[0], one, one) for i, one in enumerate(partitions)}, None, topic_id)


def test_dp_9_each_move_is_done_moving_to_begin_or_does_not_fit_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_difference, "_MOVES", 2)
    now = ClusterNow(
        {
            "t": at_rest("t", "A", (1, 2), (3, 2), (9, 2), (3, 1, 2), (1, 2)),
            "again": at_rest("again", "B", (3, 2)),
            "unknown": at_rest("unknown", "C", (1, 2)),
        },
        {TopicPartition("t", 3): PartitionReassignment((3, 1, 2), (3,), (1,))},
        frozenset({1, 2, 3, 9}),
    )
    moves = [
        moved("t", 0, [1, 2], [3, 2]),
        moved("t", 1, [1, 2], [3, 2]),
        moved("t", 2, [1, 2], [3, 2]),
        moved("t", 3, [1, 2], [3, 2]),
        moved("t", 4, [1, 2], [4, 2]),
        moved("t", 5, [1, 2], [3, 2]),
        moved("again", 0, [1, 2], [3, 2]),
        moved("gone", 0, [1, 2], [3, 2]),
        moved("unknown", 0, [1, 2], [3, 2]),
    ]
    kinds: Counter[MoveState] = Counter()
    found = list(compare(moves, {"t": "A", "again": "A", "gone": "D"}, now, kinds))
    assert [one.move for one in found] == moves
    assert [one.text for one in found] == [
        "to begin",
        "done",
        "does not fit: has the replicas [9, 2], the plan was made for [1, 2]",
        "moving",
        "does not fit: broker 4 is not live",
        "does not fit: there is no such partition",
        "does not fit: the topic was deleted and made again: its id is B, in the snapshot A",
        "does not fit: the topic cannot be described: it does not exist",
        "to begin",
    ]
    assert difference_text(kinds) == "1 done, 1 moving, 2 to begin, 5 do not fit"


def test_dp_9_a_plan_is_compared_with_a_running_cluster(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = client.describe_everything()
    topic = next(one for one in everything.topics if len(one.partitions) > 1)
    standing = assignment(client, topic.name)
    [first, second, *_] = [tuple(standing[name]) for name in sorted(standing)[:2]]
    moves = [
        PlannedMove(topic.name, 0, (77, 78), first, 77, 5, 0, "why", "bytes"),
        PlannedMove(topic.name, 1, second, (77, *second[1:]), second[0], 5, 0, "why", "bytes"),
        PlannedMove("gone", 0, (1, 2), (3, 2), 1, 5, 0, "why", "bytes"),
    ]
    plan = write_full_plan(
        tmp_path / "plan", moves, cluster_id=everything.cluster_id, topic_ids={topic.name: topic.topic_id}
    )
    command = ["plan", "show", str(plan), "--bootstrap-server", bootstrap]
    assert main([*command, "--topic", topic.name, "--state", "done"]) == 4
    done, summary = capsys.readouterr().out.splitlines()
    assert done.startswith(f"{topic.name}-0  [77,78]")
    assert "  batch 1  done  why" in done
    assert summary == f"{plan}: 1 done, 0 moving, 0 to begin, 1 does not fit (1 move shown, 5 B)"

    assert main([*command, "--json", "--limit", "2"]) == 4
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["state"], one["why"]) for one in found] == [("done", ""), ("changed", "broker 77 is not live")]

    again = write_full_plan(
        tmp_path / "again", moves[:1], cluster_id=everything.cluster_id, topic_ids={topic.name: "another"}
    )
    assert main(["plan", "show", str(again), "--bootstrap-server", bootstrap]) == 4
    assert "the topic was deleted and made again" in capsys.readouterr().out
    fits = write_full_plan(tmp_path / "fits", moves[:1], cluster_id=everything.cluster_id)
    assert main(["plan", "show", str(fits), "--bootstrap-server", bootstrap]) == 0

    elsewhere = write_full_plan(tmp_path / "elsewhere", moves)
    assert main(["plan", "show", str(elsewhere), "--bootstrap-server", bootstrap]) == 2
    assert f"the plan is for cluster 4L6g3nShT-eMCtK--X86sw, this is cluster {everything.cluster_id}" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (("--state", "done"), "--state, --command-config: compare with a cluster; add --bootstrap-server"),
        (("--group", "topic", "--bootstrap-server", "localhost:1"), "--group: sums what the plan does"),
    ],
)
def test_dp_9_flags_that_make_no_sense_together_are_refused(
    arguments: tuple[str, ...], saying: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "show", "plan", *arguments]) == 2
    assert saying in capsys.readouterr().err
