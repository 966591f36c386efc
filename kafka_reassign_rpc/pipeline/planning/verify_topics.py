"""Whether the summary's figures of topics follow."""

from collections.abc import Iterator, Mapping

import numpy as np

from kafka_reassign_rpc.pipeline.broker_lists import NOBODY, Ints, flat, grouped, looked_up
from kafka_reassign_rpc.pipeline.planning.verify_facts import RuleViolation
from kafka_reassign_rpc.pipeline.planning.verify_sums import CheckedRows
from kafka_reassign_rpc.pipeline.plans.plan_summary import PlanSummary, TopicFigures

PIECE = 5_000
"""A larger topic is spread in such pieces."""

Shares = Mapping[str, Mapping[int, float]]
"""By measure and broker: its part of each topic, with the tolerance."""


def topic_shares(summary: PlanSummary) -> Shares:
    """Empty unless the plan was to spread topics."""
    asked = [name for name in TopicFigures.__struct_fields__ if summary.requested.weights.get(f"topic_{name}")]
    return {name: _shares(name, summary) for name in asked} if summary.kind == "rebalance" else {}


def _shares(name: str, summary: PlanSummary) -> Mapping[int, float]:
    targets = {one.broker: getattr(one.target, name) for one in summary.brokers if one.live}
    whole = sum(targets.values())
    return {broker: one / whole * (1 + summary.requested.tolerance) for broker, one in targets.items()} if whole else {}


def above_even(pieces: Ints, replicas: Ints, shares: Shares) -> dict[str, int]:
    """What brokers have above their shares, rounded up. `pieces`: of topics, by row."""
    broker, place, piece = flat(replicas, pieces)
    rows = grouped({"piece": piece, "broker": broker}, {"leaders": (place == 0).astype(np.int64)})
    names = ("piece", "broker", "count", "leaders")
    columns = {name: np.array([row[name] for row in rows], np.int64) for name in names}
    _, of_piece = np.unique(columns["piece"], return_inverse=True)
    above = {}
    for name, parts in shares.items():
        held = columns["leaders" if name == "leaders" else "count"]
        whole = np.bincount(of_piece, held, minlength=1)[of_piece] if len(held) else held
        place_of = looked_up(columns["broker"], {one: number for number, one in enumerate(parts)})
        part = np.array([*parts.values(), np.inf])[np.where(place_of == NOBODY, -1, place_of)]
        most = np.ceil(whole * part - 1e-9)
        above[name] = int(np.where(np.isfinite(most), np.maximum(0, held - most), 0).sum())
    return above


def faults_of_topics(checked: CheckedRows, summary: PlanSummary) -> Iterator[RuleViolation]:
    """Only of plans that were to spread topics."""
    if not topic_shares(summary):
        return
    for name in ("topics_before", "topics_after"):
        says, follows = getattr(summary, name), TopicFigures(**getattr(checked, name))
        if says != follows:
            yield RuleViolation("summary", name, f"{says}, not {follows}")
