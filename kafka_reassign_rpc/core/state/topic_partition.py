from typing import NamedTuple


class TopicPartition(NamedTuple):
    """It equals the plain pair `(topic, partition)`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
