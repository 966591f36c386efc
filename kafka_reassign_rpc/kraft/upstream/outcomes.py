"""What is known of a change after its request. Three kinds of silence leave it open whether the change holds, so a look
has to say: no answer in time, a connection that was lost, and an error that says nothing about the records of the
controller.

Source: QuorumController. When it resigns, it answers NOT_CONTROLLER to changes that it has written and not yet seen
committed (`renounce`); of more than 10,000 records it applies the first, and answers UNKNOWN_SERVER_ERROR to the rest.
"""

from enum import Enum
from typing import NamedTuple

from kafka_reassign_rpc.client.client_errors import NotSent, Unauthenticated, Unreachable, UnsupportedHere
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController, RequestTimedOut, UnknownServerError

NETWORK_EXCEPTION = 13
_OPEN = frozenset({UnknownServerError.code, RequestTimedOut.code, NETWORK_EXCEPTION, NotController.code})
_BEFORE_SENDING = (NotSent, Unauthenticated, UnsupportedHere)


class Told(Enum):
    """DONE       the cluster has taken it
    REFUSED    it has not, and its error says why. A cancel that finds no move may be the second try of one that had its
               effect: brokers pass requests on again after a failover of the controller
    UNKNOWN    look before anything else
    NOT_SENT   it never left this server
    """

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    NOT_SENT = "not sent"


class Outcome(NamedTuple):
    """`error`: Kafka's code and message, or why nothing is known; None if it is done."""

    told: Told
    error: KafkaError | None = None


DONE = Outcome(Told.DONE)
NOT_NAMED = KafkaError("The answer of the cluster does not name it.")
UNNAMED = Outcome(Told.UNKNOWN, NOT_NAMED)


def outcome_of(error: KafkaError | None) -> Outcome:
    """`error`: of the item, or of its whole request."""
    if error is None:
        return DONE
    if isinstance(error, _BEFORE_SENDING):
        return Outcome(Told.NOT_SENT, error)
    if isinstance(error, Unreachable):
        return Outcome(Told.UNKNOWN if error.may_have_had_effect else Told.NOT_SENT, error)
    return Outcome(Told.UNKNOWN if error.code in _OPEN else Told.REFUSED, error)
