"""What several handlers share."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from kafka_reassign_rpc.api.ports import ControllerPort, Encoded, Node
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.cluster import Topic
from kafka_reassign_rpc.protocol.frame_codec import encode_body

ZERO_UUID = UUID(int=0)
CONSUMER_OFFSETS, TRANSACTION_STATE = "__consumer_offsets", "__transaction_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, "__share_group_state"})
ALL_TOPIC_OPERATIONS = frozenset({3, 4, 5, 6, 7, 8, 10, 11})
"""What everybody may do with a topic where no authorizer is configured (bits of AclOperation)."""
ALL_CLUSTER_OPERATIONS = frozenset({5, 7, 8, 9, 10, 11, 12})
"""The same for the cluster."""

SMALL = 500
"""Up to so many partitions an answer is built on the loop (a few ms); above, in a thread from a snapshot."""

A_TURN = 1000
"""Items of a large request that are worked on between two turns of the event loop."""

AT_ONCE = 64
"""Config reads or writes of one request that are under way together."""

T = TypeVar("T")


def active_controller(node: Node) -> ControllerPort | None:
    """The controller, where this node is it."""
    controller = node.controller
    return controller if controller is not None and controller.is_active() else None


def shown(topic: Topic | None) -> bool:
    """Whether clients may see it: a topic in deletion is gone for them."""
    return topic is not None and not topic.deleting


def with_topics(node: Node, names: Collection[str] | None, build: Callable[[Mapping[str, Topic]], T]) -> Any:
    """`build(topics)`, at once where the node knows its topics, else as a coroutine that asks for them first."""
    known = node.topics_now()
    return build(known) if known is not None else _later(node, names, build)


async def _later(node: Node, names: Collection[str] | None, build: Callable[[Mapping[str, Topic]], T]) -> Any:
    built = build(await node.topics(names))
    return await built if asyncio.iscoroutine(built) else built


def in_thread(build: Callable[[], Any], version: int) -> Awaitable[Encoded]:
    """A large answer, built and encoded in a thread. `build` must touch only what nobody changes."""
    return asyncio.to_thread(lambda: Encoded(encode_body(build(), version=version)))


async def in_turns(items: Iterable[T]) -> AsyncIterator[list[T]]:
    """All items, `A_TURN` at a time, with a turn for others in between: for work of a microsecond or two with each."""
    rest = iter(items)
    while some := list(islice(rest, A_TURN)):
        yield some
        if len(some) == A_TURN:
            await asyncio.sleep(0)


async def side_by_side(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of all of them, in order, with at most `AT_ONCE` under way."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(coroutine: Coroutine[Any, Any, T]) -> T:
        async with room:
            return await coroutine

    return list(await asyncio.gather(*map(one, work)))


def code_of(error: KafkaError | None) -> int:
    return 0 if error is None else error.code


def message_of(error: KafkaError | None) -> str | None:
    return None if error is None else error.message
