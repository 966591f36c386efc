"""Which parts of a combined goal ask for a move, or name a partition that is left out."""

from collections.abc import Sequence

from kafka_reassign_rpc.planner.goals_and_options import GoalKind
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters


def with_goals(reason: str, original: Sequence[int], copies: int, params: RoundParameters) -> str:
    """`drain: broker 3 is to be drained`. Only the reason if the goal combines no others.

    `copies` counts the replicas that the plan adds: those that leave no lost or drained broker are for new brokers.
    """
    goal = params.goal
    if goal.kind is not GoalKind.COMBINE:
        return reason
    leaving = params.leaving.intersection(original)
    drained = leaving.intersection(goal.drained)
    asking = [
        kind
        for kind, asks in (
            (GoalKind.HEAL, leaving != drained),
            (GoalKind.DRAIN, bool(drained)),
            (GoalKind.EXPAND, not leaving or copies > len(leaving)),
        )
        if asks
    ]
    return f"{', '.join(asking)}: {reason}"
