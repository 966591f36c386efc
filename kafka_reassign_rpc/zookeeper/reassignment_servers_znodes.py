"""`/admin/reassignment_servers/$id`: an ephemeral znode for each running server of this product.

    {"version":1,"endpoints":["PLAINTEXT:PLAINTEXT://10.0.0.5:9092"]}

It keeps two servers from having the same id, and says where the others are. Endpoints: `core.state.cluster.Endpoint` as
LISTENER:PROTOCOL://HOST:PORT, in the order of the server's listeners.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from kafka_reassign_rpc.core.state.cluster import Endpoint
from kafka_reassign_rpc.support.bounded_text import shown, whole_number
from kafka_reassign_rpc.zookeeper.znode_contents import MAX_ENDPOINTS, MAX_PORT, Text
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode, decode_json

VERSION = 1


class _Registration(msgspec.Struct):
    version: int
    endpoints: Annotated[tuple[Text, ...], msgspec.Meta(max_length=MAX_ENDPOINTS)]


_json = msgspec.json.Encoder()
_registration = msgspec.json.Decoder(_Registration)


def decode_registered_server(data: bytes, path: str) -> tuple[Endpoint, ...]:
    """Where clients reach the server; texts that are no endpoint are left out. Raises BadZnode."""
    found = decode_json(_registration, data, path)
    if found.version != VERSION:
        raise BadZnode(path, f"unknown version {shown(found.version)}")
    return endpoints_of(found.endpoints)


def encode_registered_server(endpoints: Sequence[Endpoint]) -> bytes:
    return _json.encode(_Registration(VERSION, tuple(endpoint_texts(endpoints))))


def endpoint_texts(endpoints: Sequence[Endpoint]) -> list[str]:
    return [f"{one.listener}:{one.security_protocol}://{one.host}:{one.port}" for one in endpoints]


def endpoints_of(texts: Sequence[str]) -> tuple[Endpoint, ...]:
    """Texts that are no endpoint are left out."""
    found = []
    for text in texts:
        names, _, address = text.partition("://")
        listener, _, protocol = names.partition(":")
        host, _, digits = address.rpartition(":")
        port = whole_number(digits, 0, MAX_PORT)
        if listener and host and port is not None:
            found.append(Endpoint(listener, protocol or listener, host, port))
    return tuple(found)
