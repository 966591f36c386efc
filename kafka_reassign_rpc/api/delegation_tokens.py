"""Requests about delegation tokens (KIP-48), on a node that makes none, like a broker without a secret key for them."""

from typing import NoReturn

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.core.kafka_errors import DelegationTokenAuthDisabled, DelegationTokenRequestNotAllowed


def refuse_tokens(ctx: RequestContext) -> NoReturn:
    """Raises DelegationTokenRequestNotAllowed where the client has not said who it is (KafkaApis.allowTokenRequests),
    else DelegationTokenAuthDisabled."""
    if not ctx.mechanism and ctx.principal == ANONYMOUS:
        raise DelegationTokenRequestNotAllowed
    raise DelegationTokenAuthDisabled
