"""Where a batch stands, what makes a cluster sick, and plans that cannot be read."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.client import PartitionInfo, PartitionReassignment, TopicPartition
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.core.kafka_errors import UnknownTopicOrPartition
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.plan_reader import PlanEntry, read_batch, read_plan
from kafka_reassign_rpc.pipeline.submission.batch_state import Health, HealthWatch, look, standing
from tests.pipeline.plans import write_plan

NAME = TopicPartition("t", 0)
BATCH = {NAME: PlanEntry("t", 0, (1, 2), (3, 4))}


def at_rest(*replicas: int) -> dict[str, object]:
    return {"t": {0: PartitionInfo(replicas[0], replicas, replicas)}}


@pytest.mark.parametrize(
    ("topics", "in_flight", "verdict"),
    [
        (at_rest(1, 2), {}, "done"),
        (at_rest(3, 4), {}, "not begun"),
        (at_rest(1, 2, 3, 4), {NAME: PartitionReassignment((1, 2, 3, 4), (1, 2), (3, 4))}, "moving"),
        (at_rest(1, 2, 3, 4), {}, "has the replicas [1, 2, 3, 4], the plan was made for [3, 4]"),
        (at_rest(4, 3), {}, "has the replicas [4, 3], the plan was made for [3, 4]"),
        (at_rest(3, 4), {NAME: PartitionReassignment((5, 3, 4), (5,), (3, 4))}, "moves to [5] already"),
        ({"t": {}}, {}, "there is no such partition"),
        ({"t": UnknownTopicOrPartition()}, {}, "the topic cannot be seen: This server does not host"),
        ({}, {}, "the topic cannot be seen: it is gone"),
    ],
)
def test_dp_4_where_a_partition_stands_is_told_by_the_cluster_alone(topics, in_flight, verdict: str) -> None:  # type: ignore[no-untyped-def]
    found = standing(BATCH, topics, in_flight)
    sets = {"done": found.done, "not begun": found.not_begun, "moving": found.moving}
    assert found.is_done == (verdict == "done")
    if verdict in sets:
        assert sets.pop(verdict) == {NAME}
        assert found.in_the_way == {}
    else:
        assert found.in_the_way[NAME].startswith(verdict)
    assert not any(sets.values())


def topic(**isr: tuple[int, ...]) -> list[TopicInfo]:
    """Partitions of three replicas each by their ISR."""
    return [TopicInfo(name, {0: PartitionInfo(1, (1, 2, 3), found)}, None) for name, found in isr.items()]


def test_dp_4_a_cluster_is_sick_when_something_is_worse_than_at_first_twice_in_a_row() -> None:
    first = look([1, 2, 3, 1000], topic(a=(1,), b=(1, 2, 3), c=(1, 2, 3)))
    assert first == Health(frozenset({1, 2, 3, 1000}), frozenset({1, 2, 3}), frozenset({TopicPartition("a", 0)}))
    watch = HealthWatch(first)
    watch.update(look([1, 2, 3], topic(a=(1,), b=(1,), c=(1,))), [TopicPartition("b", 0)])
    assert (watch.suspects, watch.verdict) == (True, None), "c is behind, once"
    watch.update(look([1, 2], topic(a=(1,), b=(1,), c=(1, 2, 3))), [TopicPartition("b", 0)])
    assert (watch.suspects, watch.verdict) == (True, None), "broker 3 is gone, once; a server that went is no loss"
    watch.update(look([1, 2], topic(a=(1,), b=(1,), c=(1, 2, 3))), [])
    assert watch.verdict == "broker 3 lost"
    watch.update(look([1], topic(a=(1,), b=(1,), c=(1, 2, 3))), [])
    assert watch.verdict == "broker 3 lost; 1 partitions that do not move are under-replicated: b-0"
    watch.update(first, [])
    assert watch.suspects is False
    assert watch.verdict is None


def test_dp_4_many_partitions_that_are_behind_are_counted_and_some_of_them_named() -> None:
    names = {f"t{index}": (1,) for index in range(8)}
    watch = HealthWatch(look([1], []))
    for _ in range(2):
        watch.update(look([1], topic(**names)), [])
    assert (
        watch.verdict == "8 partitions that do not move are under-replicated: t0-0, t1-0, t2-0, t3-0, t4-0 and 3 more"
    )


def test_dp_4_a_plan_is_read_with_its_batches_in_order(tmp_path: Path) -> None:
    path = write_plan(tmp_path / "p", "c", *({("t", n): ((1, 2), (3, 4))} for n in range(3)))
    plan = read_plan(path)
    assert (plan.info.kind, plan.info.cluster_id, plan.info.at) == ("rebalance", "c", 5)
    assert [list(read_batch(file, plan.info.kind)) for file in plan.batches] == [[("t", n)] for n in range(3)]


BAD = [
    ("{", "truncated"),
    ('{"partitions": [{"topic": "t"}]}', "missing required field `partition`"),
    ('{"version": 2, "partitions": []}', "version 2; this release reads version 1"),
    ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 1], "expected_replicas": [1, 2]}]}', "1 twice"),
    ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [], "expected_replicas": [1, 2]}]}', "no replicas"),
    ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [1], "expected_replicas": [1, 2]}]}', "from 2 to 1"),
    ('{"partitions": [{"topic": "t", "partition": 0, "replicas": ["1"], "expected_replicas": []}]}', "Expected `int`"),
]


@pytest.mark.parametrize(("text", "saying"), BAD, ids=[saying for _, saying in BAD])
def test_dp_4_a_batch_that_no_server_would_take_is_named_before_anything_is_sent(
    tmp_path: Path, text: str, saying: str
) -> None:
    file = tmp_path / "batch-0001.json"
    file.write_text(text)
    with pytest.raises(BadInput, match=r"batch-0001\.json: .*" + saying.replace("`", ".")):
        read_batch(file, "rebalance")


def test_dp_4_a_partition_that_is_in_a_batch_twice_and_a_plan_that_is_not_there_are_named(tmp_path: Path) -> None:
    one = '{"topic": "t", "partition": 0, "replicas": [1], "expected_replicas": [2]}'
    (tmp_path / "b.json").write_text(f'{{"partitions": [{one}, {one}]}}')
    with pytest.raises(BadInput, match="t-0 is there twice"):
        read_batch(tmp_path / "b.json", "rebalance")
    with pytest.raises(BadInput, match="nowhere: no such directory"):
        read_plan(tmp_path / "nowhere")
    with pytest.raises(BadInput, match=r"summary\.json: is missing"):
        read_plan(tmp_path)
    grown = '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2], "expected_replicas": [2]}]}'
    (tmp_path / "b.json").write_text(grown)
    assert list(read_batch(tmp_path / "b.json", "set-rf")) == [NAME]
