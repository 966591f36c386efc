"""How handlers keep large requests and answers from holding up the event loop.

Work on many items is a generator that yields after each `ITEMS_PER_SLICE` of them and returns its result. Where a
request is small, `at_once` runs it. Else `support.slice_timer.in_turns` does, in turns with the work of all other
requests.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from kafka_reassign_rpc.api.api_definition import Answer, Encoded, Handled, awaited
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.protocol.messages import ApiMessage
from kafka_reassign_rpc.protocol.sliced_messages import NO_OTHERS, InParts, LargeArray, encode_in_slices
from kafka_reassign_rpc.support.slice_timer import in_turns
from kafka_reassign_rpc.support.slices import emptied

SMALL = 500
"""A request or an answer of up to so many items is worked on at once (a few ms)."""

ITEMS_PER_SLICE = 500
"""Items that a generator works on between two yields: a millisecond or two."""

MOST_REPLICAS = 1000
"""Replicas of one partition in a request. The largest clusters have so many brokers."""

NUMBERS_PER_SLICE = 5000
"""Numbers that a generator works on between two yields."""

PIECE_BYTES = 64 * 1024
"""An answer that a handler encodes itself is in pieces of about so many bytes."""

CONCURRENT_CALLS = 64
"""Config reads or writes of one request that run at the same time."""

T = TypeVar("T")
U = TypeVar("U")
Steps = Generator[None, None, T]
"""Work in slices, and its result."""
AnswerSteps = Steps[Handled]
"""The work of an answer. Functions within functions are annotated with this name: Python evaluates their annotations at
each call, and `Steps[Handled]` takes 4 us."""


def at_once(steps: Steps[T]) -> T:
    """The result of work on few items, without pauses."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        result: T = end.value
        return result


def handled(steps: AnswerSteps, items: int) -> Handled:
    """The answer that `steps` makes of so many items: at once, or later, in turns with other requests."""
    return at_once(steps) if items <= SMALL else _later(steps)


def flat(structures: Iterable[T], within: Callable[[T], Sequence[U]]) -> Iterator[tuple[T, U] | None]:
    """Each structure with each of its items, and None where the caller yields: structures without items count too."""
    count = 0
    for structure in structures:
        count += 1
        for item in within(structure):
            count += 1
            yield structure, item
            if count >= ITEMS_PER_SLICE:
                count = 0
                yield None
        if count >= ITEMS_PER_SLICE:
            count = 0
            yield None


def items_of(sizes: Iterable[int]) -> int:
    """How many items structures of these sizes have, themselves included; of many, not all are counted."""
    total = 0
    for size in sizes:
        total += 1 + size
        if total > SMALL:
            break
    return total


async def _later(steps: AnswerSteps) -> Answer:
    answer = await in_turns(steps)
    return await awaited(answer)


def answer_with(
    answer: ApiMessage,
    array: str,
    elements: Iterable[Any],
    size: int,
    items: int = 0,
    others: Mapping[str, LargeArray] = NO_OTHERS,
) -> Handled:
    """`answer` with these elements in its field `array`: at once where they are few, else encoded in slices.

    elements    see `InParts`: they are made one by one, of values that nothing changes meanwhile
    size        how many elements there are
    items       how many items they have in all, where they have arrays of their own
    others      other fields that may have many elements, by their names
    """
    if max(size, items) + sum([other.size for other in others.values()]) <= SMALL:
        setattr(answer, array, [whole(element) for element in elements])
        for name, other in others.items():
            setattr(answer, name, [whole(element) for element in other.elements])
        return answer
    return _encoded(InParts(answer, array, size, elements, others))


def whole(element: Any) -> Any:
    """An element of an answer as the encoder takes it within a message."""
    if not isinstance(element, InParts):
        return element
    setattr(element.message, element.array, [whole(inner) for inner in element.elements])
    return element.message


async def _encoded(answer: InParts) -> Encoded:
    return Encoded(await in_turns(encode_in_slices(answer, version=answer.message.version)))


def replicas(brokers: Sequence[int]) -> tuple[int, ...]:
    """The brokers of one partition, as clients and brokers name them. Raises InvalidRequest for a list that no cluster
    can mean: every check of it would hold up the loop."""
    if len(brokers) > MOST_REPLICAS:
        raise InvalidRequest(f"A partition has at most {MOST_REPLICAS} replicas, not {len(brokers)}.")
    return tuple(brokers)


def paced(items: Iterable[T]) -> Iterator[tuple[T, bool]]:
    """Each item, and whether it is the last of a slice: yield after it."""
    for count, item in enumerate(items, 1):
        yield item, count % ITEMS_PER_SLICE == 0


def existing(node: Node, asked: Iterable[tuple[str, Sequence[int]]]) -> Steps[dict[str, set[int]]]:
    """The partitions among those asked for that exist: by topic, each once. For a node that knows its topics."""
    known = node.topics_now() or {}
    found: dict[str, set[int]] = {}
    for (name, indexes), pause in paced(asked):
        topic = known.get(name)
        if topic is not None:
            of_topic = found.setdefault(name, set())
            for at in range(0, len(indexes), NUMBERS_PER_SLICE):
                of_topic.update(filter(topic.partitions.__contains__, indexes[at : at + NUMBERS_PER_SLICE]))
                if at:
                    yield
        if pause:
            yield
    return found


def in_pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces that are not too small to be sent each by itself."""
    some: list[bytes] = []
    size = 0
    for part in parts:
        some.append(part)
        size += len(part)
        if size >= PIECE_BYTES:
            yield b"".join(some)
            some, size = [], 0
    yield b"".join(some)


async def freed(*collections: list[Any] | dict[Any, Any] | set[Any]) -> None:
    """Empties collections that nobody needs any more (`slices.emptied`)."""
    await in_turns(emptied(*collections))


async def map_bounded(call: Callable[[U], Coroutine[Any, Any, T]], items: Sequence[U]) -> list[T]:
    """The results of `call` for all items, in order. At most `CONCURRENT_CALLS` of them run at the same time."""
    results: dict[int, T] = {}
    rest = iter(enumerate(items))

    async def work() -> None:
        for at, item in rest:
            results[at] = await call(item)
            await asyncio.sleep(0)  # most calls do not wait for anything

    async with asyncio.TaskGroup() as group:
        for _ in range(min(CONCURRENT_CALLS, len(items))):
            group.create_task(work())
    return [results[at] for at in range(len(items))]
