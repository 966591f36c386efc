import numpy as np

from kafka_reassign_rpc.planner.columns.exact_sums import Numbers
from kafka_reassign_rpc.planner.columns.partition_columns import NOBODY, PartitionColumns
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN


def movable_rows(columns: PartitionColumns, goal: Goal, live: frozenset[int]) -> Numbers:
    """By row: whether rounds have to see it, as it is of a topic of the plan and large enough."""
    names = set(goal.topics)
    of_topics = np.array([not names or name in names for name in columns.names], bool)
    large = (columns.bytes == UNKNOWN) | (columns.bytes >= goal.least_bytes)
    movable: Numbers = of_topics[columns.topic] & large
    if not (goal.balances or goal.mends_racks):
        movable &= forced_rows(columns, columns.replicas, goal, goal.leaving(columns.brokers.tolist(), live))
    return movable


def forced_rows(columns: PartitionColumns, now: Numbers, goal: Goal, leaving: frozenset[int]) -> Numbers:
    """By row: whether a goal that mends no racks may force a change of it. `now`: replicas; `leaving`: brokers whose
    replicas must leave.
    """
    if goal.kind is GoalKind.SET_FACTOR:
        other: Numbers = (now != NOBODY).sum(axis=1) != goal.factor
        return other
    if goal.demoted:
        return columns.led_by(goal.demoted, now)
    return columns.held_by(leaving, now)
