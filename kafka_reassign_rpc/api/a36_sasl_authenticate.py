"""SaslAuthenticate outside of authentication: ILLEGAL_SASL_STATE. The connection stays open, as for SaslHandshake."""

from typing import NoReturn

from kafka_reassign_rpc.api.api_definition import RequestContext, served
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import IllegalSaslState
from kafka_reassign_rpc.protocol.messages import SaslAuthenticateRequest

TEXT = "SaslAuthenticate request received after successful authentication"


def handle(_node: Node, _request: SaslAuthenticateRequest, _ctx: RequestContext) -> NoReturn:
    raise IllegalSaslState(TEXT)


API = served(SaslAuthenticateRequest, handle=handle)
