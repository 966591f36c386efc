"""How a node refuses what concerns records, groups and transactions, since it leads and coordinates none of them. Each
such API is a row of `refused_records` or `refused_coordination`: who may ask, and with which errors.
Where a request names topics or groups, and where the answer gives each an error, is read from the schemas.

The order of errors is that of KafkaApis and the coordinators: what the caller may not touch, unknown ids, what does not
exist, and then what this node is not: NOT_LEADER_OR_FOLLOWER sends clients to Metadata, NOT_COORDINATOR to
FindCoordinator. So a client learns the same as from a broker that is not the right one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from kafka_reassign_rpc.api.access import Access
from kafka_reassign_rpc.api.answer_fields import is_visible, known_topics, message_of
from kafka_reassign_rpc.api.api_definition import (
    FEW,
    MANY,
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Api,
    ErrorAnswer,
    Handled,
    RequestContext,
    error_alone,
    served,
)
from kafka_reassign_rpc.api.large_requests import answer_with, items_of
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import (
    GroupAuthorizationFailed,
    InvalidGroupId,
    InvalidRequest,
    KafkaError,
    NotCoordinator,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.protocol.messages import RESPONSES, ApiMessage
from kafka_reassign_rpc.protocol.sliced_messages import InParts, in_order

Fields = Mapping[str, Any]
"""Of each refused thing, besides its name and its error; others have the default of the schema."""
NO_FIELDS: Fields = {}
PartitionError = Callable[[int, Any], KafkaError]
"""(number, the partition as the request has it) -> its error."""
TopicErrors = Callable[[Any], PartitionError]
"""The name of a topic, or its id -> the errors of its partitions."""
KnownTopics = Mapping[str, Topic]

DENIED, UNKNOWN = TopicAuthorizationFailed(), UnknownTopicOrPartition()


# ---------------------------------------------------------------------------------------------------------------- rows


def whole(
    request: type[ApiMessage],
    *acl: Acl,
    why: Callable[[Any, RequestContext], KafkaError],
    fail: ErrorAnswer | None = None,
    fields: Fields = NO_FIELDS,
    max_elements: int = FEW,
) -> Api:
    """One error for the whole request. `why` may raise it as well."""

    def handle(_node: Node, body: Any, ctx: RequestContext) -> Handled:
        raise why(body, ctx)

    fail = fail or error_alone(RESPONSES[request.API_KEY], **fields)
    return served(request, *acl, handle=handle, fail=fail, max_elements=max_elements)


def nothing(request: type[ApiMessage], *acl: Acl, fields: Callable[[Any], Fields] | None = None) -> Api:
    """The list is empty. Clients ask every node and merge the answers."""
    answer: Any = RESPONSES[request.API_KEY]

    def handle(_node: Node, body: Any, ctx: RequestContext) -> Handled:
        return answer(version=ctx.api_version, **(fields(body) if fields is not None else NO_FIELDS))  # type: ignore[no-any-return]

    return served(request, *acl, handle=handle)


def each(
    request: type[ApiMessage],
    *acl: Acl,
    why: Callable[[str, RequestContext], KafkaError],
    fields: Fields = NO_FIELDS,
    once: bool = False,
) -> Api:
    """An error for each group or transaction that the request names. once: one that is named twice is answered once."""

    async def handle(_node: Node, body: Any, ctx: RequestContext) -> Answer:
        return await named_refused(body, ctx.api_version, lambda name: why(name, ctx), fields, once=once)

    async def fail(body: Any, version: int, error: KafkaError) -> Answer:
        return await named_refused(body, version, lambda _name: error, fields, once=once)

    return served(request, *acl, handle=handle, fail=fail, max_elements=MANY)


def of_partitions(
    request: type[ApiMessage],
    *acl: Acl,
    errors: Callable[[Any, RequestContext, KnownTopics], TopicErrors],
    before: Callable[[Any, RequestContext], None] = lambda _body, _ctx: None,
    fields: Fields = NO_FIELDS,
) -> Api:
    """An error for each partition. before: raises what refuses the whole request."""

    async def handle(node: Node, body: Any, ctx: RequestContext) -> Answer:
        before(body, ctx)
        known = await topics_named_by(node, body, ctx.api_version)
        return await partitions_refused(body, ctx.api_version, errors(body, ctx, known), fields)

    async def fail(body: Any, version: int, error: KafkaError) -> Answer:
        return await partitions_refused(body, version, same(error), fields)

    return served(request, *acl, handle=handle, fail=fail, max_elements=PARTITION_NUMBERS)


# ------------------------------------------------------------------------------------------------------------- layouts


class Layout(NamedTuple):
    """The fields by which a message, or a structure within one, names topics and partitions, and gives each an error.
    `number` is "" if partitions are numbers, not structures; `code` is "" in requests.
    """

    topics: str
    name: str
    partitions: str
    number: str
    code: str


@cache
def _layout(structure: Any, version: int) -> Layout:
    """The topics are the first array of structures that have an array."""
    for topics in _fields(structure, version):
        of_topic = topics.untagged_fields(version) if topics.is_struct_array() else ()
        for partitions in of_topic:
            if partitions.is_array() or partitions.is_struct_array():
                of_partition = partitions.untagged_fields(version) if partitions.is_struct_array() else ()
                return Layout(
                    topics.name,
                    _first(of_topic, "string", "uuid"),
                    partitions.name,
                    _first(of_partition, "int32"),
                    next((one.name for one in of_partition if one.name.endswith("error_code")), ""),
                )
    raise ValueError(f"{structure.__name__} {version} names no partitions")


def layout(structure: Any, version: int) -> Layout:
    """Of a class of messages, or of structures within one. Raises ValueError where it names no partitions."""
    return _layout(structure, version)


def _fields(structure: Any, version: int) -> Sequence[Any]:
    found: Sequence[Any] = structure._struct.untagged_fields(version)
    return found


def _first(fields: Iterable[Any], *kinds: str) -> str:
    return next((one.name for one in fields if getattr(one, "_type_str", "") in kinds), "")


# ------------------------------------------------------------------------------------------------------------- answers


async def partitions_refused(
    request: Any, version: int, errors: TopicErrors, fields: Fields = NO_FIELDS, **others: Any
) -> Answer:
    """`others` are the fields of the whole answer."""
    answer_class: Any = RESPONSES[request.API_KEY]
    answer = answer_class(version=version, **others)
    topics = getattr(request, layout(type(request), version).topics)
    elements = topics_refused(request, answer_class, version, errors, fields)
    items = partitions_of(request, version)
    return await answer_with(answer, layout(answer_class, version).topics, elements, len(topics), items)


def partitions_of(request: Any, version: int) -> int:
    """How many topics and partitions a request, or a structure within one, names: see `items_of`."""
    asked = layout(type(request), version)
    return items_of(len(getattr(topic, asked.partitions)) for topic in getattr(request, asked.topics))


def topics_refused(
    request: Any, answer: Any, version: int, errors: TopicErrors, fields: Fields = NO_FIELDS
) -> Iterator[InParts]:
    """The topics of `answer`, the class of the answer or of a structure within it, to `request`, which is of the same
    depth."""
    asked, answered = layout(type(request), version), layout(answer, version)
    topic_class = answer._struct.fields[answered.topics].data_class
    partition_class = topic_class._struct.fields[answered.partitions].data_class
    shown = {**_defaults(partition_class, version), **fields}
    ordered = in_order(partition_class, version)

    def partitions(asked_for: Sequence[Any], error_of: PartitionError) -> Iterator[Any]:
        for one in asked_for:
            index = getattr(one, asked.number) if asked.number else one
            yield ordered({**shown, answered.number: index, answered.code: error_of(index, one).code})

    for topic in getattr(request, asked.topics):
        name, asked_for = getattr(topic, asked.name), getattr(topic, asked.partitions)
        of_topic = topic_class(version=version, **{answered.name: name})
        yield InParts(of_topic, answered.partitions, len(asked_for), partitions(asked_for, errors(name)))


async def named_refused(
    request: Any, version: int, why: Callable[[str], KafkaError], fields: Fields = NO_FIELDS, *, once: bool = False
) -> Answer:
    """Each name in the first array of the request (texts, or structures whose first text it is) gets an error in the
    first array of the answer."""
    answer_class: Any = RESPONSES[request.API_KEY]
    answer = answer_class(version=version)
    asked, answered = (_first_array(type(one), version) for one in (request, answer))
    names: Sequence[str] = getattr(request, asked.name)
    if asked.is_struct_array():
        field = _first(asked.untagged_fields(version), "string")
        names = [getattr(one, field) for one in names]
    if once:
        names = list(dict.fromkeys(names))
    of_each = answered.untagged_fields(version)
    named = _first((one for one in of_each if not one.nullable_for_version_q(version)), "string")
    shown = {**_defaults(answered.data_class, version), **fields}
    ordered = in_order(answered.data_class, version)
    elements = (ordered({**shown, named: name, "error_code": why(name).code}) for name in names)
    return await answer_with(answer, answered.name, elements, len(names))


def each_element(*copied: str) -> ErrorAnswer:
    """Each element of the first array of the request gets the error in the first array of the answer, with the fields
    of these names. Where the error says no more than its code there is no text (ApiError.fromThrowable).
    """

    async def fail(request: Any, version: int, error: KafkaError) -> Answer:
        answer_class: Any = RESPONSES[request.API_KEY]
        answer = answer_class(version=version)
        asked, answered = (_first_array(type(one), version) for one in (request, answer))
        refused = {"error_code": error.code, "error_message": message_of(error)}
        shown = {**_defaults(answered.data_class, version), **refused}
        ordered = in_order(answered.data_class, version)
        elements = getattr(request, asked.name)
        results = (ordered({**shown, **{name: getattr(one, name) for name in copied}}) for one in elements)
        return await answer_with(answer, answered.name, results, len(elements))

    return fail


def _first_array(message: Any, version: int) -> Any:
    return next(one for one in _fields(message, version) if one.is_array() or one.is_struct_array())


def _defaults(structure: Any, version: int) -> dict[str, Any]:
    default = structure(version=version)
    return {field.name: getattr(default, field.name) for field in _fields(structure, version)}


# --------------------------------------------------------------------------------------------------- rights and errors


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


def topic_right(access: Access, operation: AclOperation) -> Callable[[str], bool]:
    return lambda name: access.may(operation, AclResource.TOPIC, name)


def anything(_topic: str) -> bool:
    """The caller is a broker."""
    return True


async def topics_named_by(node: Node, request: Any, version: int) -> KnownTopics:
    asked = layout(type(request), version)
    return await known_topics(node, (getattr(one, asked.name) for one in getattr(request, asked.topics)))


def check_group(access: Access, operation: AclOperation, group: str) -> None:
    if not access.may(operation, AclResource.GROUP, group):
        raise GroupAuthorizationFailed


def check_transaction(access: Access, transactional_id: str) -> None:
    """All that a producer does with its transaction needs WRITE."""
    if not access.may(AclOperation.WRITE, AclResource.TRANSACTIONAL_ID, transactional_id):
        raise TransactionalIdAuthorizationFailed


def group_error(group: str) -> KafkaError:
    """GroupCoordinator.validateGroupStatus, for a group that needs a name."""
    return NotCoordinator() if group else InvalidGroupId()


def transaction_error(transactional_id: str) -> KafkaError:
    return NotCoordinator() if transactional_id else InvalidRequest()
