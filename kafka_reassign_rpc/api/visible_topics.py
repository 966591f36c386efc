from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.state.topic import Topic
from kafka_reassign_rpc.support.turns import Work, waited

CONSUMER_OFFSETS, TRANSACTION_STATE = "__consumer_offsets", "__transaction_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, "__share_group_state"})


def is_visible(topic: Topic | None) -> bool:
    return topic is not None and not topic.deleting


def known_topics(node: Node, names: Iterable[str] | None) -> Work[Mapping[str, Topic]]:
    """Those that the node knows, else it fetches these, or all (None). `names` are gone through only then."""
    known = node.topics_now()
    return known if known is not None else (yield from waited(node.topics(None if names is None else {*names})))
