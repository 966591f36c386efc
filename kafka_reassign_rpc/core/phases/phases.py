"""The phases of a move in front of KRaft: what a look means for it, what the cluster is sent next, and how it ends.

A step that changes the record is durable before its act is sent. A look that counts has begun after the last act was
answered, or after its sender was sure that no answer would come. Of one that finds the partition at rest, brokers'
answers may be older than the controller's: it counts once a second one, a while later, has found the same, and once
`LOOKS_AT_OTHERS` have where that would say that others have ended the move. The target
of a move that the look before has found in flight is an exception, if it has taken replicas away: no state since then
has it but the end. (In flight the replicas are those of the target and the removing ones; so a broker that has not
heard of the end, whatever it was, shows the target of a move that only adds.)

While an act may still arrive whose answer was lost, or that a former server has sent, looks count for nothing but what
that act would leave as it is (`UNHARMED`), and for what is in flight to a target of ours.

What others do is never undone: their target in the place of ours, or replicas that neither we nor a cancel of ours
would leave, end the move as superseded. Between the look and the Alter there is a window: KRaft has no Alter with a
condition. Where two that met in it have made a move without an end, ours is taken back and sent again.

Sources: kafka.controller.ReplicationControlManager (alterPartitionReassignment, PartitionReassignmentReplicas,
PartitionReassignmentRevert), and trials on 4.1 to 4.4.
"""

from collections.abc import Mapping
from enum import Enum, StrEnum, auto
from typing import NamedTuple

from msgspec.structs import replace

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NoReassignmentInProgress
from kafka_reassign_rpc.core.phases.sightings import IN_FLIGHT, SeenPartition, Sighting, former_moves, sighting
from kafka_reassign_rpc.core.reassignment_algebra import Replicas, without
from kafka_reassign_rpc.core.state.partition import MoveRecord, Partition, Phase
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester, requester_of
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

LOOKS = 2
"""How many looks must agree that a partition is at rest."""
LOOKS_AT_OTHERS = 10
"""So many that agree say that others have ended the move. A busy broker hears of thousands of moves seconds after the
controller: until then it shows the replicas of before the end, or of before the start. Looks take longer then, too.
"""


class Act(Enum):
    """What the cluster is sent: nothing, an Alter to the target, a cancel, or an Alter to the original replicas."""

    NOTHING = auto()
    SEND = auto()
    CANCEL = auto()
    RESTORE = auto()


class Outcome(StrEnum):
    """Part of durable records."""

    DONE = auto()
    CANCELLED = auto()
    CANCELLED_BY_OTHERS = auto()
    SUPERSEDED = auto()
    REFUSED = auto()
    GONE = auto()


class Then(NamedTuple):
    """`phase`: None keeps it."""

    act: Act = Act.NOTHING
    phase: Phase | None = None
    outcome: Outcome | None = None


WATCH = Then()
SUPERSEDED = Then(outcome=Outcome.SUPERSEDED)
DONE = Then(outcome=Outcome.DONE)
CANCELLED = Then(outcome=Outcome.CANCELLED)
BY_OTHERS = Then(outcome=Outcome.CANCELLED_BY_OTHERS)
SEND = Then(Act.SEND)
CANCEL = Then(Act.CANCEL)
RESTORE = Then(Act.RESTORE, Phase.RESTORE)

TABLE: Mapping[Phase, Mapping[Sighting, Then]] = {
    Phase.START: {
        Sighting.OURS: Then(phase=Phase.MOVING),
        Sighting.FORMER: SEND,
        Sighting.BACK: SUPERSEDED,
        Sighting.OTHERS: SUPERSEDED,
        Sighting.AT_TARGET: DONE,
        Sighting.AT_FORMER_TARGET: SEND,
        Sighting.AT_ORIGINAL: SEND,
        Sighting.AROUND_ORIGINAL: SEND,
        Sighting.ELSEWHERE: SUPERSEDED,
    },
    Phase.MOVING: {
        Sighting.OURS: WATCH,
        Sighting.FORMER: SUPERSEDED,
        Sighting.BACK: SUPERSEDED,
        Sighting.OTHERS: SUPERSEDED,
        Sighting.AT_TARGET: DONE,
        Sighting.AT_FORMER_TARGET: SUPERSEDED,
        Sighting.AT_ORIGINAL: BY_OTHERS,
        Sighting.AROUND_ORIGINAL: BY_OTHERS,
        Sighting.ELSEWHERE: SUPERSEDED,
    },
    Phase.CANCEL: {
        Sighting.OURS: CANCEL,
        Sighting.FORMER: CANCEL,
        Sighting.BACK: SUPERSEDED,
        Sighting.OTHERS: SUPERSEDED,
        Sighting.AT_TARGET: DONE,
        Sighting.AT_FORMER_TARGET: CANCELLED,
        Sighting.AT_ORIGINAL: CANCELLED,
        Sighting.AROUND_ORIGINAL: RESTORE,
        Sighting.ELSEWHERE: SUPERSEDED,
    },
    Phase.RESTORE: {
        Sighting.OURS: CANCELLED,
        Sighting.FORMER: CANCELLED,
        Sighting.BACK: WATCH,
        Sighting.OTHERS: CANCELLED,
        Sighting.AT_TARGET: CANCELLED,
        Sighting.AT_FORMER_TARGET: CANCELLED,
        Sighting.AT_ORIGINAL: CANCELLED,
        Sighting.AROUND_ORIGINAL: RESTORE,
        Sighting.ELSEWHERE: CANCELLED,
    },
}
"""In CANCEL, DONE means that the cancel came too late: its sender gets NO_REASSIGNMENT_IN_PROGRESS. A target that the
cancelled one was to replace may have been reached first: then this one is given up, and nothing goes back. In RESTORE,
others may have moved the partition since: the cancel has had its effect all the same. GONE is the same in all phases.
"""

UNHARMED = frozenset(
    {
        (Phase.START, Sighting.AT_TARGET),
        (Phase.START, Sighting.AT_ORIGINAL),
        (Phase.MOVING, Sighting.AT_TARGET),
        (Phase.CANCEL, Sighting.AT_TARGET),
    }
)
"""The target, sent again, changes nothing at the target, or is what is sent next; a cancel finds nothing there. This is
so where the move has replaced none, whose acts might arrive instead."""

FORMER_REACHED = "the target before it was reached first: the replicas are those of that one"
OTHERS_MOVED = "somebody else has moved the partition since the cancel: the order of its replicas is theirs"
OTHER_TARGET = "somebody else has given the partition another target"
OTHER_REPLICAS = "somebody else has given the partition other replicas"
DELETED = "the partition was deleted"


class Step(NamedTuple):
    """record   of the move from now on; None: it is over
    reason   of an outcome that is not what was asked for
    """

    record: MoveRecord | None
    act: Act = Act.NOTHING
    outcome: Outcome | None = None
    reason: str = ""


def first_act(before: Partition, record: MoveRecord) -> Act:
    """What the cluster is sent as soon as a decision is durable. `before`: what it was decided on. Where that was not
    sure itself, looks say first what the cluster has made of the former decision.
    """
    is_sure = before.move is None or (before.move.phase is Phase.MOVING and before.is_moving)
    if not is_sure or record.phase not in (Phase.START, Phase.CANCEL):
        return Act.NOTHING
    seen = SeenPartition(before.replicas, before.adding, before.removing)
    cancels = record.phase is Phase.CANCEL or would_go_astray(seen, record.terms.target)
    return Act.CANCEL if cancels else Act.SEND


def after_done(record: MoveRecord, act: Act) -> MoveRecord:
    """The cluster has taken the act. Of a move that replaces others a look says what these have left; once they are
    cancelled for it, none of them goes on, also if its target is refused then."""
    if record.phase is not Phase.START:
        return record
    if act is Act.CANCEL and not is_sent_again(record):
        return replace(record, replaces=_cancelled_for(record, record.replaces))
    return replace(record, phase=Phase.MOVING) if act is Act.SEND and record.replaces is None else record


def _cancelled_for(record: MoveRecord, former: MoveRecord | None) -> MoveRecord | None:
    """`record`: what is to replace it."""
    if former is None:
        return None
    if former.phase is Phase.MOVING:
        former = replace(former, phase=Phase.CANCEL, cancelled_by=record.terms.by)
    return replace(former, replaces=_cancelled_for(record, former.replaces))


def next_step(
    record: MoveRecord,
    seen: SeenPartition | None,
    looks: int,
    *,
    before: SeenPartition | None = None,
    is_settled: bool = True,
    no_restore: str = "",
) -> Step:
    """looks       how many looks in a row have seen this, all of them with this `is_settled`
    before      what the look before has seen
    is_settled  whether nothing that was sent about this partition may still arrive
    no_restore  why the cluster would refuse an Alter to the original replicas (`kraft_refusals`)
    """
    assert record.phase is not None
    found = sighting(record, seen)
    if not _is_sure(record, found, looks, before, is_settled=is_settled):
        return Step(record)
    if seen is None:
        return Step(None, outcome=Outcome.GONE, reason=DELETED)
    then = TABLE[record.phase][found]
    if then.outcome is not None:
        return Step(None, outcome=then.outcome, reason=_reason(record.phase, found, then.outcome))
    if seen.never_ends:
        return Step(_sent_again(record), Act.CANCEL)
    if then.act is Act.RESTORE and no_restore:
        return Step(None, outcome=Outcome.CANCELLED, reason=f"the replicas stay {list(seen.replicas)}: {no_restore}")
    if then.act is Act.SEND and found in IN_FLIGHT and would_go_astray(seen, record.terms.target):
        return Step(_next_record(record, seen, found, then, is_settled=is_settled), Act.CANCEL)
    return Step(_next_record(record, seen, found, then, is_settled=is_settled), then.act)


def _is_sure(
    record: MoveRecord, found: Sighting, looks: int, before: SeenPartition | None, *, is_settled: bool
) -> bool:
    if found is Sighting.GONE:
        return looks >= LOOKS
    assert record.phase is not None
    if found in IN_FLIGHT:  # of others: what may still arrive would go on in it, and without a record
        return is_settled or TABLE[record.phase][found].outcome is None
    is_harmless = record.replaces is None and (record.phase, found) in UNHARMED
    by_others = TABLE[record.phase][found].outcome in (Outcome.SUPERSEDED, Outcome.CANCELLED_BY_OTHERS)
    needed = LOOKS_AT_OTHERS if by_others else LOOKS
    has_ended = found is Sighting.AT_TARGET and before is not None and _took_away(before, record.terms.target)
    return (is_settled or is_harmless) and (looks >= needed or has_ended)


def _took_away(seen: SeenPartition, target: Replicas) -> bool:
    return bool(seen.removing) and seen.target == target


def _sent_again(record: MoveRecord) -> MoveRecord:
    """After a cancel of its own, which leaves an order of its own."""
    if record.phase in (Phase.CANCEL, Phase.RESTORE) or record.replaces is not None:
        return record
    return replace(record, phase=Phase.START, replaces=replace(record, phase=Phase.MOVING))


def _next_record(
    record: MoveRecord, seen: SeenPartition, found: Sighting, then: Then, *, is_settled: bool
) -> MoveRecord:
    if not is_settled and record.replaces is not None and (then.phase is Phase.MOVING or then.act is Act.SEND):
        return record  # what it replaces may still arrive
    if then.phase is Phase.MOVING:
        return replace(_from_what_was_reached(record, seen), phase=Phase.MOVING, replaces=None)
    if then.act is Act.SEND:
        return _replacing_what_is_seen(record, seen, found)
    if then.act is Act.CANCEL:
        return _from_what_was_reached(record, seen)
    return record if then.phase is None else replace(record, phase=then.phase)


def _from_what_was_reached(record: MoveRecord, seen: SeenPartition) -> MoveRecord:
    """Of a partition in flight. Where replicas of the original are gone, a target that was replaced had been reached
    before: a cancel leads back to that one."""
    present = set(without(seen.replicas, seen.adding))
    if set(record.original) <= present:
        return record
    reached = next((one.terms.target for one in former_moves(record) if set(one.terms.target) == present), None)
    if reached is None:
        return record
    return replace(record, original=reached, retained=without(record.retained, reached))


def _replacing_what_is_seen(record: MoveRecord, seen: SeenPartition, found: Sighting) -> MoveRecord:
    """What else is not in flight was never sent, or has had no effect."""
    if found is Sighting.AT_FORMER_TARGET:  # that has ended first
        return replace(record, original=seen.replicas, retained=(), replaces=None)
    if record.replaces is None or found is Sighting.AT_ORIGINAL:
        return replace(record, replaces=None)
    if found not in IN_FLIGHT:
        return record
    former = next((one for one in former_moves(record) if one.terms.target == seen.target), record.replaces)
    phase = Phase.MOVING if former.phase is Phase.START else former.phase
    return replace(_from_what_was_reached(record, seen), replaces=replace(former, phase=phase, replaces=None))


def _reason(phase: Phase, found: Sighting, outcome: Outcome) -> str:
    if outcome is Outcome.SUPERSEDED:
        return OTHER_TARGET if found in IN_FLIGHT else OTHER_REPLICAS
    if phase is Phase.CANCEL and found is Sighting.AT_FORMER_TARGET:
        return FORMER_REACHED
    if phase is Phase.RESTORE and found is not Sighting.AT_ORIGINAL:
        return OTHERS_MOVED
    return ""


def would_go_astray(seen: SeenPartition, target: Replicas) -> bool:
    """Whether an Alter to this target would not lead there while this move is in flight: it is sent after a cancel.

    KRaft replaces adding replicas of the move in flight only by others, and so the removing ones. Where the target adds
    none and drops some of the former, these would be both adding and removing, and the move would never end. Where it
    removes none, the former ones are removed although it has them.
    """
    if not seen.is_moving:
        return False
    adds, removes = not set(target) <= set(seen.replicas), not set(seen.replicas) <= set(target)
    return (not adds and not set(seen.adding) <= set(target)) or (bool(seen.removing) and not removes)


def is_sent_again(record: MoveRecord) -> bool:
    """Whether its own move is what its target is to replace, since that never ends."""
    return record.phase is Phase.START and record.replaces is not None and record.replaces.id == record.id


def after_refusal(record: MoveRecord, act: Act, error: KafkaError) -> Step:
    """The cluster has refused the act of this record, and nothing has changed. A cancel that finds nothing in flight
    may have had its effect before: the next look says how the move has ended. One that nobody has asked for is tried
    again after each look."""
    if isinstance(error, NoReassignmentInProgress) or (act is Act.CANCEL and is_sent_again(record)):
        return Step(record)
    reason = f"{error.name}: {error}"
    if record.phase is Phase.RESTORE:
        return Step(None, outcome=Outcome.CANCELLED, reason=f"the order of the replicas is not the original: {reason}")
    return Step(_goes_on(record), outcome=Outcome.REFUSED, reason=reason)


def _goes_on(record: MoveRecord) -> MoveRecord | None:
    """After a refusal. What others have started goes on without a record: whatever becomes of it is theirs."""
    if record.phase is not Phase.CANCEL:
        former = record.replaces
        is_nothing = former is None or is_sent_again(record) or (former.adopted and former.phase is Phase.MOVING)
        return None if is_nothing else former
    if record.adopted:
        return None
    return replace(record, phase=Phase.MOVING if record.replaces is None else Phase.START, cancelled_by=None)


SOMEBODY_ELSE = Requester("somebody else")

EVENTS: Mapping[Outcome, str] = {
    Outcome.DONE: catalogue.MOVE_COMPLETED,
    Outcome.CANCELLED: catalogue.MOVE_CANCELLED,
    Outcome.CANCELLED_BY_OTHERS: catalogue.MOVE_CANCELLED,
    Outcome.SUPERSEDED: catalogue.MOVE_GONE,
    Outcome.REFUSED: catalogue.MOVE_REFUSED,
    Outcome.GONE: catalogue.MOVE_GONE,
}
_BY_OTHERS = (Outcome.CANCELLED_BY_OTHERS, Outcome.SUPERSEDED, Outcome.GONE)


def outcome_event(
    name: TopicPartition, record: MoveRecord, outcome: Outcome, replicas: Replicas | None, reason: str
) -> Event:
    """`replicas`: of the partition as it was seen last."""
    terms = record.terms
    asked = requester_of(terms.route, terms.by)
    if outcome is Outcome.REFUSED:
        refused = Event(EVENTS[outcome], *name, record.id, reason=reason, target=terms.target)
        return refused.asked_by(asked or CONTROLLER)
    event = Event(
        EVENTS[outcome],
        *name,
        record.id,
        terms.route,
        reason=reason or terms.reason or None,
        target=terms.target,
        original=record.original,
        replicas=replicas,
        started=record.started,
    )
    if outcome in _BY_OTHERS:
        return event.asked_by(SOMEBODY_ELSE, asked)
    if outcome is Outcome.CANCELLED:
        return event.asked_by(record.cancelled_by or CONTROLLER, asked)
    return event.asked_by(asked or CONTROLLER)
