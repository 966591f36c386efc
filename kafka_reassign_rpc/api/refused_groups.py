"""Groups and their offsets: this node coordinates none. See `refusals`.

OffsetDelete gets the group's error in place of those of topics, as in Kafka. Groups of KIP-848 need KRaft:
UNSUPPORTED_VERSION, as from every broker in ZooKeeper mode.

Differences: in version 0 of OffsetCommit and OffsetFetch a broker keeps offsets in ZooKeeper; this node does not. A
broker of 3.9 that is not the coordinator answers OffsetFetch 1 without partitions, as if the group had no offset; here
each partition gets the error in versions 0 and 1.
"""

from typing import Any

from kafka_reassign_rpc.api.answer_fields import NOT_REQUESTED
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
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.refusals import (
    KnownTopics,
    TopicErrors,
    TopicRights,
    check_group,
    each,
    group_error,
    named_refused,
    nothing,
    of_partitions,
    partitions_refused,
    same,
    topic_right,
    whole,
)
from kafka_reassign_rpc.core.kafka_errors import (
    GroupAuthorizationFailed,
    InconsistentGroupProtocol,
    KafkaError,
    NotCoordinator,
    UnsupportedVersion,
)
from kafka_reassign_rpc.protocol import messages as m

READ, DESCRIBE, DELETE = AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE
GROUP = AclResource.GROUP


def _of_member(request: Any, ctx: RequestContext) -> KafkaError:
    check_group(ctx.access, READ, request.group_id)
    return group_error(request.group_id)


# ------------------------------------------------------------------------------------------------------------- members

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


# ---------------------------------------------------------------------------------------------------------------- rows

_READS, _DESCRIBES, _DELETES = (Acl(operation, GROUP) for operation in (READ, DESCRIBE, DELETE))

APIS: tuple[Api, ...] = (
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
