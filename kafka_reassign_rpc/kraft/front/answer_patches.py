"""Brokers and their answers as clients of the front see them: so that requests about moves come here, and go on coming.

The APIs of the front: those of administrators. Whoever produces, consumes, or takes part in groups and transactions
goes to the brokers.

Requests about the settings that all servers share look like requests about configs of the controller, for which clients
take one of our ports: brokers know nothing of these settings.

How clients see the brokers (`front.nodes`), and which broker one means by what it connects to: `Beside` serves tools
that do their work and end: our node stands beside the brokers and is the controller, to which clients send what
concerns moves. One that lives on leaves with the first Metadata of a real broker. DescribeCluster stays as it is: tools
take its nodes for brokers, and clear throttles on each of them.

`EachHere` holds all: each broker is shown at a place of ours, so whatever a client asks, it asks here. The place is a
port of its own, or a name of its own at the listener's port: a client says in its TLS handshake which name it means.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from kafka_reassign_rpc.core.kafka_errors import UnsupportedSaslMechanism
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.protocol.frame_codec import (
    answer_header,
    decode_head,
    decode_request,
    decode_response,
    encode_body,
    peek_request_header,
    response_prefix,
)
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsResponse,
    DescribeClusterResponse,
    MetadataResponse,
    SaslHandshakeResponse,
)
from kafka_reassign_rpc.protocol.versions import FIRST_VENDOR_KEY, SUPPORTED, ApiKey
from kafka_reassign_rpc.security.sasl.sasl_config import GSSAPI
from kafka_reassign_rpc.support.host_port import Address


class FrontNodes(StrEnum):
    BESIDE = "beside"
    PORTS = "ports"
    NAMES = "names"


class Beside(NamedTuple):
    """Our node, with an id that no broker has."""

    id: int
    at: Address


class EachHere(NamedTuple):
    """Brokers without a place of ours stay as they are. The id of the controller is that of a broker."""

    places: Mapping[int, Address]


Shown = Beside | EachHere


def place_of(nodes: FrontNodes, broker: int, front: Address) -> Address:
    """Of a broker, at the front that clients reach at `front`. The port may be none that exists."""
    if nodes is FrontNodes.PORTS:
        return Address(front.host, front.port + 1 + broker)
    return Address(f"broker-{broker}.{front.host}", front.port)


def shown(nodes: FrontNodes, node_id: int, front: Address, brokers: Iterable[int]) -> Shown:
    """By the server with this id at `front`."""
    if nodes is FrontNodes.BESIDE:
        return Beside(node_id, front)
    return EachHere({broker: place_of(nodes, broker, front) for broker in brokers})


def named_broker(name: str | None, front_host: str) -> int | None:
    """The broker that a client means by the name in its TLS handshake. None: it means the front as a whole."""
    found = re.fullmatch(rf"broker-(\d{{1,10}})\.{re.escape(front_host)}", name or "", re.ASCII | re.IGNORECASE)
    return None if found is None else int(found[1])


OURS = frozenset({ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS})
"""Kafka's APIs that the handler answers, beside those of this product (`FIRST_VENDOR_KEY`)."""

LOGIN = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.API_VERSIONS, ApiKey.SASL_AUTHENTICATE})

RELAYED = LOGIN | {
    ApiKey.METADATA,
    ApiKey.LIST_OFFSETS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.DELETE_RECORDS,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.ELECT_LEADERS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.UPDATE_FEATURES,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
}

_WITHOUT_BARE_TOKENS = (1, 1)
"""After SaslHandshake 0 tokens come without a header, and nobody between client and broker knows when they end."""
READ_HERE: Mapping[int, tuple[int, int]] = {
    ApiKey.SASL_HANDSHAKE: _WITHOUT_BARE_TOKENS,
    ApiKey.API_VERSIONS: SUPPORTED[ApiKey.API_VERSIONS],
    ApiKey.METADATA: SUPPORTED[ApiKey.METADATA],
    ApiKey.DESCRIBE_CLUSTER: SUPPORTED[ApiKey.DESCRIBE_CLUSTER],
    ApiKey.SASL_AUTHENTICATE: SUPPORTED[ApiKey.SASL_AUTHENTICATE],
}
"""Requests whose answers are read here are taken in versions that this server reads. ApiVersions 5 (KIP-1242) names the
node that is meant, and a broker would not know itself in it.
"""


def is_ours(key: int) -> bool:
    return key in OURS or key >= FIRST_VENDOR_KEY


def is_served(key: int, version: int, ours: Mapping[int, tuple[int, int]]) -> bool:
    """`ours`: the versions of the handler's APIs."""
    if is_ours(key):
        low, high = ours.get(key, (0, -1))
    elif key in RELAYED:
        low, high = READ_HERE.get(key, (0, version))
    else:
        return False
    return low <= version <= high


def announced(
    of_broker: Mapping[int, tuple[int, int]], ours: Mapping[int, tuple[int, int]]
) -> dict[int, tuple[int, int]]:
    """What ApiVersions tells, by what the broker tells."""
    found = {key: versions for key, versions in ours.items() if is_ours(key)}
    for key, (low, high) in of_broker.items():
        if key in RELAYED:
            here = READ_HERE.get(key, (low, high))
            versions = max(low, here[0]), min(high, here[1])
            if versions[0] <= versions[1]:
                found[key] = versions
    return dict(sorted(found.items()))


BROKER = 4
"""Kafka's ConfigResource.Type."""
SETTINGS_APIS = frozenset({ApiKey.DESCRIBE_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS})
MOST_BYTES = 16 << 10
"""Of a request that is looked into: a millisecond. One about settings has a tenth of it."""


def is_about_settings(frame: bytes, served: Mapping[int, tuple[int, int]]) -> bool:
    """Whether it names one broker, and of its configs nothing but settings of servers. `served`: the versions of the
    handler's APIs.
    """
    key = peek_request_header(frame).api_key
    if key not in SETTINGS_APIS or key not in served or len(frame) > MOST_BYTES:
        return False
    try:
        body: Any = decode_request(frame, served).body
    except RemoteProtocolError:
        return False  # the broker says so
    if len(body.resources) != 1 or body.resources[0].resource_type != BROKER:
        return False
    [asked] = body.resources
    if key == ApiKey.DESCRIBE_CONFIGS:
        names = asked.configuration_keys or ()
    else:
        names = [config.name for config in asked.configs]
    return bool(names) and SERVER_SETTINGS.keys() >= set(names)


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
    """As `describe_cluster`. `ours`: our own APIs. A refusal of the broker stays as it is."""
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
