from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from kafka_reassign_rpc.planner.brokers.broker_load import Load, leadership_load, replica_load
from kafka_reassign_rpc.planner.brokers.broker_room import BrokerRoom
from kafka_reassign_rpc.planner.brokers.rack_rule import RackRule
from kafka_reassign_rpc.planner.planner_cluster import PlannerPartition

EDGE = 0.99
"""The part of the tolerance within which the search leaves brokers."""
_OUTSIDE_AT_LAST = 1_000.0
"""What a load outside of the tolerance costs when results are compared, as a multiple of as many copied bytes: the
tolerance comes first.
"""

Parts = tuple[tuple[int, int], ...]
"""Measures and values, without those that are 0 or do not count."""


class SearchLimits(msgspec.Struct, frozen=True):
    """By broker and measure:

    least, most    the band in which a broker costs nothing
    scale          what a unit outside of the band costs; 0.0 if the measure does not count
    rooms          of the brokers that may get replicas
    byte_cost      of a copied byte
    copied         bytes that the plan has copied so far, None if the search sees all of it
    arrived        the same by broker
    keeps_mended   a partition that has become more even over racks stays so
    inside_racks   each rack keeps as many replicas of a partition as it had
    """

    least: Mapping[int, tuple[float, ...]]
    most: Mapping[int, tuple[float, ...]]
    scale: Mapping[int, tuple[float, ...]]
    rooms: Mapping[int, BrokerRoom]
    rack_rule: RackRule
    byte_cost: float
    max_bytes: int = -1
    copied: int | None = None
    arrived: Mapping[int, int] | None = None
    keeps_mended: bool = False
    inside_racks: bool = False

    @classmethod
    def of(
        cls, targets: Mapping[int, Sequence[float]], weights: Sequence[float], tolerance: float, **others: Any
    ) -> "SearchLimits":
        """`others`: fields that do not follow from these."""
        low, high = 1 - tolerance * EDGE, 1 + tolerance * EDGE
        return cls(
            least={broker: tuple(low * one for one in wanted) for broker, wanted in targets.items()},
            most={broker: tuple(high * one for one in wanted) for broker, wanted in targets.items()},
            scale={
                broker: tuple(1 / one if one and weight else 0.0 for one, weight in zip(wanted, weights, strict=True))
                for broker, wanted in targets.items()
            },
            byte_cost=len(targets) / max(1, sum(wanted[0] for wanted in targets.values())),
            **others,
        )


class SearchedPlacement:
    """`partitions` may all move, and have known sizes; `loads` are those of the whole cluster with them."""

    def __init__(self, partitions: Sequence[PlannerPartition], loads: Mapping[int, Load], limits: SearchLimits) -> None:
        self._partitions, self._limits = partitions, limits
        self._now = [list(one.replicas) for one in partitions]
        self._stood = [one.original or one.replicas for one in partitions]
        self._loads = {broker: list(loads[broker]) for broker in sorted(limits.least)}
        self._brokers = sorted(limits.rooms)
        counts = [any(scales[place] for scales in limits.scale.values()) for place in range(len(Load._fields))]
        self._follows = [_parts(replica_load(one, one.bytes, leads=False), counts) for one in partitions]
        self._leads = [_parts(replica_load(one, one.bytes, leads=True), counts) for one in partitions]
        self._leadership = [_parts(leadership_load(one), counts) for one in partitions]
        self._evenness: list[dict[tuple[str, ...], bool]] = [{} for _ in partitions]
        self._arrived, self._copied = dict.fromkeys(self._brokers, 0), 0
        for place, one in enumerate(partitions):
            for broker in one.replicas:
                if broker not in self._stood[place]:
                    self._arrived[broker] += one.bytes
                    self._copied += one.bytes
        if limits.arrived is not None:
            self._arrived |= {broker: limits.arrived.get(broker, 0) for broker in self._brokers}
        self._copied = self._copied if limits.copied is None else limits.copied
        self._penalty, self._bound, self._improved = _OUTSIDE_AT_LAST, 0.0, False
        self._outside = self._outside_of(self._loads)
        self._keep_result()

    # -- hard rules ---------------------------------------------------------------------------------------------------

    def _is_within(self, more: int) -> bool:
        return self._limits.max_bytes < 0 or more <= 0 or self._copied + more <= self._limits.max_bytes

    def _may_lead(self, place: int, broker: int) -> bool:
        """A replica that is copied leads once it is in sync, an existing one only if it is now."""
        return broker in self._partitions[place].isr or broker not in self._stood[place]

    def _may_hold(self, place: int, at: int, to: int) -> bool:
        return (at > 0 or self._may_lead(place, to)) and self._has_place(place, at, to)

    def _has_place(self, place: int, at: int, to: int) -> bool:
        size = self._partitions[place].bytes
        if to not in self._stood[place]:
            room = self._limits.rooms.get(to)
            if room is None or room.left(self._arrived[to]) < size:
                return False
        return self._keeps_evenness(place, at, to)

    def _keeps_evenness(self, place: int, at: int, to: int) -> bool:
        """As even over racks as before; a copy that is made anyway must make it more even if it can."""
        rule, one, stood = self._limits.rack_rule, self._partitions[place], self._stood[place]
        target = [*self._now[place]]
        target[at] = to
        copies = sum([broker not in stood for broker in target])
        kept = [str(broker) for broker in target if broker in rule.cordoned]
        key = (str(copies), *sorted([rule.racks[broker] for broker in target]), *sorted(kept))
        known = self._evenness[place].get(key)
        if known is None:
            most = max(0, rule.copies_lacking(stood) - copies)
            if self._limits.keeps_mended:
                most = min(most, rule.copies_lacking(one.replicas))
            known = rule.allows(stood, target) and rule.copies_lacking(target) <= most
            if known and self._limits.inside_racks:
                known = rule.counts(target) == rule.counts(stood)
            self._evenness[place][key] = known
        return known

    # -- cost ---------------------------------------------------------------------------------------------------------

    def _shift(self, source: int, to: int, load: Parts) -> float:
        """How much more is outside of the band. The search spends most of its time here."""
        limits, cost = self._limits, 0.0
        for broker, sign in ((source, -1), (to, 1)):
            held, least, most = self._loads[broker], limits.least[broker], limits.most[broker]
            scale = limits.scale[broker]
            for place, part in load:
                now, low, high = held[place], least[place], most[place]
                then = now + sign * part
                before = now - high if now > high else low - now if now < low else 0.0
                after = then - high if then > high else low - then if then < low else 0.0
                if after != before:
                    cost += (after - before) * scale[place]
        return cost

    def _cost(self, outside: float, more: int) -> float:
        return self._penalty * outside + more * self._limits.byte_cost

    def _carry(self, source: int, to: int, load: Parts) -> None:
        lost, got = self._loads[source], self._loads[to]
        for place, part in load:
            lost[place] -= part
            got[place] += part

    def _outside_of(self, brokers: Iterable[int]) -> float:
        limits, cost = self._limits, 0.0
        for broker in brokers:
            bands = zip(
                self._loads[broker], limits.least[broker], limits.most[broker], limits.scale[broker], strict=True
            )
            cost += sum([max(held - most, least - held, 0.0) * scale for held, least, most, scale in bands])
        return cost

    def _before_change(self, outside: float, more: int) -> None:
        cost = self._cost(outside, more)
        if cost > 0 and self._improved:
            self._keep_if_best()
        self._improved = cost < 0 or (self._improved and cost == 0)
        self._outside += outside

    def _keep_if_best(self) -> None:
        """The running sum rules out most results: adding up all brokers takes long."""
        if self._cost_at_last(self._outside) < self._best_cost:
            self._outside = self._outside_of(self._loads)
            if self._cost_at_last(self._outside) < self._best_cost:
                self._keep_result()

    def _keep_result(self) -> None:
        self._best_outside, self._best_cost = self._outside, self._cost_at_last(self._outside)
        self._best = [tuple(replicas) for replicas in self._now]

    def _cost_at_last(self, outside: float) -> float:
        return self._copied * self._limits.byte_cost + _OUTSIDE_AT_LAST * outside

    def _more(self, place: int, source: int, to: int) -> int:
        stood, size = self._stood[place], self._partitions[place].bytes
        return (0 if to in stood else size) - (0 if source in stood else size)

    def _replace(self, place: int, at: int, to: int) -> None:
        replicas, size, stood = self._now[place], self._partitions[place].bytes, self._stood[place]
        source, replicas[at] = replicas[at], to
        if to not in stood:
            self._arrived[to] += size
            self._copied += size
        if source not in stood:
            self._arrived[source] -= size
            self._copied -= size

    def _put(self, place: int, replicas: Sequence[int]) -> None:
        size, stood, now = self._partitions[place].bytes, self._stood[place], self._now[place]
        for held, sign in ((now, -1), (replicas, 1)):
            for at, broker in enumerate(held):
                for measure, part in self._follows[place] if at else self._leads[place]:
                    self._loads[broker][measure] += sign * part
                if broker not in stood:
                    self._arrived[broker] += sign * size
                    self._copied += sign * size
        now[:] = replicas


def _parts(load: Load, counts: Sequence[bool]) -> Parts:
    return tuple([(place, part) for place, part in enumerate(load) if part and counts[place]])
