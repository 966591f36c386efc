"""Delegation tokens (KIP-48): this node makes none, like a broker without `delegation.token.secret.key`."""

from kafka_reassign_rpc.api.api_definition import Api, RequestContext
from kafka_reassign_rpc.api.refusals import whole
from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.core.kafka_errors import (
    DelegationTokenAuthDisabled,
    DelegationTokenRequestNotAllowed,
    KafkaError,
)
from kafka_reassign_rpc.protocol import messages as m


def _of_token(_request: object, ctx: RequestContext) -> KafkaError:
    """A client that has not said who it is gets another error (KafkaApis.allowTokenRequests)."""
    if not ctx.mechanism and ctx.principal == ANONYMOUS:
        return DelegationTokenRequestNotAllowed()
    return DelegationTokenAuthDisabled()


_NO_TIMES = {"issue_timestamp_ms": -1, "expiry_timestamp_ms": -1, "max_timestamp_ms": -1}

APIS: tuple[Api, ...] = (
    whole(m.CreateDelegationTokenRequest, why=_of_token, fields=_NO_TIMES),
    whole(m.RenewDelegationTokenRequest, why=_of_token, fields={"expiry_timestamp_ms": -1}),
    whole(m.ExpireDelegationTokenRequest, why=_of_token, fields={"expiry_timestamp_ms": -1}),
    whole(m.DescribeDelegationTokenRequest, why=_of_token),
)
