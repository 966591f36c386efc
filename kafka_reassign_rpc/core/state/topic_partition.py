from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class TopicPartition(NamedTuple):
    """It equals the plain pair `(topic, partition)`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def ask(wanted: dict[str, dict[int, T]], topic: str, partitions: Iterable[tuple[int, T]]) -> Iterator[None]:
    """Puts into `wanted` what a request asks of these partitions. One that it names twice counts once, with what is
    asked of it last, as in Kafka. Yields after each.
    """
    of_topic = wanted.setdefault(topic, {})
    for partition, asked in partitions:
        of_topic[partition] = asked
        yield
    yield
