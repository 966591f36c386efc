"""Requests about records and offsets of partitions, on a node that leads none: each partition gets an error. The order
is that of KafkaApis: what the caller may not touch (TOPIC_AUTHORIZATION_FAILED and the like), what does not exist
(UNKNOWN_TOPIC_OR_PARTITION), what this node is not: NOT_LEADER_OR_FOLLOWER, which sends clients back to Metadata. So a
client learns the same as from a broker that is not the leader, or not the coordinator.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from kafka_reassign_rpc.api.access import Access
from kafka_reassign_rpc.api.api_definition import AclOperation, AclResource, Answer
from kafka_reassign_rpc.api.large_requests import answer_with, items_of
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.visible_topics import is_visible
from kafka_reassign_rpc.core.kafka_errors import KafkaError, TopicAuthorizationFailed, UnknownTopicOrPartition
from kafka_reassign_rpc.core.state.topic import Topic
from kafka_reassign_rpc.protocol.sliced_messages import InParts, in_order
from kafka_reassign_rpc.support.turns import Steps, Work, waited

PartitionError = Callable[[int, Any], KafkaError]
"""(number, the partition as the request has it) -> its error."""
TopicErrors = Callable[[Any], PartitionError]
"""The name of a topic, or its id -> the errors of its partitions."""
KnownTopics = Mapping[str, Topic]


class Layout(NamedTuple):
    """The fields by which a message names topics and partitions, and gives each an error. `number` is "" if partitions
    are numbers, not structures.
    """

    topics: str = "topics"
    name: str = "name"
    partitions: str = "partitions"
    number: str = "partition_index"
    code: str = "error_code"


class PartitionRefusals(msgspec.Struct, frozen=True):
    """How the answers to one API, of the class `answer`, refuse partitions.

    asked, told  the layout of its requests and of its answers
    fields       of each refused partition, beside its number and its error; others have their default
    """

    answer: Any
    asked: Layout = Layout()
    told: Layout = Layout()
    fields: Mapping[str, Any] = {}

    def refuse(self, request: Any, version: int, errors: TopicErrors, **others: Any) -> Steps[Answer]:
        """`others` are the fields of the whole answer."""
        topics = getattr(request, self.asked.topics)
        answer = self.answer(version=version, **others)
        elements = self.topics(topics, version, errors)
        return answer_with(answer, self.told.topics, elements, len(topics), self.items(topics))

    def fail(self, request: Any, version: int, error: KafkaError) -> Steps[Answer]:
        """Kafka's getErrorResponse."""
        return self.refuse(request, version, same(error))

    def items(self, topics: Sequence[Any]) -> int:
        return items_of(len(getattr(topic, self.asked.partitions)) for topic in topics)

    def topics(self, topics: Sequence[Any], version: int, errors: TopicErrors, within: Any = None) -> Iterator[InParts]:
        asked, told = self.asked, self.told
        topic_class = _class_of(self.answer if within is None else within, told.topics)
        partition_class = _class_of(topic_class, told.partitions)
        default = partition_class(version=version)
        fields = {
            field.name: getattr(default, field.name) for field in partition_class._struct.untagged_fields(version)
        }
        fields |= self.fields
        ordered = in_order(partition_class, version)

        def partitions(asked_for: Sequence[Any], error_of: PartitionError) -> Iterator[Any]:
            for one in asked_for:
                index = getattr(one, asked.number) if asked.number else one
                yield ordered({**fields, told.number: index, told.code: error_of(index, one).code})

        for topic in topics:
            name, asked_for = getattr(topic, asked.name), getattr(topic, asked.partitions)
            shown = topic_class(version=version, **{told.name: name})
            yield InParts(shown, told.partitions, len(asked_for), partitions(asked_for, errors(name)))


def _class_of(structure: Any, array: str) -> Any:
    return structure._struct.fields[array].data_class


def same(error: KafkaError) -> TopicErrors:
    return lambda _name: lambda _index, _partition: error


class TopicRights(NamedTuple):
    """What KafkaApis checks before it asks whether this node is the right one. `known` are all topics of the cluster,
    or those asked for.
    """

    may: Callable[[str], bool]
    known: KnownTopics

    def errors(self, otherwise: Callable[[str], PartitionError]) -> TopicErrors:
        """`otherwise` returns the errors of partitions that exist and that the caller may touch."""

        def of_topic(name: str) -> PartitionError:
            if not self.may(name):
                return lambda _index, _partition: DENIED
            error_of, existing = otherwise(name), self.existing(name)
            return lambda index, partition: error_of(index, partition) if index in existing else UNKNOWN

        return of_topic

    def existing(self, name: str) -> Mapping[int, Any]:
        """Empty if no client may see the topic."""
        topic = self.known.get(name)
        return topic.partitions if topic is not None and is_visible(topic) else {}


DENIED, UNKNOWN = TopicAuthorizationFailed(), UnknownTopicOrPartition()


def topic_right(access: Access, operation: AclOperation) -> Callable[[str], bool]:
    return lambda name: access.may(operation, AclResource.TOPIC, name)


def anything(_topic: str) -> bool:
    """The caller is a broker."""
    return True


def named_topics(node: Node, topics: Sequence[Any], name: str = "name") -> Work[KnownTopics]:
    """Those that exist."""
    known = node.topics_now()
    if known is None:
        known = yield from waited(node.topics({getattr(topic, name) for topic in topics}))
    return known
