"""What a look has found of one partition, compared with the move that is recorded for it."""

from collections.abc import Iterator
from enum import StrEnum, auto
from itertools import chain
from typing import NamedTuple

from kafka_reassign_rpc.core.reassignment_algebra import Replicas, among, without
from kafka_reassign_rpc.core.state.partition import MoveRecord, Phase


class SeenPartition(NamedTuple):
    """As the cluster lists it: in flight, `replicas` are the target, then those to be removed."""

    replicas: Replicas
    adding: Replicas = ()
    removing: Replicas = ()

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def target(self) -> Replicas:
        return without(self.replicas, self.removing)

    @property
    def never_ends(self) -> bool:
        """All adding replicas must be in the ISR, and none of the removing ones may be."""
        return bool(among(self.adding, self.removing))


class Sighting(StrEnum):
    """In flight: to OURS, the target of the record; to FORMER, what it replaces; BACK to the original replicas; or to
    the target of OTHERS. At rest: with the target (or that of what it replaces), with the original replicas, with them
    in another order or together with those of a former target, or ELSEWHERE. GONE: no such partition.
    """

    OURS = auto()
    FORMER = auto()
    BACK = auto()
    OTHERS = auto()
    AT_TARGET = auto()
    AT_FORMER_TARGET = auto()
    AT_ORIGINAL = auto()
    AROUND_ORIGINAL = auto()
    ELSEWHERE = auto()
    GONE = auto()


IN_FLIGHT = frozenset({Sighting.OURS, Sighting.FORMER, Sighting.BACK, Sighting.OTHERS})


def sighting(record: MoveRecord, seen: SeenPartition | None) -> Sighting:
    if seen is None:
        return Sighting.GONE
    return _in_flight(record, seen.target) if seen.is_moving else _at_rest(record, seen.replicas)


def former_moves(record: MoveRecord) -> Iterator[MoveRecord]:
    """What the record replaces, the latest first: any of them may be in flight."""
    while record.replaces is not None:
        record = record.replaces
        yield record


def _in_flight(record: MoveRecord, to: Replicas) -> Sighting:
    if record.phase is Phase.RESTORE and to == record.original:
        return Sighting.BACK
    if to == record.terms.target:
        return Sighting.OURS
    if any(to in _told(former) for former in former_moves(record)):
        return Sighting.FORMER
    return Sighting.BACK if to == record.original else Sighting.OTHERS


def _told(former: MoveRecord) -> tuple[Replicas, ...]:
    restores = former.phase is Phase.RESTORE
    return (former.terms.target, former.original) if restores else (former.terms.target,)


def _at_rest(record: MoveRecord, at: Replicas) -> Sighting:
    if at == record.original and (record.phase is Phase.CANCEL or at != record.terms.target):
        return Sighting.AT_ORIGINAL
    if at == record.terms.target:
        return Sighting.AT_TARGET
    if record.phase is Phase.CANCEL and set(at) == set(record.original):  # whatever has given them this order
        return Sighting.AROUND_ORIGINAL
    if any(at == former.terms.target for former in former_moves(record)):
        return Sighting.AT_FORMER_TARGET
    return Sighting.AROUND_ORIGINAL if _is_around_original(record, at) else Sighting.ELSEWHERE


def _is_around_original(record: MoveRecord, at: Replicas) -> bool:
    """Whether a cancel leaves these: KRaft's has an order of its own, and keeps what former targets have added. Without
    a former move in flight, only others can have given the partition these before the first Alter.
    """
    if record.phase is Phase.START and record.replaces is None:
        return False
    added = chain.from_iterable(former.terms.target for former in former_moves(record))
    return set(record.original) <= set(at) <= {*record.original, *record.retained, *added}
