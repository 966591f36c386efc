import numpy as np

from kafka_reassign_rpc.planner.columns.exact_sums import Numbers
from kafka_reassign_rpc.planner.columns.partition_columns import NOBODY, PartitionColumns
from kafka_reassign_rpc.planner.goals_and_options import Goal, GoalKind
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN


def movable_rows(columns: PartitionColumns, goal: Goal, live: frozenset[int]) -> Numbers:
    """By row: whether rounds have to see it."""
    movable: Numbers = _concerned(columns, goal, live) & _chosen(columns, goal)
    return movable


def rows_on(columns: PartitionColumns, brokers: frozenset[int]) -> Numbers:
    """By row: whether a replica is on one of these brokers."""
    among = np.isin(columns.brokers, list(brokers))
    on_them: Numbers = (among[columns.replicas] & (columns.replicas != NOBODY)).any(axis=1)
    return on_them


def _concerned(columns: PartitionColumns, goal: Goal, live: frozenset[int]) -> Numbers:
    if goal.kind is GoalKind.SET_FACTOR:
        other: Numbers = (columns.replicas != NOBODY).sum(axis=1) != goal.factor
        return other
    if goal.balances or goal.mends_racks:
        return np.ones(len(columns.number), bool)
    if goal.demoted:
        return columns.led_by(goal.demoted, columns.replicas)
    gone = frozenset(goal.drained)
    if goal.brokers_of(GoalKind.HEAL) is not None:
        gone |= frozenset(columns.brokers.tolist()) - live
    return rows_on(columns, gone)


def _chosen(columns: PartitionColumns, goal: Goal) -> Numbers:
    """Of the topics of the plan, and large enough for it."""
    names = set(goal.topics)
    of_topics = np.array([not names or name in names for name in columns.names], bool)
    large = (columns.bytes == UNKNOWN) | (columns.bytes >= goal.least_bytes)
    chosen: Numbers = of_topics[columns.topic] & large
    return chosen
