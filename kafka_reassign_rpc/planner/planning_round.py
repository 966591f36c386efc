"""One round, on one chunk of topics: survey it, let it propose, carry out what was accepted, harvest it at the end.

Nothing here knows what other chunks do. What a partition proposes depends on its topic and on the view alone, and
what is accepted on sums over all chunks: so a plan is the same however the topics are cut into chunks.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.planner.balance_goals import chance_of, wish
from kafka_reassign_rpc.planner.forced_changes import is_forced, place
from kafka_reassign_rpc.planner.load_changes import IN, ChangeProposal, Loads, touches
from kafka_reassign_rpc.planner.round_input import ALL, BUCKETS, RoundInput
from kafka_reassign_rpc.planner.stable_hash import key_of
from kafka_reassign_rpc.planner.values import UNKNOWN, Kind, LeftOut, PlannedMove, PlannerPartition, PlannerTopic


class Thresholds(NamedTuple):
    """What a round accepts.

    brokers       by broker and side: the buckets below which it needs a change, and below which it allows one
    everything    the bucket below which what is copied in all keeps to the limit on the whole plan
    both          what copies a replica has to be needed on both sides: where it goes from, and where it goes
    """

    brokers: Mapping[tuple[int, int], tuple[int, int]] = {}
    everything: int = ALL
    both: bool = False


NONE = (0, 0)
EVERYTHING = (-1, IN)
"""Stands for a broker in a demand: what is copied in all."""


class Survey:
    """What a pass over all partitions finds; sums only."""

    def __init__(self) -> None:
        self.loads = Loads()
        """By broker; partitions of unknown size without their bytes."""
        self.unknown: dict[int, int] = {}
        """Replicas of unknown size by broker."""
        self.partitions = 0
        self.unknown_sizes = 0
        self.known_bytes = 0

    def add(self, partition: PlannerPartition) -> None:
        self.partitions += 1
        size = partition.bytes
        if size == UNKNOWN:
            size = 0
            self.unknown_sizes += 1
            for broker in partition.replicas:
                self.unknown[broker] = self.unknown.get(broker, 0) + 1
        else:
            self.known_bytes += size
        self.loads.add_replicas(partition, size)

    def merge(self, other: "Survey") -> "Survey":
        self.loads.merge(other.loads)
        for broker, count in other.unknown.items():
            self.unknown[broker] = self.unknown.get(broker, 0) + count
        self.partitions += other.partitions
        self.unknown_sizes += other.unknown_sizes
        self.known_bytes += other.known_bytes
        return self


class Demand:
    """What all proposals together would take and bring, and gain: by broker, side and bucket."""

    def __init__(self) -> None:
        self.sums: dict[tuple[int, int, int], list[int]] = {}
        self.proposals = 0

    def add(self, proposal: ChangeProposal) -> None:
        self.proposals += 1
        copied = 0
        for touch in proposal.touches:
            self._add((touch.broker, touch.side, proposal.bucket), (*touch.load, proposal.gain))
            copied += touch.load.bytes if touch.side == IN else 0
        self._add((*EVERYTHING, proposal.bucket), (copied, 0, 0, 0, 0, 0))

    def _add(self, key: tuple[int, int, int], load: Iterable[int]) -> None:
        found = self.sums.get(key)
        if found is None:
            self.sums[key] = list(load)
            return
        for turn, value in enumerate(load):
            if value:
                found[turn] += value

    def merge(self, other: "Demand") -> "Demand":
        for key, load in other.sums.items():
            self._add(key, load)
        self.proposals += other.proposals
        return self


class Change:
    """What was accepted, summed up."""

    def __init__(self) -> None:
        self.loads = Loads()
        self.arrived: dict[int, int] = {}
        """Bytes that were given to a broker: a plan never counts on room that it has yet to make."""
        self.accepted = 0

    def add(self, proposal: ChangeProposal) -> None:
        self.accepted += 1
        for touch in proposal.touches:
            self.loads.add(touch.broker, touch.load, 1 if touch.side == IN else -1)
            if touch.side == IN and touch.load.bytes:
                self.arrived[touch.broker] = self.arrived.get(touch.broker, 0) + touch.load.bytes

    def merge(self, other: "Change") -> "Change":
        self.loads.merge(other.loads)
        for broker, size in other.arrived.items():
            self.arrived[broker] = self.arrived.get(broker, 0) + size
        self.accepted += other.accepted
        return self


def propose(chunk: list[PlannerTopic], view: RoundInput) -> Iterator[ChangeProposal | None]:
    """The chunk's proposals; None now and then, where nothing is proposed: a caller that has others to serve may."""
    for at, topic in enumerate(chunk):
        if not view.concerns(topic.name):
            continue
        yield None
        held = _held(topic) if view.balance is not None and view.weights.topic else {}
        for place_, partition in enumerate(topic.partitions):
            if view.balance is None and partition.origin:
                continue  # what a goal forces is done with once it is accepted
            made = _proposed((at, place_), topic.name, partition, view, held)
            if made is not None:
                yield made
            elif not place_ % 256:
                yield None


def _held(topic: PlannerTopic) -> dict[int, int]:
    held: dict[int, int] = {}
    for partition in topic.partitions:
        for broker in partition.replicas:
            held[broker] = held.get(broker, 0) + 1
    return held


def _proposed(
    position: tuple[int, int], topic: str, partition: PlannerPartition, view: RoundInput, held: Mapping[int, int]
) -> ChangeProposal | None:
    if view.balance is not None:
        if view.balance.rates.keys().isdisjoint(partition.replicas):
            return None
        found = wish(partition, view, key_of(topic, partition.index), held)
        if found is None:
            return None
        return ChangeProposal(
            position, found.replicas, found.bucket, found.touches, 2, found.reason, found.rule, found.gain
        )
    if not is_forced(partition, view):
        return None
    key = key_of(topic, partition.index)
    placed = place(partition, view, key ^ (view.round << 48) ^ view.seed)
    if placed is None or isinstance(placed, str):
        return None
    replicas, priority, reason, rule = placed
    bucket = priority * BUCKETS + chance_of(key, view)
    changed = touches(partition, view.size(partition), replicas)
    return ChangeProposal(position, replicas, bucket, changed, priority, reason, rule)


def is_accepted(proposal: ChangeProposal, thresholds: Thresholds) -> bool:
    """Every broker it touches allows it, and one needs it, or one on each side."""
    bucket = proposal.bucket
    if bucket >= thresholds.everything:
        return False
    needed, copies = [False, False], False
    for touch in proposal.touches:
        need, allow = thresholds.brokers.get((touch.broker, touch.side), NONE)
        if bucket >= allow:
            return False
        needed[touch.side] |= bucket < need
        copies |= touch.load.replicas > 0
    return all(needed) if copies and thresholds.both else any(needed)


def carry_out(chunk: list[PlannerTopic], accepted: Iterable[ChangeProposal]) -> None:
    """Put what was accepted into the chunk."""
    for proposal in accepted:
        at, turn = proposal.position
        partition = chunk[at].partitions[turn]
        first = not partition.origin
        partition.origin = partition.origin or partition.replicas
        partition.replicas = proposal.replicas
        if first:
            partition.priority, partition.reason, partition.rule = proposal.priority, proposal.reason, proposal.rule


def harvest(chunk: list[PlannerTopic], view: RoundInput) -> Iterator[PlannedMove | LeftOut | None]:
    """The chunk's moves and what is left out, when the last round is over; None now and then."""
    for topic in chunk:
        if not view.concerns(topic.name):
            continue
        yield None
        for turn, partition in enumerate(topic.partitions):
            if partition.origin and partition.origin != partition.replicas:
                yield _move(topic.name, partition, view)
            else:
                why = _left_out(topic.name, partition, view)
                if why:
                    yield LeftOut(topic.name, partition.index, partition.replicas, why)
                elif not turn % 256:
                    yield None


def _move(topic: str, partition: PlannerPartition, view: RoundInput) -> PlannedMove:
    copies = sum(broker not in partition.origin for broker in partition.replicas)
    return PlannedMove(
        topic,
        partition.index,
        partition.origin,
        partition.replicas,
        partition.leader,
        copies * view.size(partition),
        partition.priority,
        partition.reason,
        partition.rule,
    )


def _left_out(topic: str, partition: PlannerPartition, view: RoundInput) -> str:
    if view.kind in (Kind.EXPAND, Kind.REBALANCE):
        if partition.moving:
            return "a reassignment of it is in flight"
        absent = any(broker not in view.live for broker in partition.replicas)
        return "it has a replica on a broker that is not live: heal it first" if absent else ""
    placed = place(partition, view, key_of(topic, partition.index))
    if placed is None:
        return ""
    return (
        placed if isinstance(placed, str) else f"no broker has room for {view.size(partition)} bytes beside the others"
    )
