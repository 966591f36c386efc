"""`balance_proposals.best_change` of many partitions at once. Both compute every number in the same order, and so
choose the same changes. `best_change` itself takes the few partitions that can gain a rack.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kafka_reassign_rpc.planner.brokers.broker_choice import WeightedBrokers
from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES
from kafka_reassign_rpc.planner.columns.column_loads import Loads, leadership_loads, replica_loads
from kafka_reassign_rpc.planner.columns.exact_sums import Numbers
from kafka_reassign_rpc.planner.columns.partition_columns import NOBODY, random_columns
from kafka_reassign_rpc.planner.columns.topic_counts import TopicCounts
from kafka_reassign_rpc.planner.deterministic_random import RANDOM_RANGE
from kafka_reassign_rpc.planner.proposals.balance_proposals import DRAWS, LEAST_GAIN, NO_COPY
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters

_REPLICAS = MEASURES.index("replicas")


class ScoredRows(NamedTuple):
    """Rows that a round considers. `pieces`: topics in `TopicCounts`; `sizes`: known or estimated; the rest as in
    `PartitionColumns`.
    """

    keys: Numbers
    pieces: Numbers
    replicas: Numbers
    isr: Numbers
    sizes: Numbers
    produce: Numbers
    fetch: Numbers
    messages: Numbers
    cpu: Numbers


class BestChanges(NamedTuple):
    """`source` is NOBODY if no change is worth it. `at` is the replica that gives its load, which leaves if `copies`,
    else changes places with the first. If `gains_rack`, `best_change` must decide.
    """

    source: Numbers
    destination: Numbers
    at: Numbers
    copies: Numbers
    gain: Numbers
    gain_per_byte: Numbers
    gains_rack: Numbers


class BalanceScores:
    """Arrays are by place in `brokers` (ids, ascending)."""

    def __init__(self, brokers: Sequence[int], params: RoundParameters, topics: TopicCounts) -> None:
        balance = params.balance
        assert balance is not None
        self._params, self._balance, self._topics = params, balance, topics
        self._weights = params.weights.by_measure()
        self._places = {broker: place for place, broker in enumerate(brokers)}
        nothing = (0.0,) * len(MEASURES)
        choice = params.choice
        self.rates = np.array([balance.sampling_rates.get(broker, 0.0) for broker in brokers])
        self._shares = np.array([balance.shares.get(broker, nothing) for broker in brokers])
        self._inverse = np.array([balance.inverse_targets.get(broker, nothing) for broker in brokers])
        self._free = np.array([choice.free_bytes.get(broker, 0) for broker in brokers], np.int64)
        self._may_get = np.array([broker in choice.free_bytes for broker in brokers])
        names = sorted({*choice.rack_rule.racks.values(), *choice.rack_room})
        self._rack_names = names
        codes = {name: code for code, name in enumerate(names)}
        self._racks = np.array([codes.get(choice.rack_rule.racks.get(broker, ""), -1) for broker in brokers])
        self._room = np.array([choice.rack_room.get(name, -1) for name in names], np.int64)
        self._draws = self._weighted(balance.destinations)
        self._in_rack = {codes[name]: self._weighted(weighted) for name, weighted in choice.by_rack.items()}

    def _weighted(self, brokers: WeightedBrokers) -> tuple[Numbers, Numbers]:
        return np.array([self._places[broker] for broker in brokers.brokers]), np.array(brokers.sums)

    def best(self, rows: ScoredRows, sampled: Numbers) -> BestChanges:
        """`sampled`: which replicas the round considers."""
        found = _Best(len(rows.keys))
        self._change_leaders(found, rows, sampled[:, 0])
        racks = np.where(rows.replicas == NOBODY, -1, self._racks[rows.replicas])
        turns = sampled.cumsum(axis=1) - 1
        for place in range(rows.replicas.shape[1]):
            gives = sampled[:, place]
            if self._params.goal.joining:
                gives = gives & ~self._may_get[rows.replicas[:, place]]
            chosen = np.flatnonzero(gives)
            if len(chosen):
                some = ScoredRows._make(column[chosen] for column in rows)
                self._change_replica(found, chosen, some, place, racks[chosen], turns[chosen, place])
        return found.changes()

    # -- candidates, in the order of `balance_proposals` ---------------------------------------------------------------

    def _change_leaders(self, found: "_Best", rows: ScoredRows, sampled: Numbers) -> None:
        first = rows.replicas[:, 0]
        for place in range(1, rows.replicas.shape[1]):
            other = rows.replicas[:, place]
            in_sync = (rows.isr == other[:, None]).any(axis=1) & (other != NOBODY)
            chosen = np.flatnonzero(sampled & in_sync & (self._may_get[first] | self._may_get[other]))
            if not len(chosen):
                continue
            source, destination = first[chosen], other[chosen]
            load = leadership_loads(ScoredRows._make(column[chosen] for column in rows))
            gain = -self._cost(source, -1, load) - self._cost(destination, 1, load)
            found.consider(chosen, np.ones(len(chosen), bool), source, destination, place, gain, NO_COPY, copies=False)

    def _change_replica(
        self, found: "_Best", chosen: Numbers, rows: ScoredRows, place: int, racks: Numbers, turns: Numbers
    ) -> None:
        source, rack = rows.replicas[:, place], racks[:, place]
        others = np.delete(racks, place, axis=1)
        beside = (others == rack[:, None]).sum(axis=1)
        found.gains_rack[chosen] |= self._can_gain(others, beside, rows.sizes)
        load = replica_loads(rows, rows.sizes, leads=place == 0)
        relief = -self._cost(source, -1, load)
        keys = random_columns(rows.keys, 50 + 10 * self._params.round_number + self._params.seed, turns)
        weight = self._params.weights.topic
        of_source = self._topics.of(rows.pieces, source) if weight else source
        for destination in self._destinations(rack, keys):
            to = np.maximum(destination, 0)
            fits = (destination != NOBODY) & (self._free[to] >= rows.sizes)
            fits &= ~(rows.replicas == to[:, None]).any(axis=1)
            fits &= (self._racks[to] == rack) | ((others == self._racks[to][:, None]).sum(axis=1) <= beside)
            gain = relief - self._cost(to, 1, load)
            if weight:
                gain = gain - self._crowding(rows.pieces, source, to, of_source, weight)
            found.consider(chosen, fits, source, to, place, gain, rows.sizes + NO_COPY, copies=True)

    def _can_gain(self, others: Numbers, beside: Numbers, sizes: Numbers) -> Numbers:
        can = np.zeros(len(beside), bool)
        asked = np.flatnonzero(beside)
        for code, room in enumerate(self._room.tolist() if len(asked) else ()):
            can[asked] |= (room >= sizes[asked]) & ((others[asked] == code).sum(axis=1) < beside[asked])
        return can

    def _destinations(self, rack: Numbers, keys: Numbers) -> Iterator[Numbers]:
        """NOBODY for a row without one."""
        for draw in range(0 if self._balance.inside_racks else DRAWS):
            yield _drawn(self._draws, random_columns(keys, draw))
        if len(self._in_rack) > 1:
            codes = [(code, np.flatnonzero(rack == code)) for code in np.unique(rack).tolist() if code in self._in_rack]
            for draw in range(DRAWS // 2):
                drawn, chances = np.full(len(rack), NOBODY), random_columns(keys, 100 + draw)
                for code, rows in codes:
                    drawn[rows] = _drawn(self._in_rack[code], chances[rows])
                yield drawn

    # -- cost ----------------------------------------------------------------------------------------------------------

    def _cost(self, brokers: Numbers, sign: int, load: Loads) -> Numbers:
        """As `cost_change`."""
        low, high, added = self._balance.low, self._balance.high, np.zeros(len(brokers))
        for measure, part in enumerate(load):
            weight = self._weights[measure]
            if weight and np.any(part):
                now = self._shares[brokers, measure]
                then = now + sign * part * self._inverse[brokers, measure]
                before = np.maximum(np.maximum(now - high, low - now), 0.0)
                after = np.maximum(np.maximum(then - high, low - then), 0.0)
                added += weight * (after * after - before * before)
        return added

    def _crowding(self, pieces: Numbers, source: Numbers, to: Numbers, of_source: Numbers, weight: float) -> Numbers:
        """As `topic_crowding_cost`."""
        inverse, at_source = self._inverse[to, _REPLICAS], self._inverse[source, _REPLICAS]
        alike = np.where(inverse != 0.0, at_source / np.where(inverse != 0.0, inverse, 1.0), 1.0)
        more = self._topics.of(pieces, to) + 1 - of_source * alike
        cost: Numbers = np.where(source == to, 0.0, weight * more * inverse * inverse)
        return cost


def _drawn(weighted: tuple[Numbers, Numbers], chances: Numbers) -> Numbers:
    """As `WeightedBrokers.draw`."""
    places, sums = weighted
    at = np.searchsorted(sums, chances.astype(np.float64) / float(RANDOM_RANGE) * sums[-1], side="right")
    drawn: Numbers = places[np.minimum(at, len(places) - 1)]
    return drawn


class _Best:
    """Keeps the first of equal ones."""

    def __init__(self, count: int) -> None:
        self._gain_per_byte, self._gain = np.full(count, -np.inf), np.zeros(count)
        self._source, self._destination = np.full(count, NOBODY), np.full(count, NOBODY)
        self._at, self._copies = np.zeros(count, np.int64), np.zeros(count, bool)
        self.gains_rack = np.zeros(count, bool)

    def consider(
        self,
        rows: Numbers,
        fits: Numbers,
        source: Numbers,
        destination: Numbers,
        at: int,
        gain: Numbers,
        copied: Numbers | int,
        *,
        copies: bool,
    ) -> None:
        gain_per_byte = gain / copied
        better = fits & (gain > LEAST_GAIN) & (gain_per_byte > self._gain_per_byte[rows])
        chosen = rows[better]
        self._gain_per_byte[chosen], self._gain[chosen] = gain_per_byte[better], gain[better]
        self._source[chosen], self._destination[chosen] = source[better], destination[better]
        self._at[chosen], self._copies[chosen] = at, copies

    def changes(self) -> BestChanges:
        values = (self._source, self._destination, self._at, self._copies, self._gain, self._gain_per_byte)
        return BestChanges(*values, self.gains_rack)


def buckets(gain_per_byte: Numbers, best_gain_per_byte: float, classes: int) -> Numbers:
    bounds = best_gain_per_byte / 4.0 ** np.arange(classes - 1)
    worse: Numbers = (gain_per_byte[:, None] < bounds).sum(axis=1)
    return worse
