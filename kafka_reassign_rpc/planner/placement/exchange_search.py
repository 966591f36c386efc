"""Searches for the least that must be copied until every broker is within the tolerance: simulated annealing over
single partitions.

Rounds see sums, so they stop where no change of one partition helps; if brokers hold few replicas, that is early. Near
the edge of the tolerance almost every single change leaves it, so most steps change two things of about the same
weight. The order in which partitions arrive does not matter.

The last round of a rebalance searches for what rounds over sums do not find (docs/pipeline.md).
"""

import math
import random
from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.goals_and_options import Effort
from kafka_reassign_rpc.planner.placement.searched_placement import Parts, SearchedPlacement, SearchLimits
from kafka_reassign_rpc.planner.proposals.change_proposal import ChangeProposal, SearchedReplicas
from kafka_reassign_rpc.planner.proposals.round_sums import Thresholds

_IDLE_PASSES = 2
"""With all brokers inside, the search ends after so many passes that find nothing better."""
_MOST_TRIED = 60
"""Partitions that a step tries to find one that fits."""
_ALIKE = 0.7
"""The part of exchanges between two leaders or two followers: the others change how many partitions brokers lead."""
_SLICE = 100


class _Schedule(NamedTuple):
    """Temperatures are parts of the cost of copying a mean replica; `outside` is the cost of a load outside of the
    tolerance, as a multiple of as many copied bytes, in the first and in the last step.
    """

    hottest: float
    coldest: float
    outside: tuple[float, float]


_LEAST_BYTES = _Schedule(1.5, 0.01, (3.0, 60.0))
_INSIDE_FIRST = _Schedule(20.0, 0.1, (40.0, 40.0))
"""While the best result leaves a broker outside: hot for long enough to move loads about, whatever that copies."""


class ExchangeSearch(SearchedPlacement):
    def finding(self, steps: int, passes: int) -> Generator[None, None, list[tuple[int, ...]]]:
        """In slices. Each pass (of `steps`) finds another optimum, and they differ most where partitions are few: the
        best counts. One more follows a single pass that has left a broker outside.
        """
        idle = 0
        for turn in range(max(passes, 2)):
            is_outside = turn > 0 and self._best_outside > 0.0
            if (idle >= _IDLE_PASSES or turn >= passes) and not is_outside:
                break
            before = self._best_cost
            schedule = _INSIDE_FIRST if is_outside else _LEAST_BYTES
            yield from self._anneal(steps, schedule, random.Random(turn))  # noqa: S311
            idle = 0 if self._best_cost < before else idle + 1
        for place, replicas in enumerate(self._best):
            if tuple(self._now[place]) != replicas:
                self._put(place, replicas)
            if not place % _SLICE:
                yield
        yield from self._take_back()
        return [tuple(replicas) for replicas in self._now]

    def _anneal(self, steps: int, schedule: _Schedule, chance: random.Random) -> Generator[None, None, None]:
        draw, brokers, now, count = chance.random, self._brokers, self._now, len(self._partitions)
        mean = sum(one.bytes for one in self._partitions) / count * self._limits.byte_cost or 1 / count
        heat, cooling = schedule.hottest * mean, (schedule.coldest / schedule.hottest) ** (1 / max(1, steps))
        first, last = schedule.outside
        for step in range(steps):
            if not step % _SLICE:
                self._penalty = first * (last / first) ** (step / steps)
                yield
            heat *= cooling
            self._bound = -heat * math.log(1 - draw())
            place, kind = int(draw() * count), draw()
            at = int(draw() * len(now[place]))
            if kind < 0.15:
                self._lead(place, at)
            elif kind < 0.25:
                self._exchange_leaders(place, at, int(draw() * count))
            elif kind < 0.3:
                self._move_leader(place, at, brokers[int(draw() * len(brokers))])
            elif kind < 0.6:
                self._copy_another(place, at, int(draw() * count))
            elif kind < 0.76:
                other = int(draw() * count)
                where = int(draw() * len(now[other]))
                if draw() < _ALIKE:
                    where = min(max(where, 1), len(now[other]) - 1) if at else 0
                self._exchange(place, at, other, where)
            elif kind < 0.84:
                stood = self._stood[place]
                self._move(place, at, stood[int(draw() * len(stood))])
            else:
                self._move(place, at, brokers[int(draw() * len(brokers))])
        self._keep_if_best()

    # -- changes: each is made if it costs little enough and breaks no rule ------------------------------------------

    def _lead(self, place: int, at: int) -> None:
        replicas, load = self._now[place], self._leadership[place]
        before, after = replicas[0], replicas[at]
        outside = self._shift(before, after, load) if at else math.inf
        if self._penalty * outside <= self._bound and self._may_lead(place, after):
            self._before_change(outside, 0)
            replicas[0], replicas[at] = after, before
            self._carry(before, after, load)

    def _exchange_leaders(self, place: int, at: int, start: int) -> None:
        """Two brokers exchange leaderships of partitions that both hold."""
        replicas, now = self._now[place], self._now
        former, leader = replicas[0], replicas[at]
        if not at or not self._may_lead(place, leader):
            return
        count = len(now)
        for turn in range(start, start + min(count, _MOST_TRIED)):
            other = turn % count
            its = now[other]
            if its[0] != leader or former not in its:
                continue
            load = _difference(self._leadership[place], self._leadership[other])
            outside = self._shift(former, leader, load)
            if self._penalty * outside <= self._bound and self._may_lead(other, former):
                self._before_change(outside, 0)
                where = its.index(former)
                replicas[0], replicas[at], its[0], its[where] = leader, former, former, leader
                self._carry(former, leader, load)
            return

    def _move(self, place: int, at: int, to: int) -> None:
        replicas = self._now[place]
        if to in replicas:
            return
        source, load = replicas[at], self._follows[place] if at else self._leads[place]
        more = self._more(place, source, to)
        outside = self._shift(source, to, load)
        if self._cost(outside, more) <= self._bound and self._is_within(more) and self._may_hold(place, at, to):
            self._before_change(outside, more)
            self._replace(place, at, to)
            self._carry(source, to, load)

    def _move_leader(self, place: int, at: int, to: int) -> None:
        """The leader's replica goes elsewhere, and an existing replica leads."""
        replicas = self._now[place]
        if not at or to in replicas:
            return
        former, leader = replicas[0], replicas[at]
        led, load, more = self._leadership[place], self._follows[place], self._more(place, replicas[0], to)
        outside = self._shift(former, leader, led)
        self._carry(former, leader, led)
        outside += self._shift(former, to, load)
        self._carry(leader, former, led)
        if self._cost(outside, more) > self._bound or not self._is_within(more):
            return
        if self._may_lead(place, leader) and self._has_place(place, 0, to):
            self._before_change(outside, more)
            self._replace(place, 0, to)
            replicas[0], replicas[at] = leader, to
            self._carry(former, leader, led)
            self._carry(former, to, load)

    def _copy_another(self, place: int, at: int, start: int) -> None:
        """Takes a copy back and copies another replica of its source instead: the first such pair."""
        now, stood, count = self._now, self._stood, len(self._now)
        for turn in range(place, place + min(count, _MOST_TRIED)):
            found = turn % count
            copied = [where for where, broker in enumerate(now[found]) if broker not in stood[found]]
            if copied:
                break
        else:
            return
        homes = [broker for broker in stood[found] if broker not in now[found]]
        where, home = copied[at % len(copied)], homes[start % len(homes)]
        broker = now[found][where]
        for turn in range(start, start + min(count, _MOST_TRIED)):
            its = now[turn % count]
            if home in its and broker not in its:
                self._exchange(found, where, turn % count, its.index(home))
                return

    def _exchange(self, place: int, at: int, other: int, where: int) -> None:
        mine, its = self._now[place][at], self._now[other][where]
        if its in self._now[place] or mine in self._now[other]:
            return
        load = _difference(
            self._follows[place] if at else self._leads[place], self._follows[other] if where else self._leads[other]
        )
        more = self._more(place, mine, its) + self._more(other, its, mine)
        outside = self._shift(mine, its, load)
        if self._cost(outside, more) > self._bound or not self._is_within(more):
            return
        if self._may_hold(place, at, its) and self._may_hold(other, where, mine):
            self._before_change(outside, more)
            self._replace(place, at, its)
            self._replace(other, where, mine)
            self._carry(mine, its, load)

    # -- the end ------------------------------------------------------------------------------------------------------

    def _take_back(self) -> Generator[None, None, None]:
        """Changes without a copy cost the search nothing, so it also makes some that help no broker. Taking one back
        may make another needless.
        """
        rule, goes_on = self._limits.rack_rule, True
        while goes_on:
            goes_on = False
            for place, one in enumerate(self._partitions):
                if not place % _SLICE:
                    yield
                stood, now = self._stood[place], tuple(self._now[place])
                mends = self._limits.keeps_mended and rule.copies_lacking(stood) > rule.copies_lacking(one.replicas)
                if now == stood or mends:
                    continue
                changed = {*stood, *now}
                before = self._outside_of(changed)
                self._put(place, stood)
                if self._outside_of(changed) > before:
                    self._put(place, now)
                else:
                    goes_on = True


def _difference(one: Parts, other: Parts) -> Parts:
    found = dict(one)
    for place, part in other:
        found[place] = found.get(place, 0) - part
    return tuple([(place, part) for place, part in found.items() if part])


SMALL = 1_000
"""About the most that the search sees."""
_STEPS_PER_REPLICA, _STEPS_PER_PAIR, _MOST_OF_PAIRS, _MOST_STEPS = 200, 7, 60_000, 90_000
_MOST_PASSES, _WORK = 8, 160_000_000
"""Steps of all passes, times replicas. Many replicas get one long pass, few get many."""
_QUICK = 20
"""By how much the one pass of a quick search is shorter."""


class SearchRound:
    """Sees one partition in `one_in`."""

    def __init__(self, one_in: int, effort: Effort) -> None:
        self.one_in = one_in
        self._effort = effort

    def deciding(
        self, shown: Sequence[ChangeProposal], limits: SearchLimits, loads: Mapping[int, Load]
    ) -> Generator[None, None, Thresholds]:
        """`loads`: now, of all brokers."""
        ordered = sorted(shown, key=lambda one: one.name or ("", 0))
        partitions = [one.searched for one in ordered if one.searched is not None]
        if not partitions:
            return Thresholds()
        replicas, searched = sum(len(one.replicas) for one in partitions), {}
        search = ExchangeSearch(partitions, loads, limits)
        found = yield from search.finding(*_steps_and_passes(replicas, self._effort))
        for one, partition, target in zip(ordered, partitions, found, strict=True):
            if target != partition.replicas and one.name is not None:
                stood = partition.original or partition.replicas
                if stood[0] == target[0] and set(stood) == set(target):
                    target = stood  # noqa: PLW2901 - another order of followers is no reason to move
                searched[one.name] = SearchedReplicas(target, one.reason, one.rule)
        return Thresholds(searched=searched)


def _steps_and_passes(replicas: int, effort: Effort) -> tuple[int, int]:
    """Few replicas have few pairs: what can be tried grows with these until each replica gets its steps."""
    of_pairs = min(_MOST_OF_PAIRS, _STEPS_PER_PAIR * replicas**2)
    steps = min(_MOST_STEPS, max(replicas * _STEPS_PER_REPLICA, of_pairs))
    if effort is Effort.QUICK:
        return -(-steps // _QUICK), 1
    return steps, max(1, min(_MOST_PASSES, _WORK // (steps * replicas)))
