"""SaslHandshake outside of authentication: ILLEGAL_SASL_STATE and no mechanisms. The connection stays open, as on
Kafka's PLAINTEXT listeners, and on SASL listeners for a client that is authenticated (see `security.sasl`).
"""

from typing import NoReturn

from kafka_reassign_rpc.api.api_definition import Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import IllegalSaslState, KafkaError
from kafka_reassign_rpc.protocol.messages import SaslHandshakeRequest, SaslHandshakeResponse


def handle(_node: Node, _request: SaslHandshakeRequest, _ctx: RequestContext) -> NoReturn:
    raise IllegalSaslState


def fail(_request: SaslHandshakeRequest, version: int, error: KafkaError) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(version=version, error_code=error.code, mechanisms=[])


API = Api(
    key=17,
    name="SaslHandshake",
    min_version=0,
    max_version=1,
    group=ApiGroup.CLIENT,
    acl=(),
    handle=handle,
    fail=fail,
)
