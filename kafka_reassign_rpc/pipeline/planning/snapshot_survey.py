"""What a chunk of a snapshot tells before the first round."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kafka_reassign_rpc.core.brokers.departure import BrokerFacts, Losses
from kafka_reassign_rpc.planner.goals_and_options import Goal
from kafka_reassign_rpc.planner.proposals.round_sums import Survey

NAMED_ROWS = 20


class ClusterFacts(NamedTuple):
    """brokers          all that the snapshot lists
    departing        the live ones, if the goal empties brokers
    racks            of all live brokers; None: spreads do not matter
    """

    goal: Goal
    brokers: frozenset[int]
    live: frozenset[int]
    min_isrs: dict[str, int]
    default_min_isr: int
    departing: Mapping[int, BrokerFacts] | None = None
    racks: Mapping[int, str] | None = None


class RowFaults(NamedTuple):
    total: int
    first: tuple[str, ...]

    @classmethod
    def of(cls, named: Collection[str]) -> "RowFaults":
        return cls(len(named), tuple(sorted(named)[:NAMED_ROWS]))

    def merge(self, other: "RowFaults") -> "RowFaults":
        return RowFaults(self.total + other.total, tuple(sorted((*self.first, *other.first))[:NAMED_ROWS]))


class Coming(NamedTuple):
    """A replica that a move adds. `waits`: the snapshot does not list it yet; `bytes`: None if not known."""

    topic: str
    partition: int
    broker: int
    bytes: int | None
    waits: bool


class SnapshotSurvey(NamedTuple):
    """faults      rows that no cluster can show
    unusable    partitions that stay as they are, whatever the goal
    unlisted    brokers that the snapshot does not list, with the first partitions there
    largest     bytes of the largest replica, and its partition (of equal ones the last name); 0 bytes: no size is known
    losses      what would be lost if drained brokers went now; None: none is drained
    unsized     the first partitions without a size
    """

    survey: Survey
    faults: RowFaults = RowFaults(0, ())
    unusable: RowFaults = RowFaults(0, ())
    unlisted: Mapping[int, tuple[str, ...]] = MappingProxyType({})
    largest: tuple[int, str] = (0, "")
    losses: Losses | None = None
    unsized: tuple[tuple[str, int], ...] = ()
    coming: tuple[Coming, ...] = ()

    def merge(self, other: "SnapshotSurvey") -> "SnapshotSurvey":
        return SnapshotSurvey(
            self.survey.merge(other.survey),
            self.faults.merge(other.faults),
            self.unusable.merge(other.unusable),
            _merged_names(self.unlisted, other.unlisted),
            max(self.largest, other.largest),
            _merged_losses([one.losses for one in (self, other) if one.losses is not None]),
            tuple(sorted((*self.unsized, *other.unsized))[:NAMED_ROWS]),
            (*self.coming, *other.coming),
        )


def _merged_names(
    one: Mapping[int, tuple[str, ...]], other: Mapping[int, tuple[str, ...]]
) -> dict[int, tuple[str, ...]]:
    merged = dict(one)
    for broker, names in other.items():
        merged[broker] = tuple(sorted((*merged.get(broker, ()), *names))[:NAMED_ROWS])
    return merged


def _merged_losses(found: Iterable[Losses]) -> Losses | None:
    merged = None
    for one in found:
        if merged is None:
            merged = Losses()
        merged.merge(one, NAMED_ROWS)
    return merged
