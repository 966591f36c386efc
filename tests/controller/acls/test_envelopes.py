"""Envelopes of hand-made bytes, over sockets: whose rights count, and who may send one."""

import asyncio
import struct

from kafka_reassign_rpc.controller.lifecycle.server_config import AuthorizerConfig
from kafka_reassign_rpc.core.acls.acl_binding import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.protocol.messages import ApiVersionsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.acls.test_served_acls import ANONYMOUS, server
from tests.controller.cluster import Cluster
from tests.waiting import eventually

DENIED, NOT_ON_CLUSTER = 29, 31


def text(value: bytes) -> bytes:
    return struct.pack(">h", len(value)) + value


def create_topic(name: bytes) -> bytes:
    """CreateTopics 2 with its header: one partition, one replica."""
    header = struct.pack(">hhi", 19, 2, 77) + text(b"their-tool")
    topic = text(name) + struct.pack(">ihii", 1, 1, 0, 0)
    return header + struct.pack(">i", 1) + topic + struct.pack(">i?", 5_000, False)


def envelope(request: bytes, name: bytes, host: bytes = bytes([10, 0, 0, 7])) -> bytes:
    """Envelope 0 with its header and its length."""
    size = len(request) + 1
    varint = bytes([size & 0x7F | 0x80, size >> 7])
    principal = b"\0\0\x05User" + bytes([len(name) + 1]) + name + b"\0\0"
    body = varint + request + bytes([len(principal) + 1]) + principal + bytes([len(host) + 1]) + host + b"\0"
    frame = struct.pack(">hhi", 58, 0, 3) + text(b"broker-1") + b"\0" + body
    return struct.pack(">i", len(frame)) + frame


async def sent(address: tuple[str, int], data: bytes) -> bytes:
    """The answer without its length; b"" if the connection closes."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(data)
        async with asyncio.timeout(20):
            head = await reader.read(4)
            return await reader.readexactly(int.from_bytes(head)) if head else b""
    finally:
        writer.close()
        await writer.wait_closed()


def created(answer: bytes, name: bytes) -> int:
    """The error code of the topic in the answer in the envelope."""
    assert answer[:5] == struct.pack(">i", 3) + b"\0"
    size, data, end = answer[5], answer[6:-3], answer[-3:]
    assert (size, end) == (len(data) + 1, b"\0\0\0")
    assert data.startswith(struct.pack(">iii", 77, 0, 1) + text(name))
    return int.from_bytes(data[14 + len(name) :][:2], signed=True)


def address_of(here: Cluster) -> tuple[str, int]:
    host, _, port = here.bootstrap.rpartition(":")
    return host, int(port)


async def test_mg_3_a_forwarded_request_has_the_rights_of_its_client_and_of_its_address(zk_connect: str) -> None:
    async with server(zk_connect, AuthorizerConfig(frozenset([ANONYMOUS]))) as here:
        await here.start_broker(1)
        address = address_of(here)
        await eventually(lambda: _is_announced(here))
        assert created(await sent(address, envelope(create_topic(b"mine"), b"alice")), b"mine") == DENIED
        may = AccessControlEntry("User:alice", "10.0.0.7", AclOperation.CREATE, AclPermissionType.ALLOW)
        mine = ResourcePattern(ResourceType.TOPIC, "mine", PatternType.LITERAL)
        await AclStore(here.zk).change(mine, lambda _: frozenset([may]))

        async def is_created() -> bool:
            return created(await sent(address, envelope(create_topic(b"mine"), b"alice")), b"mine") != DENIED

        elsewhere = envelope(create_topic(b"mine"), b"alice", bytes(10) + b"\xff\xff" + bytes([10, 0, 0, 8]))
        await eventually(is_created)
        assert await here.zk.exists(znode_paths.topic("mine")) is not None
        assert created(await sent(address, elsewhere), b"mine") == DENIED


async def test_mg_3_an_envelope_of_a_client_that_is_no_broker_is_refused(zk_connect: str) -> None:
    async with server(zk_connect, AuthorizerConfig(frozenset(["User:root"]))) as here:
        answer = await sent(address_of(here), envelope(create_topic(b"mine"), b"root"))
        assert answer == struct.pack(">i", 3) + b"\0" + b"\0" + struct.pack(">h", NOT_ON_CLUSTER) + b"\0"


async def test_mg_3_of_several_listeners_only_the_brokers_takes_envelopes(zk: ZooKeeper, zk_connect: str) -> None:
    here = Cluster(zk_connect, zk, DEFAULT_SETTINGS)
    here.listeners = [Endpoint(name, "PLAINTEXT", "127.0.0.1", 0) for name in ("CLIENTS", "INTERNAL")]
    here.security = lambda: {"brokers_listener": "INTERNAL"}
    try:
        await here.start_server()
        data = envelope(create_topic(b"mine"), b"alice")
        assert await sent(here.addresses["CLIENTS"], data) == b""
        assert created(await sent(here.addresses["INTERNAL"], data), b"mine") not in (0, DENIED), "there is no broker"
    finally:
        await here.end()


async def _is_announced(here: Cluster) -> bool:
    answer = await here.ask(ApiVersionsRequest(), 0)
    return (58, 0, 0) in [(one.api_key, one.min_version, one.max_version) for one in answer.api_keys]
