"""SaslAuthenticate outside of authentication: ILLEGAL_SASL_STATE. The connection stays open, as for SaslHandshake."""

from typing import NoReturn

from kafka_reassign_rpc.api.api_definition import Api, ApiGroup, RequestContext
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import IllegalSaslState, KafkaError
from kafka_reassign_rpc.protocol.messages import SaslAuthenticateRequest, SaslAuthenticateResponse

TEXT = "SaslAuthenticate request received after successful authentication"


def handle(_node: Node, _request: SaslAuthenticateRequest, _ctx: RequestContext) -> NoReturn:
    raise IllegalSaslState(TEXT)


def fail(_request: SaslAuthenticateRequest, version: int, error: KafkaError) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        version=version, error_code=error.code, error_message=error.message, auth_bytes=b"", session_lifetime_ms=0
    )


API = Api(
    key=36,
    name="SaslAuthenticate",
    min_version=0,
    max_version=2,
    group=ApiGroup.CLIENT,
    acl=(),
    handle=handle,
    fail=fail,
)
