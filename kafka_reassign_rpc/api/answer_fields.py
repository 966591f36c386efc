"""Values of fields that many answers have in common."""

import struct
from uuid import UUID

from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    KafkaError,
    RequestTimedOut,
    ThrottlingQuotaExceeded,
    TopicAuthorizationFailed,
)

ZERO_UUID = UUID(int=0)
"""Means "no topic id"."""

_WITHOUT_MESSAGE = (ClusterAuthorizationFailed, RequestTimedOut, ThrottlingQuotaExceeded, TopicAuthorizationFailed)


def controller_of(node: Node) -> int:
    """As Metadata and DescribeCluster name it: -1 while none is known."""
    controller = node.controller_id()
    return -1 if controller is None else controller


def code_of(error: KafkaError | None) -> int:
    return 0 if error is None else error.code


def message_of(error: KafkaError | None) -> str | None:
    """None also if the error says no more than the code of one of `_WITHOUT_MESSAGE` (Kafka's `new ApiError(error,
    null)`, and ApiError.fromThrowable).
    """
    if error is None or (isinstance(error, _WITHOUT_MESSAGE) and error.message == error.default_message):
        return None
    return error.message


NO_ERROR = struct.pack(">ih", 0, 0) + b"\x00"
"""How a flexible answer begins: no throttle, no error, no message."""

NOT_REQUESTED = -(1 << 31)
"""Authorized operations that the request did not ask for, or that the caller may not learn."""
