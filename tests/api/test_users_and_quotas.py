"""Client quotas and SCRAM credentials: requests and answers of the four APIs in every version."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kafka_reassign_rpc.core.quotas.client_quotas import CLIENT_ID, EXACT, IP, SPECIFIED, USER, QuotaEntity
from kafka_reassign_rpc.protocol.messages import (
    AlterClientQuotasRequest,
    AlterUserScramCredentialsRequest,
    DescribeAclsRequest,
    DescribeClientQuotasRequest,
    DescribeUserScramCredentialsRequest,
)
from tests.api.ask import ask
from tests.api.model_node import ModelNode

ALICE: QuotaEntity = ((USER, "alice"),)
SHA_256, SHA_512 = 1, 2
CREDENTIAL = "salt=a,stored_key=b,server_key=c,iterations=4096"

Entity = Sequence[tuple[str, str | None]]


def alter_quotas(version: int, *entries: tuple[Entity, Mapping[str, float | None]], validate_only: bool = False) -> Any:
    kind = AlterClientQuotasRequest.EntryData
    return AlterClientQuotasRequest(
        version=version,
        entries=[
            kind(
                version=version,
                entity=[kind.EntityData(version=version, entity_type=t, entity_name=n) for t, n in entity],
                ops=[
                    kind.OpData(version=version, key=key, value=value or 0.0, remove=value is None)
                    for key, value in ops.items()
                ],
            )
            for entity, ops in entries
        ],
        validate_only=validate_only,
    )


def describe_quotas(version: int, *components: tuple[str, int, str | None], strict: bool = False) -> Any:
    kind = DescribeClientQuotasRequest.ComponentData
    return DescribeClientQuotasRequest(
        version=version,
        components=[kind(version=version, entity_type=t, match_type=m, match=n) for t, m, n in components],
        strict=strict,
    )


def alter_users(upsertions: Sequence[tuple[str, int, int]] = (), deletions: Sequence[tuple[str, int]] = ()) -> Any:
    kind = AlterUserScramCredentialsRequest
    return kind(
        version=0,
        deletions=[kind.ScramCredentialDeletion(version=0, name=n, mechanism=m) for n, m in deletions],
        upsertions=[
            kind.ScramCredentialUpsertion(
                version=0, name=n, mechanism=m, iterations=i, salt=b"salt", salted_password=b"salted"
            )
            for n, m, i in upsertions
        ],
    )


def describe_users(*names: str) -> Any:
    kind = DescribeUserScramCredentialsRequest
    return kind(version=0, users=[kind.UserName(version=0, name=name) for name in names] or None)


def results(answer: Any) -> list[tuple[str, int, str | None]]:
    return [(one.user, one.error_code, one.error_message) for one in answer.results]


@pytest.mark.parametrize("version", [0, 1])
async def test_sv_5_quotas_are_altered_entity_by_entity_and_described(version: int) -> None:
    node = ModelNode()
    pair: Entity = [(CLIENT_ID, "c"), (USER, None)]
    answer = await ask(
        node,
        alter_quotas(
            version,
            ([(USER, "alice")], {"producer_byte_rate": 10.0, "request_percentage": 1.5}),
            (pair, {"consumer_byte_rate": 20.0}),
            ([(IP, "10.0.0.1")], {"connection_creation_rate": 3.0}),
            ([(USER, "bob")], {"nonsense": 1.0}),
        ),
        version,
    )
    assert [(one.error_code, one.error_message) for one in answer.entries] == [
        (0, None),
        (0, None),
        (0, None),
        (42, "Invalid configuration key nonsense"),
    ]
    assert [[(e.entity_type, e.entity_name) for e in one.entity] for one in answer.entries][1] == pair
    await ask(node, alter_quotas(version, (ALICE, {"request_percentage": None})), version)

    described = await ask(node, describe_quotas(version), version)
    shown = [
        ([(e.entity_type, e.entity_name) for e in one.entity], {v.key: v.value for v in one.values})
        for one in described.entries
    ]
    assert described.error_code == 0
    assert shown == [
        ([(USER, "alice")], {"producer_byte_rate": 10.0}),
        ([(USER, None), (CLIENT_ID, "c")], {"consumer_byte_rate": 20.0}),
        ([(IP, "10.0.0.1")], {"connection_creation_rate": 3.0}),
    ]
    one = await ask(node, describe_quotas(version, (USER, EXACT, "alice"), strict=True), version)
    assert len(one.entries) == 1
    refused = await ask(node, describe_quotas(version, ("", SPECIFIED, None)), version)
    assert (refused.error_code, refused.error_message) == (42, "Unexpected empty filter component entity type")
    assert refused.entries is None


async def test_sv_5_a_validated_alteration_changes_nothing_and_an_entity_named_twice_is_refused() -> None:
    node = ModelNode()
    validated = await ask(node, alter_quotas(1, (ALICE, {"producer_byte_rate": 1.0}), validate_only=True), 1)
    assert [one.error_code for one in validated.entries] == [0]
    twice = await ask(node, alter_quotas(1, *([(ALICE, {"producer_byte_rate": 1.0})] * 2)), 1)
    assert [(one.error_code, one.error_message) for one in twice.entries] == [
        (42, "Each entity must appear at most once.")
    ] * 2
    assert node.quotas.entities == {}


async def test_sv_5_credentials_are_altered_user_by_user_and_described_without_their_secrets() -> None:
    node = ModelNode()
    node.quotas.entities[((USER, "old"),)] = {"SCRAM-SHA-256": CREDENTIAL, "producer_byte_rate": "1"}
    node.quotas.entities[((USER, "quotas only"),)] = {"producer_byte_rate": "1"}
    answer = await ask(
        node,
        alter_users(
            [("alice", SHA_256, 4096), ("alice", SHA_512, 8192), ("bob", SHA_256, 1)],
            [("old", SHA_256), ("nobody", SHA_256)],
        ),
        0,
    )
    assert sorted(results(answer)) == [
        ("alice", 0, ""),
        ("bob", 93, "Too few iterations"),
        ("nobody", 91, "Attempt to delete a user credential that does not exist"),
        ("old", 0, ""),
    ]
    assert node.quotas.entities[((USER, "old"),)] == {"producer_byte_rate": "1"}

    everybody = await ask(node, describe_users(), 0)
    assert results(everybody) == [("alice", 0, "")]
    [found] = everybody.results
    assert [(info.mechanism, info.iterations) for info in found.credential_infos] == [(SHA_256, 4096), (SHA_512, 8192)]

    node.quotas.entities[((USER, "odd"),)] = {"SCRAM-SHA-256": "nonsense"}
    named = await ask(node, describe_users("alice", "bob", "bob", "old", "odd", ""), 0)
    assert results(named) == [
        ("alice", 0, ""),
        ("bob", 92, "Cannot describe SCRAM credentials for the same user twice in a single request: bob"),
        ("old", 91, "Attempt to describe a user credential that does not exist: old"),
        ("odd", -1, "A credential of this user in ZooKeeper cannot be read"),
        ("", 91, "Username must not be empty"),
    ]


async def test_sv_5_only_the_controller_alters_credentials() -> None:
    node = ModelNode()
    node.controller.active = False
    answer = await ask(node, alter_users([("alice", SHA_256, 4096)], [("alice", SHA_512), ("b", SHA_256)]), 0)
    assert [(user, code) for user, code, _ in results(answer)] == [("alice", 41), ("b", 41)]


@pytest.mark.parametrize(
    ("authorizer", "text"),
    [
        (
            "kafka.security.authorizer.AclAuthorizer",
            "The brokers have authorizer.class.name=kafka.security.authorizer.AclAuthorizer, which this server does "
            "not ask. Send the request to a broker, or start this server with the same authorizer.class.name.",
        ),
        (None, "No broker has said yet whether it has an authorizer, so no client is authorized. Try again."),
    ],
)
async def test_sv_5_where_brokers_have_an_authorizer_no_client_gets_more_rights_than_there(
    authorizer: str | None, text: str
) -> None:
    node = ModelNode()
    node.quotas.entities[ALICE] = before = {"SCRAM-SHA-256": CREDENTIAL, "producer_byte_rate": "1"}
    node.brokers_authorizer = authorizer
    for request in (describe_quotas(1), describe_users()):
        answer = await ask(node, request, request.max_version)
        assert (answer.error_code, answer.error_message) == (31, text)
    users = await ask(node, alter_users([("alice", SHA_256, 4096)]), 0)
    assert results(users) == [("alice", 31, text)]
    quotas = await ask(node, alter_quotas(1, (ALICE, {"producer_byte_rate": 5.0})), 1)
    assert [(one.error_code, one.error_message) for one in quotas.entries] == [(31, text)]
    assert node.quotas.entities == {ALICE: before}


async def test_sv_5_no_client_hears_that_there_are_no_acls_where_brokers_have_an_authorizer() -> None:
    node = ModelNode()
    request = DescribeAclsRequest(
        version=3,
        resource_type_filter=1,
        resource_name_filter=None,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    assert (await ask(node, request, 3)).error_code == 54
    node.brokers_authorizer = "org.Acl"
    answer = await ask(node, request, 3)
    assert (answer.error_code, answer.error_message) == (
        31,
        "The brokers have authorizer.class.name=org.Acl, which this server does not ask. Send the request to a broker,"
        " or start this server with the same authorizer.class.name.",
    )
