"""The last round of a rebalance searches for what rounds over sums do not find (docs/pipeline.md)."""

from collections.abc import Generator, Mapping, Sequence

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load
from kafka_reassign_rpc.planner.goals_and_options import Effort
from kafka_reassign_rpc.planner.placement.exchange_search import ExchangeSearch
from kafka_reassign_rpc.planner.placement.searched_placement import SearchLimits
from kafka_reassign_rpc.planner.proposals.change_proposal import ChangeProposal, SearchedReplicas
from kafka_reassign_rpc.planner.proposals.round_sums import Thresholds

SMALL = 1_000
"""About the most that the search sees."""
_STEPS_PER_REPLICA, _STEPS_PER_PAIR, _MOST_OF_PAIRS, _MOST_STEPS = 200, 7, 60_000, 90_000
_MOST_PASSES, _WORK = 8, 160_000_000
"""Steps of all passes, times replicas. Many replicas get one long pass, few get many."""
_QUICK = 20
"""By how much the one pass of a quick search is shorter."""


class SearchRound:
    """Sees one partition in `one_in`; counts the changes that it `tried`."""

    def __init__(self, one_in: int, effort: Effort) -> None:
        self.one_in = one_in
        self.tried = 0
        self._effort = effort

    def deciding(
        self,
        shown: Sequence[ChangeProposal],
        limits: SearchLimits,
        loads: Mapping[int, Load],
        before: Mapping[int, Load],
    ) -> Generator[None, None, Thresholds]:
        """`loads`: now, `before`: before the plan; of all brokers."""
        ordered = sorted(shown, key=lambda one: one.name or ("", 0))
        partitions = [one.searched for one in ordered if one.searched is not None]
        if not partitions:
            return Thresholds()
        search = ExchangeSearch(partitions, loads, limits)
        replicas = sum(len(one.replicas) for one in partitions)
        found = yield from search.finding(*_steps_and_passes(replicas, self._effort))
        self.tried, searched = search.tried, {}
        for one, partition, target in zip(ordered, partitions, found, strict=True):
            if target != partition.replicas and one.name is not None:
                stood = partition.original or partition.replicas
                if stood[0] == target[0] and set(stood) == set(target):
                    target = stood  # noqa: PLW2901 - another order of followers is no reason to move
                why = (one.reason, one.rule) if one.rule == "racks" else _why(stood, target, limits, before)
                searched[one.name] = SearchedReplicas(target, *why)
        return Thresholds(searched=searched)


def _steps_and_passes(replicas: int, effort: Effort) -> tuple[int, int]:
    """Few replicas have few pairs: what can be tried grows with these until each replica gets its steps."""
    of_pairs = min(_MOST_OF_PAIRS, _STEPS_PER_PAIR * replicas**2)
    steps = min(_MOST_STEPS, max(replicas * _STEPS_PER_REPLICA, of_pairs))
    if effort is Effort.QUICK:
        return -(-steps // _QUICK), 1
    return steps, max(1, min(_MOST_PASSES, _WORK // (steps * replicas)))


def _why(
    stood: Sequence[int], target: Sequence[int], limits: SearchLimits, before: Mapping[int, Load]
) -> tuple[str, str]:
    changed = [*(set(stood) ^ set(target)), *({stood[0], target[0]} if stood[0] != target[0] else ())]
    found = [
        (abs(before[broker][place] * scale - 1), -place, -broker)
        for broker in changed
        for place, scale in enumerate(limits.scale[broker])
        if scale
    ]
    if not found:
        return "", ""
    _, place, broker = max(found)
    name, share = MEASURES[-place], before[-broker][-place] * limits.scale[-broker][-place]
    return f"broker {-broker} has {share:.0%} of its share of {name}", name
