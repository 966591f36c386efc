"""What a chunk proposes in a round: changes that even out brokers as columns, others as one `ChangeProposal` each."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kafka_reassign_rpc.planner.brokers.broker_load import Load, leadership_load, replica_load
from kafka_reassign_rpc.planner.chunk_round import accepted_of
from kafka_reassign_rpc.planner.columns.partition_columns import Numbers, exact_sums
from kafka_reassign_rpc.planner.proposals.change_proposal import ALL_BUCKETS, IN, OUT, ChangeProposal
from kafka_reassign_rpc.planner.proposals.round_sums import (
    TOTAL_COPIED,
    AcceptedSums,
    ProposedSums,
    Thresholds,
)


class ColumnProposals(NamedTuple):
    """Balance proposals. Each takes one load from its source to its destination.

    rows       of the partitions
    source, destination    places of brokers
    at, copies    as in `Changes`
    gain       the cost saved, in GAIN_UNIT: whole floats
    size, and rates    of the partition
    """

    rows: Numbers
    source: Numbers
    destination: Numbers
    at: Numbers
    copies: Numbers
    gain: Numbers
    bucket: Numbers
    size: Numbers
    produce: Numbers
    fetch: Numbers
    messages: Numbers
    cpu: Numbers

    def chosen(self, which: Numbers) -> "ColumnProposals":
        return ColumnProposals._make(column[which] for column in self)

    def loads(self) -> list[Numbers]:
        of_copies = (replica_load(self, self.size, leads=leads) for leads in (True, False))
        leads = self.at == 0
        return [
            np.where(self.copies, np.where(leads, one, other), leadership)
            for one, other, leadership in zip(*of_copies, leadership_load(self), strict=True)
        ]

    def proposed(self, brokers: Sequence[int]) -> ProposedSums:
        found = ProposedSums()
        found.proposals = len(self.rows)
        loads = [*self.loads(), self.gain]
        for side, places in ((OUT, self.source), (IN, self.destination)):
            keys, codes = np.unique(places * ALL_BUCKETS + self.bucket, return_inverse=True)
            sums = [exact_sums(codes, load, len(keys)) for load in loads]
            for key, summed in zip(keys.tolist(), zip(*sums, strict=True), strict=True):
                place, bucket = divmod(key, ALL_BUCKETS)
                found.sums[brokers[place], side, bucket] = list(summed)
        keys, codes = np.unique(self.bucket, return_inverse=True)
        for bucket, copied in zip(keys.tolist(), exact_sums(codes, loads[0], len(keys)), strict=True):
            found.sums[(*TOTAL_COPIED, bucket)] = [*Load(copied), 0]
        return found

    def accepted(self, thresholds: Thresholds, brokers: Sequence[int]) -> "ColumnProposals":
        """Both brokers allow it, and one needs it; with `both_sides` both need a copy."""

        def below(buckets: Mapping[tuple[int, int], int]) -> tuple[Numbers, Numbers]:
            sides = ((OUT, self.source), (IN, self.destination))
            out, into = (np.array([buckets.get((one, side), 0) for one in brokers])[at] for side, at in sides)
            return self.bucket < out, self.bucket < into

        (loses, gets), (must_lose, must_get) = below(thresholds.limits), below(thresholds.needed)
        needed = np.where(self.copies & thresholds.both_sides, must_lose & must_get, must_lose | must_get)
        return self.chosen(loses & gets & needed & (self.bucket < thresholds.total_copied))

    def sums(self, brokers: Sequence[int]) -> AcceptedSums:
        found = AcceptedSums()
        found.accepted = len(self.rows)
        loads = self.loads()
        for places, sign in ((self.source, -1), (self.destination, 1)):
            sums = [exact_sums(places, load, len(brokers)) for load in loads]
            for place in np.unique(places).tolist():
                load = Load(*(one[place] for one in sums))
                found.loads.add(brokers[place], load, sign)
                if sign > 0:
                    found.arrived.add(brokers[place], load)
        return found


class RoundProposals(NamedTuple):
    """brokers    ids of the chunk, ascending: places of `scored`
    single     `position_in_chunk` ends with the row in the chunk
    """

    brokers: Sequence[int]
    scored: ColumnProposals | None = None
    single: Sequence[ChangeProposal] = ()

    def sums(self) -> ProposedSums:
        return ProposedSums.of(self.single) if self.scored is None else self.scored.proposed(self.brokers)

    def accepted(self, thresholds: Thresholds) -> "RoundProposals":
        if self.scored is not None:
            return self._replace(scored=self.scored.accepted(thresholds, self.brokers))
        return self._replace(single=accepted_of(self.single, thresholds))

    def accepted_sums(self, thresholds: Thresholds) -> AcceptedSums:
        found = self.accepted(thresholds)
        return AcceptedSums.of(found.single) if found.scored is None else found.scored.sums(self.brokers)
