"""How long the search may take, and how its changes are explained."""

from collections.abc import Generator, Mapping, Sequence

import pytest

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.brokers.rack_rule import RackRule
from kafka_reassign_rpc.planner.goals_and_options import Effort
from kafka_reassign_rpc.planner.placement import exchange_search
from kafka_reassign_rpc.planner.placement.exchange_search import SearchRound
from kafka_reassign_rpc.planner.placement.searched_placement import SearchLimits
from kafka_reassign_rpc.planner.planner_cluster import PlannerPartition
from kafka_reassign_rpc.planner.proposals.change_proposal import ChangeProposal, SearchedReplicas
from kafka_reassign_rpc.planner.proposals.imbalance_cost import balance_reason
from kafka_reassign_rpc.support.slices import finished
from tests.planner.clusters import partition
from tests.tables import for_each


def decided(
    held: Sequence[PlannerPartition],
    targets: Sequence[tuple[int, ...]],
    loads: Mapping[int, Load],
    effort: Effort = Effort.FULL,
) -> tuple[Mapping[tuple[str, int], SearchedReplicas], tuple[int, int]]:
    """What a round says of the partitions if its search finds these replicas; its steps and passes."""
    asked = []

    class Search:
        def __init__(self, *_: object) -> None:
            pass

        def finding(self, steps: int, passes: int) -> Generator[None, None, Sequence[tuple[int, ...]]]:
            asked.append((steps, passes))
            yield
            return targets

    scale = (0.01,) + (0.0,) * (len(MEASURES) - 1)
    limits = SearchLimits({}, {}, dict.fromkeys(loads, scale), {}, RackRule({}, {}), 0.0)
    shown = [
        ChangeProposal((0, index), one.replicas, 0, [], 0, "", "", name=("t", index), searched=one)
        for index, one in enumerate(held)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange_search, "ExchangeSearch", Search)
        found = finished(SearchRound(1, effort).deciding(shown, limits, loads))
    assert found.searched is not None
    return found.searched, asked[0]


@for_each(
    ("replicas", "effort", "steps", "passes"),
    [
        (10, Effort.FULL, 2_000, 8),
        (100, Effort.FULL, 60_000, 8),
        (400, Effort.FULL, 80_000, 5),
        (500, Effort.FULL, 90_000, 3),
        (1_000, Effort.FULL, 90_000, 1),
        (3_000, Effort.FULL, 90_000, 1),
        (10, Effort.QUICK, 100, 1),
        (3_000, Effort.QUICK, 4_500, 1),
    ],
)
def test_dp_3_the_search_has_many_passes_for_few_replicas_and_one_for_many(
    replicas: int, effort: Effort, steps: int, passes: int
) -> None:
    held = [partition(index, 1) for index in range(replicas)]
    _, asked = decided(held, [one.replicas for one in held], {1: Load()}, effort)
    assert asked == (steps, passes)


SHARES = {1: (1.5, 1.0, 1.2), 2: (1.9, 1.0, 0.9), 3: (0.95, 1.0, 1.0), 4: (0.2, 1.0, 0.7)}
"""Of bytes, replicas and leaders."""


@for_each(
    ("stood", "target", "reason"),
    [
        ((1, 2, 3), (1, 2, 4), "broker 4 has 20% of its share of bytes"),
        ((2, 1, 3), (2, 1, 4), "broker 4 has 20% of its share of bytes"),  # not broker 2, which still leads
        ((1, 2, 3), (1, 4, 3), "broker 2 has 190% of its share of bytes"),
        ((1, 2, 3), (3, 2, 1), "broker 1 has 120% of its share of leaders"),  # no bytes move
        ((3, 2, 1), (2, 3, 1), "broker 2 has 90% of its share of leaders"),
        ((3, 1), (3, 4), "broker 4 has 20% of its share of bytes"),  # further from its share than broker 1
        ((3, 4), (3, 2), "broker 2 has 190% of its share of bytes (with other moves)"),
        ((3, 1, 2), (3, 2, 1), "other moves need it, to even out brokers"),
    ],
)
def test_dp_3_a_change_is_explained_by_the_broker_that_it_leads_nearer_to_its_share_in_what_it_changes(
    stood: tuple[int, ...], target: tuple[int, ...], reason: str
) -> None:
    moved = partition(0, *target, original=stood)
    told, rule = balance_reason(moved, 10, SHARES)
    assert told == reason
    assert rule == ("balance" if "need" in told else told.split(" (")[0].rpartition(" ")[2])


def test_dp_3_another_order_of_followers_is_no_reason_to_move() -> None:
    stood, now = partition(0, 1, 3, 2), partition(1, 1, 2, 3)
    stood.original = (1, 2, 3)
    found, _ = decided([stood, now], [(1, 2, 3), (1, 2, 3)], {1: Load()})
    assert found == {("t", 0): SearchedReplicas((1, 2, 3), "", "")}
