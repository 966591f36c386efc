"""Partitions of whole topics (huge ones in pieces) through the rounds of a plan. Rounds that balance work on columns.
In the others only partitions that the round may change become objects, for the functions of `chunk_round`.

At the end of a balancing plan: copies without which no broker is further from its targets than the worst is. Each
round accepts moves for the cluster before it, so all together may move more than was needed.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.chunk_round import collect_moves, propose
from kafka_reassign_rpc.planner.columns.balance_scores import BalanceScores, Changes, ScoredRows, TopicCounts, buckets
from kafka_reassign_rpc.planner.columns.column_proposals import ColumnProposals, RoundProposals
from kafka_reassign_rpc.planner.columns.partition_columns import NOBODY, Numbers, PartitionColumns, forced_rows
from kafka_reassign_rpc.planner.columns.topic_spread import (
    LEADERS,
    REPLICAS,
    SpreadCounts,
    spread_proposals,
    spread_reason,
)
from kafka_reassign_rpc.planner.deterministic_random import RANDOM_RANGE, partition_key, random_bits
from kafka_reassign_rpc.planner.plan_result import LeftOut, PlannedMove
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerPartition, PlannerTopic
from kafka_reassign_rpc.planner.proposals.change_proposal import (
    ALL_BUCKETS,
    BUCKETS_PER_CLASS,
    CLASSES,
    GAIN_UNIT,
    IN,
    ChangeProposal,
    LoadChange,
    load_changes,
)
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters, SpreadParameters
from kafka_reassign_rpc.planner.proposals.round_sums import Thresholds


def taken_back(
    chunk: list[PlannerTopic], params: RoundParameters, spare: Mapping[tuple[int, int], Load]
) -> Iterator[ChangeProposal]:
    """Copies that are taken back. Topics stay spread."""
    for at, topic in enumerate(chunk):
        counts = None if params.spread is None else SpreadCounts.of(topic, params.spread)
        for place, one in enumerate(topic.partitions):
            found = None if one.fault else without_a_copy(one, params, spare)
            if found is None:
                continue
            target, changes = found
            brought = [change for change in changes if change.side == IN]
            if counts is not None:
                if any(counts.crowds(change.broker, change.load) for change in brought):
                    continue
                for change in brought:
                    counts.bring(change.broker, change.load)
            bucket = params.random_bits(partition_key(topic.name, one.index)) % ALL_BUCKETS
            yield ChangeProposal((at, place), target, bucket, changes, one.priority, one.reason, one.rule)


def without_a_copy(
    partition: PlannerPartition, params: RoundParameters, spare: Mapping[tuple[int, int], Load]
) -> tuple[tuple[int, ...], list[LoadChange]] | None:
    """The replicas with one copy fewer, as a replica stays where it was before the plan, and what that changes; None:
    the plan needs all copies. `spare`: what each broker and side can lose or get.
    """
    original, now = partition.original, partition.replicas
    left = [broker for broker in original if broker not in now]
    for place, copied in enumerate(now):
        if copied in original:
            continue
        for broker in left:
            target = (*now[:place], broker, *now[place + 1 :])
            if set(target) == set(original):
                target = original  # without its last copy the move is none
            changes = load_changes(partition, params.size(partition), target)
            if params.choice.rack_rule.allows(now, target) and all(_can_bear(spare, change) for change in changes):
                return target, changes
    return None


def _can_bear(spare: Mapping[tuple[int, int], Load], change: LoadChange) -> bool:
    return min(spare.get((change.broker, change.side), Load()).minus(change.load)) >= 0


_AT_ONCE = 1 << 16
"""Rows that are scored together stay in the processor's cache."""
_PRIORITY = 2
_SHOWN = 900
"""The salt for the part of a large cluster that the search sees; no round draws with it."""
UNCHANGED = -1


class OddRow(NamedTuple):
    """What columns do not show of a partition. As in `PlannerPartition`."""

    moving: bool
    destination: tuple[int, ...]
    fault: str


class ChunkState(NamedTuple):
    """What rounds change, by row.

    now             replicas, as in `PartitionColumns`
    why             a place in `reasons`, or UNCHANGED
    priority, first_leader    as in `PlannerPartition`
    reasons         with their rules
    """

    now: Numbers
    why: Numbers
    priority: Numbers
    first_leader: Numbers
    reasons: dict[tuple[str, str], int]

    @classmethod
    def before(cls, columns: PartitionColumns) -> "ChunkState":
        count = len(columns.number)
        unchanged = np.full(count, UNCHANGED, np.int32)
        return cls(columns.replicas.copy(), unchanged, np.zeros(count, np.int8), unchanged.copy(), {})


class Applied(NamedTuple):
    """A round whose proposals are to be applied where `thresholds` accept them."""

    params: RoundParameters
    thresholds: Thresholds


class PartitionChunk:
    """columns    partitions that the goal may move, and those of the same topics, in order
    pieces     by row, the number of its topic, or of a piece of it
    odd        by row, if there is something odd
    proposals  of the last round
    """

    def __init__(
        self,
        columns: PartitionColumns,
        pieces: Numbers,
        odd: Mapping[int, OddRow],
        state: ChunkState | None = None,
        proposals: RoundProposals | None = None,
    ) -> None:
        self.columns, self.pieces, self.odd = columns, pieces, odd
        self._ids: list[int] = columns.brokers.tolist()
        self.state = state or ChunkState.before(columns)
        self.proposals = proposals or RoundProposals(self._ids)
        self._keys = columns.keys()
        self._topics: TopicCounts | None = None

    def propose(self, params: RoundParameters, applied: Applied | None) -> None:
        self.apply(applied)
        if _scores(params):
            self.proposals = RoundProposals(self._ids, scored=self._score(params))
            return
        rows = self._rows_of(params)
        topics = self._topics_of(rows)
        starts = [0]
        for topic in topics:
            starts.append(starts[-1] + len(topic.partitions))
        numbers, single = rows.tolist(), list[ChangeProposal]()
        for one in self._singly(topics, params):
            if one is not None:
                at, place = one.position_in_chunk
                single.append(one._replace(position_in_chunk=(at, numbers[starts[at] + place])))
        self.proposals = RoundProposals(self._ids, single=single)

    def apply(self, applied: Applied | None) -> None:
        """What the thresholds accept of the last proposals."""
        if applied is not None:
            accepted = self.proposals.accepted(applied.thresholds)
            if accepted.scored is not None:
                self._apply_scored(accepted.scored)
            elif accepted.single:
                self._apply_single(accepted.single)
        self.proposals = RoundProposals(self._ids)

    def found(self, params: RoundParameters) -> Iterator[PlannedMove | LeftOut]:
        """After the last round: what moves and what is left out, in order."""
        wanted = (self.state.why != UNCHANGED) | self._concerned(params)
        if params.goal.balances:
            wanted |= ~self._may_balance(params, slice(None))
        rows = np.flatnonzero(wanted)
        topics = self._topics_of(rows)
        if params.spread is not None:
            self._tell_spread(topics, rows, params.spread)
        for one in collect_moves(topics, params):
            if one is not None:
                yield one

    def _singly(self, topics: list[PlannerTopic], params: RoundParameters) -> Iterator[ChangeProposal | None]:
        if params.searched or params.withdrawn:
            return propose(topics, params)
        if params.spread is not None and params.spread.now:
            return spread_proposals(topics, params, self._may_balance(params, slice(None)).tolist())
        if params.spare is not None and params.leading_seconds is None:
            return taken_back(topics, params, params.spare)
        return propose(topics, params)

    # -- rounds that balance -------------------------------------------------------------------------------------------

    def _score(self, params: RoundParameters) -> ColumnProposals:
        assert params.balance is not None
        scores = BalanceScores(self._ids, params, self._topic_counts())
        spread = None if params.spread is None else cache(partial(self._spread_counts, params.spread))
        salt = params.round_number * 7919 + params.seed
        found = [_nothing()]
        for first in range(0, len(self._keys), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            chances = random_bits(self._keys[part], salt).astype(np.float64) / float(RANDOM_RANGE)
            now = self.state.now[part]
            sampled = (chances[:, None] < scores.rates[now]) & (now != NOBODY)
            sampled &= self._may_balance(params, part)[:, None]
            chosen = np.flatnonzero(sampled.any(axis=1))
            if len(chosen):
                rows = self._scored_rows(chosen + first, params)
                best = scores.best(rows, sampled[chosen], spread)
                found.append(self._proposals(chosen + first, rows, best, params))
        return ColumnProposals._make(np.concatenate(columns) for columns in zip(*found, strict=True))

    def _topic_counts(self) -> TopicCounts:
        if self._topics is None:
            there = self.state.now != NOBODY
            of_replicas = np.broadcast_to(self.pieces[:, None], there.shape)[there]
            self._topics = TopicCounts(of_replicas, self.state.now[there], len(self._ids))
        return self._topics

    def _spread_counts(self, spread: SpreadParameters, piece: int) -> SpreadCounts:
        return self._counts_of(self.state.now, spread, piece)

    def _counts_of(self, replicas: Numbers, spread: SpreadParameters, piece: int) -> SpreadCounts:
        first, end = np.searchsorted(self.pieces, [piece, piece + 1]).tolist()
        return SpreadCounts(self._named(replicas[first:end]), spread)

    def _tell_spread(self, topics: list[PlannerTopic], rows: Numbers, spread: SpreadParameters) -> None:
        """Why the partitions of `rows` move that are to spread their topics."""
        for topic, piece in zip(topics, np.unique(self.pieces[rows]).tolist(), strict=True):
            moved = [one for one in topic.partitions if one.original and one.rule in (REPLICAS, LEADERS)]
            if moved:
                stood = self._counts_of(self.columns.replicas, spread, piece)
                for one in moved:
                    one.reason, one.rule = spread_reason(one, stood)

    def _may_balance(self, params: RoundParameters, part: slice) -> Numbers:
        now, isr = self.state.now[part], self.columns.isr[part]
        live = np.array([broker in params.live for broker in self._ids], bool)
        sources = np.array([broker in params.sources for broker in self._ids], bool)
        able: Numbers = (live[now] | (now == NOBODY)).all(axis=1) & (sources[isr] & (isr != NOBODY)).any(axis=1)
        first, end, _ = part.indices(len(self.pieces))
        able[[row - first for row in self.odd if first <= row < end]] = False
        return able

    def _scored_rows(self, rows: Numbers, params: RoundParameters) -> ScoredRows:
        columns, sizes = self.columns, self.columns.bytes[rows]
        return ScoredRows(
            keys=self._keys[rows],
            pieces=self.pieces[rows],
            replicas=self.state.now[rows],
            isr=columns.isr[rows],
            sizes=np.where(sizes == UNKNOWN, params.typical_size, sizes),
            produce=columns.produce[rows],
            fetch=columns.fetch[rows],
            messages=columns.messages[rows],
            cpu=columns.cpu[rows],
        )

    def _proposals(self, rows: Numbers, scored: ScoredRows, best: Changes, params: RoundParameters) -> ColumnProposals:
        assert params.balance is not None
        classes = buckets(best.gain_per_byte, params.balance.best_gain_per_byte, CLASSES)
        drawn = random_bits(scored.keys, params.round_number * 104729 + params.seed + 1)
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
        return made.chosen(made.source != NOBODY)

    def _apply_scored(self, accepted: ColumnProposals) -> None:
        changed = accepted.rows[self.state.why[accepted.rows] == UNCHANGED]
        self.state.why[changed], self.state.priority[changed] = self._reason("", ""), _PRIORITY
        now, copies, others = self.state.now, accepted.chosen(accepted.copies), accepted.chosen(~accepted.copies)
        if self._topics is not None:
            self._topics.carry(self.pieces[copies.rows], copies.source, copies.destination)
        now[copies.rows, copies.at] = copies.destination
        now[others.rows, 0], now[others.rows, others.at] = others.destination, others.source

    def _reason(self, reason: str, rule: str) -> int:
        return self.state.reasons.setdefault((reason, rule), len(self.state.reasons))

    # -- other rounds --------------------------------------------------------------------------------------------------

    def _rows_of(self, params: RoundParameters) -> Numbers:
        """What may change, or some more."""
        changed = self.state.why != UNCHANGED
        if params.withdrawn:
            return np.flatnonzero(changed)
        if params.spread is not None and (params.spread.now or params.leading_seconds is None):
            return np.arange(len(changed))  # topics whole
        if params.searched:
            shown = random_bits(self._keys, _SHOWN) % np.uint64(params.searched) == 0
            return np.flatnonzero(shown & self._may_balance(params, slice(None)))
        if params.leading_seconds is not None or params.spare is not None:
            return np.flatnonzero(changed)
        return np.flatnonzero(self._concerned(params) & ~changed)

    def _concerned(self, params: RoundParameters) -> Numbers:
        """By row: whether the goal may force a change."""
        if params.goal.mends_racks:
            return self._uneven(params)
        return forced_rows(self.columns, self.state.now, params.goal, params.leaving)

    def _uneven(self, params: RoundParameters) -> Numbers:
        """Rows with two replicas in one rack: no others can become more even."""
        names, racks = sorted(params.choice.rack_rule.sizes), params.choice.rack_rule.racks
        codes = {name: code for code, name in enumerate(names)}
        of_broker = np.array([codes.get(racks.get(broker, ""), len(names)) for broker in self._ids])
        now = self.state.now
        held = np.where(now == NOBODY, -1 - np.arange(now.shape[1]), of_broker[now])
        held.sort(axis=1)
        uneven: Numbers = (held[:, 1:] == held[:, :-1]).any(axis=1)
        return uneven

    def _topics_of(self, rows: Numbers) -> list[PlannerTopic]:
        reasons, state, columns = list(self.state.reasons), self.state, self.columns
        now = columns.partitions(rows, state.now[rows])
        stood = self._named(columns.replicas[rows])
        topics: list[PlannerTopic] = []
        numbers, whys, priorities, leaders = (
            column.tolist() for column in (rows, state.why[rows], state.priority[rows], state.first_leader[rows])
        )
        pieces, piece = self.pieces[rows].tolist(), -1
        for at, (name, one) in enumerate(now):
            if whys[at] != UNCHANGED:
                one.original, one.priority, one.first_leader = stood[at], priorities[at], leaders[at]
                one.reason, one.rule = reasons[whys[at]]
            if (odd := self.odd.get(numbers[at])) is not None:
                one.moving, one.destination, one.fault = odd
            if pieces[at] != piece:
                topics.append(PlannerTopic(name, []))
                piece = pieces[at]
            topics[-1].partitions.append(one)
        return topics

    def _named(self, places: Numbers) -> list[tuple[int, ...]]:
        named = np.where(places == NOBODY, NOBODY, self.columns.brokers[places]).tolist()
        counts = (places != NOBODY).sum(axis=1).tolist()
        return [tuple(ids[:count]) for ids, count in zip(named, counts, strict=True)]

    def _apply_single(self, accepted: Sequence[ChangeProposal]) -> None:
        """As `apply_accepted`."""
        self._topics = None
        leading = [(one.position_in_chunk[1], one.first_leader) for one in accepted if one.first_leader >= 0]
        for row, leader in leading:
            self.state.first_leader[row] = leader
        changing = [one for one in accepted if one.first_leader < 0]
        self._widen(max((len(one.replicas) for one in changing), default=0))
        for one in changing:
            row = one.position_in_chunk[1]
            if self.state.why[row] == UNCHANGED or one.searched is not None:
                self.state.priority[row], self.state.why[row] = one.priority, self._reason(one.reason, one.rule)
        rows = np.array([one.position_in_chunk[1] for one in changing], np.int64)
        lengths = np.array([len(one.replicas) for one in changing], np.int64)
        ids = np.array(list(chain.from_iterable(one.replicas for one in changing)), np.int64)
        inside = np.arange(self.state.now.shape[1]) < lengths[:, None]
        replicas = np.full(inside.shape, NOBODY, np.int32)
        replicas[inside] = np.searchsorted(self.columns.brokers, ids)
        self.state.now[rows] = replicas

    def _widen(self, width: int) -> None:
        more = width - self.state.now.shape[1]
        if more > 0:
            self.state = self.state._replace(now=np.pad(self.state.now, ((0, 0), (0, more)), constant_values=NOBODY))


def _nothing() -> ColumnProposals:
    numbers = np.zeros(0, np.int64)
    return ColumnProposals(*[numbers] * len(ColumnProposals._fields))._replace(
        copies=numbers.astype(bool), gain=numbers.astype(np.float64)
    )


def _scores(params: RoundParameters) -> bool:
    others = params.spare is not None or params.leading_seconds is not None
    spreads = params.spread is not None and params.spread.now
    return params.balance is not None and not (others or spreads or params.searched or params.withdrawn)
