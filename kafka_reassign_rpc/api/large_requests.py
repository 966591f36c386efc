"""Large requests and answers must not hold up the event loop: work on many items rests after each (`support.turns`)."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from kafka_reassign_rpc.api.api_definition import Answer, Encoded
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.protocol.messages import ApiMessage
from kafka_reassign_rpc.protocol.sliced_messages import InParts, encode_in_slices
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.turns import Pace, in_turns, rest

SMALL = 500
"""An answer of up to this many items is made and encoded at once (a few ms)."""

NUMBERS = 5000
"""Numbers, or names to compare, that are worked on at once: a millisecond."""

MOST_REPLICAS = 1000
"""Replicas of one partition in a request. The largest clusters have this many brokers."""

PIECE_BYTES = 64 * 1024
"""An answer that a handler encodes itself is in pieces of about this many bytes."""

CONCURRENT_CALLS = 64
"""Config reads or writes of one request that run at the same time."""

T = TypeVar("T")
U = TypeVar("U")


def items_of(sizes: Iterable[int]) -> int:
    """How many items structures of these sizes have, themselves included; of many, not all are counted."""
    total = 0
    for size in sizes:
        total += 1 + size
        if total > SMALL:
            break
    return total


async def answer_with(answer: ApiMessage, array: str, elements: Iterable[Any], size: int, items: int = 0) -> Answer:
    """As a message if the elements are few, else encoded.

    elements    see `InParts`: made one by one, of values that nothing changes in the meantime
    items       how many items they have in all, if they have arrays of their own
    """
    if max(size, items) <= SMALL:
        setattr(answer, array, [whole(element) for element in elements])
        return answer
    parts = InParts(answer, array, size, elements)
    return Encoded(await in_turns(encode_in_slices(parts, version=parts.message.version)))


def whole(element: Any) -> Any:
    """An element of an answer as the encoder takes it within a message."""
    if not isinstance(element, InParts):
        return element
    setattr(element.message, element.array, [whole(inner) for inner in element.elements])
    return element.message


def replicas(brokers: Sequence[int]) -> tuple[int, ...]:
    """Raises InvalidRequest for a list that no cluster can mean: every check of it would hold up the loop."""
    if len(brokers) > MOST_REPLICAS:
        raise InvalidRequest(f"A partition has at most {MOST_REPLICAS} replicas, not {len(brokers)}.")
    return tuple(brokers)


async def existing(node: Node, asked: Iterable[tuple[str, Sequence[int]]]) -> dict[str, set[int]]:
    """Those that exist among the partitions asked for. The node must know its topics."""
    known = node.topics_now() or {}
    found: dict[str, set[int]] = {}
    for name, indexes in asked:
        await rest()
        topic = known.get(name)
        if topic is not None:
            of_topic = found.setdefault(name, set())
            for some in pieces(indexes, NUMBERS):
                of_topic.update(filter(topic.partitions.__contains__, some))
                await rest()
    return found


def in_pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """In pieces that are not too small to be sent each by itself."""
    some: list[bytes] = []
    size = 0
    for part in parts:
        some.append(part)
        size += len(part)
        if size >= PIECE_BYTES:
            yield b"".join(some)
            some, size = [], 0
    yield b"".join(some)


async def map_bounded(call: Callable[[U], Coroutine[Any, Any, T]], items: Sequence[U]) -> list[T]:
    """The results in order. At most `CONCURRENT_CALLS` run at the same time."""
    results: dict[int, T] = {}
    pace = Pace()
    rest = iter(enumerate(items))

    async def work() -> None:
        for at, item in rest:
            results[at] = await call(item)
            await pace.rest()  # most calls do not wait for anything

    async with asyncio.TaskGroup() as group:
        for _ in range(min(CONCURRENT_CALLS, len(items))):
            group.create_task(work())
    return [results[at] for at in range(len(items))]
