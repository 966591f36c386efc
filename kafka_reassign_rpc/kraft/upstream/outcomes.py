"""What is known of a change after its request. Three kinds of silence leave it open whether the change holds, so a look
has to say: no answer in time, a connection that was lost, and an error that says nothing about the records of the
controller.

Source: QuorumController. When it resigns, it answers NOT_CONTROLLER to changes that it has written and not yet seen
committed (`renounce`); of more than 10,000 records it applies the first, and answers UNKNOWN_SERVER_ERROR to the rest.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple

from kafka_reassign_rpc.client.client_errors import NotSent, Unauthenticated, Unreachable, UnsupportedHere
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    IllegalSaslState,
    KafkaError,
    NotController,
    RequestTimedOut,
    ThrottlingQuotaExceeded,
    TopicAuthorizationFailed,
    UnknownServerError,
    UnsupportedSaslMechanism,
    UnsupportedVersion,
)
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

NETWORK_EXCEPTION = 13
_OPEN = frozenset({UnknownServerError.code, RequestTimedOut.code, NETWORK_EXCEPTION, NotController.code})
_BEFORE_SENDING = (NotSent, Unauthenticated, UnsupportedHere)
_OF_THE_SENDER = frozenset(
    {
        TopicAuthorizationFailed.code,
        ClusterAuthorizationFailed.code,
        UnsupportedSaslMechanism.code,
        IllegalSaslState.code,
        UnsupportedVersion.code,
        Unauthenticated.code,
        ThrottlingQuotaExceeded.code,
    }
)
"""They are about who asks and how, whatever is asked."""


class Told(Enum):
    """DONE       the cluster has taken it
    REFUSED    it has not, and its error says why. A cancel that finds no move may be the second try of one that had its
               effect: brokers pass requests on again after a failover of the controller
    UNKNOWN    look before anything else
    NOT_TOLD   it has had no effect, for a reason that is not in it: it never left this server, or the cluster takes
               nothing of the kind from it. The same may be taken later
    """

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    NOT_TOLD = "not told"


class Outcome(NamedTuple):
    """`error`: Kafka's code and message, or why nothing is known; None if it is done."""

    told: Told
    error: KafkaError | None = None

    @property
    def is_known(self) -> bool:
        """Whether the cluster has said of this very change that it is done or refused."""
        return self.told in (Told.DONE, Told.REFUSED)


Heard = Callable[[Mapping[TopicPartition, Outcome]], None]
"""Gets the outcomes of one request."""
DONE = Outcome(Told.DONE)
NOT_NAMED = KafkaError("The answer of the cluster does not name it.")
UNNAMED = Outcome(Told.UNKNOWN, NOT_NAMED)
NOT_REACHED = Outcome(Told.NOT_TOLD, NotSent("Nothing was sent: a request before it has had no answer, or a refusal."))


def outcome_of(error: KafkaError | None, *, of_request: bool = False) -> Outcome:
    """`of_request`: the error is that of the whole request, and says nothing about one item."""
    if error is None:
        return DONE
    if isinstance(error, _BEFORE_SENDING):
        return Outcome(Told.NOT_TOLD, error)
    if isinstance(error, Unreachable):
        return Outcome(Told.UNKNOWN if error.may_have_had_effect else Told.NOT_TOLD, error)
    if error.code in _OPEN:
        return Outcome(Told.UNKNOWN, error)
    return Outcome(Told.NOT_TOLD if of_request or error.code in _OF_THE_SENDER else Told.REFUSED, error)
