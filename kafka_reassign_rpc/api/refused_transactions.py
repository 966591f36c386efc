"""Transactions: this node coordinates none. See `refusals`.

AddPartitionsToTxn: if a partition of a transaction fails the checks of rights and topics, all others get
OPERATION_NOT_ATTEMPTED, as in Kafka. Up to version 3 a producer asks for its own transaction; from version 4 on brokers
ask for many.
"""

from collections.abc import Iterator
from typing import Any

from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Api,
    RequestContext,
    served,
)
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.refusals import (
    KnownTopics,
    TopicErrors,
    TopicRights,
    anything,
    check_group,
    check_transaction,
    each,
    group_error,
    layout,
    nothing,
    of_partitions,
    partitions_of,
    partitions_refused,
    same,
    topic_right,
    topics_named_by,
    topics_refused,
    transaction_error,
    whole,
)
from kafka_reassign_rpc.api.visible_topics import INTERNAL_TOPICS, known_topics
from kafka_reassign_rpc.core.kafka_errors import KafkaError, OperationNotAttempted, TransactionalIdAuthorizationFailed
from kafka_reassign_rpc.protocol import messages as m
from kafka_reassign_rpc.protocol.sliced_messages import InParts
from kafka_reassign_rpc.support.turns import rest

READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE
TOPIC, TRANSACTION = AclResource.TOPIC, AclResource.TRANSACTIONAL_ID


# --------------------------------------------------------------------------------------------------- AddPartitionsToTxn

_FIRST_OF_BROKERS = 4
_Result = m.AddPartitionsToTxnResponse.AddPartitionsToTxnResult
_NOT_ATTEMPTED = OperationNotAttempted()


async def _add_partitions(node: Node, request: m.AddPartitionsToTxnRequest, ctx: RequestContext) -> Answer:
    version = ctx.api_version
    if version >= _FIRST_OF_BROKERS:
        ctx.access.check_cluster(AclOperation.CLUSTER_ACTION, "AddPartitionsToTxn")
        named = (topic.name for transaction in request.transactions for topic in transaction.topics)
        known = await known_topics(node, named)
        return await _of_brokers(request, version, known)
    transaction = request.v3_and_below_transactional_id
    check_transaction(ctx.access, WRITE, transaction)
    may_write = topic_right(ctx.access, WRITE)
    known = await topics_named_by(node, request, version)
    rights = TopicRights(lambda topic: topic in INTERNAL_TOPICS or may_write(topic), known)
    errors = await _of_transaction(request.v3_and_below_topics, rights, transaction)
    return await partitions_refused(request, version, errors)


async def _of_brokers(request: m.AddPartitionsToTxnRequest, version: int, known: KnownTopics) -> Answer:
    rights = TopicRights(anything, known)
    results = []
    for transaction in request.transactions:
        errors = await _of_transaction(transaction.topics, rights, transaction.transactional_id)
        result = _Result(version=version, transactional_id=transaction.transactional_id)
        topics: Iterator[InParts] = topics_refused(transaction, _Result, version, errors)
        results.append(InParts(result, layout(_Result, version).topics, len(transaction.topics), topics))
    items = sum(1 + partitions_of(transaction, version) for transaction in request.transactions)
    return await answer_with(_all_failed(version, 0), "results_by_transaction", results, len(results), items)


async def _of_transaction(topics: Any, rights: TopicRights, transactional_id: str) -> TopicErrors:
    for topic in topics:
        await rest()
        for partition in topic.partitions:
            await rest()
            if not rights.may(topic.name) or partition not in rights.existing(topic.name):
                return rights.errors(same(_NOT_ATTEMPTED))
    return same(transaction_error(transactional_id))


async def _nothing_added(request: m.AddPartitionsToTxnRequest, version: int, error: KafkaError) -> Answer:
    if version >= _FIRST_OF_BROKERS:
        return _all_failed(version, error.code)
    return await partitions_refused(request, version, same(error))


def _all_failed(version: int, code: int) -> m.AddPartitionsToTxnResponse:
    return m.AddPartitionsToTxnResponse(version=version, error_code=code, results_by_transaction=[])


# -------------------------------------------------------------------------------------------------------------- others


def _of_offsets(request: m.AddOffsetsToTxnRequest, ctx: RequestContext) -> KafkaError:
    check_transaction(ctx.access, WRITE, request.transactional_id)
    check_group(ctx.access, READ, request.group_id)
    return transaction_error(request.transactional_id)


def _of_end(request: m.EndTxnRequest, ctx: RequestContext) -> KafkaError:
    check_transaction(ctx.access, WRITE, request.transactional_id)
    return transaction_error(request.transactional_id)


def _may_commit(request: m.TxnOffsetCommitRequest, ctx: RequestContext) -> None:
    check_transaction(ctx.access, WRITE, request.transactional_id)
    check_group(ctx.access, READ, request.group_id)


def _of_commit(request: m.TxnOffsetCommitRequest, ctx: RequestContext, known: KnownTopics) -> TopicErrors:
    return TopicRights(topic_right(ctx.access, READ), known).errors(same(group_error(request.group_id)))


def _of_description(transactional_id: str, ctx: RequestContext) -> KafkaError:
    may = ctx.access.may(DESCRIBE, TRANSACTION, transactional_id)
    return transaction_error(transactional_id) if may else TransactionalIdAuthorizationFailed()


STATES = frozenset(
    {
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    }
)
"""Kafka's TransactionState."""


def _unknown_states(request: m.ListTransactionsRequest) -> dict[str, Any]:
    return {"unknown_state_filters": [name for name in dict.fromkeys(request.state_filters) if name not in STATES]}


# ---------------------------------------------------------------------------------------------------------------- rows

_WRITES, _DESCRIBES = Acl(WRITE, TRANSACTION), Acl(DESCRIBE, TRANSACTION)
_READS_GROUP = Acl(READ, AclResource.GROUP)

APIS: tuple[Api, ...] = (
    served(
        m.AddPartitionsToTxnRequest,
        Acl(WRITE, TRANSACTION, "versions 0-3"),
        Acl(WRITE, TOPIC, "versions 0-3"),
        Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER, "versions 4 and later"),
        handle=_add_partitions,
        fail=_nothing_added,
        max_elements=PARTITION_NUMBERS,
    ),
    whole(m.AddOffsetsToTxnRequest, _WRITES, _READS_GROUP, why=_of_offsets),
    whole(m.EndTxnRequest, _WRITES, why=_of_end),
    of_partitions(
        m.TxnOffsetCommitRequest, _WRITES, _READS_GROUP, Acl(READ, TOPIC), before=_may_commit, errors=_of_commit
    ),
    each(m.DescribeTransactionsRequest, _DESCRIBES, why=_of_description),
    nothing(m.ListTransactionsRequest, _DESCRIBES, fields=_unknown_states),
)
