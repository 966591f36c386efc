"""What a chunk proposes in a round: changes that even out brokers as columns, others as one `ChangeProposal` each."""

from collections.abc import Sequence
from typing import NamedTuple

from kafka_reassign_rpc.planner.chunk_round import accepted_of
from kafka_reassign_rpc.planner.columns.column_proposals import ColumnProposals
from kafka_reassign_rpc.planner.proposals.change_proposal import ChangeProposal
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums, Thresholds


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
