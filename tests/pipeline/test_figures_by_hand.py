"""Every figure of summaries, reports and audits, for clusters that are small enough to compute in one's head.

Read it as documentation: each case says what there is, and each expectation says how it comes about.
"""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.cli.plan_command import summary_text
from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.auditing import audit_job
from kafka_reassign_rpc.pipeline.auditing.load_spread import spread_of_loads
from kafka_reassign_rpc.pipeline.planning import plan_job
from kafka_reassign_rpc.pipeline.planning.plan_input import PlanJob
from kafka_reassign_rpc.pipeline.plans import plan_directory, plan_writer
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BottleneckFigures,
    BrokerFigures,
    GainFigures,
    LargestFigures,
    LoadFigures,
    PlanSummary,
    RackFigures,
    imbalance_texts,
)
from kafka_reassign_rpc.pipeline.reports import plan_report
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.topic_pieces import CallHere
from kafka_reassign_rpc.planner.goals_and_options import BatchLimits, Goal, GoalKind, GoalWeights, PlanOptions
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster
from tests.planner.clusters import partition, topic
from tests.planner.column_plans import make_plan

# -- a drain -----------------------------------------------------------------------------------------------------------

DRAINED: dict[str, list[Any]] = {
    # broker, rack, host, port, capacity, free, live
    "brokers": [(1, "a", "h", 1, None, None, True), (2, "b", "h", 1, None, None, True),
                (3, "a", "h", 1, None, None, True)],
    # topic, partition, replicas, leader, ISR, adding, removing, bytes, produce rate, fetch rate
    "partitions": [
        ("t", 0, [1, 2], 1, [1, 2], [], [], 100, 8.0, 2.0),
        ("t", 1, [3, 2], 3, [3, 2], [], [], 60, 4.0, 6.0),
        ("t", 2, [2, 3], 2, [2, 3], [], [], 40, None, None),
        ("u", 0, [2, 1], 2, [2, 1], [], [], 20, None, None),
    ],
}  # fmt: skip
"""Broker 3 is drained. Broker 1 is the only other one in rack a, so both of its replicas go there."""


class PlannedByHand(NamedTuple):
    """The plan of the drain: on disk, and its summary."""

    directory: Path
    summary: PlanSummary


def write(path: Path, at: int = 5, **tables: list[Any]) -> Path:
    with SnapshotWriter(path) as writer:
        for name, rows in tables.items():
            getattr(writer, name).extend(rows)
        writer.finish(SnapshotMeta("c1", at))
    return path


@pytest.fixture(scope="module")
def drain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> PlannedByHand:
    """One move of each broker at a time, 10 bytes per second for each broker and direction."""
    directory = tmp_path_factory.mktemp("by-hand")
    snapshot = write(directory / "snapshot", 5, **DRAINED)
    limits = BatchLimits(moves_per_broker=1)
    options = PlanOptions(network=NetworkLimits(10), lead_first=False)
    job = PlanJob(snapshot, directory / "plan", Goal(GoalKind.DRAIN, (3,)), options, limits)
    summary = plan_job.run(spark, job)
    plan_report.write(job.out)
    return PlannedByHand(directory / "plan", summary)


def test_dp_3_the_moves_of_the_drain(drain: PlannedByHand) -> None:
    rows = parquet_files.read(drain.directory / plan_directory.MOVES, plan_writer.MOVES_SCHEMA).to_pylist()
    assert {
        (row["topic"], row["partition"]): (row["to_replicas"], row["leader"], row["bytes"], row["reason"], row["rule"])
        for row in rows
    } == {
        ("t", 1): ([1, 2], 3, 60, "broker 3 is to be drained", "drain"),
        ("t", 2): ([2, 1], 2, 40, "broker 3 is to be drained", "drain"),
    }


def test_dp_3_the_load_of_each_broker_before_and_after_the_drain_and_its_share(drain: PlannedByHand) -> None:
    """Produce counts for each replica, fetch only for the preferred leader. A drained broker has no share.

    Bytes: 440 in all, 220 for each of the two brokers that stay. Replicas: 8, so 4. Leaders: 4, so 2. Produce: 24, so
    12. Fetch: 8, so 4. Leaders get 12 bytes, so 6 each; all replicas could send 16, so 8.
    """
    share = LoadFigures(bytes=220, replicas=4, leaders=2, produce=12, fetch=4, bytes_in=6, potential_out=8)
    one_before = LoadFigures(bytes=100 + 20, replicas=2, leaders=1, produce=8, fetch=2, bytes_in=8, potential_out=2)
    one_after = LoadFigures(
        bytes=120 + 60 + 40, replicas=4, leaders=2, produce=12, fetch=2 + 6, bytes_in=12, potential_out=8
    )
    two = LoadFigures(bytes=100 + 60 + 40 + 20, replicas=4, leaders=2, produce=12, potential_out=2 + 6)
    three = LoadFigures(bytes=60 + 40, replicas=2, leaders=1, produce=4, fetch=6, bytes_in=4, potential_out=6)
    nothing = LoadFigures()
    assert drain.summary.brokers == [
        BrokerFigures(1, "a", True, None, one_before, one_after, share),
        BrokerFigures(2, "b", True, None, two, two, share),
        BrokerFigures(3, "a", True, None, three, nothing, nothing),
    ]
    rack_a = LoadFigures(bytes=120 + 100, replicas=4, leaders=2, produce=12, fetch=8, bytes_in=12, potential_out=8)
    assert drain.summary.racks == [RackFigures("a", 2, rack_a, one_after), RackFigures("b", 1, two, two)]


def test_dp_3_how_far_the_worst_broker_is_from_its_share(drain: PlannedByHand) -> None:
    """Of the brokers that stay, in what they hold. Before, brokers 1 and 2 have 120 and 220 bytes, so broker 1 lacks 50
    of 170; 2 and 4 replicas; 1 and 2 leaders; 8 and 12 of the produce rate; 2 and 0 of the fetch rate; 8 and 0 of what
    producers send; 2 and 8 of what replicas could send. After, broker 1 has all that producers and consumers send.
    """
    before, after = drain.summary.imbalance_before, drain.summary.imbalance_after
    third, fifth = pytest.approx(1 / 3), pytest.approx(1 / 5)
    assert before == {
        "bytes": pytest.approx(50 / 170),
        "replicas": third,
        "leaders": third,
        "produce": fifth,
        "fetch": 1,
        "bytes_in": 1,
        "potential_out": pytest.approx(3 / 5),
        "messages_in": 0,
        "cpu": 0,
    }
    assert set(drain.summary.furthest_before.values()) == {1}
    assert drain.summary.furthest_after == {"fetch": 1, "bytes_in": 1}
    assert imbalance_texts(drain.summary, "bytes") == ("29.4 % (broker 1)", "0.0 %")
    assert after == {
        "bytes": 0,
        "replicas": 0,
        "leaders": 0,
        "produce": 0,
        "fetch": 1,
        "bytes_in": 1,
        "potential_out": 0,
        "messages_in": 0,
        "cpu": 0,
    }


def test_dp_3_the_costs_of_the_drain(drain: PlannedByHand) -> None:
    summary = drain.summary
    assert (summary.kind, summary.cluster_id, summary.at, summary.complete) == ("drain", "c1", 5, True)
    assert (summary.partitions, summary.moves, summary.unknown_sizes, summary.left_out) == (4, 2, 0, [])
    assert (summary.bytes, summary.lower_bound) == (60 + 40, 100), "broker 3 held 100 bytes, each is copied once"


def test_dp_3_the_time_of_each_batch_is_that_of_its_busiest_broker(drain: PlannedByHand) -> None:
    """Broker 1 receives both, one at a time: 60 bytes take 6 s, 40 bytes take 4 s."""
    one, two = drain.summary.batches
    assert (one.batch, one.moves, one.starts_after_seconds) == (1, 1, 0)
    assert (two.batch, two.moves, two.starts_after_seconds) == (2, 1, one.expected_seconds)
    assert {batch.bytes: batch.expected_seconds for batch in (one, two)} == {60: 6, 40: 4}
    assert one.bytes == 60, "of the longest queue, the larger move comes first"
    assert {batch.bytes: (batch.busiest, batch.busiest_bytes) for batch in (one, two)} == {60: (1, 60), 40: (1, 40)}
    assert (drain.summary.bandwidth, drain.summary.expected_seconds) == (10, 10)


def test_dp_3_the_simulated_time_of_the_drain_its_bound_and_what_each_broker_copies(drain: PlannedByHand) -> None:
    """Broker 1 receives 60 bytes from broker 3, then 40 from broker 2. That is the bound: two at once gain nothing."""
    summary = drain.summary
    assert (summary.bound_seconds, summary.batches_seconds) == (10, 10)
    assert summary.bottleneck == BottleneckFigures(1, False, 100, 10)
    assert summary.gains == []
    assert summary.timeline is not None
    traffic = {one.broker: one for one in summary.timeline.brokers}
    assert {broker: (sum(one.sent), sum(one.received)) for broker, one in traffic.items()} == {
        1: (0, 100), 2: (40, 0), 3: (60, 0)
    }  # fmt: skip
    span = round(6 / summary.timeline.seconds)
    assert (sum(traffic[3].sent[:span]), sum(traffic[2].sent[:span])) == (60, 0)


def test_dp_3_the_moves_have_the_order_in_which_they_start(drain: PlannedByHand) -> None:
    rows = parquet_files.read(drain.directory / plan_directory.MOVES, plan_writer.MOVES_SCHEMA).to_pylist()
    assert [(row["partition"], row["batch"], row["start"]) for row in rows] == [(1, 1, 1), (2, 2, 2)]


def test_dp_3_the_summary_as_text_and_the_page_show_these_figures(drain: PlannedByHand) -> None:
    assert summary_text(drain.summary, Path("plan")).splitlines() == [
        "plan: 2 of 4 partitions move in 2 batches",
        "  copied    100 B; at least 100 B would have to be",
        "  racks     40 B of 100 B cross racks",
        "  takes     10 s at 10 B/s for each broker",
        "  least     10 s: broker 1 receives 100 B at 10 B/s; the plan takes 1.00 times as long",
        "  batches   10 s one after the other",
        "  bytes     furthest from its target 29.4 % (broker 1), then 0.0 %",
        "  replicas  furthest from its target 33.3 % (broker 1), then 0.0 %",
        "  leaders   furthest from its target 33.3 % (broker 1), then 0.0 %",
        "  produce   furthest from its target 20.0 % (broker 1), then 0.0 %",
        "  fetch     furthest from its target 100.0 % (broker 1), then 100.0 % (broker 1)",
        "  bytes_in  furthest from its target 100.0 % (broker 1), then 100.0 % (broker 1)",
        "  why       fetch: broker 1 has 200% of its target, bytes_in: broker 1 has 200% of its target: "
        "drain moves only what has to move: "
        "`plan rebalance` evens out the rest",
    ]
    assert drain.summary.largest == LargestFigures("t-0", 100)
    page = (drain.directory / plan_report.NAME).read_text()
    for shown in (
        "100 B",
        "1.00 times",
        "10 s",
        "29.4 % (broker 1)",
        "broker 3 is to be drained",
        "broker 1 has 200% of its target",
    ):
        assert shown in page


def test_dp_3_the_summary_as_text_and_the_page_say_what_more_moves_in_all_and_the_double_throttle_gain(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Brokers 3 and 4 are drained, each into its rack: 60 bytes go to broker 1, 60 to broker 2, in 12 s each, and one
    after the other. The network takes 10 bytes per second, the throttle lets 5 of them through."""
    brokers = [(broker, "ab"[(broker + 1) % 2], "h", 1, None, None, True) for broker in (1, 2, 3, 4)]
    partitions: list[Any] = [
        ("t", index, replicas, replicas[0], replicas, [], [], 60, None, None)
        for index, replicas in enumerate(([3, 2], [4, 1]))
    ]
    snapshot = write(tmp_path / "snapshot", brokers=brokers, partitions=partitions)
    limits, goal = BatchLimits(moves_per_batch=1), Goal(GoalKind.DRAIN, (3, 4))
    job = PlanJob(snapshot, tmp_path / "plan", goal, PlanOptions(network=NetworkLimits(10, throttle=5)), limits)
    summary = plan_job.run(spark, job)
    plan_report.write(job.out)
    assert [gain for gain in summary.gains if gain.setting != "moves_per_broker"] == [
        GainFigures("moves_per_batch", 2, 12),
        GainFigures("throttle", 10, 12),
    ]
    assert [
        line for line in summary_text(summary, Path("plan")).splitlines() if line.startswith(("  takes", "  gain"))
    ] == [
        "  takes     24 s at 10 B/s for each broker, throttled to 5 B/s",
        "  gain      12 s with 2 moves in all",
        "  gain      12 s with 10 B/s of throttle",
    ]
    page = (tmp_path / "plan" / plan_report.NAME).read_text()
    assert all(shown in page for shown in ("12 s with 2 moves in all", "12 s with 10 B/s of throttle"))


# -- a rebalance, where brokers tell what they have room for ----------------------------------------------------------


def rebalanced(**options: Any) -> Any:
    """Broker 1 holds twelve partitions of 25 bytes and has 100 bytes free; broker 2 is empty and has 1200 free."""
    brokers = [PlannerBroker(1, None, True, 400, 100), PlannerBroker(2, None, True, 1200, 1200)]
    cluster = PlannerCluster(brokers, [topic("t", *[partition(n, 1, size=25) for n in range(12)])])
    chosen = PlanOptions(tolerance=0.01, weights=GoalWeights(1, *[0] * 8), **options)
    return make_plan(cluster, Goal(GoalKind.REBALANCE), chosen).summary


def test_dp_3_bytes_are_shared_in_proportion_to_what_brokers_can_hold() -> None:
    """Broker 1 can hold 400 bytes, broker 2 1200: of 300 bytes their shares are 75 and 225. Nine partitions move.

    Broker 1 must give all but 75.75 bytes, which is 1 % over its share: 224.25 bytes, rounded down.
    """
    made = rebalanced()
    assert (made.targets[1][0], made.targets[2][0]) == (75, 225)
    assert (made.after[1].bytes, made.after[2].bytes) == (75, 225)
    assert (made.moves, made.bytes, made.lower_bound) == (9, 225, 224)
    assert (made.imbalance_before["bytes"], made.imbalance_after["bytes"]) == (300 / 75 - 1, 0)


@pytest.mark.parametrize(("limit", "copied"), [(0, 0), (24, 0), (25, 25), (110, 100), (10_000, 225)])
def test_dp_2_a_plan_copies_no_more_than_its_max_bytes(limit: int, copied: int) -> None:
    assert rebalanced(max_bytes=limit).bytes == copied


# -- an audit ---------------------------------------------------------------------------------------------------------

MINUTE = 60_000
BROKERS = [(number, rack, "h", 1, None, None, number != 4) for number, rack in enumerate("aabbc", 1)]
EARLIER: list[tuple[Any, ...]] = [
    ("t", 0, [3], 3, [3], [], [], 30, None, None),
    ("t", 1, [1, 2], 1, [1, 2], [], [], 30, None, None),
    ("u", 0, [2, 4], 2, [2], [], [], 30, None, None),
]
LATER: list[tuple[Any, ...]] = [
    ("t", 0, [3, 1, 2], 3, [3, 1, 2], [], [], 30, None, None),
    ("t", 1, [1, 2], 1, [1], [], [], 30, None, None),
    ("u", 0, [2, 4], 2, [2], [], [], 30, None, None),
]
"""Broker 4 is lost, 5 is empty. The replica of t-0 on broker 2 takes 50 bytes, every other one 30."""


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    directory = tmp_path_factory.mktemp("audit-by-hand")
    write(directory / "one", MINUTE, brokers=BROKERS, partitions=EARLIER)
    larger = [("t", 0, 2, 50, "/d", False)]
    write(directory / "two", 2 * MINUTE, brokers=BROKERS, partitions=LATER, replicas=larger)
    frames = audit_job.audit_tables(CallHere(), snapshot_files.find_snapshots(directory), None)
    tables = {name: frame.to_pylist() for name, frame in frames.items()}
    return tables | {"spread": [one._asdict() for one in spread_of_loads(tables["brokers"])]}


def test_dp_5_the_load_of_each_broker(audited: dict[str, list[dict[str, Any]]]) -> None:
    now = [row for row in audited["brokers"] if row["at"] == 2 * MINUTE]
    assert [(row["broker"], row["bytes"], row["replicas"], row["leaders"], row["live"]) for row in now] == [
        (1, 30 + 30, 2, 1, True),
        (2, 50 + 30 + 30, 3, 1, True),
        (3, 30, 1, 1, True),
        (4, 30, 1, 0, False),
        (5, 0, 0, 0, True),
    ]


def test_dp_5_skew_compares_the_fullest_live_broker_with_the_mean(audited: dict[str, list[dict[str, Any]]]) -> None:
    """Bytes of 1, 2, 3 and 5: 60, 110, 30, 0. Their mean is 50, their distances from it are 10, 60, 20 and 50."""
    now = {row["measure"]: row for row in audited["spread"] if row["at"] == 2 * MINUTE}
    found = now["bytes"]
    assert (found["brokers"], found["least"], found["most"], found["mean"], found["fullest"]) == (4, 0, 110, 50, 2)
    assert found["worst"] == 110 / 50
    assert found["deviation"] == pytest.approx((((10**2 + 60**2 + 20**2 + 50**2) / 4) ** 0.5) / 50)
    assert (now["replicas"]["mean"], now["replicas"]["worst"]) == (6 / 4, 3 / 1.5)
    assert (now["leaders"]["mean"], now["leaders"]["worst"]) == (3 / 4, pytest.approx(4 / 3))


def test_dp_5_drift_and_mixed_factors(audited: dict[str, list[dict[str, Any]]]) -> None:
    (drift,) = audited["drift"]
    assert (drift["topic"], drift["partition"], drift["before"], drift["after"]) == ("t", 0, 1, 3)
    assert (drift["seen_before"], drift["seen"]) == (MINUTE, 2 * MINUTE)
    assert audited["mixed"] == [{"topic": "t", "least": 2, "most": 3, "partitions": 2}]


def test_dp_5_rack_violations_show_the_rack_of_each_replica_in_its_place(
    audited: dict[str, list[dict[str, Any]]],
) -> None:
    """Three racks have live brokers. t-0 is in two of them, t-1 in one; u-0 is in as many as it has replicas."""
    assert audited["rack_violations"] == [
        {
            "topic": "t",
            "partition": 0,
            "replicas": [3, 1, 2],
            "racks": ["b", "a", "a"],
            "on_racks": 2,
            "possible": 3,
            "in_one": 2,
            "needed": 1,
        },
        {
            "topic": "t",
            "partition": 1,
            "replicas": [1, 2],
            "racks": ["a", "a"],
            "on_racks": 1,
            "possible": 2,
            "in_one": 2,
            "needed": 1,
        },
    ]


def test_dp_5_under_replicated_partitions_and_since_when(audited: dict[str, list[dict[str, Any]]]) -> None:
    """t-1 was in sync in the first snapshot, u-0 was not."""
    assert [(row["topic"], row["partition"], row["missing"], row["since"]) for row in audited["under_replicated"]] == [
        ("t", 1, [2], 2 * MINUTE),
        ("u", 0, [4], MINUTE),
    ]
