"""What chunks send back: sums, so that their size depends only on the number of brokers."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

from kafka_reassign_rpc.planner.brokers.broker_load import Load, LoadSums
from kafka_reassign_rpc.planner.planner_cluster import UNKNOWN, PlannerPartition
from kafka_reassign_rpc.planner.proposals.change_proposal import (
    ALL_BUCKETS,
    IN,
    ChangeProposal,
    PartitionName,
    SearchedReplicas,
)

TOTAL_COPIED = (-1, IN)
"""In place of broker and side in ProposedSums: the bytes that all proposals copy."""
TOPIC_EXCESS = (-2, IN)
"""The replicas and leaders of topics that are more than even."""


class Thresholds(NamedTuple):
    """What a round accepts.

    limits          by broker and side: below this bucket the broker allows a change
    total_copied    below this bucket the plan stays within its limit of copied bytes
    needed          of a round that balances, by broker and side: below this bucket the broker needs a change, and of
                    the two brokers of a change one has to
    both_sides      of a copy both have to
    placed          brokers chosen by the coordinator; no other copies are accepted
    searched        what the search has found; nothing else is accepted
    """

    limits: Mapping[tuple[int, int], int] = {}
    total_copied: int = ALL_BUCKETS
    needed: Mapping[tuple[int, int], int] = {}
    both_sides: bool = False
    placed: Mapping[PartitionName, tuple[int, ...]] | None = None
    searched: Mapping[PartitionName, SearchedReplicas] | None = None

    @property
    def accept_nothing(self) -> bool:
        return self.placed is None and not self.limits and not self.searched


class Survey:
    """By broker. Only `partitions` counts those at which no change can begin.

    loads          without bytes of unknown sizes
    client_sends   bytes/s that its leaders send to consumers and followers
    spreads        by the least and the most replicas that a rack has of a partition: one replica of each such
                   partition, without bytes of unknown size; only for a goal that asks for it
    """

    def __init__(self) -> None:
        self.spreads: dict[tuple[int, int], list[int]] = {}
        self.loads = LoadSums()
        self.unknown: dict[int, int] = {}
        self.client_sends: dict[int, int] = {}
        self.partitions = 0
        self.known_sizes = self.unknown_sizes = 0
        self.known_bytes = 0

    def add(self, partition: PlannerPartition) -> None:
        """As `columns.partition_columns`, without `spreads`."""
        self.partitions += 1
        if partition.fetch or partition.produce:
            sends = self.client_sends.get(partition.leader, 0) + partition.client_sends
            self.client_sends[partition.leader] = sends
        size = partition.bytes
        if size == UNKNOWN:
            size = 0
            self.unknown_sizes += 1
            for broker in partition.replicas:
                self.unknown[broker] = self.unknown.get(broker, 0) + 1
        else:
            self.known_sizes += 1
            self.known_bytes += size
        self.loads.add_replicas(partition, size)

    def one_of_each(self, typical_size: int) -> dict[tuple[int, int], Load]:
        return {
            spread: Load(size + unknown * typical_size, count, produce=produce, potential_out=fetch)
            for spread, (size, count, produce, fetch, unknown) in self.spreads.items()
        }

    def merge(self, other: "Survey") -> "Survey":
        self.loads.merge(other.loads)
        for broker, count in other.unknown.items():
            self.unknown[broker] = self.unknown.get(broker, 0) + count
        for broker, sends in other.client_sends.items():
            self.client_sends[broker] = self.client_sends.get(broker, 0) + sends
        for spread, sums in other.spreads.items():
            found = self.spreads.setdefault(spread, [0] * 5)
            for place, value in enumerate(sums):
                found[place] += value
        self.partitions += other.partitions
        self.known_sizes += other.known_sizes
        self.unknown_sizes += other.unknown_sizes
        self.known_bytes += other.known_bytes
        return self


class ProposedSums:
    """By broker, side and bucket."""

    def __init__(self) -> None:
        self.sums: dict[tuple[int, int, int], list[int]] = {}
        self.proposals = 0
        self.collected: list[ChangeProposal] = []

    @classmethod
    def of(cls, proposals: Iterable[ChangeProposal]) -> Self:
        sums = cls()
        for proposal in proposals:
            sums.add(proposal)
        return sums

    def add(self, proposal: ChangeProposal) -> None:
        self.proposals += 1
        if proposal.name is not None:
            self.collected.append(proposal)
        copied = 0
        for change in proposal.load_changes:
            self._add((change.broker, change.side, proposal.bucket), (*change.load, 0))
            copied += change.load.bytes if change.side == IN else 0
        self._add((*TOTAL_COPIED, proposal.bucket), (*Load(copied), 0))

    def _add(self, key: tuple[int, int, int], load: Iterable[int]) -> None:
        found = self.sums.get(key)
        if found is None:
            self.sums[key] = list(load)
            return
        for place, value in enumerate(load):
            if value:
                found[place] += value

    def merge(self, other: "ProposedSums") -> "ProposedSums":
        for key, load in other.sums.items():
            self._add(key, load)
        self.proposals += other.proposals
        self.collected += other.collected
        return self


class AcceptedSums:
    """`arrived`: a plan never counts on room that another of its moves has yet to make."""

    def __init__(self) -> None:
        self.loads = LoadSums()
        self.arrived = LoadSums()
        self.accepted = 0

    @classmethod
    def of(cls, proposals: Iterable[ChangeProposal]) -> Self:
        sums = cls()
        for proposal in proposals:
            sums.add(proposal)
        return sums

    def add(self, proposal: ChangeProposal) -> None:
        self.accepted += 1
        for change in proposal.load_changes:
            self.loads.add(change.broker, change.load, 1 if change.side == IN else -1)
            if change.side == IN:
                self.arrived.add(change.broker, change.load)

    def merge(self, other: "AcceptedSums") -> "AcceptedSums":
        self.loads.merge(other.loads)
        self.arrived.merge(other.arrived)
        self.accepted += other.accepted
        return self
