"""SaslHandshake (key 17), versions 0-1, on a listener without SASL.

Behaviour   ILLEGAL_SASL_STATE and no mechanisms; the connection goes on, as on Kafka's PLAINTEXT listeners.
ACL         none.
"""

from typing import Any

from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import IllegalSaslState, KafkaError
from kafka_reassign_rpc.protocol.messages import SaslHandshakeResponse


def handle(_node: Node, _request: Any, _ctx: RequestContext) -> Any:
    raise IllegalSaslState


def fail(_request: Any, version: int, error: KafkaError) -> Any:
    return SaslHandshakeResponse(version=version, error_code=error.code, mechanisms=[])


API = Api(17, "SaslHandshake", 0, 1, handle, fail)
