"""AddPartitionsToTxn, see `coordinator_refusals`. If a partition of a transaction fails the checks of rights and
topics, all others get OPERATION_NOT_ATTEMPTED, as in Kafka. Up to version 3 a producer asks for its own transaction;
from version 4 on brokers ask for many.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Api,
    ApiGroup,
    Handled,
    RequestContext,
)
from kafka_reassign_rpc.api.coordinator_refusals import check_transaction, transaction_error
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.partition_refusals import (
    KnownTopics,
    Layout,
    PartitionRefusals,
    TopicErrors,
    TopicRights,
    anything,
    named_topics,
    same,
    topic_right,
)
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.visible_topics import INTERNAL_TOPICS
from kafka_reassign_rpc.core.kafka_errors import KafkaError, OperationNotAttempted
from kafka_reassign_rpc.protocol.messages import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from kafka_reassign_rpc.protocol.sliced_messages import InParts
from kafka_reassign_rpc.support.turns import Steps, Work

FIRST_OF_BROKERS = 4
_TOLD = Layout("results_by_topic_v3_and_below", partitions="results_by_partition", code="partition_error_code")
_OF_PRODUCER = PartitionRefusals(AddPartitionsToTxnResponse, Layout("v3_and_below_topics", number=""), _TOLD)
_OF_BROKER = PartitionRefusals(AddPartitionsToTxnResponse, Layout(number=""), _TOLD._replace(topics="topic_results"))
_Result = AddPartitionsToTxnResponse.AddPartitionsToTxnResult
_NOT_ATTEMPTED = OperationNotAttempted()


def handle(node: Node, request: AddPartitionsToTxnRequest, ctx: RequestContext) -> Work[Answer]:
    version = ctx.api_version
    if version >= FIRST_OF_BROKERS:
        ctx.access.check_cluster(AclOperation.CLUSTER_ACTION, API.name)
        named = [topic for transaction in request.transactions for topic in transaction.topics]
        known = yield from named_topics(node, named)
        return (yield from _of_brokers(request, version, known))
    transaction = request.v3_and_below_transactional_id
    check_transaction(ctx.access, AclOperation.WRITE, transaction)
    may_write = topic_right(ctx.access, AclOperation.WRITE)
    known = yield from named_topics(node, request.v3_and_below_topics)
    rights = TopicRights(lambda topic: topic in INTERNAL_TOPICS or may_write(topic), known)
    errors = yield from _errors(request.v3_and_below_topics, rights, transaction)
    return (yield from _OF_PRODUCER.refuse(request, version, errors))


def _of_brokers(request: AddPartitionsToTxnRequest, version: int, known: KnownTopics) -> Steps[Answer]:
    rights = TopicRights(anything, known)
    results = []
    for transaction in request.transactions:
        errors = yield from _errors(transaction.topics, rights, transaction.transactional_id)
        results.append(_result(transaction, version, errors))
    items = sum(1 + _OF_BROKER.items(transaction.topics) for transaction in request.transactions)
    return (yield from answer_with(_answer(version, 0), "results_by_transaction", results, len(results), items))


def _result(transaction: Any, version: int, errors: TopicErrors) -> InParts:
    told = _Result(version=version, transactional_id=transaction.transactional_id)
    topics: Iterator[InParts] = _OF_BROKER.topics(transaction.topics, version, errors, within=_Result)
    return InParts(told, _OF_BROKER.told.topics, len(transaction.topics), topics)


def _errors(topics: Sequence[Any], rights: TopicRights, transactional_id: str) -> Steps[TopicErrors]:
    for topic in topics:
        yield
        for partition in topic.partitions:
            yield
            if not rights.may(topic.name) or partition not in rights.existing(topic.name):
                return rights.errors(same(_NOT_ATTEMPTED))
    return same(transaction_error(transactional_id))


def fail(request: AddPartitionsToTxnRequest, version: int, error: KafkaError) -> Handled:
    return _answer(version, error.code) if version >= FIRST_OF_BROKERS else _OF_PRODUCER.fail(request, version, error)


def _answer(version: int, code: int) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(version=version, error_code=code, results_by_transaction=[])


API = Api(
    key=24,
    name="AddPartitionsToTxn",
    min_version=0,
    max_version=5,
    group=ApiGroup.CLIENT,
    acl=(
        Acl(AclOperation.WRITE, AclResource.TRANSACTIONAL_ID, "versions 0-3"),
        Acl(AclOperation.WRITE, AclResource.TOPIC, "versions 0-3"),
        Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER, "versions 4 and later"),
    ),
    handle=handle,
    fail=fail,
    max_elements=PARTITION_NUMBERS,
)
