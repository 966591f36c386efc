from collections.abc import Sequence

from kafka_reassign_rpc.planner.goals_and_options import GoalKind
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters


def with_goals(reason: str, original: Sequence[int], copies: int, params: RoundParameters) -> str:
    """Names the parts of a combined goal that ask for a move, or for a partition that is left out: `drain: broker 3 is
    to be drained`. Of `copies` added replicas, those that replace none of a lost or drained broker are for new ones.
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
