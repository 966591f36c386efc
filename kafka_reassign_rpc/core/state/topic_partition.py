"""The name of a partition, names by topic, and what a request asks for that names a partition twice."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class TopicPartition(NamedTuple):
    """It equals the plain pair `(topic, partition)`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def by_topic(names: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in names:
        topics.setdefault(topic, []).append(partition)
    return topics


def names_in(topics: Mapping[str, Iterable[int]]) -> Iterator[TopicPartition]:
    return (TopicPartition(topic, partition) for topic, partitions in topics.items() for partition in partitions)


def ask(wanted: dict[str, dict[int, T]], topic: str, partition: int, asked: T) -> None:
    """Puts into `wanted`, by topic, what a request asks of a partition. One that it names twice counts once, with what
    is asked of it last, as in Kafka.
    """
    wanted.setdefault(topic, {})[partition] = asked
