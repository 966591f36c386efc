"""What the page of a plan tells those who approve it: by hand-made moves."""

from typing import Any

import msgspec

from kafka_reassign_rpc.pipeline.planning.verify_facts import ListedBroker, PlanFacts
from kafka_reassign_rpc.pipeline.plans.plan_impact import ImpactCount, impact_lines
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BrokerFigures,
    ImpactFigures,
    LoadFigures,
    RackFigures,
    across_racks_text,
    lost_racks,
    rack_lines,
)
from kafka_reassign_rpc.pipeline.reports.plan_report import plan_title
from tests.pipeline.plans import SUMMARY
from tests.pipeline.verified_rows import check
from tests.tables import for_each

RACKS = {1: "a", 2: "b", 3: "c", 4: "d", 5: "a"}
"""Of the live brokers."""


@for_each(
    ("original", "target", "leaders", "counted"),
    [
        ((1, 2, 3), (1, 2, 4), (1, -1), {}),
        ((1, 2, 3), (4, 2, 3), (1, -1), {"leader_leaves"}),
        ((1, 2, 3), (2, 1, 3), (1, -1), {"other_first"}),
        ((1, 2, 3), (1, 2, 4), (2, -1), {}),  # it led before the plan too though another was preferred
        ((1, 2, 3), (2, 3, 4), (2, -1), {}),
        ((1, 2, 3), (4, 2, 3), (1, 2), {"led_first", "other_first"}),
        ((1, 2, 3), (4, 2, 3), (1, 3), {"led_first", "other_first"}),
        ((1, 2, 3), (2, 4, 3), (1, 2), {"led_first"}),
        ((9, 2, 3), (4, 2, 3), (2, -1), {"lacking", "other_first"}),
        ((9, 2, 8), (4, 2, 3), (2, -1), {"lacking", "single", "below_min_isr", "other_first"}),
        ((9, 8, 7), (4, 2, 3), (-1, -1), {"lacking", "below_min_isr"}),
        ((1, 2, 3), (1,), (1, -1), {"below_min_isr_after"}),
        ((1,), (2,), (1, -1), {"leader_leaves", "below_min_isr_after"}),
        ((1, 2, 3), (1, 2, 5), (1, -1), {"fewer_racks"}),
        ((1, 2), (1, 5), (1, -1), {"fewer_racks"}),
        ((1, 5, 2, 3), (1, 5, 2, 4), (1, -1), {}),
        ((1, 5), (1, 5, 2), (1, -1), {}),
        ((1, 2, 9), (1, 2, 5), (1, -1), {"lacking"}),  # nobody knows the rack of the lost one
        ((1, 2, 3), (1, 2), (1, -1), {}),  # a smaller factor
        ((1, 2, 3), (1, 5), (1, -1), {"fewer_racks"}),
    ],
)
def test_dp_3_the_impact_of_a_move_is_counted(
    original: tuple[int, ...], target: tuple[int, ...], leaders: tuple[int, int], counted: set[str]
) -> None:
    count = ImpactCount(RACKS, {"t": 2}, 1)
    count.add("t", original, target, leader=leaders[0], first_leader=leaders[1])
    assert count.figures() == ImpactFigures(**dict.fromkeys(counted, 1))


@for_each(
    ("original", "target", "leaders", "across"),
    [
        ((1, 2, 3), (5, 2, 3), (1, -1), 0),  # from 1 to 5 in rack a
        ((1, 2, 3), (5, 2, 3), (1, 2), 100),  # 2 of rack b leads first
        ((1, 2, 3), (4, 5, 3), (1, -1), 50),
        ((1, 2, 3), (3, 2, 1), (1, -1), 0),  # nothing is copied
        ((9, 2, 3), (4, 2, 3), (-1, -1), 0),  # nobody leads yet
        ((9, 2, 3), (4, 2, 3), (9, -1), 0),  # nobody knows the rack of a lost one
    ],
)
def test_dp_3_bytes_that_a_leader_copies_to_another_rack_are_counted(
    original: tuple[int, ...], target: tuple[int, ...], leaders: tuple[int, int], across: int
) -> None:
    count = ImpactCount(RACKS, {}, 1)
    copied = 100 if set(target) - set(original) else 0
    count.add("t", original, target, leader=leaders[0], first_leader=leaders[1], copied=copied)
    assert count.figures().bytes_across_racks == across
    facts = PlanFacts.of("rebalance", [ListedBroker(one, rack, True) for one, rack in RACKS.items()], (), None, ())
    move = (original, target, leaders[0], copied, 1, 2, None if leaders[1] < 0 else leaders[1], 1, "why")
    stood = {"replicas": original, "leader": leaders[0], "isr": original, "in_flight": False, "size": copied}
    row = {"topic": "t", "partition": 0, "moves": [move], "forward": [], "back": [], "left_out": [], **stood}
    assert check(facts, row).impact["bytes_across_racks"] == across, "the verifier has a count of its own"


def test_dp_3_a_plan_says_how_much_of_what_it_copies_crosses_racks_where_there_are_several() -> None:
    of_two = [RackFigures(name, 1, LoadFigures(), LoadFigures()) for name in ("a", "b")]
    made = msgspec.structs.replace(SUMMARY, bytes=3_000, racks=of_two, impact=ImpactFigures(bytes_across_racks=2_000))
    assert across_racks_text(made) == "2.0 kB of 3.0 kB cross racks"
    assert across_racks_text(msgspec.structs.replace(made, racks=of_two[:1])) == ""
    assert across_racks_text(msgspec.structs.replace(made, bytes=0)) == ""


def test_dp_8_a_rack_that_gets_more_of_a_partition_than_any_had_is_counted_also_where_none_is_lost() -> None:
    count = ImpactCount({1: "a", 2: "b", 3: "a", 4: "b", 5: "a"}, {}, 1)
    count.add("t", (1, 2, 3, 4), (1, 2, 3, 5), leader=1, first_leader=-1)
    assert count.figures() == ImpactFigures(less_even=1)


def test_dp_3_a_topic_without_min_insync_replicas_has_the_default() -> None:
    count = ImpactCount(RACKS, {"t": 1}, 3)
    count.add("t", (1, 2), (1, 3), leader=1, first_leader=-1)
    count.add("u", (1, 2), (1, 3), leader=1, first_leader=-1)
    assert count.figures() == ImpactFigures(below_min_isr_after=1)


def broker(number: int, before: float, after: float, *, live: bool = True) -> BrokerFigures:
    first, then = (LoadFigures(bytes=one, replicas=bool(one)) for one in (before, after))
    return BrokerFigures(number, None, live, None, first, then, LoadFigures())


def told(**figures: Any) -> list[str]:
    return [*impact_lines(msgspec.structs.replace(SUMMARY, **figures))]


def test_dp_3_the_page_says_what_a_drain_changes_before_and_after() -> None:
    brokers = [broker(1, 100e9, 150e9), broker(2, 100e9, 160e9), broker(3, 110e9, 0)]
    impact = ImpactFigures(leader_leaves=1, other_first=2, led_first=3)
    lines = told(moves=5, bytes=10**12, expected_seconds=7200.0, brokers=brokers, impact=impact)
    assert lines == [
        "1.0 TB are copied in 2 h 0 min, at 100.0 MB/s for each broker.",
        "Most bytes of a live broker before: 110.0 GB on broker 3, 6.5% above the mean of the 3 that hold replicas. "
        "Afterwards: 160.0 GB on broker 2, 3.2% above the mean of the 2 that hold replicas.",
        "1 partition gets another leader when the move ends, and 2 more when preferred leaders are elected. A change "
        "of leader is short: clients ask for the new leader and go on, usually within a second.",
        "3 partitions are led by another replica from before the copy begins until the move ends: for 2 h 0 min at "
        "the most.",
        "No partition has fewer replicas meanwhile than before or after: new ones join the in-sync replicas before "
        "others leave.",
        "Afterwards no partition that moves has fewer replicas than min.insync.replicas.",
    ]


def test_dp_12_brokers_that_are_to_hold_unlike_bytes_are_beside_their_own_targets() -> None:
    targets = {1: 200e9, 2: 100e9, 3: 0.0}
    brokers = [
        msgspec.structs.replace(one, target=LoadFigures(bytes=targets[one.broker]))
        for one in (broker(1, 150e9, 200e9), broker(2, 110e9, 100e9), broker(3, 40e9, 0))
    ]
    [_, fullest, *_] = told(moves=5, bytes=10**12, expected_seconds=7200.0, brokers=brokers)
    assert fullest == (
        "Most bytes of a live broker before: 150.0 GB on broker 1, 25.0% below its target. "
        "Afterwards: 200.0 GB on broker 1, 0.0% above its target."
    )
    brokers[2] = msgspec.structs.replace(brokers[2], before=LoadFigures(bytes=300e9, replicas=1))
    [_, fullest, *_] = told(moves=5, bytes=10**12, expected_seconds=7200.0, brokers=brokers)
    assert fullest.startswith("Most bytes of a live broker before: 300.0 GB on broker 3. Afterwards: ")


def test_dp_3_the_page_says_which_partitions_are_at_risk() -> None:
    impact = ImpactFigures(lacking=5, single=1, below_min_isr=2, below_min_isr_after=1)
    lines = told(moves=5, bytes=1, expected_seconds=60.0, impact=impact)
    assert lines[1:] == [
        "No partition gets another leader by the end of its move.",
        "5 partitions are at risk until the move ends, in 1 min 0 s at the latest: a replica is on a broker that is "
        "lost; 1 of them has one live replica; 2 have fewer than min.insync.replicas and take no records from "
        "producers with acks=all.",
        "No other partition has fewer replicas meanwhile than before or after: new ones join the in-sync replicas "
        "before others leave.",
        "1 partition has fewer replicas than min.insync.replicas afterwards: producers with acks=all cannot write "
        "there.",
    ]
    assert told(moves=0) == ["Nothing moves."]
    assert told(moves=1)[0].startswith("Nothing is copied")
    assert len(told(moves=1, bytes=1)) == 1, "a plan of an earlier version does not say it"


def test_dp_3_the_title_of_a_plan_says_what_which_brokers_and_which_flags() -> None:
    def title(kind: str, *brokers: int, topics: tuple[str, ...] = (), **more: Any) -> str:
        own = {key: more.pop(key) for key in list(more) if hasattr(SUMMARY.requested, key)}
        asked = msgspec.structs.replace(SUMMARY.requested, brokers=list(brokers), topics=list(topics), **own)
        return plan_title(msgspec.structs.replace(SUMMARY, kind=kind, requested=asked, **more))

    assert title("drain", 4) == "Broker 4 is drained"
    assert title("drain", 4, 5, throttle=50_000_000) == "Brokers 4, 5 are drained (--throttle 50MB)"
    assert title("expand", *range(20)).startswith("New brokers 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 10 more take their")
    heal = msgspec.structs.replace(SUMMARY, kind="heal", brokers=[broker(1, 1, 1), broker(7, 1, 0, live=False)])
    assert plan_title(heal) == "Replicas of lost broker 7 move to live ones"
    assert title("heal", 3, 7) == "Replicas of lost brokers 3, 7 move to live ones"
    assert title("set-rf", factor=3, topics=("a", "b c")) == "Replication factors change to 3 (--topics 'a,b c')"
    assert title("set-rf", factor=3, topics=tuple("abcdefghijkl")).endswith(
        " (--topics a, b, c, d, e, f, g, h, i, j and 2 more)"
    )
    assert title("racks", leaders_stay=True) == ("Partitions come to lie on as many racks as possible (--leaders-stay)")
    flags: dict[str, Any] = {
        **{"racks": True, "seed": 3, "tolerance": 0.02, "headroom": 0.1, "moves_per_broker": 5, "moves_per_batch": 9},
        **{"weights": {"bytes": 2.0, "leaders": 0.5}, "max_bytes": 10**12, "bytes_per_broker": 1, "bandwidth": 25_000},
        **{"bytes_per_batch": 1_500_000, "broker_bandwidth": {4: 10**6}},
    }
    assert title("rebalance", **flags) == (
        "Load is spread evenly over all brokers (--racks --seed 3 --tolerance 0.02 --headroom 0.1 "
        "--max-moves-per-broker 5 --max-moves-per-batch 9 --weight bytes=2 --max-bytes 1TB --max-bytes-per-broker 1 "
        "--max-bytes-per-batch 1500kB --bandwidth 25kB --broker-bandwidth 4=1MB)"
    )


def test_dp_8_what_a_plan_loses_in_racks_and_room_is_said_and_counts_until_it_is_accepted() -> None:
    impact = ImpactFigures(fewer_racks=30, less_even=1)
    summary = msgspec.structs.replace(SUMMARY, moves=48, impact=impact, filled=[4, 5])
    assert [*rack_lines(summary)] == [
        "30 partitions end on fewer racks than before: the loss of one costs more",
        "1 partition ends with more replicas in one rack than before",
        "brokers 4, 5 have no room for one more replica of the mean size afterwards",
    ]
    assert {f"{line[0].upper()}{line[1:]}." for line in rack_lines(summary)} <= {*impact_lines(summary)}
    assert lost_racks(summary) == 31
    accepted = msgspec.structs.replace(SUMMARY.requested, allow_fewer_racks=True)
    assert lost_racks(msgspec.structs.replace(summary, requested=accepted)) == 0
