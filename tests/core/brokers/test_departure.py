"""May these brokers go? Tables that were worked out by hand."""

from collections.abc import Collection

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.brokers import departure
from kafka_reassign_rpc.core.brokers.departure import BrokerFacts, Departure, Disks, Losses, Named, Room
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.views import BrokerDisk
from kafka_reassign_rpc.support.slices import finished
from tests.core.build import broker, write
from tests.status_page.views import at_rest, cluster_of, move
from tests.tables import for_each

RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: None}


def world(*partitions: Partition, live: tuple[int, ...] = (1, 2, 3, 4, 5), least: int = 1) -> Cluster:
    """Topic t. Brokers 1 and 2 are in rack a, 3 and 4 in b, 5 in none."""
    made = cluster_of({"t": dict(enumerate(partitions))}, live)
    made.brokers = {one: broker(one, rack=RACKS[one]) for one in live}
    made.topic_configs["t"] = {"min.insync.replicas": str(least)}
    return made


def lost(cluster: Cluster, *away: int, most: int = 9) -> Losses:
    brokers = departure.brokers_of(cluster, {})
    return finished(departure.count_losses(departure.partitions_of(cluster), {"": away}, brokers, most))[""]


def kinds(losses: Losses) -> str:
    """The first letters of those that are not empty: L B U R P ?."""
    letters = {
        "last_in_sync": "L",
        "below_min_isr": "B",
        "under_replicated": "U",
        "lost_rack": "R",
        "no_place": "P",
        "unknown": "?",
    }
    return "".join(letter for kind, letter in letters.items() if getattr(losses, kind).count)


def partial(replicas: tuple[int, ...], isr: tuple[int, ...]) -> Partition:
    return replace(at_rest(*replicas), isr=isr, leader=isr[0] if isr else -1)


@for_each(
    ("partition", "least", "away", "live", "expected"),
    [
        (at_rest(1, 3), 1, (2,), (1, 2, 3, 4), ""),
        (at_rest(1, 3), 1, (1,), (1, 2, 3, 4), "UR"),
        (at_rest(1, 2), 1, (1,), (1, 2, 3, 4), "U"),
        (at_rest(1, 3), 2, (1,), (1, 2, 3, 4), "BUR"),
        (at_rest(1, 3), 1, (1, 3), (1, 2, 4, 3), "LBUR"),
        (at_rest(1), 1, (1,), (1, 2), "LBUR"),
        # Kafka takes no more than the partition has replicas
        (at_rest(1, 2), 3, (3,), (1, 2, 3), ""),
        (at_rest(1, 2, 3), 3, (3,), (1, 2, 3, 4), "BUR"),
        # 3 is not in sync: with it goes no replica that counts
        (partial((1, 2, 3), (1, 2)), 2, (3,), (1, 2, 3, 4), ""),
        (partial((1, 2, 3), (1, 2)), 1, (1, 2), (1, 2, 3, 4, 5), "LBR"),
        # it was under-replicated before, and stays so
        (partial((1, 2, 3), (1, 2)), 1, (1,), (1, 2, 3, 4), ""),
        # 2 has just died and is in the ISR still
        (at_rest(1, 2), 1, (1,), (1, 3, 4), "LBUR"),
        (at_rest(1, 2, 3), 2, (1,), (1, 3, 4), "BURP"),
        # 9 is long dead, and has the last in-sync replica
        (partial((9, 1), (9,)), 1, (9,), (1, 2), "LB"),
        (partial((9, 1), (9,)), 1, (1,), (1, 2, 3), ""),
        # a broker without a rack is in no rack
        (at_rest(3, 5), 1, (5,), (1, 2, 3, 5), "U"),
        # nowhere to go
        (at_rest(1, 2, 3), 1, (3,), (1, 2, 3), "URP"),
        # the state is not known
        (partial((1, 2), ()), 1, (1,), (1, 2, 3), "?"),
        (partial((1, 2), ()), 1, (3,), (1, 2, 3), ""),
        # a move brings 4 and takes 1
        (move((1, 2), (4, 2)), 1, (4,), (1, 2, 3, 4), ""),
        (move((1, 2), (4, 2)), 1, (1,), (1, 2, 3, 4), "U"),
        (replace(move((1, 2), (4, 2)), isr=(1, 2, 4)), 2, (1,), (1, 2, 3, 4), ""),
    ],
)
def test_dh_6_what_a_partition_loses_with_brokers(
    partition: Partition, least: int, away: tuple[int, ...], live: tuple[int, ...], expected: str
) -> None:
    assert kinds(lost(world(partition, live=live, least=least), *away)) == expected


def test_dh_6_a_replica_whose_log_dir_has_failed_does_not_count() -> None:
    assert kinds(lost(world(replace(at_rest(1, 2), offline=(2,))), 1)) == "LBUR"


def test_dh_6_a_broker_that_shuts_down_does_not_count() -> None:
    here = world(at_rest(1, 2))
    here.soft.shutting_down.add(2)
    assert kinds(lost(here, 1)) == "LBUR"


def test_dh_6_topics_and_partitions_that_cannot_be_read_are_unknown_and_those_in_deletion_are_left_out() -> None:
    here = world(at_rest(1, 2), at_rest(3, 4))
    here.topics["t"].unreadable = {1: "why"}
    here.unreadable["garbled"] = "no JSON"
    assert lost(here, 3).unknown.names == ["garbled", "t-1"]
    assert lost(here, 1).unknown.names == ["garbled"], "it may have had replicas anywhere"
    here.topics["t"].deleting = True
    here.unreadable.clear()
    assert kinds(lost(here, 1, 2, 3, 4)) == ""


def test_dh_6_the_first_by_name_are_kept_and_all_are_counted_in_any_order() -> None:
    found, other = Named(), Named()
    for index in (11, 2, 7, 5):
        found.add(TopicPartition("t", index), 3)
    other.add(TopicPartition("t", 3), 3)
    other.add(TopicPartition("s", 30), 3)
    found.merge(other, 3)
    assert (found.count, found.names) == (6, ["s-30", "t-2", "t-3"])
    assert found.text(2) == "s-30, t-2 and 4 more"


@for_each(
    ("disks", "closed", "away", "expected"),
    [
        ({1: (50, 10), 2: (0, 30), 3: (0, 20)}, "", (1,), Room(50, 50, True, [])),
        ({1: (51, 10), 2: (0, 30), 3: (0, 20)}, "", (1,), Room(51, 50, False, [])),
        ({1: (51, 10), 2: (0, 30)}, "", (1,), Room(51, None, None, [3])),
        ({1: (20, 10), 2: (0, 30)}, "", (1,), Room(20, None, True, [3])),
        ({2: (0, 30), 3: (0, 20)}, "", (1,), Room(None, 50, None, [1])),
        # what is known of those that go is too much already
        ({1: (51, 10), 3: (0, 20)}, "", (1, 2), Room(None, 20, False, [2])),
        ({1: (50, 10), 2: (0, 30), 3: (0, 20)}, "3", (1,), Room(50, 30, False, [])),
        ({1: (50, 10), 2: (0, 30), 3: (0, 20)}, "", (1, 2, 3), Room(50, 0, False, [])),
    ],
)
def test_dh_6_room_is_known_as_far_as_brokers_have_reported_their_bytes(
    disks: dict[int, tuple[int, int]], closed: str, away: Collection[int], expected: Room
) -> None:
    here = world(at_rest(1, 2), live=(1, 2, 3))
    write(here, settings={"cordoned.brokers": closed} if closed else {})
    told = {one: BrokerDisk(0, held, 1000, free, ()) for one, (held, free) in disks.items()}
    assert Disks(departure.brokers_of(here, told)).room(away, 1) == expected


@pytest.mark.parametrize(
    ("disk", "held", "free"),
    [
        (BrokerDisk(0, 5, 100, 7, ()), 5, 7),
        (BrokerDisk(0, 0, 100, 7, ()), 0, 7),
        # before Kafka 3.3
        (BrokerDisk(0, 5, None, None, ()), 5, None),
        # refused, or old and empty
        (BrokerDisk(0, 0, None, None, ()), None, None),
        # what is on the failed log dir is not reported
        (BrokerDisk(0, 5, 100, 7, [("/d", 56)]), None, 7),
        (None, None, None),
    ],
)
def test_dh_6_bytes_that_a_broker_has_not_reported_are_not_0(disk: BrokerDisk | None, held: int, free: int) -> None:
    found = departure.brokers_of(world(live=(1,)), {} if disk is None else {1: disk})[1]
    assert (found.held, found.free) == (held, free)


def test_dh_6_a_broker_that_holds_nothing_needs_no_room() -> None:
    brokers = {1: BrokerFacts(live=True, held=7), 2: BrokerFacts(live=True, held=5, free=9)}
    assert Disks(brokers).room((1,), 0) == Room(0, 9, enough=True, silent=[])


def test_dh_6_the_verdict_says_no_why_and_not_known_where_it_is_not() -> None:
    unknown = Room(None, None, None, [1])
    here = world(at_rest(1), at_rest(1, 2), at_rest(1, 3), least=2)
    found = Departure((1,), lost(here, 1), unknown)
    assert found.may_go(here.brokers) is False
    assert found.why_not(here.brokers) == [
        "1 partition loses its last in-sync replica",
        "3 partitions fall under min.insync.replicas",
    ]
    assert found.meanwhile() == [
        "3 partitions become under-replicated",
        "2 partitions lose a rack",
        "whether the others have room is not known",
    ]
    here = world(partial((1, 2), ()))
    assert Departure((1,), lost(here, 1), unknown).may_go(here.brokers) is None
    assert Departure((3,), lost(here, 3), unknown).may_go(here.brokers) is True
    assert Departure((3,), lost(here, 3), Room(2, 1, enough=False, silent=[])).may_go(here.brokers) is False


def test_dh_6_an_unknown_id_is_no_broker_that_may_go() -> None:
    here = world(at_rest(9, 1))
    found = Departure((8, 9), lost(here, 8, 9), Room(0, 0, enough=True, silent=[]))
    assert found.strangers(here.brokers) == [8], "9 is gone, and holds a replica"
    assert found.why_not(here.brokers)[-1] == "no broker 8 is registered or holds a replica"
    only = Departure((8,), lost(here, 8), Room(0, 0, enough=True, silent=[]))
    assert only.may_go(here.brokers) is None


def test_dh_6_one_pass_answers_for_every_broker_and_rack_as_each_question_alone() -> None:
    here = world(at_rest(1, 2, 3), at_rest(4, 5), move((1, 2), (4, 2)), partial((3, 4), (3,)), least=2)
    asked: dict[object, tuple[int, ...]] = {**{one: (one,) for one in here.brokers}, "a": (1, 2), "b": (3, 4)}
    brokers = departure.brokers_of(here, {})
    together = finished(departure.count_losses(departure.partitions_of(here), asked, brokers, 9))
    for key, away in asked.items():
        alone = lost(here, *away)
        for kind in departure.KINDS:
            assert getattr(together[key], kind).names == getattr(alone, kind).names, (key, kind)
        assert together[key].replicas == alone.replicas
