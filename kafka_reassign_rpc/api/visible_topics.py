"""The topics that clients may see, and how a handler gets at them."""

from collections.abc import Callable, Collection, Mapping

from kafka_reassign_rpc.api.api_definition import Answer, Handled, awaited
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.state.cluster import Topic

CONSUMER_OFFSETS, TRANSACTION_STATE = "__consumer_offsets", "__transaction_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, "__share_group_state"})


def is_visible(topic: Topic | None) -> bool:
    """Whether clients may see the topic: it exists and no deletion of it has begun."""
    return topic is not None and not topic.deleting


def with_topics(node: Node, names: Collection[str] | None, build: Callable[[Mapping[str, Topic]], Handled]) -> Handled:
    """`build(topics)`: at once where the node knows its topics, else a coroutine that fetches them first."""
    known = node.topics_now()
    return build(known) if known is not None else _fetch_and_build(node, names, build)


async def _fetch_and_build(
    node: Node, names: Collection[str] | None, build: Callable[[Mapping[str, Topic]], Handled]
) -> Answer:
    return await awaited(build(await node.topics(names)))
