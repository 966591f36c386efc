"""How handlers keep large requests and answers from holding up the event loop."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

from kafka_reassign_rpc.api.api_definition import Encoded
from kafka_reassign_rpc.protocol.frame_codec import encode_body
from kafka_reassign_rpc.protocol.messages import ApiMessage

SMALL_ANSWER = 500
"""An answer of up to so many partitions is built on the loop (a few ms); a larger one in a thread, from a snapshot."""

ITEMS_PER_SLICE = 1000
"""Items of a large request that a handler works on before the event loop runs other tasks."""

CONCURRENT_CALLS = 64
"""Config reads or writes of one request that run at the same time."""

T = TypeVar("T")


def build_in_thread(build: Callable[[], ApiMessage], version: int) -> Awaitable[Encoded]:
    """Builds and encodes a large answer in a thread. `build` may only touch values that nothing changes meanwhile."""
    return asyncio.to_thread(lambda: Encoded(encode_body(build(), version=version)))


async def slices_with_pauses(items: Iterable[T]) -> AsyncIterator[list[T]]:
    """All items, `ITEMS_PER_SLICE` at a time; the event loop runs other tasks in between. For work of one or two
    microseconds per item."""
    rest = iter(items)
    while some := list(islice(rest, ITEMS_PER_SLICE)):
        yield some
        if len(some) == ITEMS_PER_SLICE:
            await asyncio.sleep(0)


async def gather_bounded(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of all coroutines, in order. At most `CONCURRENT_CALLS` of them run at the same time."""
    room = asyncio.Semaphore(CONCURRENT_CALLS)

    async def one(coroutine: Coroutine[Any, Any, T]) -> T:
        async with room:
            return await coroutine

    return list(await asyncio.gather(*map(one, work)))
