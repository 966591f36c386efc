"""SaslAuthenticate (key 36), versions 0-2, on a listener without SASL.

Behaviour   ILLEGAL_SASL_STATE; the connection goes on, as on Kafka's PLAINTEXT listeners.
ACL         none.
"""

from typing import Any

from kafka_reassign_rpc.api.ports import Api, Node, RequestContext
from kafka_reassign_rpc.core.kafka_errors import IllegalSaslState, KafkaError
from kafka_reassign_rpc.protocol.messages import SaslAuthenticateResponse

TEXT = "SaslAuthenticate request received after successful authentication"


def handle(_node: Node, _request: Any, _ctx: RequestContext) -> Any:
    raise IllegalSaslState(TEXT)


def fail(_request: Any, version: int, error: KafkaError) -> Any:
    return SaslAuthenticateResponse(
        version=version, error_code=error.code, error_message=error.message, auth_bytes=b"", session_lifetime_ms=0
    )


API = Api(36, "SaslAuthenticate", 0, 2, handle, fail)
