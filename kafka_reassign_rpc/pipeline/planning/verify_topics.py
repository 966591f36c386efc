"""Whether the summary's figures of topics follow."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from kafka_reassign_rpc.pipeline.planning.verify_rules import RuleViolation
from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary, TopicFigures

PIECE = 5_000
"""A larger topic is spread in such pieces."""


class TopicHeld(NamedTuple):
    topic: str
    piece: int
    broker: int
    replicas: int
    leaders: int


def faults_of_topics(held: Callable[[bool], Iterable[TopicHeld]], summary: PlanSummary) -> Iterator[RuleViolation]:
    """Only of plans that were to spread topics. `held`: before the plan, or after it, in order of topics."""
    asked = [name for name in TopicFigures.__struct_fields__ if summary.requested.weights.get(f"topic_{name}")]
    if summary.kind != "rebalance" or not asked:
        return
    for name, says, after in (
        ("topics_before", summary.topics_before, False),
        ("topics_after", summary.topics_after, True),
    ):
        follows = above_even(held(after), asked, summary)
        if says != follows:
            yield RuleViolation("summary", name, f"{says}, not {follows}")


def above_even(rows: Iterable[TopicHeld], asked: Iterable[str], summary: PlanSummary) -> TopicFigures:
    """A broker may have its share of a topic, by its target, plus the tolerance, rounded up. `rows` are in order."""
    counted = list(asked)
    parts = {name: _parts(name, summary) for name in counted}
    above = dict.fromkeys(counted, 0)
    of_one: list[TopicHeld] = []
    for row in chain(rows, [TopicHeld("", -1, -1, 0, 0)]):
        if of_one and (row.topic, row.piece) != (of_one[0].topic, of_one[0].piece):
            for name in counted:
                whole = sum(getattr(one, name) for one in of_one)
                for one in of_one:
                    if one.broker in parts[name]:
                        most = math.ceil(whole * parts[name][one.broker] - 1e-9)
                        above[name] += max(0, getattr(one, name) - most)
            of_one = []
        of_one.append(row)
    return TopicFigures(**above)


def _parts(name: str, summary: PlanSummary) -> Mapping[int, float]:
    targets = {one.broker: getattr(one.target, name) for one in summary.brokers if one.live}
    whole = sum(targets.values())
    return {broker: one / whole * (1 + summary.requested.tolerance) for broker, one in targets.items()} if whole else {}
