"""A change by hand of each kind that a plan's rules forbid, and the rule that finds it: the table in docs/pipeline.md.

Each case begins with a plan that keeps all rules.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kafka_reassign_rpc.pipeline.planning.verify_chunk import check_room
from kafka_reassign_rpc.pipeline.planning.verify_facts import ListedBroker, PlanFacts
from kafka_reassign_rpc.pipeline.planning.verify_figures import (
    brokers_over_limits,
    faults_of_batches,
    loads_after,
)
from kafka_reassign_rpc.pipeline.planning.verify_files import MOVES_DIRS, faults_of_files, named_faults
from kafka_reassign_rpc.pipeline.planning.verify_job import SENTENCES
from kafka_reassign_rpc.pipeline.planning.verify_rules import USELESS as USELESS_COPY
from kafka_reassign_rpc.pipeline.planning.verify_sums import (
    BatchSums,
    BrokerSums,
)
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BatchFigures,
    BrokerFigures,
    LoadFigures,
)
from kafka_reassign_rpc.pipeline.store_paths import store_path
from kafka_reassign_rpc.pipeline.topic_pieces import CallHere
from tests.pipeline.plans import SUMMARY
from tests.pipeline.test_verify_summary import OF_FIGURES
from tests.pipeline.verified_rows import check, row, said
from tests.tables import for_each

DOCS = Path(__file__).parents[2] / "docs" / "pipeline.md"
BROKERS = [ListedBroker(n, rack, n != 9) for n, rack in enumerate("abcabcabc", 1)]
"""Broker 9 is lost."""


def facts(kind: str, *named: int, factor: int | None = None, **others: Any) -> PlanFacts:
    known = PlanFacts.of(kind, BROKERS, named, factor, ())
    return known._replace(typical=10, first_places={1: 1}, roomy=known.receivers)._replace(**others)


HEAL, DRAIN, UP, DOWN = facts("heal"), facts("drain", 1), facts("set-rf", factor=4), facts("set-rf", factor=2)
DEMOTE = facts("demote", 1)
RACKS, REBALANCE, EXPAND = facts("racks"), facts("rebalance"), facts("expand", 6)
COMBINE = PlanFacts.of("combine", BROKERS, (), None, (), {"heal": (), "drain": (1,), "expand": (6,)})._replace(
    typical=10, first_places={1: 1}
)
LOST = row([9, 1, 2], [6, 1, 2])
DRAINED = row([1, 2, 3], [4, 2, 3])


CLOSED = frozenset({3, 4, 5, 6, 7, 8})
STRICTER = "min.insync.replicas is 3: producers could not write to 2 replicas"
TOO_FEW = "replication factor 3 is larger than the 2 brokers that can hold a replica; 5 others are cordoned"


class Mutation(NamedTuple):
    """A row that keeps the rules, and what it is after a change by hand."""

    rule: str
    change: str
    facts: PlanFacts
    fine: dict[str, Any]
    changed: dict[str, Any]


MOVE = row([1, 2, 3], [4, 2, 3])
STAYS = row([2, 3, 4], None, concerned=False)
NO_OTHER = "no other live replica is in sync: none can lead in its place"
ELECTION = "another replica is preferred already: a preferred election lets it lead"
UNEVEN = REBALANCE._replace(shares_before={"bytes": {1: 1.4, 2: 1.0, 3: 1.0, 4: 0.7}})
TOO_MUCH = "broker 1 has 140% of its share of bytes"
SPREAD = REBALANCE._replace(topic_shares={"replicas": {1: 0.0, 4: 1.0}})
OF_TOPIC = "broker 1 has 1 replicas of the topic, 0 would be even"
FLIGHT = "its reassignment is in flight"
THAT = "its reassignment, in flight or waiting, does that already"
OF_ROWS = [
    Mutation("keeps-others", "heal moves a healthy replica too", HEAL, LOST, row([9, 1, 2], [6, 4, 2])),
    Mutation("keeps-others", "heal puts the new replica into another place", HEAL, LOST, row([9, 1, 2], [1, 6, 2])),
    Mutation("keeps-others", "drain moves a replica of a broker that stays", DRAIN, DRAINED, row([1, 2, 3], [4, 5, 3])),
    Mutation("keeps-others", "set-rf up replaces a replica", UP, row([1, 2, 3], [1, 2, 3, 4]),
             row([1, 2, 3], [1, 5, 3, 4])),
    Mutation("keeps-others", "set-rf down changes the order", DOWN, row([1, 2, 3], [1, 2]), row([1, 2, 3], [2, 1])),
    Mutation("keeps-others", "set-rf down brings a new replica", DOWN, row([1, 2, 3], [1, 3]), row([1, 2, 3], [1, 6])),
    Mutation("keeps-others", "racks changes the order", RACKS, row([1, 4, 2], [1, 3, 2]), row([1, 4, 2], [1, 2, 3])),
    Mutation("min-isr", "set-rf falls below min.insync.replicas", DOWN, row([1, 2, 3], [1, 2]),
             row([1, 2, 3], [1, 2], topic="strict")),
    Mutation("unconcerned", "heal moves a partition without a lost replica", HEAL, LOST,
             row([1, 2, 3], [4, 2, 3], concerned=False)),
    Mutation("heal-first", "rebalance moves one with a lost replica", REBALANCE, MOVE, row([1, 2, 9], [4, 2, 9])),
    Mutation("live-brokers", "a replica goes to a lost broker", REBALANCE, MOVE, row([1, 2, 3], [1, 2, 9])),
    Mutation("cordoned", "a replica goes to a cordoned broker", REBALANCE._replace(cordoned=frozenset({3, 7})), MOVE,
             row([1, 2, 3], [7, 2, 3])),
    Mutation("left-out", "a partition is left out as if too few brokers were open", DRAIN._replace(cordoned=CLOSED),
             row([1, 2, 3], None, left_out=[([1, 2, 3], TOO_FEW)]),
             row([1, 4, 5], None, left_out=[([1, 4, 5], TOO_FEW)])),
    Mutation("distinct-replicas", "a broker is twice in a target", REBALANCE, MOVE, row([1, 2, 3], [2, 2, 3])),
    Mutation("replication-factor", "a target has one replica fewer", REBALANCE, MOVE, row([1, 2, 3], [4, 2])),
    Mutation("racks", "two replicas share a rack", REBALANCE, MOVE, row([1, 2, 3], [5, 2, 3])),
    Mutation("mends-racks", "racks copies more than it needs", RACKS, row([1, 4, 2], [1, 3, 2]),
             row([1, 4, 2], [1, 3, 5])),
    Mutation("leaves-brokers", "drain brings a replica to a drained broker", DRAIN, DRAINED, row([2, 3, 1], [2, 3, 1])),
    Mutation("only-to-new-brokers", "expand brings a replica to an old broker", EXPAND, row([1, 2, 3], [1, 2, 6]),
             row([1, 2, 3], [4, 2, 3])),
    Mutation("only-to-new-brokers", "a combined plan brings a replica to an old broker for balance", COMBINE,
             row([1, 2, 3], [4, 2, 6]), row([1, 2, 3], [4, 5, 3])),
    Mutation("leaves-brokers", "a combined plan heals one and leaves one to be drained", COMBINE,
             row([1, 9, 3], [4, 8, 3]), row([1, 9, 3], [1, 8, 3])),
    Mutation("asked-by", "another goal is said to ask for a move", COMBINE,
             row([1, 2, 3], [4, 2, 3]), row([1, 2, 3], [4, 2, 3], reason="expand: broker 1 is to be drained")),
    Mutation("left-out", "another goal is said to ask for what is left out", COMBINE,
             row([1, 2, 3], None, in_flight=True, left_out=[([1, 2, 3], f"drain: {FLIGHT}")]),
             row([1, 2, 3], None, in_flight=True, left_out=[([1, 2, 3], f"heal: {FLIGHT}")])),
    Mutation("demotes", "demote leaves a demoted broker in front of others", DEMOTE, row([1, 2, 3], [2, 3, 1]),
             row([1, 2, 3], [2, 1, 3])),
    Mutation("demotes", "demote changes the order of followers", DEMOTE, row([1, 2, 3, 4], [2, 3, 4, 1]),
             row([1, 2, 3, 4], [2, 4, 3, 1])),
    Mutation("demotes", "demote copies", DEMOTE, row([1, 2, 3], [2, 3, 1]), row([1, 2, 3], [2, 6, 4])),
    Mutation("demotes", "demote lets one lead that is not in sync", DEMOTE, row([1, 2, 3], [2, 3, 1]),
             row([1, 2, 3], [2, 3, 1], isr=[1, 3])),
    Mutation("left-out", "a partition is left out as if none else could lead", DEMOTE,
             row([1, 2, 3], None, isr=[1], left_out=[([1, 2, 3], NO_OTHER)]),
             row([1, 2, 3], None, left_out=[([1, 2, 3], NO_OTHER)])),
    Mutation("left-out", "a partition is left out as if an election were enough", DEMOTE,
             row([2, 3, 1], None, leader=1, left_out=[([2, 3, 1], ELECTION)]),
             row([2, 1, 3], None, leader=1, left_out=[([2, 1, 3], ELECTION)])),
    Mutation("least-bytes", "a partition below --least-bytes moves", REBALANCE._replace(least_bytes=10), MOVE,
             row([1, 2, 3], [4, 2, 3], size=9, copied=9)),
    Mutation("only-to-named-brokers", "a replica goes to another broker than --to names",
             DRAIN._replace(to=frozenset({4})), DRAINED, row([1, 2, 3], [7, 2, 3])),
    Mutation("leader", "set-rf down takes the leader away", DOWN, row([1, 2, 3], [1, 2]), row([1, 2, 3], [2, 3])),
    Mutation("source", "no live replica is in sync", REBALANCE, MOVE, MOVE | {"isr": []}),
    Mutation("in-flight", "the partition has a reassignment", REBALANCE, MOVE, MOVE | {"in_flight": True}),
    Mutation("unusable", "the leader is none of the replicas", REBALANCE, MOVE, MOVE | {"leader": 7}),
    Mutation("stale", "the snapshot has other replicas", REBALANCE, MOVE, MOVE | {"replicas": [1, 3, 2]}),
    Mutation("no-move", "the target is what there is", REBALANCE, MOVE, row([1, 2, 3], [1, 2, 3])),
    Mutation("unknown-partition", "the snapshot has no such partition", REBALANCE, MOVE, MOVE | {"replicas": None}),
    Mutation("topics", "a topic that was not asked for", REBALANCE._replace(topics=frozenset({"t"})), MOVE,
             MOVE | {"topic": "u"}),
    Mutation("bytes", "a move copies one byte more", REBALANCE, MOVE, row([1, 2, 3], [4, 2, 3], copied=11)),
    Mutation("bytes", "an unknown size counts for another than the mean", REBALANCE, MOVE | {"size": None},
             row([1, 2, 3], [4, 2, 3], copied=11, size=None)),
    Mutation("snapshot-leader", "the table names another leader", REBALANCE, MOVE,
             row([1, 2, 3], [4, 2, 3], told_leader=2)),
    Mutation("snapshot-leader", "the table names no leader", REBALANCE, MOVE,
             row([1, 2, 3], [4, 2, 3], told_leader=None)),
    Mutation("first-leader", "the leader is to lead first", REBALANCE, MOVE, row([1, 2, 3], [4, 2, 3], first=1)),
    Mutation("leaders-stay", "a replica leads first with --leaders-stay", REBALANCE._replace(leaders_stay=True), MOVE,
             row([1, 2, 3], [4, 2, 3], first=2)),
    Mutation("priority", "a partition at risk starts with the others", HEAL,
             row([9, 1, 2], [6, 1, 2], isr=[1], priority=1), row([9, 1, 2], [6, 1, 2], isr=[1])),
    Mutation("start", "the table does not say when a move starts", REBALANCE, MOVE,
             row([1, 2, 3], [4, 2, 3], start=None)),
    Mutation("start", "the table has another order than the files", REBALANCE, MOVE,
             row([1, 2, 3], [4, 2, 3], start=2)),
    Mutation("reason", "a move has no reason", REBALANCE, MOVE, row([1, 2, 3], [4, 2, 3], reason="")),
    Mutation("reason", "a live broker is said to be lost", HEAL, LOST,
             row([9, 1, 2], [6, 1, 2], reason="broker 1 is lost", rule="live-brokers")),
    Mutation("reason", "a lost broker that the partition does not have is said to be lost", DRAIN, DRAINED,
             row([1, 2, 3], [4, 2, 3], reason="broker 9 is lost")),
    Mutation("reason", "a broker that stays is said to be drained", DRAIN, DRAINED,
             row([1, 2, 3], [4, 2, 3], reason="broker 2 is to be drained")),
    Mutation("reason", "one of two brokers is said to be lost and is not", HEAL, LOST,
             row([9, 1, 2], [6, 1, 2], reason="brokers 2, 9 are lost", rule="live-brokers")),
    Mutation("reason", "a reason has a word more", DRAIN, DRAINED,
             row([1, 2, 3], [4, 2, 3], reason="broker 1 is to be drained soon")),
    Mutation("reason", "another rule is said to move a partition", DRAIN, DRAINED,
             row([1, 2, 3], [4, 2, 3], reason="broker 1 is to be drained", rule="live-brokers")),
    Mutation("reason", "another factor is said to change", UP, row([1, 2, 3], [1, 2, 3, 4]),
             row([1, 2, 3], [1, 2, 3, 4], reason="replication factor 2 to 4", rule="replication-factor")),
    Mutation("reason", "other replicas are said to share a rack", RACKS, row([1, 4, 2], [1, 3, 2]),
             row([1, 4, 2], [1, 3, 2], reason="uneven over racks: 1 in rack a, 2 in rack b", rule="racks")),
    Mutation("reason", "another broker is said to lead nothing", DEMOTE, row([1, 2, 3], [2, 3, 1]),
             row([1, 2, 3], [2, 3, 1], reason="broker 2 is to lead nothing", rule="demote")),
    Mutation("reason", "a broker that is not there is said to have too much", UNEVEN,
             row([1, 2, 3], [4, 2, 3], reason=TOO_MUCH, rule="bytes"),
             row([1, 2, 3], [4, 2, 3], reason=TOO_MUCH.replace("broker 1", "broker 77"), rule="bytes")),
    Mutation("reason", "a broker is said to have more than it has", UNEVEN,
             row([1, 2, 3], [4, 2, 3], reason=TOO_MUCH, rule="bytes"),
             row([1, 2, 3], [4, 2, 3], reason=TOO_MUCH.replace("140", "190"), rule="bytes")),
    Mutation("reason", "a broker that is nearer to its target is named", UNEVEN,
             row([1, 2, 3], [4, 2, 3], reason=TOO_MUCH, rule="bytes"),
             row([1, 2, 3], [4, 2, 3], reason="broker 4 has 70% of its share of bytes", rule="bytes")),
    Mutation("reason", "a move is said to make an even broker fuller", UNEVEN,
             row([4, 2, 3], [1, 2, 3], reason=f"{TOO_MUCH} (with other moves)", rule="bytes"),
             row([4, 2, 3], [1, 2, 3], reason=TOO_MUCH, rule="bytes")),
    Mutation("reason", "a broker is said to have other replicas of a topic", SPREAD,
             row([1, 2, 3], [4, 2, 3], reason=OF_TOPIC, rule="topic_replicas"),
             row([1, 2, 3], [4, 2, 3], reason=OF_TOPIC.replace("has 1", "has 3"), rule="topic_replicas")),
    Mutation("reason", "other replicas of a topic are said to be even", SPREAD,
             row([1, 2, 3], [4, 2, 3], reason=OF_TOPIC, rule="topic_replicas"),
             row([1, 2, 3], [4, 2, 3], reason=OF_TOPIC.replace("0 would", "2 would"), rule="topic_replicas")),
    Mutation("emptiest-rack", "a copy goes into the rack of another replica though an emptier one is open", DRAIN,
             row([1, 4, 2], [3, 4, 2]), row([1, 4, 2], [7, 4, 2])),
    Mutation("emptiest-rack", "set-rf adds a replica where there is one though an emptier rack is open", UP,
             row([1, 4, 2], [1, 4, 2, 3]), row([1, 4, 2], [1, 4, 2, 7])),
    Mutation("emptiest-rack", "rebalance copies within a shared rack though an emptier one is open", REBALANCE,
             row([1, 4, 2], [3, 4, 2]), row([1, 4, 2], [7, 4, 2])),
    Mutation("locality", "drain takes a replica out of its rack though another broker there is open",
             DRAIN._replace(locality=True), row([1, 2], [4, 2]), row([1, 2], [3, 2])),
    Mutation("moved-twice", "a move has two rows", REBALANCE, MOVE, MOVE | {"moves": MOVE["moves"] * 2}),
    Mutation("batches", "a batch file has another target", REBALANCE, MOVE,
             MOVE | {"forward": [(1, [5, 2, 3], [1, 2, 3], None, "id", 0)]}),
    Mutation("batches", "a batch file lacks a move", REBALANCE, MOVE, MOVE | {"forward": []}),
    Mutation("rollback", "a rollback leads elsewhere", REBALANCE, MOVE,
             MOVE | {"back": [(1, [5, 2, 3], [4, 2, 3], None, "id", 0)]}),
    Mutation("topic-id", "a batch file has another id of a topic", REBALANCE, MOVE, MOVE | {"topic_id": "other"}),
    Mutation("topic-id", "a file has no id of a topic", REBALANCE, MOVE,
             MOVE | {"forward": [(1, [4, 2, 3], [1, 2, 3], None, None, 0)]}),
    Mutation("forgotten", "a drained partition is not in the plan", DRAIN, DRAINED, row([1, 2, 3], None)),
    Mutation("left-out", "a partition that can move is left out as in flight", DRAIN, DRAINED,
             row([1, 2, 3], None, left_out=[([1, 2, 3], FLIGHT)])),
    Mutation("left-out", "a partition is left out for an invented reason", DRAIN, DRAINED,
             row([1, 2, 3], None, left_out=[([1, 2, 3], "it is large")])),
    Mutation("left-out", "a partition is left out as if no live replica were in sync", DRAIN, DRAINED,
             row([1, 2, 3], None, left_out=[([1, 2, 3], "no live replica is in sync: there is nothing to copy from")])),
    Mutation("left-out", "a partition that the goal does not concern is left out", DRAIN, STAYS,
             STAYS | {"left_out": [([2, 3, 4], "no broker has room for it")]}),
    Mutation("left-out", "another number of cordoned brokers is told", DRAIN._replace(cordoned=CLOSED),
             row([1, 2, 3], None, left_out=[([1, 2, 3], TOO_FEW)]),
             row([1, 2, 3], None, left_out=[([1, 2, 3], TOO_FEW.replace("5", "4"))])),
    Mutation("left-out", "another time is told than --within", DRAIN._replace(within=7200),
             row([1, 2, 3], None, left_out=[([1, 2, 3], "there is no time for it within 2 h 0 min (--within)")]),
             row([1, 2, 3], None, left_out=[([1, 2, 3], "there is no time for it within 3 h 0 min (--within)")])),
    Mutation("left-out", "a reason has a word more than it should", DRAIN,
             row([1, 2, 3], None, in_flight=True, left_out=[([1, 2, 3], FLIGHT)]),
             row([1, 2, 3], None, in_flight=True, left_out=[([1, 2, 3], f"{FLIGHT}, hopefully")])),
    Mutation("left-out", "another min.insync.replicas is told", DOWN,
             row([1, 2, 3], None, topic="strict", left_out=[([1, 2, 3], STRICTER)]),
             row([1, 2, 3], None, topic="strict", left_out=[([1, 2, 3], STRICTER.replace("3", "4"))])),
    Mutation("left-out", "another broker is said not to be live", DEMOTE,
             row([1, 2, 9], None, left_out=[([1, 2, 9], "broker 9 is not live: heal it first")]),
             row([1, 2, 9], None, left_out=[([1, 2, 9], "broker 2 is not live: heal it first")])),
    Mutation("left-out", "the lack of room has another wording", DRAIN,
             row([1, 2, 3], None, left_out=[([1, 2, 3], "no broker has room for it")]),
             row([1, 2, 3], None, left_out=[([1, 2, 3], "no broker wants it, there is room")])),
    Mutation("left-out", "a partition is left out for lack of time without --within", DRAIN, DRAINED,
             row([1, 2, 3], None, left_out=[([1, 2, 3], "there is no time for it within 2 h 0 min (--within)")])),
    Mutation("left-out", "a row of those left out has other bytes", DRAIN,
             row([1, 2, 3], None, in_flight=True, left_out=[([1, 2, 3], FLIGHT, 10)]),
             row([1, 2, 3], None, in_flight=True, left_out=[([1, 2, 3], FLIGHT, 11)])),
    Mutation("left-out", "a row of those left out has no bytes", DRAIN,
             row([1, 2, 3], None, in_flight=True, left_out=[([1, 2, 3], FLIGHT)]),
             row([1, 2, 3], None, in_flight=True, left_out=[([1, 2, 3], FLIGHT, None)])),
    Mutation("left-out", "a row of those left out has other replicas", DRAIN,
             row([1, 2, 3], None, in_flight=True, left_out=[([1, 2, 3], FLIGHT)]),
             row([1, 2, 3], None, in_flight=True, left_out=[([1, 2, 4], FLIGHT)])),
    Mutation("left-out", "a reassignment that keeps the drained broker is said to do it", DRAIN,
             row([1, 2, 3], None, in_flight=True, destination=[4, 2, 3], left_out=[([1, 2, 3], THAT)]),
             row([1, 2, 3], None, in_flight=True, left_out=[([1, 2, 3], THAT)])),
    Mutation("left-out", "a partition both moves and is left out", DRAIN, DRAINED,
             DRAINED | {"in_flight": True, "left_out": [([1, 2, 3], FLIGHT)]}),
]  # fmt: skip
STRICT = {"strict": 3}


@for_each("case", OF_ROWS, ids=lambda case: case.change)
def test_dp_3_each_change_by_hand_of_a_row_is_found_by_its_rule(case: Mutation) -> None:
    known = case.facts._replace(min_isrs=STRICT)
    assert check(known, case.fine).named == {}
    assert case.rule in check(known, case.changed).named


@for_each("room", [None, 10, 9])
@for_each("known", [DRAIN, HEAL, UP, RACKS])
def test_dp_3_a_partition_left_out_for_lack_of_room_is_found_where_there_is_room(
    known: PlanFacts, room: int | None
) -> None:
    """Broker 6, or 4 in the rack of the drained one, has room or not; all others are full."""
    before = {"drain": [1, 2, 3], "heal": [9, 1, 2], "set-rf": [1, 2, 3], "racks": [1, 4, 2]}[known.kind]
    one = row(before, None, left_out=[(before, "no broker has room for it")])
    assert check(known, one).no_room == 1
    brokers = dict.fromkeys(known.staying, 0) | {4 if known.kind == "drain" else 6: room}
    found = check_room(said(one), (known, brokers)).named
    assert ("left-out" in found) == (room != 9)


USELESS, IN_FILES = "a copy makes no broker more even", "a batch file moves replicas between log dirs"


def is_useless(*held: tuple[int, int], searched: bool = True, **figures: Any) -> bool:
    """A rebalance that copies t-0 of 10 bytes from broker 1 to 2; `held`: bytes and replicas of both afterwards."""
    loads = [LoadFigures(size, count) for size, count in held]
    whole = LoadFigures(*(sum(of) / 2 for of in zip(*held, strict=True)))
    brokers = [BrokerFigures(n, None, True, None, of, of, whole) for n, of in enumerate(loads, 1)]
    asked = msgspec.structs.replace(SUMMARY.requested, weights={"bytes": 1.0, "replicas": 1.0})
    summary = msgspec.structs.replace(SUMMARY, requested=asked, brokers=brokers, **figures)
    known = REBALANCE._replace(searched=searched, tolerance=asked.tolerance, loads=loads_after(summary))
    return "useless-copy" in check(known, row([1], [2])).named


def test_dp_11_a_copy_without_which_brokers_are_as_even_is_found_in_a_plan_that_was_searched() -> None:
    assert not is_useless((100, 10), (100, 10)), "without it both were 10 % away"
    assert not is_useless((95, 10), (105, 10)), "bytes are nearer without it, replicas are at the edge"
    assert is_useless((95, 20), (105, 20))
    assert is_useless((990, 100), (1010, 100)), "well inside the tolerance with it and without"
    assert not is_useless((95, 20), (105, 20), searched=False)
    assert not is_useless((95, 20), (105, 20), reachable={"bytes": {1: 80, 2: 120}})


def test_dp_3_a_batch_file_of_which_the_stock_tool_would_move_log_dirs_is_odd(tmp_path: Path) -> None:
    (tmp_path / "batches").mkdir()
    entry = {"topic": "t", "partition": 0, "replicas": [1, 2]}
    for number, more in enumerate(({}, {"log_dirs": ["any", "/data/2"]}), 1):
        content = {"version": 1, "partitions": [entry | more]}
        (tmp_path / "batches" / f"batch-{number:04d}.json").write_text(json.dumps(content))
    (tmp_path / "rollback").mkdir()
    [[[found], []]] = CallHere()(faults_of_files(store_path(str(tmp_path))), named_faults, None)
    assert (found.rule, found.name) == ("batches", "batch-0002.json")
    assert found.detail == f"names log dirs of t-0: {MOVES_DIRS}"


class Limits(NamedTuple):
    """Sums of batches and of their brokers that keep the limits of `LIMITED`, and what they are after a change."""

    rule: str
    change: str
    batches: dict[int, BatchSums]
    brokers: dict[tuple[int, int], BrokerSums]


LIMITED = msgspec.structs.replace(
    SUMMARY,
    kind="rebalance",
    moves=4,
    bytes=40,
    batches=[BatchFigures(n, n, 2, 20, 0.0, 0.0) for n in (1, 2)],
    requested=msgspec.structs.replace(
        SUMMARY.requested, moves_per_batch=2, bytes_per_batch=20, moves_per_broker=2, bytes_per_broker=20, max_bytes=40
    ),
)
KEPT = {1: BatchSums(0, 1, 2, 20, 2), 2: BatchSums(1, 2, 2, 20, 2)}
SENT = {(1, 1): BrokerSums(sends=2, sent=20)}
OF_LIMITS = [
    Limits("limits-of-a-batch", "a batch has a move more", KEPT | {1: BatchSums(0, 1, 3, 20, 2)}, SENT),
    Limits("limits-of-a-batch", "a batch copies a byte more", KEPT | {1: BatchSums(0, 1, 2, 21, 2)}, SENT),
    Limits("limits-of-a-broker", "a broker sends a move more", KEPT, {(1, 1): BrokerSums(sends=3, sent=20)}),
    Limits("limits-of-a-broker", "a broker gets a byte more", KEPT, {(1, 1): BrokerSums(receives=2, got=21)}),
    Limits("max-bytes", "a plan copies more than --max-bytes", {1: BatchSums(0, 2, 4, 41, 4)}, SENT),
    Limits("order", "a batch has what should start before", KEPT | {2: BatchSums(0, 2, 2, 20, 2)}, SENT),
]


@for_each("case", OF_LIMITS, ids=lambda case: case.change)
def test_dp_3_each_change_by_hand_of_what_a_batch_has_is_found(case: Limits) -> None:
    def rules(batches: dict[int, BatchSums], brokers: dict[tuple[int, int], BrokerSums]) -> set[str]:
        copied = sum(one.bytes for one in batches.values())
        summary = msgspec.structs.replace(LIMITED, bytes=copied)
        found = [*brokers_over_limits(brokers, summary.requested), *faults_of_batches(batches, summary)]
        return {one.rule for one in found} - {"summary"}  # its figures of batches are other ones after most changes

    assert rules(KEPT, SENT) == set()
    assert case.rule in rules(case.batches, case.brokers)


FULL = "a broker has no room for what comes"
"""Tried in `test_plan_room` and `test_plan_job`, on a plan as a whole."""
OF_TOPICS = "more replicas of a topic are said to be too many on their brokers"
"""Tried in `test_verify_topics`, on a plan as a whole."""


def test_dp_3_the_table_in_the_docs_has_every_rule_with_every_change_that_is_tried() -> None:
    changes = [(one.rule, one.change) for one in OF_ROWS] + [(one.rule, one.change) for one in OF_LIMITS]
    changes += [(rule, text) for rule, text, _ in OF_FIGURES]
    changes += [("summary", OF_TOPICS), (USELESS_COPY, USELESS), ("batches", IN_FILES), ("capacity", FULL)]
    tried: dict[str, list[str]] = {rule: [] for rule in sorted(SENTENCES)}
    for rule, change in sorted(changes):
        tried[rule].append(change)
    table = [f"| `{rule}` | {SENTENCES[rule]} | {'; '.join(of_rule)} |" for rule, of_rule in tried.items()]
    head = "| rule | what it says | changes by hand that it finds |\n|---|---|---|\n"
    assert all(tried.values())
    assert head + "\n".join(table) + "\n\n" in DOCS.read_text()
