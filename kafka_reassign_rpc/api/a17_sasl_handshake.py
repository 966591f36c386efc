"""SaslHandshake outside of authentication: ILLEGAL_SASL_STATE and no mechanisms. The connection stays open, as on
Kafka's PLAINTEXT listeners, and on SASL listeners for a client that is authenticated (see `security.sasl`).
"""

from typing import NoReturn

from kafka_reassign_rpc.api.api_definition import RequestContext, served
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import IllegalSaslState
from kafka_reassign_rpc.protocol.messages import SaslHandshakeRequest


def handle(_node: Node, _request: SaslHandshakeRequest, _ctx: RequestContext) -> NoReturn:
    raise IllegalSaslState


API = served(SaslHandshakeRequest, handle=handle)
