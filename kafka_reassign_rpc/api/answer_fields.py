"""Values of fields that many answers have in common."""

from uuid import UUID

from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    KafkaError,
    RequestTimedOut,
    ThrottlingQuotaExceeded,
    TopicAuthorizationFailed,
)

ZERO_UUID = UUID(int=0)
"""Stands for "no topic id"."""

_UNTOLD = (ClusterAuthorizationFailed, RequestTimedOut, ThrottlingQuotaExceeded, TopicAuthorizationFailed)


def code_of(error: KafkaError | None) -> int:
    return 0 if error is None else error.code


def message_of(error: KafkaError | None) -> str | None:
    """Returns the error message; None if there is no error, or it says no more than the code of one of `_UNTOLD`
    (Kafka's `new ApiError(error, null)`, and ApiError.fromThrowable)."""
    if error is None or (isinstance(error, _UNTOLD) and error.message == error.default_message):
        return None
    return error.message
