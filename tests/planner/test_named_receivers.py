"""`--to`: new replicas go to some brokers alone."""

import pytest

from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanError, PlanOptions
from kafka_reassign_rpc.planner.planner_cluster import PlannerBroker, PlannerCluster
from tests.planner.clusters import broken_rules, brokers, partition, topic
from tests.planner.column_plans import make_plan, plan_of_chunks
from tests.planner.shapes import shaped


def cluster(racks: list[str | None]) -> PlannerCluster:
    return PlannerCluster(brokers(racks), [topic("t", *(partition(n, 1 + n % 3, 4) for n in range(30)))])


@pytest.mark.parametrize(
    "goal",
    [
        Goal(GoalKind.DRAIN, (4,), to=(5, 6)),
        Goal(GoalKind.SET_FACTOR, factor=3, to=(5, 6)),
    ],
    ids=lambda goal: str(goal.kind),
)
def test_dp_2_new_replicas_go_to_the_named_brokers_alone(goal: Goal) -> None:
    found = cluster([None] * 7)
    made = make_plan(found, goal)
    added = [broker for move in made.moves for broker in move.target if broker not in move.original]
    assert len(made.moves) == 30
    assert not made.left_out
    assert {*added} == {5, 6}
    assert abs(added.count(5) - added.count(6)) <= 4, "they share the work"
    assert broken_rules(found, goal, made, 0.05) == []


def one_lost() -> PlannerCluster:
    found = shaped("plain", 12, 200)
    *others, last = found.brokers
    return PlannerCluster([*others, PlannerBroker(last.id, last.rack, False)], list(found.topics))


def test_dp_2_heal_puts_replicas_onto_the_named_brokers_in_chunks_too() -> None:
    lost = one_lost()
    in_rack = tuple(one.id for one in lost.brokers if one.live and one.rack == lost.brokers[-1].rack)
    goal = Goal(GoalKind.HEAL, to=in_rack)
    made = plan_of_chunks(one_lost(), goal, PlanOptions(), [list(lost.topics)])
    assert made.moves
    assert all({*move.target} - {*move.original} <= {*in_rack} for move in made.moves)
    assert broken_rules(one_lost(), goal, made, 0.05) == []


def test_dp_2_what_no_named_broker_can_take_as_even_over_racks_is_left_out_with_the_reason() -> None:
    """Broker 4 is alone in rack b beside 7: on 5 or 6 both replicas would share rack a."""
    found = cluster([*"aaabaab"])
    made = make_plan(found, Goal(GoalKind.DRAIN, (4,), to=(5, 6)))
    assert not made.moves
    reasons = {one.reason for one in made.left_out}
    assert reasons == {"no broker of --to has room for it and leaves it as even over racks as it was"}
    assert not make_plan(found, Goal(GoalKind.DRAIN, (4,), to=(5, 7))).left_out


@pytest.mark.parametrize(("to", "why"), [
    (4, "it is to be emptied"), (8, "the snapshot does not have it"), (6, "it is not live"), (7, "it is cordoned"),
])  # fmt: skip
def test_dp_2_a_broker_that_can_get_nothing_is_refused_with_the_reason(to: int, why: str) -> None:
    listed = [PlannerBroker(n, None, n != 6, cordoned=n == 7) for n in range(1, 8)]
    with pytest.raises(PlanError, match=rf"^drain --to: broker {to} gets no replica, {why}"):
        make_plan(PlannerCluster(listed, []), Goal(GoalKind.DRAIN, (4,), to=(5, to)))
