"""Rates over several snapshots: the highest, or their mean."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots.growth_rates import NO_RATES, Rates, RatesOverTime
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from tests.pipeline.test_export import PartlySilentCluster, exported, rows, run


def rated(
    path: Path, at: int, rates: Sequence[tuple[Any, ...]], topic_id: str | None = None, cluster: str = "c1"
) -> None:
    with SnapshotWriter(path) as writer:
        writer.topics.add(("a", topic_id))
        for index, (produce, fetch, messages, cpu) in enumerate(rates):
            writer.partitions.add(("a", index, [1], 1, [1], [], [], 9, produce, fetch, None, messages, cpu))
        writer.finish(SnapshotMeta(cluster, at))


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("max", [(30.0, 2.0, None, 7.0), (5.0, None, 4.0, None)]),
        ("mean", [(20.0, 2.0, None, 7.0), (5.0, None, 4.0, None)]),
    ],
)
def test_dp_13_rates_over_time_are_the_highest_or_the_mean_of_those_that_are_told(
    tmp_path: Path, how: str, found: list[Rates]
) -> None:
    """Partition 1 is told by one snapshot, and by what is known now."""
    for at, rates in ((1, [(10.0, 2.0, None, None)]), (2, [(30.0, None, None, 7.0), (5.0, None, None, None)])):
        rated(tmp_path / str(at), at, rates)
    over_time = RatesOverTime(tmp_path, how).of("a", "id")
    now: list[Rates] = [(20.0, None, None, None), (None, None, 4.0, None)]
    assert [over_time(index, rates) for index, rates in enumerate(now)] == found
    assert RatesOverTime(tmp_path, how).of("b", "id")(0, now[0]) == now[0]


def test_dp_13_rates_of_a_topic_that_was_made_again_are_not_those_of_the_one_before(tmp_path: Path) -> None:
    for at, topic_id in ((1, "old"), (2, "new"), (3, None)):
        rated(tmp_path / str(at), at, [(100.0 / at, None, None, None)], topic_id)
    over_time = RatesOverTime(tmp_path, "max")
    assert over_time.of("a", "new")(0, NO_RATES)[0] == 50.0
    assert over_time.of("a", "old")(0, NO_RATES)[0] == over_time.of("a", None)(0, NO_RATES)[0] == 100.0


def test_dp_13_an_export_writes_rates_over_time_and_refuses_those_of_another_cluster(tmp_path: Path) -> None:
    rated(tmp_path / "over" / "one", 1, [(100.0, 8.0, None, None)])
    exported(PartlySilentCluster(), tmp_path / "out", over_time=RatesOverTime(tmp_path / "over", "max"))
    [row] = [row for row in rows(tmp_path / "out", "partitions") if (row["topic"], row["partition"]) == ("a", 0)]
    assert (row["produce_rate"], row["fetch_rate"], row["message_rate"]) == (100.0, 8.0, None)
    rated(tmp_path / "other" / "one", 1, [(1.0, 1.0, None, None)], cluster="c2")
    with pytest.raises(BadInput, match="other: is of cluster c2, this is cluster c1"):
        exported(PartlySilentCluster(), tmp_path / "none", over_time=RatesOverTime(tmp_path / "other", "max"))
    code, _, err = run("export", "--bootstrap-server", "127.0.0.1:1", "--rates-over", str(tmp_path / "over"),
                       "--out", str(tmp_path / "over" / "two"))  # fmt: skip
    assert (code, "--out: lies in --rates-over" in err) == (2, True)
