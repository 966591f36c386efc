"""New topics that a stock broker has placed on cordoned brokers, as a controller first sees them."""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.controller.duties.replica_watch import new_on_cordoned
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.failover import fail_over
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.topics.missing_replicas import replace_missing
from kafka_reassign_rpc.core.writers.replay import PartitionTransition, ReplayedChanges
from tests.core.build import TOPIC, broker, made, not_moving, view, write
from tests.tables import for_each

SERVER = 1000
CORDONED_AT = 500


def appeared(partition: Partition, *, cordoned: str = "3", stateless_since: int = CORDONED_AT + 1) -> RoundView:
    here = view(partition, live=(1, 2, 3, 4))
    write(here.cluster, settings={"cordoned.brokers": cordoned}, settings_changed=CORDONED_AT)
    here.cluster.topics[TOPIC].stateless_since = stateless_since
    return here


def placed(here: RoundView) -> tuple[int, ...]:
    changes = fail_over(here, TOPIC, 0, own_id=SERVER)
    return made(changes).replicas if changes else here.cluster.topics[TOPIC].partitions[0].replicas


def told(here: RoundView) -> list[str]:
    return [note.event for note in here.notes if isinstance(note, Event)]


@for_each(
    ("replicas", "cordoned", "expected"),
    [
        ((3, 1), "3", (2, 1)),
        ((1, 3), "3", (1, 2)),
        ((3,), "3", (1,)),
        ((3, 4), "3,4", (1, 2)),
        ((1, 2), "3", (1, 2)),
        ((1, 2, 3), "3,4", (1, 2, 3)),
        ((3, 4, 1), "3,4", (2, 4, 1)),
        ((3, 1000), "3", (2, 1)),
    ],
)
def test_dh_2_a_new_replica_goes_to_an_open_broker_or_stays_where_none_is_left(
    replicas: tuple[int, ...], cordoned: str, expected: tuple[int, ...]
) -> None:
    here = appeared(Partition(replicas), cordoned=cordoned)
    assert placed(here) == expected
    corrected = bool(set(replicas).difference(expected) - {SERVER})
    assert told(here).count("cordon.corrected") == corrected


def test_sv_1_a_new_replica_stays_on_a_cordoned_broker_while_the_znode_of_its_topic_has_no_room() -> None:
    here = RoundView(appeared(Partition((3, 1))).cluster, {TOPIC})
    assert placed(here) == (3, 1)
    assert "cordon.corrected" not in told(here)


def test_dh_2_the_first_state_names_the_brokers_that_hold_the_replicas() -> None:
    state = made(fail_over(appeared(Partition((3, 1))), TOPIC, 0, own_id=SERVER))
    assert (state.leader, state.isr, state.leader_epoch, state.move) == (2, (2, 1), 0, None)


@pytest.mark.parametrize(
    ("partition", "others"),
    [
        (Partition((3, 1)), {"stateless_since": CORDONED_AT - 1}),
        (Partition((3, 1)), {"stateless_since": -1}),
        (not_moving(3, 1), {}),
        (Partition((3, 1), adding=(3,)), {}),
    ],
    ids=["it is older than the cordon", "states were lost", "it has a state, and so logs", "it is moved there"],
)
def test_dh_2_a_replica_that_may_have_a_log_stays(partition: Partition, others: dict[str, Any]) -> None:
    here = appeared(partition, **others)
    assert 3 in placed(here)
    assert "cordon.corrected" not in told(here)


def test_dh_2_the_rack_of_the_cordoned_broker_no_longer_counts() -> None:
    here = appeared(Partition((3, 1)))
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    here.cluster.brokers = {id_: broker(id_, rack=rack) for id_, rack in racks.items()}
    assert placed(here) == (4, 1)


@for_each("seed", range(20))
def test_dh_2_any_new_partition_keeps_its_replication_factor_and_gets_nothing_on_a_cordoned_broker_needlessly(
    seed: int,
) -> None:
    chance = Random(seed)
    brokers = (1, 2, 3, 4)
    closed = set(chance.sample(brokers, chance.randint(0, 4)))
    replicas = tuple(chance.sample(brokers, chance.randint(1, 4)))
    found = placed(appeared(Partition(replicas), cordoned=",".join(map(str, closed))))
    assert len(set(found)) == len(replicas)
    assert all(new == old or (old in closed and new not in closed) for old, new in zip(replicas, found, strict=True))
    assert closed.isdisjoint(found) or set(found) >= set(brokers) - closed


def test_dh_2_a_missing_replica_waits_for_an_open_broker_but_an_only_one_does_not() -> None:
    here = appeared(not_moving(1, 2, 4))
    here.cluster.topics[TOPIC].missing[0] = 1
    assert replace_missing(here, TOPIC, 0, SERVER) == []
    alone = appeared(replace(Partition((SERVER,)), partition_epoch=0), cordoned="1,2,3,4")
    assert made(replace_missing(alone, TOPIC, 0, SERVER)).replicas == (1,)


def test_dh_2_new_replicas_on_a_cordoned_broker_are_reported_by_broker_with_the_first_of_them() -> None:
    here, applied = appeared(not_moving(1, 2)).cluster, ReplayedChanges()
    for index in range(7):
        applied.partitions.append(PartitionTransition("new", index, None, not_moving(3, 1)))
    applied.partitions += [
        PartitionTransition("others", 0, Partition((3, 2)), not_moving(3, 2)),
        PartitionTransition("led", 0, not_moving(3, 1, leader=3), not_moving(3, 1, leader=1)),
        PartitionTransition("gone", 0, not_moving(3, 1), not_moving(2, 1)),
    ]
    [event] = [event for event in new_on_cordoned(here, applied.partitions) if event is not None]
    assert (event.event, event.broker, event.count) == ("cordon.broken", 3, 8)
    assert event.reason == "new-0, new-1, new-2, new-3, new-4 and 3 more"
