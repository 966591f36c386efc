"""Why a plan is no better: each reason in a case made by hand, and its opposite."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BrokerFigures,
    ImpactFigures,
    LargestFigures,
    LoadFigures,
    PlanRequest,
    PlanSummary,
)
from kafka_reassign_rpc.pipeline.plans.why_not_better import shortfall_lines, shortfalls
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind
from tests.pipeline.plans import SUMMARY
from tests.tables import for_each


def broker(number: int, after: float, target: float = 100.0, **more: Any) -> BrokerFigures:
    """A broker with so many bytes after the plan; ten bytes are a replica."""
    given: dict[str, Any] = {"rack": None, "capacity": None, "before": after, "free": None, **more}
    rack, capacity, free = given["rack"], given["capacity"], given["free"]
    before = LoadFigures(given["before"], after / 10)
    return BrokerFigures(number, rack, True, capacity, before, LoadFigures(after, 5), LoadFigures(target, 5), free)


def in_a(number: int, after: float) -> BrokerFigures:
    return broker(number, after, rack="a")


def summary(
    *brokers: BrokerFigures, kind: str = "rebalance", largest: int = 0, copied: int = 50, **asked: Any
) -> PlanSummary:
    request = msgspec.structs.replace(SUMMARY.requested, **{"weights": {"bytes": 1.0}, **asked})
    assert isinstance(request, PlanRequest)
    return msgspec.structs.replace(
        SUMMARY,
        kind=kind,
        requested=request,
        brokers=list(brokers),
        bytes=copied,
        imbalance_before={"bytes": 1.0},
        largest=LargestFigures("orders-0", largest) if largest else None,
    )


def lines(given: PlanSummary) -> list[str]:
    return shortfall_lines(msgspec.structs.replace(given, why_not_better=shortfalls(given)))


UNEVEN_RACKS = (
    broker(1, 150, rack="a"),
    broker(2, 140, rack="a"),
    broker(3, 55, rack="b"),
    broker(4, 55, rack="b"),
)
NOTHING_FOUND = (
    "the plan has found nothing that leads nearer, no proof that there is nothing: --weight bytes=… lets this measure "
    "count more, another --seed tries other changes"
)


@for_each(
    ("given", "reason"),
    [
        (summary(broker(1, 108), broker(2, 92)), "within the tolerance of 10%"),
        (summary(broker(1, 130), broker(2, 70)), NOTHING_FOUND),
        (summary(broker(1, 130), broker(2, 70), tolerance=0.4), "within the tolerance of 40%"),
        (summary(broker(1, 130), broker(2, 70), weights={"bytes": 0.0}), "it does not count (--weight bytes=0)"),
        (
            summary(broker(1, 130), broker(2, 70), copied=98, max_bytes=100),
            "--max-bytes allows to copy 100 B, the plan copies 98 B",
        ),
        (summary(broker(1, 130), broker(2, 70), copied=60, max_bytes=100), NOTHING_FOUND),
        (
            summary(broker(1, 130), broker(2, 70), largest=125),
            "one replica of orders-0 has 125 B, more than the target of any broker",
        ),
        (summary(broker(1, 130), broker(2, 70), largest=109), NOTHING_FOUND),
        (summary(broker(1, 130), broker(2, 70, target=130), largest=125), NOTHING_FOUND),
        (
            msgspec.structs.replace(summary(broker(1, 130), broker(2, 70), topics=["t"]), other_topics=1),
            "only partitions of the topic t may move",
        ),
        (summary(broker(1, 130), broker(2, 70), topics=["t"]), NOTHING_FOUND),  # the cluster has no other topic
        (
            msgspec.structs.replace(summary(broker(1, 130), broker(2, 70), least_bytes=50), too_small=1),
            "partitions below 50 B stay as they are (--least-bytes)",
        ),
        (summary(broker(1, 130), broker(2, 70), least_bytes=50), NOTHING_FOUND),  # nothing is smaller
        (summary(*UNEVEN_RACKS), NOTHING_FOUND),  # the plan could aim at the targets themselves
        (
            msgspec.structs.replace(summary(*UNEVEN_RACKS), reachable={"bytes": {1: 140, 2: 140, 3: 60, 4: 60}}),
            "racks that keep the replicas of partitions apart let the plan aim at 140% here; rack a as a whole has "
            "145%",
        ),
        (
            msgspec.structs.replace(summary(*UNEVEN_RACKS), reachable={"bytes": {1: 105, 2: 105, 3: 95, 4: 95}}),
            NOTHING_FOUND,  # that explains a tenth of it
        ),
        (
            summary(*UNEVEN_RACKS, kind="drain"),
            "rack a as a whole has 145%, and partitions end on as many racks as before, or more",
        ),
        (
            msgspec.structs.replace(summary(*UNEVEN_RACKS, kind="drain"), impact=ImpactFigures(fewer_racks=30)),
            "drain moves only what has to move: `plan rebalance` evens out the rest",
        ),
        (
            summary(
                broker(1, 150, rack="a"), broker(2, 60, rack="a"), broker(3, 95, rack="b"), broker(4, 95, rack="b")
            ),
            NOTHING_FOUND,
        ),
        (
            summary(broker(1, 150), broker(2, 50, capacity=100, free=12, before=50)),
            "broker 2 has no room for one more replica of the mean size beside the headroom of 5%",
        ),
        (summary(broker(1, 150), broker(2, 50, capacity=1000, free=500)), NOTHING_FOUND),
        (
            summary(broker(1, 150), broker(2, 50), broker_max={"bytes": {2: 59}}),
            "one more replica of the mean size on broker 2 would be more than --broker-max-bytes allows",
        ),
        (summary(broker(1, 150), broker(2, 50), broker_max={"bytes": {2: 70}}), NOTHING_FOUND),
        (summary(broker(1, 150), broker(2, 50), broker_max={"bytes": {1: 150}}), NOTHING_FOUND),
        (
            summary(broker(1, 150), broker(2, 50, capacity=1000, free=70, before=40), headroom=0.05),
            "broker 2 has no room for one more replica of the mean size beside the headroom of 5%",
        ),
        (
            summary(broker(1, 150), broker(2, 75, capacity=100, free=2), broker(3, 75)),
            NOTHING_FOUND,
        ),
        (
            summary(broker(1, 40), broker(2, 130), broker(3, 130), kind="expand", brokers=[2, 3]),
            "expand brings replicas to brokers 2, 3 alone, for balance, and leaves the other brokers as they are: "
            "`plan rebalance` evens them out",
        ),
        (
            summary(broker(1, 160), broker(2, 70), broker(3, 70), kind="expand", brokers=[3]),
            "expand brings replicas to broker 3 alone, for balance, and leaves the other brokers as they are: "
            "`plan rebalance` evens them out",
        ),
        (
            summary(broker(1, 130), broker(2, 70), weights={"bytes": 1.0, "topic_leaders": 1.0}),
            "topics stay spread (--weight topic_leaders), so partitions are not searched one by one",
        ),
        (
            summary(broker(1, 130), broker(2, 70), broker_max={"bytes_in": {1: 10**9}}),
            "with --broker-max-bytes-in partitions are not searched one by one",
        ),
        (
            summary(broker(1, 150), broker(2, 50), kind="drain"),
            "drain moves only what has to move: `plan rebalance` evens out the rest",
        ),
    ],
)
def test_dp_9_why_no_plan_does_better_is_told_from_its_figures(given: PlanSummary, reason: str) -> None:
    worst = max(given.brokers, key=lambda one: (abs(one.after.bytes / one.target.bytes - 1), -one.broker))
    share = worst.after.bytes / worst.target.bytes
    assert lines(given) == [f"bytes: broker {worst.broker} has {share:.0%} of its target: {reason}"]


def test_dp_9_several_reasons_are_all_told() -> None:
    given = summary(
        broker(1, 150, rack="a"),
        broker(2, 50, rack="b", capacity=100, free=3),
        largest=120,
        kind="set-rf",
        topics=["t", "u"],
    )
    [line] = lines(msgspec.structs.replace(given, other_topics=3))
    assert line.split(": ", 2)[2].split("; ") == [
        "one replica of orders-0 has 120 B, more than the target of any broker",
        "rack a as a whole has 150%, and partitions end on as many racks as before, or more",
        "broker 2 has no room for one more replica of the mean size beside the headroom of 5%",
        "only partitions of 2 topics may move",
    ]


def test_dp_9_measures_with_the_same_reason_share_a_line() -> None:
    given = summary(broker(1, 150), broker(2, 50), kind="drain")
    replicas = [
        BrokerFigures(one.broker, None, True, None, one.before, LoadFigures(one.after.bytes, held), LoadFigures(100, 5))
        for one, held in zip(given.brokers, (5, 8), strict=True)
    ]
    given = msgspec.structs.replace(given, brokers=replicas, imbalance_before={"bytes": 1.0, "replicas": 1.0})
    assert lines(given) == [
        "bytes: broker 1 has 150% of its target, replicas: broker 2 has 160% of its target: drain moves only what "
        "has to move: `plan rebalance` evens out the rest"
    ]


@pytest.mark.parametrize(
    "given",
    [
        summary(broker(1, 100.5), broker(2, 99.5)),
        summary(),
        summary(broker(1, 0, target=0)),
    ],
)
def test_dp_9_a_plan_that_reaches_its_targets_needs_no_reason(given: PlanSummary) -> None:
    assert lines(given) == []


def test_dp_9_racks_do_not_keep_leaders_where_they_are() -> None:
    given = msgspec.structs.replace(summary(in_a(1, 150), broker(2, 50, rack="b")), imbalance_before={"leaders": 1.0})
    before = LoadFigures(leaders=9)
    brokers = [
        BrokerFigures(one.broker, one.rack, True, None, before, LoadFigures(leaders=leads), LoadFigures(leaders=10))
        for one, leads in zip(given.brokers, (15, 5), strict=True)
    ]
    [line] = lines(msgspec.structs.replace(given, brokers=brokers))
    assert line == f"leaders: broker 1 has 150% of its target: {NOTHING_FOUND.replace('bytes', 'leaders')}"


LARGE: tuple[Any, ...] = ("t", 0, [1], 1, [1], [], [], 100, None, None)
SMALL: tuple[Any, ...] = ("u", 0, [2], 2, [2], [], [], 10, None, None)
"""topic, partition, replicas, leader, ISR, adding, removing, bytes, produce rate, fetch rate"""


def planned(folder: Path, rows: Sequence[Any], goal: Goal) -> str:
    """Why a plan of two brokers is no better in bytes."""
    with SnapshotWriter(folder / "snapshot") as writer:
        writer.brokers.extend([(one, None, "h", 1, None, None, True) for one in (1, 2)])
        writer.partitions.extend(rows)
        writer.finish(SnapshotMeta("c1", 5))
    made = plan_job.run_here(PlanJob(folder / "snapshot", folder / "plan", goal))
    [reasons] = [one.reasons for one in made.why_not_better if one.measure == "bytes"]
    return "; ".join(reasons)


@pytest.mark.parametrize(
    ("goal", "reason"),
    [
        (Goal(GoalKind.REBALANCE, topics=("t",)), "only partitions of the topic t may move"),
        (Goal(GoalKind.REBALANCE, least_bytes=50), "partitions below 50 B stay as they are (--least-bytes)"),
    ],
)
def test_dp_9_what_is_left_as_it_is_explains_only_where_there_is_something(
    tmp_path: Path, goal: Goal, reason: str
) -> None:
    assert reason in planned(tmp_path / "both", [LARGE, SMALL], goal)
    assert reason not in planned(tmp_path / "alone", [LARGE], goal)
