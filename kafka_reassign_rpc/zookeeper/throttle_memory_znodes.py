"""`/admin/reassignment_throttles/{topics,brokers}/$name` (docs/znodes.md), each written in the transaction of the
change (`core.throttling.leased_configs`).
"""

from typing import TypeVar

import msgspec

from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.support.bounded_text import shown
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode, decode_json

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
