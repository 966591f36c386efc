"""Cases of configs, quotas, credentials and ACLs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_reassign_rpc.core.quotas.client_quotas import USER
from kafka_reassign_rpc.protocol.messages import (
    AlterClientQuotasRequest,
    AlterConfigsRequest,
    AlterUserScramCredentialsRequest,
    CreateAclsRequest,
    DeleteAclsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore, QuotaStore
from tests.vendor_requests import order, told

from .cut_cases import Tried, case, configs_at, moved_on

UNKNOWN_TOPIC, INVALID_CONFIG, UNACCEPTABLE_CREDENTIAL = 3, 40, 93


def incremental(*resources: tuple[int, str, Mapping[str, tuple[int, str | None]]]) -> Any:
    cls = IncrementalAlterConfigsRequest.AlterConfigsResource
    made = [
        cls(
            resource_type=kind,
            resource_name=name,
            configs=[
                cls.AlterableConfig(name=key, config_operation=operation, value=value)
                for key, (operation, value) in configs.items()
            ],
        )
        for kind, name, configs in resources
    ]
    return IncrementalAlterConfigsRequest(resources=made, validate_only=False)


def replacing(kind: int, name: str, configs: Mapping[str, str]) -> Any:
    cls = AlterConfigsRequest.AlterConfigsResource
    wanted = [cls.AlterableConfig(name=key, value=value) for key, value in configs.items()]
    resource = cls(resource_type=kind, resource_name=name, configs=wanted)
    return AlterConfigsRequest(resources=[resource], validate_only=False)


async def codes(tried: Tried, request: Any, version: int = 1) -> list[int]:
    return [one.error_code for one in (await tried.ask(request, version)).responses]


@case("IncrementalAlterConfigs", "AlterConfigs")
async def configured(tried: Tried) -> None:
    """Of topics and of all brokers: each change is made and announced once, together with one that is refused."""
    before = await tried.announced(znode_paths.CONFIG_CHANGES)
    value = str(1000 + tried.number)
    wanted = incremental(
        (2, "configured", {"retention.ms": (0, value), "segment.ms": (1, None)}),
        (2, "none", {"retention.ms": (0, value)}),
        (4, "", {"log.cleaner.threads": (0, str(2 + tried.number % 2))}),
        (2, "standing", {"no.such.config": (0, "1")}),
    )
    assert await codes(tried, wanted) == [0, UNKNOWN_TOPIC, 0, INVALID_CONFIG]
    await moved_on(tried, znode_paths.CONFIG_CHANGES, before, by=2)
    topic, defaults = znode_paths.config_topic("configured"), znode_paths.config_broker("<default>")
    assert await configs_at(tried, topic) == {"retention.ms": value}
    assert (await configs_at(tried, defaults))["log.cleaner.threads"] == str(2 + tried.number % 2)
    assert await codes(tried, replacing(2, "configured", {"segment.ms": value})) == [0]
    assert await configs_at(tried, topic) == {"segment.ms": value}
    await moved_on(tried, znode_paths.CONFIG_CHANGES, before, by=3)


@case("IncrementalAlterConfigs", "AlterConfigs", "DoCommand move_settings")
async def set_for_servers(tried: Tried) -> None:
    """The settings of servers, on the server's own node; and those that are in the old place."""
    own = str(tried.world.server_id)
    value = str(600_000 + tried.number)
    assert await codes(tried, incremental((4, own, {"failure.alert.interval.ms": (0, value)}))) == [0]
    assert await configs_at(tried, znode_paths.SETTINGS) == {"failure.alert.interval.ms": value}
    assert await codes(tried, replacing(4, own, {"self.healing.max.moves": "3"})) == [0]
    assert await configs_at(tried, znode_paths.SETTINGS) == {"self.healing.max.moves": "3"}

    store = ConfigStore(tried.zk)
    await store.alter("brokers", "<default>", lambda now: {**now, "failure.alert.interval.ms": value})
    answer = await tried.ask(order("move_settings"), 0)
    assert told(answer) == {"moved": {"failure.alert.interval.ms": value}, "dropped": {}}
    assert "failure.alert.interval.ms" not in await store.get("brokers", "<default>")
    found = await configs_at(tried, znode_paths.SETTINGS)
    assert found == {"self.healing.max.moves": "3", "failure.alert.interval.ms": value}
    assert await codes(tried, replacing(4, own, {})) == [0]
    assert await configs_at(tried, znode_paths.SETTINGS) == {}


# ------------------------------------------------------------------------------------------- users, clients, rights


@case("AlterClientQuotas")
async def limited(tried: Tried) -> None:
    user = f"quota-{tried.number}"
    before = await tried.announced(znode_paths.CONFIG_CHANGES)
    entry = AlterClientQuotasRequest.EntryData

    async def alter(*, remove: bool) -> list[int]:
        asked = entry(
            entity=[entry.EntityData(entity_type="user", entity_name=user)],
            ops=[entry.OpData(key="producer_byte_rate", value=1000.0, remove=remove)],
        )
        answer = await tried.ask(AlterClientQuotasRequest(entries=[asked], validate_only=False), 1)
        return [one.error_code for one in answer.entries]

    assert await alter(remove=False) == [0]
    assert (await QuotaStore(tried.zk).get(((USER, user),))).keys() == {"producer_byte_rate"}
    await moved_on(tried, znode_paths.CONFIG_CHANGES, before)
    assert await alter(remove=True) == [0]
    assert await tried.zk.exists(f"/config/users/{user}") is None
    await moved_on(tried, znode_paths.CONFIG_CHANGES, before, by=2)


@case("AlterUserScramCredentials")
async def identified(tried: Tried) -> None:
    user = f"scram-{tried.number}"
    before = await tried.announced(znode_paths.CONFIG_CHANGES)
    cls = AlterUserScramCredentialsRequest

    async def alter(deletions: Sequence[Any], upsertions: Sequence[Any]) -> dict[str, int]:
        answer = await tried.ask(cls(deletions=deletions, upsertions=upsertions), 0)
        return {one.user: one.error_code for one in answer.results}

    def upsertion(name: str, iterations: int) -> Any:
        return cls.ScramCredentialUpsertion(
            name=name, mechanism=1, iterations=iterations, salt=b"salt", salted_password=b"x" * 32
        )

    made = await alter([], [upsertion(user, 4096), upsertion("weak", 1)])
    assert made == {user: 0, "weak": UNACCEPTABLE_CREDENTIAL}
    assert (await QuotaStore(tried.zk).get(((USER, user),))).keys() == {"SCRAM-SHA-256"}
    assert await tried.zk.exists("/config/users/weak") is None
    await moved_on(tried, znode_paths.CONFIG_CHANGES, before)
    assert await alter([cls.ScramCredentialDeletion(name=user, mechanism=1)], []) == {user: 0}
    assert await tried.zk.exists(f"/config/users/{user}") is None
    await moved_on(tried, znode_paths.CONFIG_CHANGES, before, by=2)


@case("CreateAcls", "DeleteAcls")
async def allowed(tried: Tried) -> None:
    names = [f"acl-{tried.number}-{kind}" for kind in "ab"]
    before = await tried.announced(znode_paths.ACL_CHANGES)

    def fields(name: str) -> dict[str, Any]:
        return {"principal": "User:alice", "host": "*", "operation": 3, "permission_type": 3, "resource_name": name}

    creations = [
        CreateAclsRequest.AclCreation(**fields(name), resource_type=2, resource_pattern_type=3) for name in names
    ]
    answer = await tried.ask(CreateAclsRequest(creations=creations), 2)
    assert [one.error_code for one in answer.results] == [0, 0]
    for name in names:
        (acl,) = json.loads((await tried.zk.get(f"/kafka-acl/Topic/{name}"))[0])["acls"]
        assert (acl["principal"], acl["operation"]) == ("User:alice", "Read")
    await moved_on(tried, znode_paths.ACL_CHANGES, before, by=2)
    filters = [
        DeleteAclsRequest.DeleteAclsFilter(
            resource_type_filter=2,
            resource_name_filter=name,
            pattern_type_filter=3,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        for name in names
    ]
    answer = await tried.ask(DeleteAclsRequest(filters=filters), 2)
    assert [
        [(one.error_code, one.resource_name) for one in result.matching_acls] for result in answer.filter_results
    ] == [[(0, name)] for name in names]
    for name in names:
        assert await tried.zk.exists(f"/kafka-acl/Topic/{name}") is None
    await moved_on(tried, znode_paths.ACL_CHANGES, before, by=4)
