"""What a round has decided about a partition, in front of KRaft: a move with a phase, and the partition as it is shown
until a look has seen more. Leader, ISR and their epochs are the cluster's own: what a decision says of them is dropped.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from kafka_reassign_rpc.core.phases.phases import would_go_astray
from kafka_reassign_rpc.core.phases.sightings import SeenPartition, former_moves
from kafka_reassign_rpc.core.reassignment_algebra import Replicas, without
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Partition, Phase
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester

MOST_REPLACED = 4
"""How many moves one record replaces: as many targets may follow one another before the cluster has answered the first.
"""


def decided(before: Partition, after: Partition, by: Requester, asked: MoveTerms | None = None) -> Partition | None:
    """None: nothing of it is for the cluster. `by`: who asked; `asked`: see `PartitionChange`. A cancel asks for no
    target: it goes back to the original replicas where the move has not ended before. Who names these as the target
    gets them in any case, by a move of their own if need be.
    """
    if not after.is_moving:
        if before.is_moving and after.replicas == before.target != before.original:  # the end of a move is seen
            return None
        if asked is None and before.original == after.replicas and (before.is_moving or _is_still_told(before.move)):
            return _cancelled(before, by)
    is_same = (after.replicas, after.adding, after.removing) == (before.replicas, before.adding, before.removing)
    if (is_same and (asked is None or before.is_moving or not before.goes_back)) or (
        before.is_moving and after.target == before.target and _goes_on(before.move)
    ):
        return _with_terms(before, after)
    return _started(before, after, by, asked)


def _is_still_told(move: MoveRecord | None) -> bool:
    return move is not None and move.phase is Phase.START


def _goes_on(move: MoveRecord | None) -> bool:
    return move is not None and move.phase in (Phase.START, Phase.MOVING)


def _with_terms(before: Partition, after: Partition) -> Partition | None:
    """The same move with another lease, route or reason."""
    if before.move is None or after.move is None or before.move.terms == after.move.terms:
        return None
    return replace(before, move=replace(before.move, terms=after.move.terms))


def _cancelled(before: Partition, by: Requester) -> Partition | None:
    move = before.move or adopted(before)
    if move.phase in (Phase.CANCEL, Phase.RESTORE):
        return None
    return replace(before, move=replace(move, phase=Phase.CANCEL, cancelled_by=None if by == CONTROLLER else by))


def _started(before: Partition, after: Partition, by: Requester, asked: MoveTerms | None) -> Partition:
    known = before.move or (adopted(before) if before.is_moving else None)
    terms = asked or MoveTerms(after.target, by=None if by == CONTROLLER else by)
    if known is None:
        return as_started(before, MoveRecord(terms, before.replicas, phase=Phase.START))
    original, added = known.original, (*known.retained, *before.adding)
    record = MoveRecord(
        terms,
        original,
        retained=tuple(dict.fromkeys(without(added, original))),
        phase=Phase.START,
        replaces=_trimmed(known),
    )
    return as_started(before, record)


def _trimmed(record: MoveRecord) -> MoveRecord | None:
    """Without some between the latest and the oldest: these were never sent, since each waits for a look."""
    chain = [record, *former_moves(record)]
    kept = chain if len(chain) <= MOST_REPLACED else [*chain[: MOST_REPLACED - 2], *chain[-2:]]
    made: MoveRecord | None = None
    for one in reversed(kept):
        made = replace(one, replaces=made)
    return made


def adopted(partition: Partition) -> MoveRecord:
    """The record of a move in flight that others have started: of its original replicas only the present order is
    known.
    """
    return MoveRecord(MoveTerms(partition.target), partition.origin, phase=Phase.MOVING, adopted=True)


def as_started(partition: Partition, record: MoveRecord) -> Partition:
    """As the cluster lists it after the Alter (ReplicationControlManager, PartitionReassignmentReplicas)."""
    seen, target = SeenPartition(partition.replicas, partition.adding, partition.removing), record.terms.target
    is_cancelled_first = would_go_astray(seen, target)
    present: Replicas = without(seen.replicas, seen.adding) if is_cancelled_first else seen.replicas
    adding = tuple(sorted(without(target, present))) or (() if is_cancelled_first else seen.adding)
    removing = tuple(sorted(without(present, target)))
    return replace(partition, replicas=target + removing, adding=adding, removing=removing, move=record)


def as_seen(partition: Partition, seen: SeenPartition, record: MoveRecord | None) -> Partition:
    """As a look has found it. A move that has yet to be sent counts as in flight, for caps and for clients that ask; so
    do those that it replaces, if they had yet to be sent as well.
    """
    value = replace(partition, replicas=seen.replicas, adding=seen.adding, removing=seen.removing, move=record)
    return with_unsent(value, seen)


def with_unsent(value: Partition, seen: SeenPartition) -> Partition:
    """See `as_seen`."""
    record = value.move
    if record is None or record.phase is not Phase.START:
        return value
    for started in reversed([*_unsent(record, seen)]):
        value = as_started(value, started)
    return value


def _unsent(record: MoveRecord, seen: SeenPartition) -> Iterator[MoveRecord]:
    """The latest first."""
    for one in (record, *former_moves(record)):
        if seen.is_moving and seen.target == one.terms.target:
            break
        if one.phase is Phase.START:
            yield one
