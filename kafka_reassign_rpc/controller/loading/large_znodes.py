"""Decodes znodes whose content may be large off the event loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode

T = TypeVar("T")

DECODED_AT_ONCE_BYTES = 16_384
"""A larger znode is decoded in a thread: with many errors it would hold the event loop for too long."""


async def decoded(decode: Callable[[bytes, str], T], data: bytes, path: str) -> T:
    """Raises BadZnode."""
    if len(data) <= DECODED_AT_ONCE_BYTES:
        return decode(data, path)
    return await asyncio.to_thread(_decode, decode, data, path)


def _decode(decode: Callable[[bytes, str], T], data: bytes, path: str) -> T:
    try:
        return decode(data, path)
    except BadZnode as error:
        bad = BadZnode(error.path, error.reason)
    # Not the same exception: it refers to all that was decoded so far, which the event loop would have to free.
    raise bad
