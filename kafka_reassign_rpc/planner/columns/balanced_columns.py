"""Partitions that a balancing plan changes. Rounds that balance work on columns. The others see few partitions
(changed, shown to the search, or to be mended over racks), and work on them one by one, as `chunk_round`.
"""

from collections.abc import Mapping

import numpy as np

from kafka_reassign_rpc.planner.chunk_round import SHOWN, accept, apply_accepted, propose
from kafka_reassign_rpc.planner.columns.balance_scores import BalanceScores, BestChanges, ScoredRows, buckets
from kafka_reassign_rpc.planner.columns.column_proposals import ColumnProposals
from kafka_reassign_rpc.planner.columns.exact_sums import Numbers
from kafka_reassign_rpc.planner.columns.partition_columns import NOBODY, PartitionColumns, random_columns
from kafka_reassign_rpc.planner.columns.topic_counts import TopicCounts
from kafka_reassign_rpc.planner.deterministic_random import RANDOM_RANGE
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerTopic
from kafka_reassign_rpc.planner.proposals.balance_proposals import best_change, reason_and_rule
from kafka_reassign_rpc.planner.proposals.change_proposal import BUCKETS_PER_CLASS, CLASSES, GAIN_UNIT, ChangeProposal
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums, Thresholds

_AT_ONCE = 1 << 16
"""Rows that are scored together stay in the processor's cache."""
_PRIORITY = 2
_UNCHANGED = -1


class BalancedColumns:
    """columns    partitions that may move
    pieces     by row, the number of its topic, or of a piece of it
    others     pieces and places of the replicas of partitions of the same topics that may not move
    """

    def __init__(self, columns: PartitionColumns, pieces: Numbers, others: tuple[Numbers, Numbers]) -> None:
        self._columns, self._pieces, self._keys = columns, pieces, columns.keys()
        self._ids: list[int] = columns.brokers.tolist()
        self._now = columns.replicas.copy()
        self._why = np.full(len(pieces), _UNCHANGED, np.int32)
        self._first_leader = np.full(len(pieces), NOBODY, np.int32)
        self._reasons: dict[tuple[str, str], int] = {}
        there = self._now != NOBODY
        of_replicas = np.broadcast_to(pieces[:, None], there.shape)[there]
        topics, places = np.concatenate([of_replicas, others[0]]), np.concatenate([self._now[there], others[1]])
        self._topics = TopicCounts(topics, places, len(self._ids))
        self._scored: ColumnProposals | None = None
        self._accepted_scored: ColumnProposals | None = None
        self._params: RoundParameters | None = None
        self._single: list[ChangeProposal] = []
        self._accepted_single: list[ChangeProposal] = []
        self._chunk, self._chunk_rows = list[PlannerTopic](), np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._pieces)

    def propose(self, params: RoundParameters) -> ProposedSums:
        """Applies what the last thresholds accepted first."""
        self.apply()
        if _balances(params):
            self._scored = self._score(params)
            self._params = params
            return self._scored.proposed(self._ids)
        self._scored = None
        self._take_out(self._rows_of(params))
        self._single = [one for one in propose(self._chunk, params) if one is not None]
        return ProposedSums.of(self._single)

    def accept(self, thresholds: Thresholds) -> AcceptedSums:
        if self._scored is not None:
            self._accepted_scored = self._scored.accepted(thresholds, self._ids)
            return self._accepted_scored.sums(self._ids)
        accepted = (accept(proposal, thresholds) for proposal in self._single)
        self._accepted_single = [one for one in accepted if one is not None]
        return AcceptedSums.of(self._accepted_single)

    def apply(self) -> None:
        if self._accepted_scored is not None:
            self._apply_scored(self._accepted_scored)
        elif self._accepted_single:
            apply_accepted(self._chunk, self._accepted_single)
            self._put_back()
        self._accepted_scored, self._accepted_single, self._single = None, [], []

    def changed(self, params: RoundParameters) -> list[PlannerTopic]:
        changed = self._why != _UNCHANGED
        return self._topics_of(np.flatnonzero(changed | self._uneven(params) if params.goal.mends_racks else changed))

    # -- rounds that balance -------------------------------------------------------------------------------------------

    def _score(self, params: RoundParameters) -> ColumnProposals:
        assert params.balance is not None
        scores = BalanceScores(self._ids, params, self._topics)
        salt = params.round_number * 7919 + params.seed
        found = [self._nothing()]
        for first in range(0, len(self._keys), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            chances = random_columns(self._keys[part], salt).astype(np.float64) / float(RANDOM_RANGE)
            now = self._now[part]
            sampled = (chances[:, None] < scores.rates[now]) & (now != NOBODY)
            chosen = np.flatnonzero(sampled.any(axis=1))
            if len(chosen):
                rows = self._scored_rows(chosen + first, params)
                found.append(self._proposals(chosen + first, rows, scores.best(rows, sampled[chosen]), params))
        return ColumnProposals._make(np.concatenate(columns) for columns in zip(*found, strict=True))

    def _nothing(self) -> ColumnProposals:
        numbers = np.zeros(0, np.int64)
        return ColumnProposals(*[numbers] * len(ColumnProposals._fields))._replace(
            copies=numbers.astype(bool), gain=numbers.astype(np.float64)
        )

    def _scored_rows(self, rows: Numbers, params: RoundParameters) -> ScoredRows:
        columns, sizes = self._columns, self._columns.bytes[rows]
        return ScoredRows(
            keys=self._keys[rows],
            pieces=self._pieces[rows],
            replicas=self._now[rows],
            isr=columns.isr[rows],
            sizes=np.where(sizes == UNKNOWN, params.typical_size, sizes),
            produce=columns.produce[rows],
            fetch=columns.fetch[rows],
            messages=columns.messages[rows],
            cpu=columns.cpu[rows],
        )

    def _proposals(
        self, rows: Numbers, scored: ScoredRows, best: BestChanges, params: RoundParameters
    ) -> ColumnProposals:
        assert params.balance is not None
        classes = buckets(best.gain_per_byte, params.balance.best_gain_per_byte, CLASSES)
        drawn = random_columns(scored.keys, params.round_number * 104729 + params.seed + 1)
        in_class = (drawn % np.uint64(BUCKETS_PER_CLASS)).astype(np.int64)
        made = ColumnProposals(
            rows=rows,
            source=best.source,
            destination=best.destination,
            at=best.at,
            copies=best.copies,
            gain=np.rint(best.gain / GAIN_UNIT),
            bucket=classes * BUCKETS_PER_CLASS + in_class,
            size=scored.sizes,
            produce=scored.produce,
            fetch=scored.fetch,
            messages=scored.messages,
            cpu=scored.cpu,
        )
        if best.gains_rack.any():
            self._decide_singly(made, np.flatnonzero(best.gains_rack), params)
        return made.chosen(made.source != NOBODY)

    def _decide_singly(self, made: ColumnProposals, chosen: Numbers, params: RoundParameters) -> None:
        places = {broker: place for place, broker in enumerate(self._ids)}
        rows = made.rows[chosen]
        partitions = self._columns.partitions(rows, self._now[rows])
        counts: dict[int, Mapping[int, int]] = {}
        for at, row, (_, partition) in zip(chosen.tolist(), rows.tolist(), partitions, strict=True):
            piece = int(self._pieces[row])
            if piece not in counts and params.weights.topic:
                held = self._topics.by_place(piece)
                counts[piece] = {self._ids[place]: count for place, count in held.items()}
            best = best_change(partition, params, int(self._keys[row]), counts.get(piece, {}))
            made.source[at] = NOBODY
            if best is None:
                continue
            old, new = partition.replicas, best.replicas
            copies = set(old) != set(new)
            place = next(place for place in range(len(old) - 1, -1, -1) if old[place] != new[place])
            source, destination = (old[place], new[place]) if copies else (old[0], new[0])
            made.source[at], made.destination[at] = places[source], places[destination]
            made.at[at], made.copies[at], made.gain[at] = place, copies, best.gain
            made.bucket[at] = best.bucket

    def _apply_scored(self, accepted: ColumnProposals) -> None:
        self._name_reasons(accepted)
        copies = accepted.chosen(accepted.copies)
        self._topics.carry(self._pieces[copies.rows], copies.source, copies.destination)
        self._now[copies.rows, copies.at] = copies.destination
        others = accepted.chosen(~accepted.copies)
        self._chunk, self._chunk_rows = [], np.zeros(0, np.int64)
        self._now[others.rows, 0], self._now[others.rows, others.at] = others.destination, others.source

    def _name_reasons(self, accepted: ColumnProposals) -> None:
        """Why a partition moves is why it was changed first."""
        params = self._params
        assert params is not None
        assert params.balance is not None
        first = accepted.chosen(self._why[accepted.rows] == _UNCHANGED)
        pairs, codes = np.unique(first.source * len(self._ids) + first.destination, return_inverse=True)
        reasons = []
        for pair in pairs.tolist():
            source, destination = divmod(pair, len(self._ids))
            why = reason_and_rule(self._ids[source], self._ids[destination], params.balance, params)
            reasons.append(self._reasons.setdefault(why, len(self._reasons)))
        self._why[first.rows] = np.array(reasons, np.int32)[codes]

    # -- other rounds --------------------------------------------------------------------------------------------------

    def _rows_of(self, params: RoundParameters) -> Numbers:
        """What may change, or some more."""
        if params.withdrawn or params.leading_seconds is not None:
            return np.flatnonzero(self._why != _UNCHANGED)
        if params.searched:
            return np.flatnonzero(random_columns(self._keys, SHOWN) % np.uint64(params.searched) == 0)
        if params.spare is not None:
            return np.flatnonzero(self._why != _UNCHANGED)
        return np.flatnonzero(self._uneven(params))

    def _uneven(self, params: RoundParameters) -> Numbers:
        """Rows with two replicas in one rack: no others can become more even."""
        names, racks = sorted(params.choice.rack_rule.sizes), params.choice.rack_rule.racks
        codes = {name: code for code, name in enumerate(names)}
        of_broker = np.array([codes.get(racks.get(broker, ""), len(names)) for broker in self._ids])
        held = np.where(self._now == NOBODY, -1 - np.arange(self._now.shape[1]), of_broker[self._now])
        held.sort(axis=1)
        uneven: Numbers = (held[:, 1:] == held[:, :-1]).any(axis=1)
        return uneven

    def _take_out(self, rows: Numbers) -> None:
        if not np.array_equal(rows, self._chunk_rows):
            self._chunk, self._chunk_rows = self._topics_of(rows), rows

    def _topics_of(self, rows: Numbers) -> list[PlannerTopic]:
        now = self._columns.partitions(rows, self._now[rows])
        before = self._columns.partitions(rows, self._columns.replicas[rows])
        reasons = list(self._reasons)
        topics: list[PlannerTopic] = []
        whys, leaders = self._why[rows].tolist(), self._first_leader[rows].tolist()
        for (name, one), (_, stood), why, first_leader in zip(now, before, whys, leaders, strict=True):
            if why != _UNCHANGED:
                one.original, one.priority, one.first_leader = stood.replicas, _PRIORITY, first_leader
                one.reason, one.rule = reasons[why]
            if not topics or topics[-1].name != name:
                topics.append(PlannerTopic(name, []))
            topics[-1].partitions.append(one)
        return topics

    def _put_back(self) -> None:
        """What `_take_out` took, changed."""
        places = {broker: place for place, broker in enumerate(self._ids)}
        partitions = (one for topic in self._chunk for one in topic.partitions)
        rows, before = self._chunk_rows, self._now[self._chunk_rows]
        for row, one in zip(rows.tolist(), partitions, strict=True):
            if one.original:
                self._now[row, : len(one.replicas)] = [places[broker] for broker in one.replicas]
                self._why[row] = self._reasons.setdefault((one.reason, one.rule), len(self._reasons))
                self._first_leader[row] = one.first_leader
        at, place = np.nonzero(before != self._now[rows])
        self._topics.carry(self._pieces[rows[at]], before[at, place], self._now[rows[at], place])


def _balances(params: RoundParameters) -> bool:
    others = params.spare is not None or params.leading_seconds is not None
    return params.balance is not None and not (others or params.searched or params.withdrawn)
