"""Which replicas a partition will have, and what of a waiting repair is still needed when brokers come back.

What a repair would cost: bytes, and the time of the busiest broker.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.healing.repair_targets import (
    Copy,
    CostSum,
    RepairCost,
    is_repair_of_returned_brokers,
    leaving,
    rates_of,
    repair_reason,
    serves_as_repair,
    still_needed,
    still_to_copy,
    wanted_replicas,
)
from kafka_reassign_rpc.core.settings.healing_settings import HealingThrottle
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, MoveRecord, MoveTerms, Partition, Phase
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE
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


MB = 1_000_000


@for_each(
    ("copies", "others", "cost"),
    [
        ([], (), RepairCost(0, 0)),
        ([Copy(1, 0, (2,))], (), RepairCost(0, 0)),
        ([Copy(1, 6 * MB, (2,))], (), RepairCost(6 * MB, 6000)),
        ([Copy(1, 6 * MB, (2, 3))], (), RepairCost(12 * MB, 12_000)),
        ([Copy(1, 6 * MB, (3,)), Copy(2, 6 * MB, (3,))], (), RepairCost(12 * MB, 12_000)),
        ([Copy(1, 6 * MB), Copy(2, 6 * MB)], (1, 2, 3, 4), RepairCost(12 * MB, 6000)),
        ([Copy(1, 6 * MB), Copy(2, 6 * MB)], (3,), RepairCost(12 * MB, 12_000)),
        ([Copy(1, 6 * MB)], (), RepairCost(6 * MB, None)),
        ([Copy(1, 6 * MB, (2,)), Copy(1, None, (2, 3))], (), RepairCost(6 * MB, None, 2)),
        ([Copy(1, 0, (2,)), Copy(1, None)], (), RepairCost(0, None, 1)),
        ([Copy(1, None)], (), RepairCost(None, None, 1)),
        ([Copy(1, 6 * MB, (9,))], (), RepairCost(6 * MB, None)),
    ],
)
def test_dh_8_the_busiest_broker_sets_the_time_and_what_is_not_known_is_not_0(
    copies: Sequence[Copy], others: Sequence[int], cost: RepairCost
) -> None:
    """1 MB/s each; how fast broker 9 copies is not known."""
    found = CostSum()
    for copy in copies:
        found.add(copy)
    assert found.cost(others, lambda broker, _: None if broker == 9 else MB) == cost


@pytest.mark.parametrize(
    ("throttle", "fastest", "follower_of_3", "rate"),
    [
        ("-1", 0, None, None),
        ("-1", 5 * MB, None, 5 * MB),
        ("4MB", 0, None, 4 * MB),
        ("4MB", 0, "1000000", MB),
        ("4MB", 0, "9000000", 4 * MB),
        ("50%", 6 * MB, None, 3 * MB),
    ],
)
def test_dh_8_the_rate_is_that_of_the_throttle_or_a_stricter_one_that_is_set(
    throttle: str, fastest: int, follower_of_3: str | None, rate: int | None
) -> None:
    configs: dict[str, Mapping[str, str]] = {} if follower_of_3 is None else {"3": {FOLLOWER_RATE: follower_of_3}}
    own = HealingThrottle.parse(throttle)
    assert own is not None
    found = rates_of(Cluster(broker_configs=configs), own, fastest)
    assert found(3, FOLLOWER_RATE) == rate
    assert follower_of_3 is None or found(3, LEADER_RATE) == 4 * MB
