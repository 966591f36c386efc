"""The name of a partition, and what a request asks for that names a partition twice."""

from typing import NamedTuple, TypeVar

T = TypeVar("T")


class TopicPartition(NamedTuple):
    """It equals the plain pair `(topic, partition)`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def ask(wanted: dict[str, dict[int, T]], topic: str, partition: int, asked: T) -> None:
    """Puts into `wanted`, by topic, what a request asks of a partition. One that it names twice counts once, with what
    is asked of it last, as in Kafka.
    """
    wanted.setdefault(topic, {})[partition] = asked
