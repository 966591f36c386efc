"""`plan demote`: brokers lead nothing any more, and no byte is copied."""

import pytest

from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind, PlanError, PlanOptions
from kafka_reassign_rpc.planner.plan_result import LeftOut
from kafka_reassign_rpc.planner.planner_cluster import PlannerCluster
from kafka_reassign_rpc.planner.proposals.forced_proposals import NO_OTHER_LEADER, PREFERRED_ALREADY
from tests.planner.clusters import broken_rules, brokers, partition, random_cluster, topic
from tests.planner.column_plans import make_plan, plan_of_chunks


def demote(*named: int) -> Goal:
    return Goal(GoalKind.DEMOTE, named)


def test_dp_2_a_demoted_broker_goes_behind_the_others_and_another_one_leads() -> None:
    parts = (partition(0, 1, 2, 3), partition(1, 2, 1, 3), partition(2, 1, 3, 2, live=(1, 3)))
    cluster = PlannerCluster(brokers("abc"), [topic("t", *parts)])
    made = make_plan(cluster, demote(1))
    targets = {move.partition: move.target for move in made.moves}
    assert targets[0] in ((2, 3, 1), (3, 2, 1))
    assert targets[2] == (3, 2, 1), "broker 2 is not in sync"
    assert {*targets} == {0, 2}, "of partition 1 it is a follower"
    assert {(move.bytes, move.reason, move.rule) for move in made.moves} == {
        (0, "broker 1 is to lead nothing", "demote")
    }
    assert made.summary.after[1].leaders == 0
    assert not made.left_out


def test_dp_2_what_nobody_else_can_lead_is_left_out_with_the_reason() -> None:
    alone = partition(0, 1, 2, live=(1,))
    elected = partition(1, 2, 1)
    elected.leader = 1
    moving = partition(2, 1, 2, moving=True)
    cluster = PlannerCluster(brokers("ab"), [topic("t", alone, elected, moving)])
    assert [*make_plan(cluster, demote(1)).left_out] == [
        LeftOut("t", 0, (1, 2), NO_OTHER_LEADER, True, alone.bytes),
        LeftOut("t", 1, (2, 1), PREFERRED_ALREADY, True, elected.bytes),
        LeftOut("t", 2, (1, 2), "its reassignment is in flight", True, moving.bytes),
    ]


def test_dp_2_leaders_of_demoted_brokers_are_shared_out_and_chunks_do_not_matter() -> None:
    cluster = random_cluster(9, 3, 900, seed=3)
    made = make_plan(cluster, demote(2, 5))
    assert made.summary.bytes == made.summary.lower_bound == 0
    leaders = [made.summary.after[n].leaders for n in range(9)]
    assert (leaders[2], leaders[5]) == (0, 0)
    others = [count for broker, count in enumerate(leaders) if broker not in (2, 5)]
    assert max(others) < 1.35 * sum(others) / 7
    assert broken_rules(cluster, demote(2, 5), made, 0.05) == []
    chunks = [[one] for one in random_cluster(9, 3, 900, seed=3).topics]
    assert {move[:4] for move in plan_of_chunks(cluster, demote(2, 5), PlanOptions(), chunks).moves} == {
        move[:4] for move in made.moves
    }


@pytest.mark.parametrize(("named", "said"), [((9,), "no broker 9"), ((1, 2), "no live broker"), ((3,), "not live")])
def test_dp_2_brokers_that_cannot_be_demoted_are_named(named: tuple[int, ...], said: str) -> None:
    cluster = PlannerCluster(brokers("abc", dead=(3,)), [topic("t", partition(0, 1, 2))])
    with pytest.raises(PlanError, match=said):
        make_plan(cluster, demote(*named))
