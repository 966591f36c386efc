"""The last round of a plan with a time limit takes back what does not fit."""

from collections.abc import Collection

import msgspec

from kafka_reassign_rpc.planner.proposals.change_proposal import PartitionName, SearchedReplicas
from kafka_reassign_rpc.planner.proposals.round_sums import ProposedSums, Thresholds

WITHDRAWN = "within"
"""The rule of a partition whose change was taken back."""


class Withdrawal(msgspec.Struct, frozen=True):
    """`reason`: why the partitions stay."""

    names: frozenset[PartitionName]
    reason: str

    @classmethod
    def of(cls, names: Collection[PartitionName], reason: str) -> "Withdrawal":
        return cls(frozenset(names), reason)

    def decide(self, proposed: ProposedSums) -> Thresholds:
        return Thresholds(
            searched={
                one.name: SearchedReplicas(one.searched.original, self.reason, WITHDRAWN)
                for one in proposed.collected
                if one.name in self.names and one.name is not None and one.searched is not None
            }
        )
