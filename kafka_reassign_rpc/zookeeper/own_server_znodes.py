"""Znodes of our servers besides those of moves and settings (docs/znodes.md).

    /admin/reassignment_servers/$id     {"version":1,"endpoints":["PLAINTEXT:PLAINTEXT://10.0.0.5:9092"],
                                        "page":"https://10.0.0.5:9400/"}
    /admin/reassignment_last_control    {"version":1,"epoch":7,"until":1790000000000}
    /admin/reassignment_throttles/{topics,brokers}/$name, written in the transaction of the change
                                        (`core.throttling.leased_configs`)

Endpoints are LISTENER:PROTOCOL://HOST:PORT, in the order of the server's listeners.
`/admin/reassignment_server_ids/$id` stays when the server ends: the id is a server's until a broker registers with it.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Annotated, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.failover import LastControl
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.support.bounded_text import shown, whole_number
from kafka_reassign_rpc.support.host_port import page_of_server
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import ANY_VERSION, Check, Create, Delete, Op, SetData
from kafka_reassign_rpc.zookeeper.znode_contents import LAST_MS, MAX_ENDPOINTS, MAX_PORT, Text
from kafka_reassign_rpc.zookeeper.znode_decoder import MAX_INT32, BadZnode, decode_json
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import BadVersion, NoAuth, NoNode, TransactionFailed

VERSION = 1

Memory = TypeVar("Memory", TopicMemory, BrokerMemory)


class _Version(msgspec.Struct):
    version: int


_version = msgspec.json.Decoder(_Version)
_json = msgspec.json.Encoder()


def encode_memory(memory: TopicMemory | BrokerMemory) -> bytes:
    return _json.encode({"version": VERSION, **msgspec.to_builtins(memory)})


def decode_memory(data: bytes, path: str, kind: type[Memory]) -> Memory:
    """Raises BadZnode."""
    version = decode_json(_version, data, path).version
    if version != VERSION:
        raise BadZnode(path, f"unknown version {shown(version)}")
    return decode_json(msgspec.json.Decoder(kind), data, path)


log = logging.getLogger(__name__)


class _Mark(msgspec.Struct, omit_defaults=True):
    epoch: Annotated[int, msgspec.Meta(ge=0, le=MAX_INT32)]
    until: Annotated[int, msgspec.Meta(ge=0, le=LAST_MS)]
    version: int
    kraft: bool = False


_mark = msgspec.json.Decoder(_Mark)


def decode_last_control(data: bytes, path: str = znode_paths.LAST_CONTROL) -> LastControl:
    """Raises BadZnode."""
    found = decode_json(_mark, data, path)
    if found.version != 1:
        raise BadZnode(path, f"unknown version {found.version}")
    return LastControl(found.epoch, found.until, found.kraft)


def encode_last_control(last: LastControl) -> bytes:
    return _json.encode(_Mark(last.epoch, last.until, 1, last.kraft))


def write_last_control(last: LastControl, *, exists: bool) -> Op:
    """Only a controller writes it: its epoch fences the write."""
    data = encode_last_control(last)
    return SetData(znode_paths.LAST_CONTROL, data, -1) if exists else Create(znode_paths.LAST_CONTROL, data)


async def read_last_control(zk: ZooKeeper) -> LastControl | str | None:
    """None if no server of ours has left a mark, a text if it cannot be read. Raises ZkError."""
    try:
        data, stat = await zk.get(znode_paths.LAST_CONTROL)
        return replace(decode_last_control(data), zxid=stat.mzxid)
    except NoNode:
        return None
    except (BadZnode, NoAuth) as error:
        log.error("all that waits in the queue is held until it is released: %s", error)
        return str(error)


async def mark_kraft(zk: ZooKeeper) -> None:
    """Raises ZkError. If a server of ours was elected meanwhile, its write of the mark counts."""
    try:
        with suppress(NoNode, BadVersion, BadZnode):
            data, stat = await zk.get(znode_paths.LAST_CONTROL)
            last = decode_last_control(data)
            if not last.kraft:
                noted = encode_last_control(LastControl(last.epoch, last.until, kraft=True))
                await zk.set(znode_paths.LAST_CONTROL, noted, stat.version)
    except NoAuth as error:
        log.warning("after a rollback what waits is held only if that was long: that KRaft controls the cluster is not"
                    " noted (%s)", error)  # fmt: skip


PROBE_S = 2.0
"""The longest wait for a connection to a registered process."""


class RegisteredServer(NamedTuple):
    endpoints: tuple[Endpoint, ...]
    page: str | None = None


class _Registration(msgspec.Struct, omit_defaults=True):
    version: int
    endpoints: Annotated[tuple[Text, ...], msgspec.Meta(max_length=MAX_ENDPOINTS)]
    page: Text | None = None


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
