"""Changes for a more even cluster: of each partition the one that saves most cost for a copied byte. The gain is exact
only for its partition; the coordinator keeps many changes at once from overshooting.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kafka_reassign_rpc.planner.brokers.broker_choice import WeightedBrokers
from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load, leadership_load, replica_load
from kafka_reassign_rpc.planner.columns.partition_columns import NOBODY, Numbers, racks_to_gain
from kafka_reassign_rpc.planner.columns.topic_spread import SpreadCounts
from kafka_reassign_rpc.planner.deterministic_random import RANDOM_RANGE, random_bits
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters

_DRAWS = 4
_LEAST_GAIN = 1e-12
_NO_COPY = 1
"""Bytes for a change without a copy: so its gain for a byte is defined."""
_REPLICAS = MEASURES.index("replicas")


class TopicCounts:
    """Replicas of each topic by broker, kept up to date from round to round. `topics`, `places`: for each replica the
    number of its topic and the place of its broker, below `brokers`.
    """

    def __init__(self, topics: Numbers, places: Numbers, brokers: int) -> None:
        self._brokers = brokers
        self._keys, self._counts = np.unique(self._key(topics, places), return_counts=True)

    def of(self, topics: Numbers, places: Numbers) -> Numbers:
        keys = self._key(topics, places)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        counts: Numbers = np.where(self._keys[at] == keys, self._counts[at], 0)
        return counts

    def carry(self, topics: Numbers, sources: Numbers, destinations: Numbers) -> None:
        """A replica of each topic goes from one broker to another."""
        for places, sign in ((sources, -1), (destinations, 1)):
            keys, counts = np.unique(self._key(topics, places), return_counts=True)
            at = np.searchsorted(self._keys, keys)
            known = self._keys[np.minimum(at, len(self._keys) - 1)] == keys
            self._counts[at[known]] += sign * counts[known]
            self._keys = np.insert(self._keys, at[~known], keys[~known])
            self._counts = np.insert(self._counts, at[~known], counts[~known])

    def _key(self, topics: Numbers, places: Numbers) -> Numbers:
        keys: Numbers = topics.astype(np.int64) * self._brokers + places
        return keys


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


class Changes(NamedTuple):
    """`at` is the replica that gives its load, which leaves if `copies`, else changes places with the first."""

    source: Numbers
    destination: Numbers
    at: Numbers
    copies: Numbers
    gain: Numbers
    gain_per_byte: Numbers


class BalanceScores:
    """Arrays are by place in `brokers` (ids, ascending)."""

    def __init__(self, brokers: Sequence[int], params: RoundParameters, topics: TopicCounts) -> None:
        balance = params.balance
        assert balance is not None
        self._params, self._balance, self._topics = params, balance, topics
        self._ids, self._weights = brokers, params.weights.by_measure()
        self._places = {broker: place for place, broker in enumerate(brokers)}
        nothing = (0.0,) * len(MEASURES)
        choice = params.choice
        self.rates = np.array([balance.sampling_rates.get(broker, 0.0) for broker in brokers])
        self._shares = np.array([balance.shares.get(broker, nothing) for broker in brokers])
        self._inverse = np.array([balance.inverse_targets.get(broker, nothing) for broker in brokers])
        self._free = np.array([choice.free_bytes.get(broker, 0) for broker in brokers], np.int64)
        self._may_get = np.array([broker in choice.free_bytes for broker in brokers])
        names = [*choice.rack_room, *sorted(set(choice.rack_rule.racks.values()) - choice.rack_room.keys())]
        codes = {name: code for code, name in enumerate(names)}
        self._racks = np.array([codes.get(choice.rack_rule.racks.get(broker, ""), -1) for broker in brokers])
        self._room = np.array([choice.rack_room.get(name, -1) for name in names], np.int64)
        self._draws = self._weighted(balance.destinations)
        self._in_rack = {codes[name]: self._weighted(weighted) for name, weighted in choice.by_rack.items()}

    def _weighted(self, brokers: WeightedBrokers) -> tuple[Numbers, Numbers]:
        return np.array([self._places[broker] for broker in brokers.brokers]), np.array(brokers.sums)

    def best(self, rows: ScoredRows, sampled: Numbers, spread: Callable[[int], SpreadCounts] | None = None) -> Changes:
        """The source is NOBODY if no change is worth it.

        sampled    which replicas the round considers
        spread     counts a topic, given its number: topics stay spread
        """
        considered = self._candidates(rows, sampled)
        if spread is None:
            return _best(len(rows.keys), considered)
        return _best_that_stay_spread(rows.pieces.tolist(), considered, self._ids, spread)

    # -- candidates: of equal ones the first is chosen -----------------------------------------------------------------

    def _candidates(self, rows: ScoredRows, sampled: Numbers) -> Iterator[tuple[Numbers, Changes]]:
        """Row numbers, and a change of each that is worth it."""
        yield from self._other_leaders(rows, sampled[:, 0])
        racks = np.where(rows.replicas == NOBODY, -1, self._racks[rows.replicas])
        turns = sampled.cumsum(axis=1) - 1
        for place in range(rows.replicas.shape[1]):
            gives = sampled[:, place]
            if self._params.goal.joining:
                gives = gives & ~self._may_get[rows.replicas[:, place]]
            chosen = np.flatnonzero(gives)
            if len(chosen):
                some = ScoredRows._make(column[chosen] for column in rows)
                for fits, changes in self._other_replicas(some, place, racks[chosen], turns[chosen, place]):
                    yield _worth_it(chosen, fits, changes)

    def _other_leaders(self, rows: ScoredRows, sampled: Numbers) -> Iterator[tuple[Numbers, Changes]]:
        first = rows.replicas[:, 0]
        for place in range(1, rows.replicas.shape[1]):
            other = rows.replicas[:, place]
            in_sync = (rows.isr == other[:, None]).any(axis=1) & (other != NOBODY)
            chosen = np.flatnonzero(sampled & in_sync & (self._may_get[first] | self._may_get[other]))
            if not len(chosen):
                continue
            source, destination = first[chosen], other[chosen]
            load = leadership_load(ScoredRows._make(column[chosen] for column in rows))
            gain = -self._cost(source, -1, load) - self._cost(destination, 1, load)
            at, copies = np.full(len(chosen), place), np.zeros(len(chosen), bool)
            changes = Changes(source, destination, at, copies, gain, gain / _NO_COPY)
            yield _worth_it(chosen, np.ones(len(chosen), bool), changes)

    def _other_replicas(
        self, rows: ScoredRows, place: int, racks: Numbers, turns: Numbers
    ) -> Iterator[tuple[Numbers, Changes]]:
        """Which rows a change fits, and the changes."""
        source, rack = rows.replicas[:, place], racks[:, place]
        others = np.delete(racks, place, axis=1)
        beside = (others == rack[:, None]).sum(axis=1)
        to_gain = self._racks_to_gain(others, beside, rows.sizes)
        mends = to_gain.any(axis=1)
        load = replica_load(rows, rows.sizes, leads=place == 0)
        relief = -self._cost(source, -1, load)
        salt = (50 + 10 * self._params.round_number + self._params.seed) % RANDOM_RANGE
        keys = random_bits(rows.keys, turns.astype(np.uint64) + salt)
        weight = self._params.weights.topic
        of_source = self._topics.of(rows.pieces, source) if weight else source
        at, copies = np.full(len(source), place), np.ones(len(source), bool)
        for destination in self._destinations(np.where(mends, NOBODY, rack), to_gain, keys):
            to = np.maximum(destination, 0)
            fits = (destination != NOBODY) & (self._free[to] >= rows.sizes)
            fits &= ~(rows.replicas == to[:, None]).any(axis=1)
            fits &= mends | (self._racks[to] == rack) | ((others == self._racks[to][:, None]).sum(axis=1) <= beside)
            gain = relief - self._cost(to, 1, load)
            if weight:
                gain = gain - self._crowding(rows.pieces, source, to, of_source, weight)
            yield fits, Changes(source, to, at, copies, gain, gain / (rows.sizes + _NO_COPY))

    def _racks_to_gain(self, others: Numbers, beside: Numbers, sizes: Numbers) -> Numbers:
        """By row and rack. `beside`: how many others are in the rack of the source."""
        found = np.zeros((len(beside), len(self._room)), bool)
        asked = np.flatnonzero(beside)
        if len(asked) and len(self._room):
            counts = np.stack([(others[asked] == code).sum(axis=1) for code in range(len(self._room))], axis=1)
            found[asked] = racks_to_gain(counts, beside[asked], self._room >= sizes[asked][:, None])
        return found

    def _destinations(self, rack: Numbers, to_gain: Numbers, keys: Numbers) -> Iterator[Numbers]:
        """From the racks that a partition can gain: a copy that is made anyway mends its racks. Without such, from the
        cluster and from the `rack` of the source. NOBODY for a row without a destination.
        """
        mends = np.flatnonzero(to_gain.any(axis=1))
        counts = to_gain[mends].cumsum(axis=1)
        for draw in range(0 if self._balance.inside_racks else _DRAWS):
            chances = random_bits(keys, draw)
            drawn = _drawn(self._draws, chances)
            if len(mends):
                turns = random_bits(keys[mends], 200 + draw) % counts[:, -1].astype(np.uint64)
                codes = (counts > turns.astype(np.int64)[:, None]).argmax(axis=1)
                drawn[mends] = self._drawn_in(codes, chances[mends])
            yield drawn
        if len(self._in_rack) > 1:
            for draw in range(_DRAWS // 2):
                yield self._drawn_in(rack, random_bits(keys, 100 + draw))

    def _drawn_in(self, racks: Numbers, chances: Numbers) -> Numbers:
        drawn = np.full(len(racks), NOBODY)
        for code in np.unique(racks).tolist():
            if code in self._in_rack:
                rows = np.flatnonzero(racks == code)
                drawn[rows] = _drawn(self._in_rack[code], chances[rows])
        return drawn

    # -- cost ----------------------------------------------------------------------------------------------------------

    def _cost(self, brokers: Numbers, sign: int, load: Load) -> Numbers:
        """What changes when each broker loses (-1) or gets (1) a load; see `imbalance_cost`."""
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
        """Of one more replica of a topic on the destination, as if it lay one above the target. A broker that should
        hold twice as many may have twice as many of the topic. `of_source`: how many the source has.
        """
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


def _worth_it(rows: Numbers, fits: Numbers, changes: Changes) -> tuple[Numbers, Changes]:
    chosen = fits & (changes.gain > _LEAST_GAIN)
    return rows[chosen], Changes._make(column[chosen] for column in changes)


def _none(count: int) -> Changes:
    nobody, nothing = np.full(count, NOBODY), np.zeros(count)
    gain_per_byte = np.full(count, -np.inf)
    return Changes(nobody, nobody.copy(), np.zeros(count, np.int64), np.zeros(count, bool), nothing, gain_per_byte)


def _best(count: int, considered: Iterable[tuple[Numbers, Changes]]) -> Changes:
    best = _none(count)
    for rows, changes in considered:
        better = changes.gain_per_byte > best.gain_per_byte[rows]
        for column, values in zip(best, changes, strict=True):
            column[rows[better]] = values[better]
    return best


def _best_that_stay_spread(
    pieces: Sequence[int],
    considered: Iterable[tuple[Numbers, Changes]],
    ids: Sequence[int],
    counts_of: Callable[[int], SpreadCounts],
) -> Changes:
    """Row after row, the best that brings no broker more of its topic than is even, as if the changes of the rows
    before were accepted and no other were.
    """
    best, found = _none(len(pieces)), list(considered)
    if not found:
        return best
    all_rows, all_changes = zip(*found, strict=True)
    rows = np.concatenate(all_rows)
    changes = Changes._make(np.concatenate(column) for column in zip(*all_changes, strict=True))
    decided = NOBODY
    for one in np.lexsort((-changes.gain_per_byte, rows)).tolist():  # it is stable
        row = int(rows[one])
        if row == decided:
            continue
        counts, copies = counts_of(pieces[row]), bool(changes.copies[one])
        broker = ids[int(changes.destination[one])]
        brought = Load(replicas=int(copies), leaders=int(not copies or changes.at[one] == 0))
        if not counts.crowds(broker, brought):
            counts.bring(broker, brought)
            decided = row
            for column, values in zip(best, changes, strict=True):
                column[row] = values[one]
    return best


def buckets(gain_per_byte: Numbers, best_gain_per_byte: float, classes: int) -> Numbers:
    bounds = best_gain_per_byte / 4.0 ** np.arange(classes - 1)
    worse: Numbers = (gain_per_byte[:, None] < bounds).sum(axis=1)
    return worse
