"""Plans as submit reads them; a batch that no server would accept is named."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kafka_reassign_rpc.client import TopicPartition
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.batch_reader import read_batch, read_plan
from tests.pipeline.plans import SUMMARY, write_full_plan, write_plan
from tests.tables import for_each


def test_dp_4_a_plan_is_read_with_its_batches_in_order(tmp_path: Path) -> None:
    path = write_plan(tmp_path / "p", "c", *({("t", n): ((1, 2), (3, 4))} for n in range(3)))
    plan = read_plan(path)
    assert (plan.summary.kind, plan.summary.cluster_id, plan.summary.at) == ("rebalance", "c", 5)
    assert [list(read_batch(file, plan.summary.kind)) for file in plan.batches] == [[("t", n)] for n in range(3)]


def test_dp_4_batches_are_read_in_the_order_of_their_numbers_however_many_there_are(tmp_path: Path) -> None:
    path = write_plan(tmp_path / "p", "c")
    numbers = [1, 2, 999, 9999, 10_000, 10_001, 20_000, 100_000]
    for number in numbers:
        (path / "batches" / f"batch-{number:04d}.json").touch()
    assert [int(file.stem.partition("-")[2]) for file in read_plan(path).batches] == numbers
    (path / "batches" / "batch-one.json").touch()
    with pytest.raises(BadInput, match=r"batch-one\.json: no number of a batch"):
        read_plan(path)


BAD = [
    ("{", "truncated"),
    ('{"partitions": [{"topic": "t"}]}', "missing required field `partition`"),
    ('{"version": 2, "partitions": []}', "version 2; this release reads version 1"),
    ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 1], "expected_replicas": [1, 2]}]}', "1 twice"),
    ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [], "expected_replicas": [1, 2]}]}', "no replicas"),
    ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [1], "expected_replicas": [1, 2]}]}', "from 2 to 1"),
    ('{"partitions": [{"topic": "t", "partition": 0, "replicas": ["1"], "expected_replicas": []}]}', "Expected `int`"),
    ('{"partitions": [{"topic": "t", "partition": -1, "replicas": [1], "expected_replicas": [2]}]}', ">= 0"),
    ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [2147483648], "expected_replicas": [2]}]}', "<= 21"),
]


@pytest.mark.parametrize(("text", "saying"), BAD, ids=[saying for _, saying in BAD])
def test_dp_4_a_batch_that_no_server_would_take_is_named_before_anything_is_sent(
    tmp_path: Path, text: str, saying: str
) -> None:
    file = tmp_path / "batch-0001.json"
    file.write_text(text)
    with pytest.raises(BadInput, match=r"batch-0001\.json: .*" + saying.replace("`", ".")):
        read_batch(file, "rebalance")


@pytest.mark.parametrize("number", [0, -1])
def test_dp_4_a_plan_with_no_move_at_a_time_is_refused_and_not_waited_for(tmp_path: Path, number: int) -> None:
    with pytest.raises(BadInput, match=r"summary\.json: .*>= 1"):
        read_plan(write_plan(tmp_path / "p", "c", moves_per_broker=number))


IMPOSSIBLE: list[tuple[str, dict[str, Any]]] = [
    (">= 1", {"bandwidth": 0}),
    (">= 1", {"throttle": 0}),
    (">= 1", {"broker_bandwidth": {3: 0}}),
    ("balance", {"kind": "balance"}),
    ("bytes", {"imbalance_after": {"colour": 1.0}}),
    ("bytes", {"reachable": {"colour": {1: 1.0}}}),
    ("bytes", {"requested": {"broker_max": {"colour": {1: 1}}}}),
    ("> 0", {"requested": {"broker_weights": {1: {"bytes": -1.0}}}}),
    (">= 0", {"requested": {"headroom": -1.0}}),
    ("topic", {"requested": {"weights": {"colour": 1.0}}}),
]


@for_each(("saying", "figures"), IMPOSSIBLE, ids=[str(figures) for _, figures in IMPOSSIBLE])
def test_dp_3_figures_that_no_plan_has_are_refused_before_anyone_counts_with_them(
    tmp_path: Path, saying: str, figures: dict[str, Any]
) -> None:
    path = tmp_path / str(figures)[:100].replace("/", "")
    if "requested" in figures:
        figures = {"requested": msgspec.structs.replace(SUMMARY.requested, **figures["requested"])}
    with pytest.raises(BadInput, match=rf"summary\.json: .*{saying}"):
        read_plan(write_full_plan(path, **figures))


def test_dp_4_two_files_of_one_batch_are_named(tmp_path: Path) -> None:
    path = write_plan(tmp_path / "p", "c", {("t", 0): ((1, 2), (3, 4))})
    (path / "batches" / "batch-1.json").touch()
    with pytest.raises(BadInput, match=r"batches: batch-0001\.json and batch-1\.json are of one batch"):
        read_plan(path)


def test_dp_4_a_partition_twice_in_a_batch_and_a_missing_plan_are_named(tmp_path: Path) -> None:
    one = '{"topic": "t", "partition": 0, "replicas": [1], "expected_replicas": [2]}'
    (tmp_path / "b.json").write_text(f'{{"partitions": [{one}, {one}]}}')
    with pytest.raises(BadInput, match="t-0 occurs twice"):
        read_batch(tmp_path / "b.json", "rebalance")
    with pytest.raises(BadInput, match="nowhere: no such directory"):
        read_plan(tmp_path / "nowhere")
    with pytest.raises(BadInput, match=r"no plan \(summary\.json is missing\)"):
        read_plan(tmp_path)
    grown = '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2], "expected_replicas": [2]}]}'
    (tmp_path / "b.json").write_text(grown)
    assert list(read_batch(tmp_path / "b.json", "set-rf")) == [TopicPartition("t", 0)]
