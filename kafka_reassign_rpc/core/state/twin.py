"""A topic whose id is that of another topic."""

from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.core.topic_ids import topic_id_text


class Twin(NamedTuple):
    """A topic that is left alone, and the one that had its id first."""

    id: UUID
    first: str

    @property
    def reason(self) -> str:
        return (
            f"its topic id {topic_id_text(self.id)} is that of topic {self.first}, which had it first: this topic is"
            " left alone until one of the two has another id (`kafka-reassign-rpc check` says which one the logs"
            " belong to)"
        )
