"""`/admin/reassignment_servers/$id` (docs/znodes.md):

    {"version":1,"endpoints":["PLAINTEXT:PLAINTEXT://10.0.0.5:9092"],"page":"https://10.0.0.5:9400/"}

Endpoints are LISTENER:PROTOCOL://HOST:PORT, in the order of the server's listeners.
`/admin/reassignment_server_ids/$id` stays when the server ends: the id is a server's until a broker registers with it.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

import msgspec

from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.support.bounded_text import shown, whole_number
from kafka_reassign_rpc.support.page_address import page_of_server
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import ANY_VERSION, Check, Delete
from kafka_reassign_rpc.zookeeper.znode_contents import MAX_ENDPOINTS, MAX_PORT, Text
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode, decode_json
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode, TransactionFailed

VERSION = 1

PROBE_S = 2.0
"""The longest wait for a connection to a registered process."""


class RegisteredServer(NamedTuple):
    endpoints: tuple[Endpoint, ...]
    page: str | None = None


class _Registration(msgspec.Struct, omit_defaults=True):
    version: int
    endpoints: Annotated[tuple[Text, ...], msgspec.Meta(max_length=MAX_ENDPOINTS)]
    page: Text | None = None


_json = msgspec.json.Encoder()
_registration = msgspec.json.Decoder(_Registration)


def decode_registered_server(data: bytes, path: str) -> RegisteredServer:
    """Without texts that are no endpoint or no address of a page. Raises BadZnode."""
    found = decode_json(_registration, data, path)
    if found.version != VERSION:
        raise BadZnode(path, f"unknown version {shown(found.version)}")
    page = None if found.page is None else page_of_server(found.page)
    return RegisteredServer(endpoints_of(found.endpoints), page)


def encode_registered_server(endpoints: Sequence[Endpoint], page: str | None = None) -> bytes:
    return _json.encode(_Registration(VERSION, tuple(endpoint_texts(endpoints)), page))


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


async def accepts_connections(endpoint: Endpoint) -> bool:
    """The znode of a killed process stays until its session ends."""
    try:
        async with asyncio.timeout(PROBE_S):
            _, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def give_to_brokers(zk: ZooKeeper, ids: Iterable[int]) -> None:
    """These ids do not belong to servers any more if brokers are registered with them. Raises ZkError."""
    for number in ids:
        mark = znode_paths.reassignment_server_id(number)
        try:
            await zk.multi([Check(znode_paths.broker(number), ANY_VERSION), Delete(mark)])
        except TransactionFailed as failure:
            if not isinstance(failure.error, NoNode):  # the broker is gone again, or somebody else was faster
                raise failure.error from failure
