"""What a node that coordinates nothing refuses: groups and their offsets, transactions, delegation tokens (KIP-48), and
logins at the wrong time. It makes no tokens, like a broker without `delegation.token.secret.key`. See `refusals`.

SaslHandshake and SaslAuthenticate outside of authentication: ILLEGAL_SASL_STATE and no mechanisms. The connection stays
open, as on Kafka's PLAINTEXT listeners, and on SASL listeners for a client that is authenticated (see `security.sasl`).

OffsetDelete gets the group's error in place of those of topics, as in Kafka. Groups of KIP-848 need KRaft:
UNSUPPORTED_VERSION, as from every broker in ZooKeeper mode.

AddPartitionsToTxn: if a partition of a transaction fails the checks of rights and topics, all others get
OPERATION_NOT_ATTEMPTED, as in Kafka. Up to version 3 a producer asks for its own transaction; from version 4 on brokers
ask for many.

Differences: in version 0 of OffsetCommit and OffsetFetch a broker keeps offsets in ZooKeeper; this node does not. A
broker of 3.9 that is not the coordinator answers OffsetFetch 1 without partitions, as if the group had no offset; here
each partition gets the error in versions 0 and 1.
"""

from collections.abc import Iterator
from typing import Any, NoReturn

from kafka_reassign_rpc.api.answer_fields import INTERNAL_TOPICS, NOT_REQUESTED, known_topics
from kafka_reassign_rpc.api.api_definition import (
    MANY,
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
    named_refused,
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
from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS
from kafka_reassign_rpc.core.kafka_errors import (
    DelegationTokenAuthDisabled,
    DelegationTokenRequestNotAllowed,
    GroupAuthorizationFailed,
    IllegalSaslState,
    InconsistentGroupProtocol,
    KafkaError,
    NotCoordinator,
    OperationNotAttempted,
    TransactionalIdAuthorizationFailed,
    UnsupportedVersion,
)
from kafka_reassign_rpc.protocol import messages as m
from kafka_reassign_rpc.protocol.sliced_messages import InParts
from kafka_reassign_rpc.support.turns import rest

READ, WRITE, DESCRIBE, DELETE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.DELETE
GROUP, TOPIC, TRANSACTION = AclResource.GROUP, AclResource.TOPIC, AclResource.TRANSACTIONAL_ID


def _of_member(request: Any, ctx: RequestContext) -> KafkaError:
    check_group(ctx.access, READ, request.group_id)
    return group_error(request.group_id)


# ---------------------------------------------------------------------------------------------------- members of groups

_FIRST_WITHOUT_PROTOCOL = 7
"""The first version of JoinGroup that can say that there is none."""


def _join_refused(request: m.JoinGroupRequest, version: int, error: KafkaError) -> m.JoinGroupResponse:
    denied = isinstance(error, GroupAuthorizationFailed)
    return m.JoinGroupResponse(
        version=version,
        error_code=error.code,
        protocol_name=None if version >= _FIRST_WITHOUT_PROTOCOL else "",
        member_id="" if denied else request.member_id,
    )


def _of_sync(request: m.SyncGroupRequest, ctx: RequestContext) -> KafkaError:
    if ctx.api_version >= 5 and None in (request.protocol_type, request.protocol_name):
        return InconsistentGroupProtocol()
    return _of_member(request, ctx)


def _of_kip_848(_request: object, _ctx: RequestContext) -> KafkaError:
    return UnsupportedVersion()


# -------------------------------------------------------------------------------------------------------------- groups


def _named(operation: AclOperation) -> Any:
    def why(group: str, ctx: RequestContext) -> KafkaError:
        may = ctx.access.may(operation, GROUP, group)
        return NotCoordinator() if may else GroupAuthorizationFailed()

    return why


_DESCRIBED = {"group_state": "", "protocol_type": "", "protocol_data": "", "members": (), "authorized_operations": None}


async def _kip_848_described(request: m.ConsumerGroupDescribeRequest, version: int, error: KafkaError) -> Answer:
    return await named_refused(request, version, lambda _group: error, {"authorized_operations": NOT_REQUESTED})


# ------------------------------------------------------------------------------------------------------------- offsets

_FIRST_WITH_ERROR, _FIRST_WITH_GROUPS = 2, 8
"""Versions of OffsetFetch."""


def _may_commit(request: m.OffsetCommitRequest, ctx: RequestContext) -> None:
    check_group(ctx.access, READ, request.group_id)


def _of_commit(_request: object, ctx: RequestContext, known: KnownTopics) -> TopicErrors:
    return TopicRights(topic_right(ctx.access, READ), known).errors(same(NotCoordinator()))


async def _fetch_offsets(_node: Node, request: m.OffsetFetchRequest, ctx: RequestContext) -> Answer:
    if ctx.api_version < _FIRST_WITH_GROUPS:
        check_group(ctx.access, DESCRIBE, request.group_id)
        raise NotCoordinator
    why = _named(DESCRIBE)
    return await named_refused(request, ctx.api_version, lambda group: why(group, ctx))


async def _no_offsets(request: m.OffsetFetchRequest, version: int, error: KafkaError) -> Answer:
    if version >= _FIRST_WITH_GROUPS:
        return await named_refused(request, version, lambda _group: error)
    if version >= _FIRST_WITH_ERROR:
        return m.OffsetFetchResponse(version=version, topics=[], error_code=error.code)
    return await partitions_refused(request, version, same(error), {"committed_offset": -1})


def _of_deletion(request: m.OffsetDeleteRequest, ctx: RequestContext) -> KafkaError:
    check_group(ctx.access, DELETE, request.group_id)
    return group_error(request.group_id)


_READS, _DESCRIBES, _DELETES = (Acl(operation, GROUP) for operation in (READ, DESCRIBE, DELETE))

_GROUPS: tuple[Api, ...] = (
    whole(m.JoinGroupRequest, _READS, why=_of_member, fail=_join_refused),
    whole(m.HeartbeatRequest, _READS, why=_of_member),
    whole(m.LeaveGroupRequest, _READS, why=_of_member),
    whole(m.SyncGroupRequest, _READS, why=_of_sync),
    whole(m.ConsumerGroupHeartbeatRequest, why=_of_kip_848, fields={"error_message": None}),
    whole(m.ConsumerGroupDescribeRequest, why=_of_kip_848, fail=_kip_848_described, max_elements=MANY),
    each(m.DescribeGroupsRequest, _DESCRIBES, why=_named(DESCRIBE), fields=_DESCRIBED),
    each(m.DeleteGroupsRequest, _DELETES, why=_named(DELETE), once=True),
    nothing(
        m.ListGroupsRequest,
        Acl(DESCRIBE, AclResource.CLUSTER, "all groups"),
        Acl(DESCRIBE, GROUP, "else the groups that are shown"),
    ),
    of_partitions(m.OffsetCommitRequest, _READS, Acl(READ, AclResource.TOPIC), before=_may_commit, errors=_of_commit),
    served(m.OffsetFetchRequest, _DESCRIBES, handle=_fetch_offsets, fail=_no_offsets, max_elements=PARTITION_NUMBERS),
    whole(m.OffsetDeleteRequest, _DELETES, why=_of_deletion, max_elements=PARTITION_NUMBERS),
)


# ---------------------------------------------------------------------------------------------------- delegation tokens


def _of_token(_request: object, ctx: RequestContext) -> KafkaError:
    """A client that has not said who it is gets another error (KafkaApis.allowTokenRequests)."""
    if not ctx.mechanism and ctx.principal == ANONYMOUS:
        return DelegationTokenRequestNotAllowed()
    return DelegationTokenAuthDisabled()


_NO_TIMES = {"issue_timestamp_ms": -1, "expiry_timestamp_ms": -1, "max_timestamp_ms": -1}

_TOKENS: tuple[Api, ...] = (
    whole(m.CreateDelegationTokenRequest, why=_of_token, fields=_NO_TIMES),
    whole(m.RenewDelegationTokenRequest, why=_of_token, fields={"expiry_timestamp_ms": -1}),
    whole(m.ExpireDelegationTokenRequest, why=_of_token, fields={"expiry_timestamp_ms": -1}),
    whole(m.DescribeDelegationTokenRequest, why=_of_token),
)


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
    check_transaction(ctx.access, transaction)
    may_write = topic_right(ctx.access, WRITE)
    known = await topics_named_by(node, request, version)
    rights = TopicRights(lambda topic: topic in INTERNAL_TOPICS or may_write(topic), known)
    fails = await _fails(request.v3_and_below_topics, rights)
    errors = _errors(transaction, rights, fails=fails)
    return await partitions_refused(request, version, errors)


async def _of_brokers(request: m.AddPartitionsToTxnRequest, version: int, known: KnownTopics) -> Answer:
    rights = TopicRights(anything, known)
    fail: list[bool] = []
    items = 0
    for transaction in request.transactions:
        await rest()
        fail.append(await _fails(transaction.topics, rights))
        items += 1 + partitions_of(transaction, version)
    results = (
        _refused(transaction, version, _errors(transaction.transactional_id, rights, fails=fails))
        for transaction, fails in zip(request.transactions, fail, strict=True)
    )
    return await answer_with(_all_failed(version, 0), "results_by_transaction", results, len(fail), items)


def _refused(transaction: Any, version: int, errors: TopicErrors) -> InParts:
    result = _Result(version=version, transactional_id=transaction.transactional_id)
    topics: Iterator[InParts] = topics_refused(transaction, _Result, version, errors)
    return InParts(result, layout(_Result, version).topics, len(transaction.topics), topics)


async def _fails(topics: Any, rights: TopicRights) -> bool:
    for topic in topics:
        await rest()
        for partition in topic.partitions:
            await rest()
            if not rights.may(topic.name) or partition not in rights.existing(topic.name):
                return True
    return False


def _errors(transactional_id: str, rights: TopicRights, *, fails: bool) -> TopicErrors:
    return rights.errors(same(_NOT_ATTEMPTED)) if fails else same(transaction_error(transactional_id))


async def _nothing_added(request: m.AddPartitionsToTxnRequest, version: int, error: KafkaError) -> Answer:
    if version >= _FIRST_OF_BROKERS:
        return _all_failed(version, error.code)
    return await partitions_refused(request, version, same(error))


def _all_failed(version: int, code: int) -> m.AddPartitionsToTxnResponse:
    return m.AddPartitionsToTxnResponse(version=version, error_code=code, results_by_transaction=[])


# --------------------------------------------------------------------------------------- other requests of transactions


def _of_offsets(request: m.AddOffsetsToTxnRequest, ctx: RequestContext) -> KafkaError:
    check_transaction(ctx.access, request.transactional_id)
    check_group(ctx.access, READ, request.group_id)
    return transaction_error(request.transactional_id)


def _of_end(request: m.EndTxnRequest, ctx: RequestContext) -> KafkaError:
    check_transaction(ctx.access, request.transactional_id)
    return transaction_error(request.transactional_id)


def _may_commit_to_group(request: m.TxnOffsetCommitRequest, ctx: RequestContext) -> None:
    check_transaction(ctx.access, request.transactional_id)
    check_group(ctx.access, READ, request.group_id)


def _of_commit_to_group(request: m.TxnOffsetCommitRequest, ctx: RequestContext, known: KnownTopics) -> TopicErrors:
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


_WRITES_TXN, _DESCRIBES_TXN = Acl(WRITE, TRANSACTION), Acl(DESCRIBE, TRANSACTION)
_READS_GROUP = Acl(READ, AclResource.GROUP)

_TRANSACTIONS: tuple[Api, ...] = (
    served(
        m.AddPartitionsToTxnRequest,
        Acl(WRITE, TRANSACTION, "versions 0-3"),
        Acl(WRITE, TOPIC, "versions 0-3"),
        Acl(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER, "versions 4 and later"),
        handle=_add_partitions,
        fail=_nothing_added,
        max_elements=PARTITION_NUMBERS,
    ),
    whole(m.AddOffsetsToTxnRequest, _WRITES_TXN, _READS_GROUP, why=_of_offsets),
    whole(m.EndTxnRequest, _WRITES_TXN, why=_of_end),
    of_partitions(
        m.TxnOffsetCommitRequest,
        _WRITES_TXN,
        _READS_GROUP,
        Acl(READ, TOPIC),
        before=_may_commit_to_group,
        errors=_of_commit_to_group,
    ),
    each(m.DescribeTransactionsRequest, _DESCRIBES_TXN, why=_of_description),
    nothing(m.ListTransactionsRequest, _DESCRIBES_TXN, fields=_unknown_states),
)


def _out_of_place(_node: Node, _request: m.SaslHandshakeRequest, _ctx: RequestContext) -> NoReturn:
    raise IllegalSaslState


def _authenticated(_node: Node, _request: m.SaslAuthenticateRequest, _ctx: RequestContext) -> NoReturn:
    raise IllegalSaslState("SaslAuthenticate request received after successful authentication")


_LOGINS: tuple[Api, ...] = (
    served(m.SaslHandshakeRequest, handle=_out_of_place),
    served(m.SaslAuthenticateRequest, handle=_authenticated),
)

APIS: tuple[Api, ...] = (*_GROUPS, *_TRANSACTIONS, *_TOKENS, *_LOGINS)
