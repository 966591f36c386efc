"""How many rounds spread topics: of replicas and leaders, then, where that is not enough, of leaders by copies."""

from collections.abc import Sequence

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.brokers.broker_room import NO_LIMIT
from kafka_reassign_rpc.planner.goals_and_options import GoalWeights
from kafka_reassign_rpc.planner.placement.balance_round import SpreadRounds
from kafka_reassign_rpc.planner.proposals.round_sums import TOPIC_EXCESS
from tests.tables import for_each

SHARES = [{1: 3, 2: 1}] * len(MEASURES)


def spread(leaders: float = 1.0, replicas: float = 1.0) -> SpreadRounds:
    return SpreadRounds(SHARES, GoalWeights(topic_replicas=replicas, topic_leaders=leaders), 0.1)


def kinds(rounds: SpreadRounds, accepted: Sequence[int]) -> str:
    """What each round does until no more spreads: r places replicas, c copies leaders. `accepted`: changes by round."""
    found = ""
    for some in accepted:
        now = rounds.parameters(True)
        if not now.now:
            break
        assert now.proposes
        found += "c" if now.copies_leaders else "r"
        rounds.take(some, balances=True)
    return found


@for_each(
    "accepted, leaders, found",
    [
        ([1] * 20, 1.0, "rrrrrrcccccc"),
        ([1] * 20, 0.0, "rrrrrr"),
        ([1, 1, 0, *[1] * 17], 1.0, "rrrccc"),
        ([0, 0, 0, 0], 1.0, "rc"),
        ([0, 0, 0, 0], 0.0, "r"),
        ([1, 0, 1, 0, 1], 1.0, "rrcc"),
    ],
)
def test_dp_13_topics_are_spread_for_six_rounds_or_until_nothing_changes_and_then_by_copies_of_leaders(
    accepted: list[int], leaders: float, found: str
) -> None:
    assert kinds(spread(leaders), accepted) == found


def test_dp_13_the_first_round_of_all_measures_too_and_rounds_of_other_goals_do_not_count() -> None:
    rounds = spread()
    assert (rounds.parameters(False).now, rounds.parameters(False).proposes) == (True, False)
    rounds.decide({TOPIC_EXCESS: [(0, Load(replicas=7), 1)]}, lambda broker: NO_LIMIT, -1)
    assert not rounds.parameters(False).now
    assert (rounds.before.replicas, rounds.after.replicas) == (7, 7)
    for _ in range(10):
        rounds.take(0, balances=False)
    rounds.decide({TOPIC_EXCESS: [(0, Load(replicas=3), 1)]}, lambda broker: NO_LIMIT, -1)
    assert (rounds.before.replicas, rounds.after.replicas) == (7, 3)
    rounds.decide({}, lambda broker: NO_LIMIT, -1)
    assert (rounds.before.replicas, rounds.after.replicas) == (7, 0)
    assert kinds(rounds, [1] * 20) == "rrrrrrcccccc"


def test_dp_13_a_round_that_measures_changes_nothing_and_is_the_last() -> None:
    rounds = spread()
    assert kinds(rounds, [0, 0]) == "rc"
    rounds.measure()
    now = rounds.parameters(True)
    assert (now.now, now.proposes) == (True, False)
    rounds.take(1, balances=True)
    assert not rounds.parameters(True).now


def test_dp_13_a_broker_may_have_its_share_of_a_topic_and_the_tolerance_where_that_matters() -> None:
    now = spread(leaders=0.0).parameters(True)
    assert now.replicas == {1: 0.75 * (1 + 0.1), 2: 0.25 * (1 + 0.1)}
    assert now.leaders == {}
    assert spread(replicas=0.0).parameters(True).replicas == {}
