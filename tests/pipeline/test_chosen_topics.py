"""Which topics `plan --topics` and `--exclude-topics` mean."""

from pathlib import Path

import msgspec
import pytest

from kafka_reassign_rpc.cli.plan_command import summary_text
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.planning.chosen_topics import chosen_topics
from kafka_reassign_rpc.pipeline.plans.plan_summary import BrokerFigures, LoadFigures, TopicFigures, outside_tolerance
from kafka_reassign_rpc.pipeline.plans.why_not_better import shortfalls
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.store_paths import store_path
from tests.pipeline.plans import SUMMARY

NAMES = ("__consumer_offsets", "orders-eu", "orders-test", "orders-us", "users")


def snapshot(path: Path, *, of_now: bool) -> Path:
    with SnapshotWriter(path) as writer:
        writer.brokers.add((1, None, "h", 1, None, None, True))
        for name in NAMES:
            if of_now:
                writer.topics.add((name, None))
            writer.partitions.add((name, 0, [1], 1, [1], [], [], 1, None, None))
        writer.finish(SnapshotMeta("c", 1))
    return path


@pytest.mark.parametrize("of_now", [True, False])
@pytest.mark.parametrize(("wanted", "excluded", "chosen"), [
    ((), (), ()),
    (("users",), (), ("users",)),
    (("orders-*", "users"), (), ("orders-eu", "orders-test", "orders-us", "users")),
    (("orders-*",), ("*-test",), ("orders-eu", "orders-us")),
    ((), ("__*", "orders-??"), ("orders-test", "users")),
])  # fmt: skip
def test_dp_2_patterns_and_exclusions_choose_topics_of_the_snapshot(
    tmp_path: Path, wanted: tuple[str, ...], excluded: tuple[str, ...], chosen: tuple[str, ...], *, of_now: bool
) -> None:
    assert chosen_topics(snapshot(tmp_path / "s", of_now=of_now), wanted, excluded) == chosen


@pytest.mark.parametrize(("wanted", "excluded", "says"), [
    (("order_*",), (), "--topics: the snapshot has no topic order_*"),
    (("users",), ("user",), "--exclude-topics: the snapshot has no topic user"),
    (("orders-*",), ("order*",), "--exclude-topics: no topic is left"),
])  # fmt: skip
def test_dp_2_what_matches_no_topic_is_an_error(
    tmp_path: Path, wanted: tuple[str, ...], excluded: tuple[str, ...], says: str
) -> None:
    with pytest.raises(BadInput) as raised:
        chosen_topics(snapshot(tmp_path / "s", of_now=True), wanted, excluded)
    assert str(raised.value) == says


def test_dp_2_a_tolerance_is_missed_by_measures_that_are_known_and_count() -> None:
    held = BrokerFigures(1, None, True, None, LoadFigures(bytes=1, leaders=1), LoadFigures(), LoadFigures())
    far = {"bytes": 0.11, "replicas": 0.5, "leaders": 0.5}
    requested = msgspec.structs.replace(SUMMARY.requested, weights={"bytes": 1.0, "replicas": 1.0, "leaders": 0.0})
    told = {"requested": requested, "brokers": [held], "imbalance_before": far, "imbalance_after": far}
    summary = msgspec.structs.replace(SUMMARY, **told)
    assert outside_tolerance(summary) == ["bytes"]
    assert outside_tolerance(msgspec.structs.replace(summary, imbalance_after=far | {"bytes": 0.1})) == []


def test_dp_9_of_a_plan_that_expands_the_new_brokers_alone_are_held_against_until() -> None:
    at = [(1, 300, 100), (2, 80, 100), (3, 0, 0)]
    listed = [
        BrokerFigures(n, None, True, None, LoadFigures(held), LoadFigures(held), LoadFigures(target))
        for n, held, target in at
    ]
    summary = msgspec.structs.replace(
        SUMMARY, kind="expand", brokers=listed, imbalance_before={"bytes": 2.0}, imbalance_after={"bytes": 2.0},
        requested=msgspec.structs.replace(SUMMARY.requested, brokers=[2, 3], weights={"bytes": 1.0}, tolerance=0.1),
    )  # fmt: skip
    assert outside_tolerance(summary) == ["bytes"]
    wider = msgspec.structs.replace(summary.requested, tolerance=0.25)
    assert outside_tolerance(msgspec.structs.replace(summary, requested=wider)) == []


def test_dp_9_a_broker_exactly_at_the_edge_of_the_tolerance_is_within_it_in_every_text_and_exit_code() -> None:
    """44 of 40 are 10 %, which floating point makes 0.10000000000000009."""
    loads = [LoadFigures(held, held, held) for held in (44, 40, 36)]
    even = LoadFigures(40, 40, 40)
    brokers = [BrokerFigures(n, None, True, None, of, of, even) for n, of in enumerate(loads, 1)]
    far = dict.fromkeys(("bytes", "replicas", "leaders"), 44 / 40 - 1)
    assert far["bytes"] > 0.1
    asked = msgspec.structs.replace(SUMMARY.requested, weights={"bytes": 1.0, "replicas": 1.0, "leaders": 1.0})
    summary = msgspec.structs.replace(
        SUMMARY, requested=asked, brokers=brokers, imbalance_before=far, imbalance_after=far
    )
    assert outside_tolerance(summary) == []
    assert {one.reasons[0] for one in shortfalls(summary)} == {"within the tolerance of 10%"}
    narrower = msgspec.structs.replace(summary, requested=msgspec.structs.replace(asked, tolerance=0.0999))
    assert len(outside_tolerance(narrower)) == 3


def test_dp_9_a_plan_without_moves_says_what_it_leaves_uneven() -> None:
    loads = [LoadFigures(held, 1, 1) for held in (130, 70)]
    even = LoadFigures(100, 1, 1)
    brokers = [BrokerFigures(n, None, True, None, of, of, even) for n, of in enumerate(loads, 1)]
    asked = msgspec.structs.replace(SUMMARY.requested, weights={"bytes": 1.0, "topic_leaders": 1.0})
    far = {"bytes": 0.3}
    summary = msgspec.structs.replace(
        SUMMARY,
        requested=asked,
        brokers=brokers,
        imbalance_before=far,
        imbalance_after=far,
        topics_before=TopicFigures(leaders=4),
        topics_after=TopicFigures(leaders=4),
    )
    summary = msgspec.structs.replace(summary, why_not_better=shortfalls(summary))
    first, topics, why = summary_text(summary, store_path("plan")).splitlines()
    assert first == "plan: nothing to move among 100 partitions"
    assert topics == "  topics    4 leaders of topics are more than even on their brokers, then 4"
    assert why.startswith("  why       bytes: broker 1 has 130% of its target: ")
    inside = msgspec.structs.replace(
        summary, requested=msgspec.structs.replace(asked, tolerance=0.3), topics_after=None
    )
    assert summary_text(inside, store_path("plan")) == first
