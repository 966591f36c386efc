"""DescribeUserScramCredentials (KIP-554), as ZkAdminManager.describeUserScramCredentials."""

from collections.abc import Mapping

from kafka_reassign_rpc.api.answer_fields import code_of, message_of
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.config_changes import as_kafka_error
from kafka_reassign_rpc.api.large_requests import answer_with, map_bounded
from kafka_reassign_rpc.api.left_to_brokers import check_no_authorizer
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.configs.scram_credentials import iterations_of, refusals_of_names
from kafka_reassign_rpc.core.kafka_errors import KafkaError, ResourceNotFound, UnknownServerError
from kafka_reassign_rpc.core.quotas.client_quotas import USER, QuotaEntity
from kafka_reassign_rpc.protocol.messages import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from kafka_reassign_rpc.support.turns import rest

_Result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
_ITEMS = 2
"""About how many credentials a user has."""


async def handle(node: Node, request: DescribeUserScramCredentialsRequest, _ctx: RequestContext) -> Answer:
    check_no_authorizer(node)
    users = [one.name for one in request.users or ()]
    results = await _named(node, users) if users else await _all(node)
    answer = DescribeUserScramCredentialsResponse(version=0, throttle_time_ms=0, error_code=0, error_message="")
    return await answer_with(answer, "results", results, len(results), len(results) * _ITEMS)


async def _all(node: Node) -> list[_Result]:
    found = await node.quotas.get_all((USER,), {})
    return sorted(await _with_credentials(found), key=lambda result: result.user)


async def _with_credentials(found: Mapping[QuotaEntity, Mapping[str, str]]) -> list[_Result]:
    results: list[_Result] = []
    for ((_, user),), configs in found.items():
        credentials = iterations_of(configs)
        if credentials and user is not None:
            results.append(_result(user, credentials))
        await rest()
    return results


async def _named(node: Node, users: list[str]) -> list[_Result]:
    refused = refusals_of_names(users)

    async def describe(user: str) -> _Result:
        if user in refused:
            return _refused(user, refused[user])
        try:
            credentials = iterations_of(await node.quotas.get(((USER, user),)))
        except Exception as error:
            return _refused(user, as_kafka_error(error, f"SCRAM credentials of {user}"))
        if not credentials:
            text = f"Attempt to describe a user credential that does not exist: {user}"
            return _refused(user, ResourceNotFound(text))
        return _result(user, credentials)

    return await map_bounded(describe, list(dict.fromkeys(users)))


def _result(user: str, credentials: Mapping[int, int | None]) -> _Result:
    infos = [
        _Result.CredentialInfo(version=0, mechanism=mechanism, iterations=iterations)
        for mechanism, iterations in credentials.items()
        if iterations is not None
    ]
    if len(infos) < len(credentials):
        return _refused(user, UnknownServerError("A credential of this user in ZooKeeper cannot be read"))
    return _Result(version=0, user=user, error_code=0, error_message="", credential_infos=infos)


def _refused(user: str, error: KafkaError) -> _Result:
    return _Result(
        version=0, user=user, error_code=code_of(error), error_message=message_of(error), credential_infos=[]
    )


def fail(
    _request: DescribeUserScramCredentialsRequest, _version: int, error: KafkaError
) -> DescribeUserScramCredentialsResponse:
    """As in Kafka, the answer has a result of no user that repeats the error."""
    return DescribeUserScramCredentialsResponse(
        version=0,
        throttle_time_ms=0,
        error_code=error.code,
        error_message=message_of(error),
        results=[_refused("", error)],
    )


API = served(
    DescribeUserScramCredentialsRequest,
    Acl(AclOperation.DESCRIBE, AclResource.CLUSTER, names_request=False),
    handle=handle,
    fail=fail,
)
