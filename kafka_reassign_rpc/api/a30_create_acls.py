"""CreateAcls, as AclApis.handleCreateAcls and AclAuthorizer.createAcls. The ACLs of one resource are created together,
or none of them. An existing ACL is no error.

Difference: a code that means no value, or any value, is INVALID_REQUEST for that ACL; a broker closes the connection
or fails the whole request. The error of an ACL whose principal is none says so.
"""

from collections.abc import Sequence

from kafka_reassign_rpc.api.answer_fields import code_of, message_of
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.left_to_brokers import acls_of
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.api.refusals import each_element
from kafka_reassign_rpc.core.acls.acl_binding import (
    CLUSTER_NAME,
    PATTERN_TYPES,
    AccessControlEntry,
    AclBinding,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, KafkaError
from kafka_reassign_rpc.protocol.messages import CreateAclsRequest, CreateAclsResponse
from kafka_reassign_rpc.protocol.sliced_messages import in_order
from kafka_reassign_rpc.support.turns import rest

_Creation = CreateAclsRequest.AclCreation
_Result = CreateAclsResponse.AclCreationResult


async def handle(node: Node, request: CreateAclsRequest, ctx: RequestContext) -> Answer:
    acls = acls_of(node, "No Authorizer is configured.")
    asked = await _bindings(request, ctx.api_version)
    created = iter(await acls.create([one for one in asked if isinstance(one, AclBinding)], ctx))
    outcomes = [next(created) if isinstance(one, AclBinding) else one for one in asked]
    return await _answer(ctx.api_version, outcomes)


async def _bindings(request: CreateAclsRequest, version: int) -> list[AclBinding | KafkaError]:
    found: list[AclBinding | KafkaError] = []
    for creation in request.creations:
        try:
            found.append(_binding(creation, version))
        except InvalidRequest as error:
            found.append(error.as_answer())
        await rest()
    return found


def _binding(asked: _Creation, version: int) -> AclBinding:
    """Raises InvalidRequest, in the order of Kafka's checks."""
    pattern = ResourcePattern(
        ResourceType.of(asked.resource_type),
        asked.resource_name,
        PatternType.of(asked.resource_pattern_type) if version >= 1 else PatternType.LITERAL,
    )
    entry = AccessControlEntry(
        asked.principal,
        asked.host,
        AclOperation.of(asked.operation),
        AclPermissionType.of(asked.permission_type),
    )
    if pattern.resource_type is ResourceType.CLUSTER and pattern.name != CLUSTER_NAME:
        raise InvalidRequest(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not pattern.name:
        raise InvalidRequest("Invalid empty resource name")
    wrong = (
        pattern.resource_type <= ResourceType.ANY
        or pattern.pattern_type not in PATTERN_TYPES
        or entry.operation <= AclOperation.ANY
        or entry.permission_type <= AclPermissionType.ANY
    )
    if wrong or "/" in pattern.name:
        raise InvalidRequest("Failed to create ACL")
    return AclBinding(pattern, entry)


async def _answer(version: int, outcomes: Sequence[KafkaError | None]) -> Answer:
    fields = in_order(_Result, version)
    results = (
        fields({"error_code": code_of(error), "error_message": "" if error is None else message_of(error)})
        for error in outcomes
    )
    return await answer_with(CreateAclsResponse(version=version, throttle_time_ms=0), "results", results, len(outcomes))


API = served(CreateAclsRequest, Acl(AclOperation.ALTER, AclResource.CLUSTER), handle=handle, fail=each_element())
