"""Envelope (KIP-590): a broker from 3.4 on that was restarted for the migration to KRaft forwards, with the client's
principal and address, what clients send to the controller, and the topics that it creates for them.

The request in the envelope is carried out with the client's rights. Only a broker may send one: on another listener the
connection closes. UNSUPPORTED_VERSION for a request that cannot be decoded, and for vendor APIs, which no broker can
read.

Difference: Kafka takes envelopes only if the controller's own broker migrates; here always, since a broker may forward
before it has said that it migrates. Source: KafkaApis.handleEnvelope, EnvelopeUtils, RequestChannel.buildResponseSend;
ApiKeys of Kafka 3.9.

A principal as brokers forward it (DefaultPrincipalData of DefaultKafkaPrincipalBuilder): version (int16, 0), type, name
(compact strings), whether a delegation token has authenticated it, tagged fields.
"""

import struct
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from kafka_reassign_rpc.api.api_definition import (
    Acl,
    AclOperation,
    AclResource,
    Answer,
    ApiGroup,
    Encoded,
    Peer,
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, PrincipalDeserializationFailure, UnsupportedVersion
from kafka_reassign_rpc.protocol import frame_errors
from kafka_reassign_rpc.protocol.decoder_source import LONGEST_TEXT, MISTAKES, skip_tags, varint
from kafka_reassign_rpc.protocol.frame_codec import (
    Body,
    NoAnswer,
    RequestHeader,
    encode_response,
    peek_request_header,
    response_prefix,
    uvarint,
)
from kafka_reassign_rpc.protocol.frame_errors import BadLength, NullNotAllowed, RemoteProtocolError, UnknownApi
from kafka_reassign_rpc.protocol.messages import EnvelopeRequest
from kafka_reassign_rpc.protocol.versions import ApiKey

_VERSION = struct.Struct(">h")


def decode_principal(data: bytes) -> str:
    """Returns `User:alice`. Raises a RemoteProtocolError."""
    try:
        (version,) = _VERSION.unpack_from(data)
        if version != 0:
            raise frame_errors.UnsupportedVersion(f"a principal of version {version}")
        kind, pos = _text(data, _VERSION.size)
        name, pos = _text(data, pos)
        data[pos]  # whether a token was used
        skip_tags(data, pos + 1)
    except RemoteProtocolError:
        raise
    except MISTAKES as error:
        raise BadLength(f"a principal cannot be decoded: {error}") from error
    return f"{kind}:{name}"


def _text(data: bytes, pos: int) -> tuple[str, int]:
    size, pos = varint(data, pos)
    if not size:
        raise NullNotAllowed("the type and the name of a principal must not be null")
    stop = pos + size - 1
    if size - 1 > LONGEST_TEXT or stop > len(data):
        raise BadLength(f"a text of {size - 1} bytes in a principal of {len(data)} bytes")
    return data[pos:stop].decode(), stop


FORWARDABLE = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.ELECT_LEADERS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    }
)
_KNOWN = frozenset(ApiKey)
_LENGTH = 4
_IPV4_BYTES = 4
_NO_ERROR_NO_TAGS = b"\0\0\0"


async def handle(node: Node, request: EnvelopeRequest, ctx: RequestContext) -> Answer:
    if not node.is_privileged(ctx.listener):
        return NoAnswer(closes=True)
    ctx.access.check_cluster(AclOperation.CLUSTER_ACTION)
    required_controller(node)
    principal = _principal(request)
    peer = Peer(_host(request), ctx.listener, principal)
    try:
        key = peek_request_header(request.request_data).api_key
        if key not in _KNOWN:
            raise UnknownApi(f"API {key} is none of Kafka's")
        if ctx.forward is None or key not in FORWARDABLE:
            raise InvalidRequest(f"API {key} is not forwarded.")
        header, reply = await ctx.forward(request.request_data, peer)
    except RemoteProtocolError as error:
        raise UnsupportedVersion(f"The forwarded request cannot be read: {error}") from error
    return reply if isinstance(reply, NoAnswer) else Encoded(_envelope(header, reply))


def _principal(request: EnvelopeRequest) -> str:
    try:
        return decode_principal(request.request_principal or b"")
    except RemoteProtocolError as error:
        raise PrincipalDeserializationFailure from error


def _host(request: EnvelopeRequest) -> str:
    data = request.client_host_address
    try:
        if len(data) == _IPV4_BYTES:
            return str(IPv4Address(data))
        address = IPv6Address(data)
    except AddressValueError as error:
        raise InvalidRequest(f"An address of {len(data)} bytes.") from error
    return str(address.ipv4_mapped or address)


def _envelope(header: RequestHeader, reply: Body) -> list[bytes]:
    """The header and the body of the answer to the client, and no error, in pieces."""
    key, version, correlation_id = header.api_key, header.api_version, header.correlation_id
    if isinstance(reply, bytes | list):
        pieces = [reply] if isinstance(reply, bytes) else reply
        pieces = [response_prefix(key, version, correlation_id, sum(map(len, pieces)))[_LENGTH:], *pieces]
    else:
        pieces = [encode_response(reply, version=version, correlation_id=correlation_id)[_LENGTH:]]
    return [uvarint(sum(map(len, pieces)) + 1), *pieces, _NO_ERROR_NO_TAGS]


API = served(
    EnvelopeRequest,
    Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER, "only the brokers' listener serves it"),
    handle=handle,
    group=ApiGroup.INTER_BROKER,
)
