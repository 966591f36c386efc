"""The event of each outcome of a move in front of KRaft."""

from collections.abc import Mapping

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.phases.phases import Outcome
from kafka_reassign_rpc.core.reassignment_algebra import Replicas
from kafka_reassign_rpc.core.state.partition import MoveRecord
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester, requester_of
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

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
