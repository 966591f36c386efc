"""A change by hand of each figure of a summary, and the rule that finds it: a part of the table in docs/pipeline.md.

Each case begins with a plan of which all figures are right, by hand.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from kafka_reassign_rpc.pipeline.planning.verify_facts import ListedBroker, PlanFacts
from kafka_reassign_rpc.pipeline.planning.verify_figures import _of_distances as distances
from kafka_reassign_rpc.pipeline.planning.verify_figures import faults_of_figures
from kafka_reassign_rpc.pipeline.planning.verify_snapshot import SnapshotRows
from kafka_reassign_rpc.pipeline.planning.verify_sums import BrokerDelta, CheckedRows, SnapshotSums
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BatchFigures,
    BottleneckFigures,
    BrokerFigures,
    BrokerTraffic,
    GainFigures,
    ImpactFigures,
    LargestFigures,
    LeftOutFigures,
    LoadFigures,
    PlanSummary,
    RackFigures,
    StayingFigures,
    TimelineFigures,
)
from kafka_reassign_rpc.pipeline.plans.why_not_better import shortfalls
from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES
from tests.pipeline.plans import SUMMARY
from tests.pipeline.verified_rows import check, row, said
from tests.tables import for_each

FLIGHT = "its reassignment is in flight"
LOADS = {1: BrokerDelta(20, 2, 2, 4, 6, 4, 6, 8, 10), 2: BrokerDelta(20, 2, 0, 4, 0, 0, 6), 3: BrokerDelta()}
SUMS = SnapshotSums(2, 0, 20, 2, (10, "t-0"), LOADS)
THREE = [ListedBroker(1, "a", True), ListedBroker(2, "b", True), ListedBroker(3, "a", True)]
THREE_FACTS = PlanFacts.of("set-rf", THREE, (), 2, ())._replace(
    typical=10, first_places={1: 1}, holdable={1: 90, 2: 90, 3: 90}
)


def of_three() -> tuple[CheckedRows, PlanSummary]:
    """t-0 moves from [1, 2] to [3, 2]; t-1 is left out. By hand."""
    moved = row([1, 2], [3, 2], produce=2, fetch=3, messages=4, cpu=5)
    left = row([1, 2], None, partition=1, left_out=[([1, 2], FLIGHT)], in_flight=True)
    checked = check(THREE_FACTS, moved, left)
    target = LoadFigures(40 / 3, 4 / 3, 2 / 3, 8 / 3, 2, 4 / 3, 4, 8 / 3, 10 / 3)
    before = [LoadFigures(20, 2, 2, 4, 6, 4, 6, 8, 10), LoadFigures(20, 2, 0, 4, 0, 0, 6), LoadFigures()]
    after = [LoadFigures(10, 1, 1, 2, 3, 2, 3, 4, 5), before[1], LoadFigures(10, 1, 1, 2, 3, 2, 3, 4, 5)]
    brokers = [
        BrokerFigures(one.id, one.rack, True, None, *of, target)
        for one, of in zip(THREE, zip(before, after, strict=True), strict=True)
    ]
    of_leaders = ("leaders", "fetch", "bytes_in", "messages_in", "cpu")
    far = dict.fromkeys(MEASURES, 1.0) | dict.fromkeys(of_leaders, 2.0)
    made = msgspec.structs.replace(
        SUMMARY, kind="set-rf", partitions=2, moves=1, bytes=10, lower_bound=0, brokers=brokers, complete=True,
        racks=[RackFigures("a", 2, before[0], before[0]), RackFigures("b", 1, before[1], after[1])],
        imbalance_before=far, furthest_before=dict.fromkeys(far, 3) | dict.fromkeys(of_leaders, 1),
        imbalance_after=dict.fromkeys(far, 0.5) | dict.fromkeys(of_leaders, 1.0),
        furthest_after=dict.fromkeys(far, 2), batches=[BatchFigures(1, 2, 1, 10, 0.0, 1.0, 1, 10)], bandwidth=10,
        expected_seconds=1.0, batches_seconds=1.0, bound_seconds=1.0, bottleneck=BottleneckFigures(1, True, 10, 10),
        left_out=[LeftOutFigures(FLIGHT, 1, ["t-1"], 10)], impact=ImpactFigures(leader_leaves=1),
        largest=LargestFigures("t-0", 10), moves_at_a_time=10, throttle=10, gains=[GainFigures("throttle", 20, 1.0)],
        timeline=TimelineFigures(0.5, [BrokerTraffic(1, [5, 5], [0, 0]), BrokerTraffic(3, [0, 0], [5, 5])]),
    )  # fmt: skip
    return checked, msgspec.structs.replace(made, why_not_better=shortfalls(made))


def with_reason(summary: PlanSummary, reason: str) -> dict[str, Any]:
    first, *others = summary.why_not_better
    return {"why_not_better": [msgspec.structs.replace(first, reasons=[reason]), *others]}


FIRST_IS_LARGER = {1: {"leaders": 2.0}, 2: {"leaders": 1.0}, 3: {"leaders": 1.0}}


def second(summary: PlanSummary, **figures: Any) -> list[BrokerFigures]:
    one, two, three = summary.brokers
    return [one, msgspec.structs.replace(two, **figures), three]


def with_target(one: BrokerFigures, size: float) -> BrokerFigures:
    return msgspec.structs.replace(one, target=msgspec.structs.replace(one.target, bytes=size))


def over_time(summary: PlanSummary, **traffic: Any) -> dict[str, Any]:
    assert summary.timeline is not None
    first, *others = summary.timeline.brokers
    changed = [msgspec.structs.replace(first, **traffic), *others]
    return {"timeline": msgspec.structs.replace(summary.timeline, brokers=changed)}


OF_FIGURES: list[tuple[str, str, Callable[[PlanSummary], dict[str, Any]]]] = [
    ("complete", "`complete` is turned round", lambda one: {"complete": not one.complete}),
    ("summary", "the number of partitions differs", lambda _: {"partitions": 3}),
    ("summary", "sizes are said to be unknown", lambda _: {"unknown_sizes": 1}),
    ("summary", "other topics are said to be there", lambda _: {"other_topics": 1}),
    ("summary", "partitions are said to be too small", lambda _: {"too_small": 1}),
    ("summary", "the largest partition has another size", lambda _: {"largest": LargestFigures("t-0", 11)}),
    ("summary", "another partition is said to be the largest", lambda _: {"largest": LargestFigures("t-1", 10)}),
    ("summary", "a broker is said to have less room than it has",
     lambda one: {"brokers": second(one, capacity=90, free=1)}),
    ("summary", "fewer bytes are said to cross racks", lambda one: {
        "impact": msgspec.structs.replace(one.impact or ImpactFigures(), bytes_across_racks=-1)}),
    ("summary", "fewer partitions change their leader", lambda _: {"impact": ImpactFigures()}),
    ("impact", "the plan no longer says what it does to partitions", lambda _: {"impact": None}),
    ("summary", "the least to copy is more than is copied", lambda _: {"lower_bound": 11}),
    ("summary", "the least to copy is raised", lambda _: {"lower_bound": 9}),
    ("moves-at-a-time", "a thousand moves of a broker run at a time", lambda _: {"moves_at_a_time": 1000}),
    ("broker-max", "the plan fills a broker beyond its limit",
     lambda one: {"requested": msgspec.structs.replace(one.requested, broker_max={"bytes": {3: 9}})}),
    ("broker-max", "a broker comes to have more replicas than it may",
     lambda one: {"requested": msgspec.structs.replace(one.requested, broker_max={"replicas": {3: 0}})}),
    ("broker-max", "leaders of a broker come to send more than they may",
     lambda one: {"requested": msgspec.structs.replace(one.requested, broker_max={"fetch": {3: 1}})}),
    ("why", "a rack is said to keep a broker from its target", lambda one: with_reason(one, "rack b has 88%")),
    ("why", "a broker far from its target is not named", lambda one: {"why_not_better": one.why_not_better[1:]}),
    ("summary", "a broker is said to be filled", lambda _: {"filled": [3]}),
    ("summary", "racks are said to allow other sums than there are",
     lambda _: {"reachable": {"bytes": {1: 10, 2: 10}}}),
    ("summary", "partitions on fewer racks are not counted", lambda one: {
        "impact": msgspec.structs.replace(one.impact or ImpactFigures(), fewer_racks=1)}),
    ("summary", "fewer are left out than the table has", lambda _: {"left_out": []}),
    ("summary", "another partition is named as left out",
     lambda _: {"left_out": [LeftOutFigures(FLIGHT, 1, ["t-7"], 10)]}),
    ("summary", "what is left out has other bytes", lambda _: {"left_out": [LeftOutFigures(FLIGHT, 1, ["t-1"], 11)]}),
    ("summary", "what is left out has no bytes", lambda _: {"left_out": [LeftOutFigures(FLIGHT, 1, ["t-1"])]}),
    ("summary", "a reason of what is left out is told twice", lambda one: {"left_out": [*one.left_out, *one.left_out]}),
    ("summary", "no broker is said to be the furthest", lambda _: {"furthest_after": {}}),
    ("why", "a measure is told twice", lambda one: {"why_not_better": [*one.why_not_better, one.why_not_better[0]]}),
    ("summary", "what is left out is said to stay on a broker that is not emptied",
     lambda _: {"left_out": [LeftOutFigures(FLIGHT, 1, ["t-1"], 10, {1: StayingFigures(1, 10)})]}),
    ("summary", "a broker held other bytes", lambda one: {"brokers": second(one, before=LoadFigures(21, 2, 0, 4, 0))}),
    ("summary", "a broker will lead other partitions",
     lambda one: {"brokers": second(one, after=LoadFigures(20, 2, 1, 4, 0))}),
    ("summary", "a broker's leaders will get other bytes from producers",
     lambda one: {"brokers": second(one, after=LoadFigures(20, 2, 0, 4, 0, 1, 6))}),
    ("summary", "a broker could send other bytes if all its replicas led",
     lambda one: {"brokers": second(one, after=LoadFigures(20, 2, 0, 4, 0, 0, 7))}),
    ("summary", "a broker's leaders will get other messages",
     lambda one: {"brokers": second(one, after=LoadFigures(20, 2, 0, 4, 0, 0, 6, 1))}),
    ("summary", "a broker's leaders will take other CPU",
     lambda one: {"brokers": second(one, after=LoadFigures(20, 2, 0, 4, 0, 0, 6, 0, 1))}),
    ("summary", "a broker is said to be lost", lambda one: {"brokers": second(one, live=False)}),
    ("summary", "a broker is said to be cordoned", lambda one: {"brokers": second(one, cordoned=True)}),
    ("summary", "a broker is missing", lambda one: {"brokers": one.brokers[:2]}),
    ("summary", "a broker has another target",
     lambda one: {"brokers": second(one, target=LoadFigures(40 / 3, 2, 2 / 3, 8 / 3, 2))}),
    ("summary", "targets of bytes are not by what the disks can hold",
     lambda one: {"brokers": [*map(with_target, one.brokers, (40 / 3 + 2, 40 / 3 - 2, 40 / 3))]}),
    ("summary", "targets are not by the weights of brokers that were asked for",
     lambda one: {"requested": msgspec.structs.replace(one.requested, broker_weights=FIRST_IS_LARGER)}),
    ("summary", "a rack is not the sum of its brokers",
     lambda one: {"racks": [msgspec.structs.replace(one.racks[0], brokers=1), one.racks[1]]}),
    ("summary", "the worst broker is nearer than it is",
     lambda one: {"imbalance_after": one.imbalance_after | {"bytes": 0.1}}),
    ("summary", "another broker is said to be the furthest",
     lambda one: {"furthest_before": one.furthest_before | {"bytes": 1}}),
    ("summary", "the busiest broker of a batch has fewer bytes",
     lambda one: {"batches": [msgspec.structs.replace(one.batches[0], busiest_bytes=9)]}),
    ("summary", "another broker is said to be the busiest of a batch",
     lambda one: {"batches": [msgspec.structs.replace(one.batches[0], busiest=2)]}),
    ("summary", "a batch takes less than its busiest broker",
     lambda one: {"batches": [msgspec.structs.replace(one.batches[0], expected_seconds=0.9)], "batches_seconds": 0.9}),
    ("longest", "a batch takes longer than its slowest sender and receiver",
     lambda one: {"batches": [msgspec.structs.replace(one.batches[0], expected_seconds=2.2)], "batches_seconds": 2.2}),
    ("longest", "the plan takes longer than all brokers in turn", lambda one: {
        "expected_seconds": 2.2, "timeline": one.timeline and msgspec.structs.replace(one.timeline, seconds=1.1),
        "gains": [*(GainFigures("moves_per_broker", cap, 1.0) for cap in (20, 5)), *one.gains]}),
    ("summary", "a batch starts before the one before it has ended",
     lambda one: {"batches": [msgspec.structs.replace(one.batches[0], starts_after_seconds=5.0)]}),
    ("summary", "a batch has another priority",
     lambda one: {"batches": [msgspec.structs.replace(one.batches[0], priority=0)]}),
    ("summary", "batches one after the other take longer than they do", lambda _: {"batches_seconds": 9.0}),
    ("summary", "no broker is said to decide the time", lambda _: {"bottleneck": None}),
    ("summary", "the plan takes less than the least time", lambda _: {"expected_seconds": 0.9}),
    ("within", "the plan takes longer than --within",
     lambda one: {"requested": msgspec.structs.replace(one.requested, within=0)}),
    ("summary", "the least time is less than it is", lambda _: {"bound_seconds": 0.9}),
    ("summary", "another throttle is said to gain time", lambda _: {"gains": [GainFigures("throttle", 30, 1.0)]}),
    ("summary", "a throttle is said to gain more time than it can",
     lambda _: {"gains": [GainFigures("throttle", 20, 0.5)]}),
    ("summary", "what another throttle gains is not told", lambda _: {"gains": []}),
    ("summary", "more moves at a time are said to gain time where the least is taken",
     lambda one: {"gains": [GainFigures("moves_per_broker", 20, 1.0), *one.gains]}),
    ("summary", "nobody sends or receives over time", lambda _: {"timeline": None}),
    ("summary", "a broker sends other bytes over time", lambda one: over_time(one, sent=[5, 1])),
    ("summary", "a broker sends more at a time than it can", lambda one: over_time(one, sent=[9, 1])),
    ("summary", "a broker sends after the plan's end", lambda one: over_time(one, sent=[5, 3, 2])),
    ("summary", "another broker sends over time", lambda one: over_time(one, broker=2)),
    ("summary", "spans over time are longer than they are",
     lambda one: {"timeline": one.timeline and msgspec.structs.replace(one.timeline, seconds=0.7)}),
    ("summary", "a broker held a byte more",
     lambda one: {"brokers": second(one, before=LoadFigures(21, 2, 0, 4, 0, 0, 6))}),
    ("summary", "another broker decides the time", lambda _: {"bottleneck": BottleneckFigures(2, True, 10, 10)}),
]  # fmt: skip


@for_each(("rule", "change", "figures"), OF_FIGURES, ids=[change for _, change, _ in OF_FIGURES])
def test_dp_3_each_change_by_hand_of_a_figure_is_found(
    rule: str, change: str, figures: Callable[[PlanSummary], dict[str, Any]]
) -> None:
    checked, fine = of_three()
    assert list(faults_of_figures(SUMS, checked, THREE, THREE_FACTS, fine)) == []
    changed = msgspec.structs.replace(fine, **figures(fine))
    found = list(faults_of_figures(SUMS, checked, THREE, THREE_FACTS, changed))
    assert {one.rule for one in found} == {rule}, change


def test_dp_3_of_equally_large_partitions_the_verifier_takes_the_last_name_in_whatever_chunk_it_is() -> None:
    named = (("t", 2, 10), ("t", 10, 10), ("a", 7, 10), ("z", 0, 9), ("z", 1, None))
    rows = [row([1, 2], None, topic=topic, partition=number, size=size) for topic, number, size in named]
    for chunks in ([rows], [[one] for one in rows], [rows[3:], rows[:3]], [rows[4:]]):
        sums = SnapshotSums()
        for chunk in chunks:
            sums.add(SnapshotRows(said(*chunk).partitions).sums(THREE_FACTS))
        assert sums.largest == (None if chunks == [rows[4:]] else (10, "t-2"))


def test_dp_3_what_differs_is_told_alone_and_with_all_digits_of_a_short_time() -> None:
    checked, fine = of_three()
    batch = msgspec.structs.replace(fine.batches[0], busiest_bytes=9, expected_seconds=0.99999)
    changed = msgspec.structs.replace(fine, impact=ImpactFigures(), batches=[batch], batches_seconds=0.99999)
    assert [str(one) for one in faults_of_figures(SUMS, checked, THREE, THREE_FACTS, changed)] == [
        "summary: leader_leaves of impact: 0, not 1",
        "summary: batch 1: says 9 bytes of broker 1, which copies 10; the busiest one copies 10",
        "summary: batch 1: 0.99999 s are fewer than its least, 1 s",
        "summary: batches_seconds: 0.99999 are fewer than the least, 1",
    ]


def test_dp_12_targets_that_do_not_follow_the_disks_are_found() -> None:
    checked, fine = of_three()
    unlike = THREE_FACTS._replace(disk_sizes={1: 30, 2: 10, 3: 10}, holdable={1: 30, 2: 10, 3: 10})
    found = list(faults_of_figures(SUMS, checked, THREE, unlike, fine))
    assert {(one.rule, one.name) for one in found} == {("summary", "targets")}
    assert [one.detail.split()[1] for one in found] == [*MEASURES]


def test_dp_3_replicas_that_are_said_to_stay_on_another_broker_are_named_with_it() -> None:
    checked, fine = of_three()
    changed = [LeftOutFigures(FLIGHT, 1, ["t-1"], 10, {1: StayingFigures(1, 10)})]
    found = list(faults_of_figures(SUMS, checked, THREE, THREE_FACTS, msgspec.structs.replace(fine, left_out=changed)))
    assert [one.detail for one in found] == [f"broker 1 keeps 1 replica of 10 bytes, 0 of 0 in the table: {FLIGHT}"]


def test_dp_3_no_broker_is_the_furthest_where_all_are_at_their_targets() -> None:
    held, far = {1: 5.0, 2: 5.0}, {"bytes": 0.0}
    assert list(distances("bytes after", "bytes", held, held, far, {})) == []
    assert len([*distances("bytes after", "bytes", held, held, far, {"bytes": 1})]) == 1
