"""The topics that clients see, whatever their rights: none in deletion."""

from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.state.topic import Topic

CONSUMER_OFFSETS, TRANSACTION_STATE = "__consumer_offsets", "__transaction_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, "__share_group_state"})


def is_visible(topic: Topic | None) -> bool:
    return topic is not None and not topic.deleting


async def known_topics(node: Node, names: Iterable[str] | None) -> Mapping[str, Topic]:
    """The topics that the node knows, else it fetches these, or all (None). Only then does it go through `names`."""
    known = node.topics_now()
    return known if known is not None else await node.topics(None if names is None else {*names})
