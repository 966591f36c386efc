"""A topic with its partitions."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from itertools import count
from typing import NamedTuple
from uuid import UUID

import msgspec

from kafka_reassign_rpc.core.state.partition import Partition

REVISIONS = count(1)
"""Source of `Topic.revision`, for the whole process."""


LAST_ZXID = 2**63 - 1


def topic_id_text(topic_id: UUID) -> str:
    """org.apache.kafka.common.Uuid: Base64 for URLs, without padding."""
    return str(urlsafe_b64encode(topic_id.bytes).rstrip(b"="), "ascii")


def topic_id_of(text: str) -> UUID:
    """The inverse of `topic_id_text`. Raises ValueError."""
    return UUID(bytes=urlsafe_b64decode(text + "=="))


class Topic(msgspec.Struct):
    name: str
    id: UUID | None
    partitions: dict[int, Partition]
    version: int = -1
    """The zkVersion of the topic znode."""
    extra: dict[str, msgspec.Raw] = {}
    """Unknown fields of the topic znode: every rewrite preserves them."""
    missing: dict[int, int] = {}
    """How many replicas a partition lacks (`core.topics.missing_replicas`)."""
    unreadable: dict[int, str] = {}
    """Partitions with an unreadable state znode, with path and reason: their assignment stays, commands do not find
    them."""
    revision: int = msgspec.field(default_factory=lambda: next(REVISIONS))
    """Changes with every change of a partition, and is unique: a reader may cache results under it."""
    deleting: bool = False
    """True once its deletion is durable: no command finds the topic any more."""
    created: int = -1
    """The topic znode's czxid distinguishes this topic from others of its name, also without ids.

    Topics that one transaction has created share it.
    """
    id_since: int = LAST_ZXID
    """A zxid since which the topic has had its id, at the latest."""
    stateless_since: int = -1
    """The zxid of the write that has named its partitions without a state, where none of them has ever had one, so that
    there is no log of them; -1: one of them may have had a state."""


class Twin(NamedTuple):
    """A topic that is left alone, since its id is that of another one, `first`, which had it first."""

    id: UUID
    first: str

    @property
    def reason(self) -> str:
        return (
            f"its topic id {topic_id_text(self.id)} is that of topic {self.first}, which had it first: this topic is"
            " left alone until one of the two has another id (`kafka-reassign-rpc check` says which one the logs"
            " belong to)"
        )
