"""Which replicas a partition will have, and what of a waiting repair is still needed when brokers come back."""

from collections.abc import Collection
from dataclasses import dataclass

from msgspec.structs import replace

from kafka_reassign_rpc.core.healing.repair_targets import (
    is_repair_of_returned_brokers,
    leaving,
    repair_reason,
    serves_as_repair,
    still_needed,
    still_to_copy,
    wanted_replicas,
)
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, MoveRecord, MoveTerms, Partition, Phase
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from tests.core.build import broker, cluster, moving, not_moving
from tests.tables import for_each

LOST, LIVE = 3, (1, 2, 4, 5)
"""Broker 3 is gone."""
PLANNED = WaitingMove(MoveTerms((1, 4)))
REPAIR = WaitingMove(MoveTerms((1, 4), route=HEAL))


def here(live: Collection[int] = LIVE) -> Cluster:
    return cluster(live=live)


def repairing(origin: tuple[int, ...], target: tuple[int, ...], brokers: Collection[int] = (LOST,)) -> Partition:
    terms = MoveTerms(target, route=HEAL, reason=repair_reason(brokers))
    return replace(moving(origin, target), move=MoveRecord(terms, origin))


def decided(phase: Phase) -> Partition:
    return replace(not_moving(1, 2), move=MoveRecord(MoveTerms((4, 5)), (1, 2), phase=phase))


@for_each(
    "partition, queued, wanted",
    [
        (not_moving(1, LOST), None, (1, LOST)),
        (not_moving(1, LOST), REPAIR, (1, 4)),
        (not_moving(1, LOST), PLANNED, (1, LOST)),
        (moving((1, LOST), (4, 5)), None, (4, 5)),
        (moving((1, 2), (1, LOST)), None, (1, 2)),  # it would bring in an absent broker
        (moving((1, 2), (1, LOST)), REPAIR, (1, 4)),
        (repairing((1, 2), (1, LOST), (2,)), None, (1, LOST)),  # it is planned again
        (decided(Phase.MOVING), None, (4, 5)),  # in front of KRaft: it has ended
        (decided(Phase.START), None, (1, 2)),
    ],
)
def test_dh_1_a_partition_will_have_the_replicas_of_its_waiting_repair_or_else_of_its_move(
    partition: Partition, queued: WaitingMove | None, wanted: tuple[int, ...]
) -> None:
    assert wanted_replicas(here(), partition, queued) == wanted


@for_each(
    "queued, serves",
    [(None, False), (REPAIR, False), (PLANNED, True), (WaitingMove(MoveTerms((1, LOST))), False)],
)
def test_dh_1_a_waiting_move_to_brokers_that_are_there_is_as_good_as_a_repair(
    queued: WaitingMove | None, *, serves: bool
) -> None:
    assert serves_as_repair(queued, here(), not_moving(1, LOST)) is serves


@for_each(
    "partition, queued, found",
    [
        (moving((1, LOST), (4, 5)), None, [LOST]),
        (moving((1, LOST), (4, 5)), PLANNED, [LOST]),
        (moving((1, LOST), (4, 5)), REPAIR, []),
        (moving((1, LOST), (4, LOST)), None, []),  # it stays
        (moving((1, 2), (4, 5)), None, []),  # it lives
        (repairing((1, LOST), (1, 4)), None, []),
        (not_moving(1, 2), None, []),
    ],
)
def test_dh_1_a_lost_replica_that_a_move_takes_away_counts_until_then_but_not_in_a_repair(
    partition: Partition, queued: WaitingMove | None, found: list[int]
) -> None:
    assert leaving(here(), partition, queued, wanted_replicas(here(), partition, queued)) == found


def test_dh_1_what_is_not_in_sync_and_is_added_or_no_replica_yet_is_still_to_be_copied() -> None:
    assert still_to_copy(moving((1, 2), (1, 4), isr=(1, 2)), (1, 4)) == [4]
    assert still_to_copy(moving((1, 2), (1, 4), isr=(1, 2, 4)), (1, 4)) == []
    assert still_to_copy(not_moving(1, 2, isr=(1,)), (1, 2, 5)) == [5], "2 has a copy that only lags"


@dataclass
class Repair:
    """A waiting repair of a partition on 1, 2 and 3 to 1, 4 and 5, when `live` are there."""

    live: tuple[int, ...]
    left: tuple[int, ...] | None
    racks: str = "abcde"
    """Of brokers 1 … 5."""


@for_each(
    "case",
    [
        Repair((1, 4, 5), (1, 4, 5)),
        Repair((1, 2, 4, 5), (1, 2, 5)),
        Repair((1, 3, 4, 5), (1, 4, 3)),
        Repair((1, 2, 3, 4, 5), None),
        Repair((1, 2, 4, 5), (1, 4, 5), "aabcd"),  # with 2 two replicas would be in one rack
        Repair((1, 2, 4, 5), (1, 2, 5), "aabab"),  # they are in two racks anyway
    ],
)
def test_dh_1_a_broker_that_came_back_keeps_its_replica_unless_racks_are_less_even_then(case: Repair) -> None:
    world = here()
    world.brokers = {id_: broker(id_, rack=case.racks[id_ - 1]) for id_ in case.live}
    assert still_needed(world, not_moving(1, 2, 3), (1, 4, 5)) == case.left


def test_dh_1_a_repair_of_a_partition_that_is_gone_is_not_needed_and_one_of_other_replicas_is_needed_as_it_is() -> None:
    assert still_needed(here(), None, (1, 4)) is None
    assert still_needed(here(), not_moving(1, 2, LOST), (1, 4)) == (1, 4)
    assert still_needed(here(), not_moving(1, LOST, 4), (5, 4, 1)) == (5, 4, 1), "1 would be there twice"
    assert still_needed(here(), not_moving(1, 2), (4, 5)) is None


def test_dh_1_a_broker_with_lost_log_dirs_is_back_once_it_has_answered() -> None:
    world = here((1, 2, 3))
    world.soft.unheard = {3}
    assert still_needed(world, not_moving(1, 3), (1, 2), in_part={3}) == (1, 2)
    assert still_needed(world, not_moving(1, 3), (1, 2)) is None
    world.soft.unheard = set()
    assert still_needed(world, not_moving(1, 3), (1, 2), in_part={3}) is None


@for_each(
    "partition, is_one",
    [
        (repairing((1, 2), (1, 4), (2,)), True),
        (repairing((1, LOST), (1, 4)), False),
        (moving((1, 2), (1, 4)), False),
        (moving((1, 2), (1, 4), recorded=False), False),
        (replace(not_moving(1, 2), move=repairing((1, 2), (1, 4)).move), False),
    ],
)
def test_dh_1_a_repair_whose_brokers_are_all_back_is_one_of_returned_brokers(
    partition: Partition, *, is_one: bool
) -> None:
    assert is_repair_of_returned_brokers(here(), partition) is is_one
