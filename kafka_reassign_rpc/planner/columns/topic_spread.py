"""An even spread of each topic: its replicas and its leaders over brokers. A chunk sees a topic whole (a huge one in
pieces), and spreads each by itself; later changes that even out brokers keep it spread.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Self

import numpy as np

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.columns.partition_columns import racks_to_gain
from kafka_reassign_rpc.planner.deterministic_random import partition_key, random_bits
from kafka_reassign_rpc.planner.planner_cluster import PlannerPartition, PlannerTopic
from kafka_reassign_rpc.planner.proposals.change_proposal import (
    ALL_BUCKETS,
    IN,
    ChangeProposal,
    LoadChange,
    load_changes,
)
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters, SpreadParameters
from kafka_reassign_rpc.planner.proposals.round_sums import TOPIC_EXCESS

REPLICAS, LEADERS = "topic_replicas", "topic_leaders"
_ROUNDING = 1e-9


class SpreadCounts:
    """Replicas and preferred leaders of a topic by broker, and how many each may have at most."""

    def __init__(self, replicas: Iterable[Sequence[int]], spread: SpreadParameters) -> None:
        """`replicas`: of each partition."""
        self.replicas: dict[int, int] = {}
        self.leaders: dict[int, int] = {}
        for held in replicas:
            for broker in held:
                self.replicas[broker] = self.replicas.get(broker, 0) + 1
            for broker in held[:1]:
                self.leaders[broker] = self.leaders.get(broker, 0) + 1
        self.most_replicas = _most(spread.replicas, self.replicas)
        self.most_leaders = _most(spread.leaders, self.leaders)

    @classmethod
    def of(cls, topic: PlannerTopic, spread: SpreadParameters) -> Self:
        return cls((one.replicas for one in topic.partitions), spread)

    def excess(self) -> Load:
        return Load(replicas=_above(self.replicas, self.most_replicas), leaders=_above(self.leaders, self.most_leaders))

    def crowds(self, broker: int, load: Load) -> bool:
        more_replicas = load.replicas and not _has_place(self.replicas, self.most_replicas, broker)
        return bool(more_replicas or (load.leaders and not _has_place(self.leaders, self.most_leaders, broker)))

    def bring(self, broker: int, load: Load, sign: int = 1) -> None:
        self.replicas[broker] = self.replicas.get(broker, 0) + sign * load.replicas
        self.leaders[broker] = self.leaders.get(broker, 0) + sign * load.leaders


def _most(shares: Mapping[int, float], held: Mapping[int, int]) -> dict[int, int]:
    whole = sum(held.values())
    return {broker: math.ceil(whole * share - _ROUNDING) for broker, share in shares.items()}


def _above(held: Mapping[int, int], most: Mapping[int, int]) -> int:
    return sum(max(0, held.get(broker, 0) - limit) for broker, limit in most.items())


def _has_place(held: Mapping[int, int], most: Mapping[int, int], broker: int) -> bool:
    return broker not in most or held.get(broker, 0) < most[broker]


def spread_proposals(
    chunk: list[PlannerTopic], params: RoundParameters, able: Iterable[bool]
) -> Iterator[ChangeProposal]:
    """For each topic what is more than even, as loads of no broker; and changes that make it fewer. `able`: of each
    partition, whether it may move.
    """
    spread, able = params.spread, iter(able)
    assert spread is not None
    for at, topic in enumerate(chunk):
        may_move = [*islice(able, len(topic.partitions))]
        counts = SpreadCounts.of(topic, spread)
        excess = counts.excess()
        if not any(excess):
            continue
        yield ChangeProposal((at, 0), (), 0, [LoadChange(*TOPIC_EXCESS, excess)], 2, "", "")
        for place, one in enumerate(topic.partitions) if spread.proposes else ():
            made = _less_crowded(topic.name, one, counts, params) if may_move[place] else None
            if made is not None:
                target, rule = made
                changes = load_changes(one, params.size(one), target)
                for change in changes:
                    counts.bring(change.broker, change.load, 1 if change.side == IN else -1)
                bucket = params.random_bits(partition_key(topic.name, one.index)) % ALL_BUCKETS
                yield ChangeProposal((at, place), target, bucket, changes, 2, "", rule)


def _less_crowded(
    topic: str, one: PlannerPartition, counts: SpreadCounts, params: RoundParameters
) -> tuple[tuple[int, ...], str] | None:
    """The replicas, and the rule."""
    for place, source in enumerate(one.replicas):
        if source in counts.most_replicas and counts.replicas[source] > counts.most_replicas[source]:
            chosen = _destination(topic, one, place, Load(replicas=1), counts, params)
            if chosen is not None:
                target = (*one.replicas[:place], chosen, *one.replicas[place + 1 :])
                return target, REPLICAS
    first = one.replicas[0]
    if first in counts.most_leaders and counts.leaders[first] > counts.most_leaders[first]:
        others = [
            broker
            for broker in one.replicas[1:]
            if (broker in one.isr or broker not in one.original) and not counts.crowds(broker, Load(leaders=1))
        ]
        if others:
            chosen = min(others, key=lambda broker: counts.leaders.get(broker, 0))
            swapped = {first: chosen, chosen: first}
            return tuple(swapped.get(broker, broker) for broker in one.replicas), LEADERS
        if params.spread is not None and params.spread.copies_leaders:
            copied = _destination(topic, one, 0, Load(replicas=1, leaders=1), counts, params)
            if copied is not None:
                return (copied, *one.replicas[1:]), LEADERS
    return None


def _destination(
    topic: str, one: PlannerPartition, place: int, load: Load, counts: SpreadCounts, params: RoundParameters
) -> int | None:
    """`load`: what of the topic comes there. The broker with the smallest part of what it may have of that."""
    held, most = (counts.leaders, counts.most_leaders) if load.leaders else (counts.replicas, counts.most_replicas)
    choice, rule, size = params.choice, params.choice.rack_rule, params.size(one)
    key = random_bits(partition_key(topic, one.index), params.seed + 31 * params.round_number)
    source_rack = rule.racks[one.replicas[place]]
    others = rule.counts((*one.replicas[:place], *one.replicas[place + 1 :]))
    beside, to_gain = others.get(source_rack, 0), set[str]()
    if beside:
        counts_of = np.array([[others.get(rack, 0) for rack in choice.rack_room]])
        has_room = np.array([[room >= size for room in choice.rack_room.values()]])
        [gains] = racks_to_gain(counts_of, np.array([beside]), has_room)
        to_gain = {rack for rack, is_gained in zip(choice.rack_room, gains, strict=True) if is_gained}

    def is_fit(broker: int) -> bool:
        rack = rule.racks[broker]
        keeps = rack in to_gain if to_gain else rack == source_rack or others.get(rack, 0) <= beside
        return keeps and choice.has_room(broker, size) and not counts.crowds(broker, load)

    fit = [broker for broker in choice.free_bytes if broker not in one.replicas and is_fit(broker)]
    return min(
        fit,
        key=lambda broker: (held.get(broker, 0) / most[broker], random_bits(key, broker)),
        default=None,
    )


def spread_reason(one: PlannerPartition, stood: SpreadCounts) -> tuple[str, str]:
    """Why a partition moves that is to spread its topic, and the rule, at the end of the plan; "" where it spreads
    nothing that was too many before it. `stood`: before the plan.
    """
    left = [broker for broker in one.original if broker not in one.replicas]
    ceases = [one.original[0]] if one.original[0] != one.replicas[0] else []
    for what, brokers, held, most in (
        ("replicas", left, stood.replicas, stood.most_replicas),
        ("leaders", ceases, stood.leaders, stood.most_leaders),
    ):
        over = [(held[broker] - most[broker], -broker) for broker in brokers if broker in most]
        if over and max(over)[0] > 0:
            broker = -max(over)[1]
            return (
                f"broker {broker} has {held[broker]} {what} of the topic, {most[broker]} would be even",
                f"topic_{what}",
            )
    return "", ""
