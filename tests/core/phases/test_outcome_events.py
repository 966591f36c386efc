"""What the event of a move's end in front of KRaft says, and who had asked for it."""

from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.phases.phases import Outcome, outcome_event
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.tables import for_each

ALICE, BOB = Requester("alice", "User:alice"), Requester("bob", "User:bob")
NAME = TopicPartition("t", 3)
RECORD = MoveRecord(MoveTerms((4, 5), by=ALICE, reason="plan 7"), (1, 2), id=400, started=1_700)
OF_NOBODY = MoveRecord(MoveTerms((4, 5)), (1, 2))


def ended(outcome: Outcome, record: MoveRecord = RECORD, reason: str = "") -> Event:
    return outcome_event(NAME, record, outcome, (4, 5, 1), reason)


@for_each(
    "outcome, event, who, requested_by",
    [
        (Outcome.DONE, "move.completed", "alice", None),
        (Outcome.CANCELLED, "move.cancelled", "controller", "alice"),
        (Outcome.CANCELLED_BY_OTHERS, "move.cancelled", "somebody else", "alice"),
        (Outcome.SUPERSEDED, "move.gone", "somebody else", "alice"),
        (Outcome.GONE, "move.gone", "somebody else", "alice"),
    ],
)
def test_kr_6_the_end_of_a_move_is_an_event_with_all_of_the_move_and_who_ended_it(
    outcome: Outcome, event: str, who: str, requested_by: str | None
) -> None:
    found = ended(outcome)
    assert (found.event, found.topic, found.partition, found.id, found.started) == (event, "t", 3, 400, 1_700)
    assert (found.target, found.original, found.replicas) == ((4, 5), (1, 2), (4, 5, 1))
    assert (found.who, found.requested_by, found.route) == (who, requested_by, "rpc")


def test_kr_6_a_move_that_a_client_cancels_is_cancelled_by_that_client() -> None:
    by_bob = MoveRecord(RECORD.terms, (1, 2), cancelled_by=BOB)
    assert (ended(Outcome.CANCELLED, by_bob).who, ended(Outcome.CANCELLED, by_bob).requested_by) == ("bob", "alice")
    own = MoveRecord(RECORD.terms, (1, 2), cancelled_by=ALICE)
    assert (ended(Outcome.CANCELLED, own).who, ended(Outcome.CANCELLED, own).requested_by) == ("alice", None)


def test_kr_6_a_refused_move_is_an_event_without_what_has_never_been() -> None:
    found = ended(Outcome.REFUSED, reason="no rights")
    assert (found.event, found.who, found.reason, found.target) == ("move.refused", "alice", "no rights", (4, 5))
    assert (found.id, found.original, found.replicas, found.route) == (400, None, None, None)


@for_each(
    "outcome, who", [(Outcome.DONE, "controller"), (Outcome.REFUSED, "controller"), (Outcome.GONE, "somebody else")]
)
def test_kr_6_what_no_client_has_asked_for_is_the_controllers(outcome: Outcome, who: str) -> None:
    assert (ended(outcome, OF_NOBODY).who, ended(outcome, OF_NOBODY).requested_by) == (who, None)


@for_each("given, own, reason", [("late", "plan 7", "late"), ("", "plan 7", "plan 7"), ("", "", None)])
def test_kr_6_the_reason_of_an_end_comes_before_that_of_the_move(given: str, own: str, reason: str | None) -> None:
    record = MoveRecord(MoveTerms((4, 5), reason=own), (1, 2))
    assert ended(Outcome.DONE, record, given).reason == reason
