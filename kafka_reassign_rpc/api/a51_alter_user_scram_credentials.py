"""AlterUserScramCredentials (KIP-554), as ZkAdminManager.alterUserScramCredentials: either all credentials of a user
change or none.
"""

from collections.abc import Sequence
from functools import partial

from kafka_reassign_rpc.api.answer_fields import code_of
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.config_changes import as_kafka_error
from kafka_reassign_rpc.api.large_requests import answer_with, map_bounded
from kafka_reassign_rpc.api.left_to_brokers import check_no_authorizer
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.core.configs.scram_credentials import Alteration, Deletion, Upsertion, altered, refusals
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.quotas.client_quotas import USER
from kafka_reassign_rpc.protocol.messages import AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse

_Result = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult


async def handle(node: Node, request: AlterUserScramCredentialsRequest, ctx: RequestContext) -> Answer:
    required_controller(node)
    ctx.access.check_cluster(AclOperation.ALTER)
    check_no_authorizer(node)
    asked = _alterations(request)
    refused = refusals(asked)
    by_user: dict[str, list[Alteration]] = {}
    for one in asked:
        by_user.setdefault(one.user, []).append(one)

    async def alter(one: tuple[str, Sequence[Alteration]]) -> KafkaError | None:
        user, alterations = one
        if user in refused:
            return refused[user]
        try:
            await node.quotas.alter(((USER, user),), partial(altered, alterations), ctx.requester)
        except Exception as error:
            return as_kafka_error(error, f"SCRAM credentials of {user}")
        return None

    outcomes = await map_bounded(alter, list(by_user.items()))
    return await _answer(list(by_user), outcomes)


async def fail(request: AlterUserScramCredentialsRequest, _version: int, error: KafkaError) -> Answer:
    users = list(dict.fromkeys(one.user for one in _alterations(request)))
    return await _answer(users, [error] * len(users))


def _alterations(request: AlterUserScramCredentialsRequest) -> list[Alteration]:
    return [
        *(Deletion(one.name, one.mechanism) for one in request.deletions),
        *(
            Upsertion(one.name, one.mechanism, one.iterations, bytes(one.salt), bytes(one.salted_password))
            for one in request.upsertions
        ),
    ]


async def _answer(users: Sequence[str], outcomes: Sequence[KafkaError | None]) -> Answer:
    answer = AlterUserScramCredentialsResponse(version=0, throttle_time_ms=0)
    results = (
        _Result(version=0, user=user, error_code=code_of(error), error_message=_message(error))
        for user, error in zip(users, outcomes, strict=True)
    )
    return await answer_with(answer, "results", results, len(users))


def _message(error: KafkaError | None) -> str | None:
    """As in Kafka, the message is never null without an error, and is null where a text would say no more than the
    code.
    """
    if error is None:
        return ""
    return None if error.message == error.default_message else error.message


API = served(
    AlterUserScramCredentialsRequest,
    Acl(AclOperation.ALTER, AclResource.CLUSTER, "as the controller: others answer NOT_CONTROLLER first"),
    handle=handle,
    fail=fail,
    to_controller=True,
)
