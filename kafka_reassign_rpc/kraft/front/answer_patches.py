"""Brokers' answers as clients of the front see them: so that requests about moves come here, and go on coming."""

from collections.abc import Mapping

from kafka_reassign_rpc.core.kafka_errors import UnsupportedSaslMechanism
from kafka_reassign_rpc.kraft.front.announced import announced
from kafka_reassign_rpc.kraft.front.shown_nodes import Beside, EachHere, Shown
from kafka_reassign_rpc.protocol.frame_codec import (
    answer_header,
    decode_head,
    decode_response,
    encode_body,
    response_prefix,
)
from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsResponse,
    DescribeClusterResponse,
    MetadataResponse,
    SaslHandshakeResponse,
)
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.security.sasl.sasl_config import GSSAPI
from kafka_reassign_rpc.support.host_port import Address

NO_ERROR = 0
_Broker = MetadataResponse.MetadataResponseBroker


class ToldMetadata:
    """A broker's answer without its length. Of a large one only what stands before the topics is read. Raises
    RemoteProtocolError.
    """

    def __init__(self, frame: bytes, version: int) -> None:
        self._frame = frame
        self._version = version
        self._correlation_id, start = answer_header(MetadataResponse, frame, version=version)
        self._head, self._topics_at = decode_head(MetadataResponse, frame, "topics", version=version, start=start)

    @property
    def brokers(self) -> dict[int, Address]:
        return {one.node_id: Address(one.host, one.port) for one in self._head.brokers}

    def seen(self, shown: Shown) -> list[bytes]:
        """With its length in front, in pieces."""
        head, version = self._head, self._version
        brokers = [_placed(one, version, shown) for one in head.brokers]
        controller = getattr(head, "controller_id", -1)
        if isinstance(shown, Beside):
            controller = shown.id
            brokers.append(
                _Broker(version=version, node_id=controller, host=shown.at.host, port=shown.at.port, rack=None)
            )
        made = MetadataResponse(
            version=version,
            throttle_time_ms=getattr(head, "throttle_time_ms", 0),
            brokers=brokers,
            cluster_id=getattr(head, "cluster_id", None),
            controller_id=controller,
            topics=[],
        )
        encoded = encode_body(made, version=version)
        _, end = decode_head(MetadataResponse, encoded, "topics", version=version)
        pieces = [encoded[:end], self._frame[self._topics_at :]]
        return [response_prefix(ApiKey.METADATA, version, self._correlation_id, sum(map(len, pieces))), *pieces]


def _placed(told: _Broker, version: int, shown: Shown) -> _Broker:
    if isinstance(shown, Beside) or told.node_id not in shown.places:
        return told
    host, port = shown.places[told.node_id]
    return _Broker(version=version, node_id=told.node_id, host=host, port=port, rack=getattr(told, "rack", None))


def describe_cluster(frame: bytes, version: int, shown: Shown) -> list[bytes]:
    """The answer with its length in front, in pieces. Raises RemoteProtocolError."""
    correlation_id, found = decode_response(DescribeClusterResponse, frame, version=version)
    if isinstance(shown, EachHere):
        for one in found.brokers:
            one.host, one.port = shown.places.get(one.broker_id, (one.host, one.port))
    return _encoded(found, ApiKey.DESCRIBE_CLUSTER, version, correlation_id)


def api_versions(frame: bytes, version: int, ours: Mapping[int, tuple[int, int]]) -> list[bytes]:
    """As `describe_cluster`. `ours`: see `announced`. A refusal of the broker stays as it is."""
    correlation_id, found = decode_response(ApiVersionsResponse, frame, version=version)
    if found.error_code != NO_ERROR:
        return [len(frame).to_bytes(4, "big"), frame]
    told = {one.api_key: (one.min_version, one.max_version) for one in found.api_keys}
    found.api_keys = [
        ApiVersionsResponse.ApiVersion(version=version, api_key=key, min_version=low, max_version=high)
        for key, (low, high) in announced(told, ours).items()
    ]
    return _encoded(found, ApiKey.API_VERSIONS, version, correlation_id)


def sasl_handshake(frame: bytes, version: int, asked: str) -> list[bytes]:
    """As `describe_cluster`. Without Kerberos: a client has a ticket for the host that it connects to, which is ours;
    the broker behind it would not take that. `asked`: the mechanism of the request."""
    correlation_id, found = decode_response(SaslHandshakeResponse, frame, version=version)
    found.mechanisms = [one for one in found.mechanisms if one != GSSAPI]
    if asked == GSSAPI:
        found.error_code = UnsupportedSaslMechanism.code
    return _encoded(found, ApiKey.SASL_HANDSHAKE, version, correlation_id)


def _encoded(
    message: DescribeClusterResponse | ApiVersionsResponse | SaslHandshakeResponse,
    key: int,
    version: int,
    correlation_id: int,
) -> list[bytes]:
    body = encode_body(message, version=version)
    return [response_prefix(key, version, correlation_id, len(body)), body]
