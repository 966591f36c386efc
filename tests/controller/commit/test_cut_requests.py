"""Every API that writes to ZooKeeper, over the wire, while the server's connection to ZooKeeper is cut at each write of
a request, before and after ZooKeeper has carried it out.

Each request is answered once, as without a cut: what is answered as done is durable, and done once.
"""

import json
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest

from kafka_reassign_rpc.api.api_definition import AclOperation
from kafka_reassign_rpc.api.registry import SERVER_APIS
from kafka_reassign_rpc.controller.duties import producer_ids
from kafka_reassign_rpc.controller.lifecycle.server_config import AuthorizerConfig
from kafka_reassign_rpc.core.healing import healing_settings
from kafka_reassign_rpc.core.quotas.client_quotas import USER
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.protocol.messages import (
    AllocateProducerIdsRequest,
    AlterClientQuotasRequest,
    AlterConfigsRequest,
    AlterPartitionRequest,
    AlterReassignmentThrottlesRequest,
    AlterUserScramCredentialsRequest,
    ApproveRepairsRequest,
    ControlledShutdownRequest,
    CreateAclsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteAclsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    HealBrokerRequest,
    HoldMovesRequest,
    IncrementalAlterConfigsRequest,
    InitProducerIdRequest,
    MoveServerSettingsRequest,
)
from kafka_reassign_rpc.zookeeper import znode_paths, zookeeper_session
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.quota_znodes import QuotaStore
from tests.controller.bare_controller import put_topic, queue_json, state_json, topic_json
from tests.controller.cluster import Cluster, cluster
from tests.waiting import eventually
from tests.zookeeper.cutting_proxy import Cut, CuttingProxy, When

MOST = 25
"""Writes of a case: each makes far fewer."""
LOST = 9
"""A broker that has replicas and is not registered."""
(
    UNKNOWN_TOPIC,
    TOPIC_EXISTS,
    INVALID_PARTITIONS,
    INVALID_REPLICATION_FACTOR,
    INVALID_CONFIG,
    NOT_NEEDED,
    NOTHING_TO_CANCEL,
    UNACCEPTABLE_CREDENTIAL,
) = (3, 36, 37, 38, 40, 84, 85, 93)


class Tried:
    """A cluster whose server has its connection cut in `cut()`, at write `place` of what is asked there. `number` is
    another one each time."""

    def __init__(self, world: Cluster, proxy: CuttingProxy, when: When) -> None:
        self.world = world
        self.zk = world.zk
        self._proxy = proxy
        self._when = when
        self.number = -1
        self.place = 0
        self.cuts = 0
        self.answered: set[str] = set()
        """The APIs that were asked under a cut."""
        self._ask = world.ask

    @contextmanager
    def cut(self) -> Iterator[None]:
        self._proxy.plan(Cut(self.place, self._when, fin=bool(self.number % 2)))
        self.world.ask = self._noted  # type: ignore[method-assign]
        yield
        self.world.ask = self._ask  # type: ignore[method-assign]
        self.cuts += self._proxy.made
        self._proxy.plan()

    async def _noted(self, request: Any, version: int) -> Any:
        self.answered.add(type(request).__name__.removesuffix("Request"))
        return await self._ask(request, version)

    async def ask(self, request: Any, version: int) -> Any:
        """The answer to a request under a cut."""
        with self.cut():
            return await self.world.ask(request, version)

    async def announced(self, root: str) -> int:
        """How many announcements were ever made under a znode."""
        stat = await self.zk.exists(root)
        return 0 if stat is None else stat.cversion


class Case(NamedTuple):
    """Requests of these APIs, with checks of answers and of what is durable."""

    apis: Collection[str]
    run: Callable[[Tried], Awaitable[None]]


CASES: list[Case] = []


def case(*apis: str) -> Callable[[Callable[[Tried], Awaitable[None]]], None]:
    return lambda run: CASES.append(Case(apis, run))


async def configs_at(tried: Tried, path: str) -> Mapping[str, str]:
    found: Mapping[str, str] = json.loads((await tried.zk.get(path))[0])["config"]
    return found


async def moved_on(tried: Tried, root: str, before: int, by: int = 1) -> None:
    """So many announcements were made since, and none twice."""
    assert await tried.announced(root) == before + by


# ----------------------------------------------------------------------------------------------------------- topics


@case("CreateTopics")
async def created(tried: Tried) -> None:
    """Each entry has the first error that Kafka finds, wherever the connection is cut, and only what is answered as
    created is there."""
    new = CreateTopicsRequest.CreatableTopic
    good, bad = {"retention.ms": "1000"}, {"no.such.config": "1"}

    def topic(name: str, replicas: int, configs: Mapping[str, str]) -> Any:
        wanted = [new.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()]
        return new(name=name, num_partitions=2, replication_factor=replicas, assignments=[], configs=wanted)

    names = [f"new-{tried.number}-{kind}" for kind in ("a", "b", "factor", "config")]
    entries = [
        topic(names[0], 2, good),
        topic("standing", 77, bad),
        topic(names[2], 77, bad),
        topic(names[1], 1, good),
        topic(names[3], 2, bad),
    ]
    request = CreateTopicsRequest(topics=entries, timeout_ms=10_000, validate_only=False)
    answer = await tried.ask(request, 7)
    assert {one.name: one.error_code for one in answer.topics} == {
        names[0]: 0,
        names[1]: 0,
        names[2]: INVALID_REPLICATION_FACTOR,
        names[3]: INVALID_CONFIG,
        "standing": TOPIC_EXISTS,
    }
    for one in answer.topics:
        stat = await tried.zk.exists(znode_paths.topic(one.name))
        assert (stat is not None) == (one.error_code in (0, TOPIC_EXISTS))
        if one.error_code == 0:
            found = await topic_json(tried.zk, one.name)
            assert one.topic_id == UUID(bytes=urlsafe_b64decode(found["topic_id"] + "=="))
            assert one.num_partitions == len(found["partitions"]) == 2
            assert {entry.name: entry.value for entry in one.configs}["retention.ms"] == "1000"
            assert await configs_at(tried, znode_paths.config_topic(one.name)) == good
            await recorded(tried, one.name, "topic.created")


async def recorded(tried: Tried, topic: str, *wanted: str) -> None:
    """These events of a topic, and no others, are recorded soon."""

    async def are_there() -> bool:
        found = [event["event"] for event in await tried.world.events() if event.get("topic") == topic]
        assert found == list(wanted)
        return True

    await eventually(are_there)


@case("CreatePartitions")
async def grown(tried: Tried) -> None:
    grow = CreatePartitionsRequest.CreatePartitionsTopic
    size = len((await topic_json(tried.zk, "grown"))["partitions"])
    entries = [
        grow(name=name, count=wanted, assignments=None)
        for name, wanted in (("grown", size + 2), ("none", 3), ("standing", 1))
    ]
    request = CreatePartitionsRequest(topics=entries, timeout_ms=10_000, validate_only=False)
    answer = await tried.ask(request, 2)
    assert {one.name: one.error_code for one in answer.results} == {
        "grown": 0,
        "none": UNKNOWN_TOPIC,
        "standing": INVALID_PARTITIONS,
    }
    assert len((await topic_json(tried.zk, "grown"))["partitions"]) == size + 2


@case("DeleteTopics")
async def deleted(tried: Tried) -> None:
    names = [f"old-{tried.number}-{kind}" for kind in "ab"]
    for name in names:
        await tried.world.create_topic(name, {0: [1, 2]})
    request = DeleteTopicsRequest(topic_names=[names[0], "none", names[1]], timeout_ms=10_000)
    answer = await tried.ask(request, 4)
    assert {one.name: one.error_code for one in answer.responses} == {
        names[0]: 0,
        names[1]: 0,
        "none": UNKNOWN_TOPIC,
    }

    async def are_gone() -> bool:
        return not any([await tried.zk.exists(znode_paths.topic(name)) for name in names])

    await eventually(are_gone)
    for name in names:
        await recorded(tried, name, "topic.created", "topic.deleted")


# ----------------------------------------------------------------------------------------------------------- moves


@case("AlterPartitionReassignments")
async def moved(tried: Tried) -> None:
    """Start, another target, a throttle, a cancel; in the queue, and out of it."""
    name = ("moved", 0)
    for target, options in (
        ((2, 3), {}),
        ((3, 1), {"throttle": 1000}),
        (None, {}),
        ((3, 2), {"queue": True, "reason": "queued"}),
        (None, {}),
    ):
        with tried.cut():
            answer = await tried.world.alter({name: target, ("none", 0): (1, 2)}, **options)
        assert {one: code for one, (code, _) in answer.items()} == {name: 0, ("none", 0): UNKNOWN_TOPIC}
        if target is None:
            await eventually(lambda: tried.world.has((*name, [1, 2])))
        elif not options.get("queue"):
            assert (await tried.world.assignment(*name))[:2] == list(target)
    with tried.cut():
        assert (await tried.world.alter({name: None}))[name][0] == NOTHING_TO_CANCEL


@case("AlterReassignmentThrottles")
async def rated(tried: Tried) -> None:
    """A move in flight gets another rate, and goes on."""
    name, rate = ("moved", 0), 1000 + tried.number
    await tried.world.alter({name: (2, 3)}, throttle=1)
    record = znode_paths.reassignment(*name)
    _, before = await tried.zk.get(record)
    answer = await tried.ask(AlterReassignmentThrottlesRequest(throttle=rate, topics=None), 0)
    assert (answer.error_code, answer.moving_moves, answer.waiting_moves, answer.repair_moves) == (0, 1, 0, 0)
    data, now = await tried.zk.get(record)
    assert (json.loads(data)["throttle"], now.czxid) == (rate, before.czxid)
    await tried.world.alter({name: None})
    await eventually(lambda: tried.world.has((*name, [1, 2])))


@case("HoldMoves")
async def held(tried: Tried) -> None:
    """A move that waits is held and released, each once and durably. Reassignments are disabled, so that it waits."""
    name = ("standing", 1)

    async def switched(event: str, change: Awaitable[Any]) -> None:
        async def times() -> int:
            return sum(one["event"] == event for one in await tried.world.events())

        async def is_seen() -> bool:
            return await times() > before

        before = await times()
        await change
        await eventually(is_seen)

    async def set_to(*, hold: bool) -> None:
        answer = await tried.ask(HoldMovesRequest(hold=hold, topics=[name[0]], reason="disks are replaced"), 0)
        assert (answer.error_code, answer.changed, answer.unchanged, answer.in_flight) == (0, 1, 0, 0)
        assert ("held" in (await queue_json(tried.zk) or {})[name]) is hold

    await switched("reassignments.disabled", tried.zk.create(znode_paths.REASSIGN_CANCEL, b""))
    assert (await tried.world.alter({name: (2, 3)}, queue=True))[name][0] == 0
    await set_to(hold=True)
    await set_to(hold=False)
    assert (await tried.world.alter({name: None}))[name][0] == 0
    await switched("reassignments.enabled", tried.zk.delete(znode_paths.REASSIGN_CANCEL))
    assert await tried.world.has((*name, [1, 2]))


@case("ElectLeaders")
async def elected(tried: Tried) -> None:
    name = ("elected", 0)
    leader = (await state_json(tried.zk, name))["leader"]
    other = 3 - leader
    await tried.world.alter({name: (other, leader)})
    await eventually(lambda: tried.world.has((*name, [other, leader])))
    await eventually(lambda: tried.world.in_sync(name, other))
    partitions = ElectLeadersRequest.TopicPartitions
    request = ElectLeadersRequest(
        election_type=0,
        topic_partitions=[partitions(topic="elected", partitions=[0, 1]), partitions(topic="none", partitions=[0])],
        timeout_ms=10_000,
    )
    answer = await tried.ask(request, 2)
    found = {
        (topic.topic, one.partition_id): one.error_code
        for topic in answer.replica_election_results
        for one in topic.partition_result
    }
    assert found == {name: 0, ("elected", 1): NOT_NEEDED, ("none", 0): UNKNOWN_TOPIC}
    assert await tried.world.led_by(name, other)


@case("HealBroker")
async def healed(tried: Tried) -> None:
    """The moves that the answer shows are those of the queue, each once."""
    name = f"lost-{tried.number}"
    await put_topic(tried.zk, name, {0: (1, LOST), 1: (LOST, 2)}, topic_id=uuid4())

    async def is_shown() -> bool:
        answer = await tried.world.ask(HealBrokerRequest(broker_id=LOST, dry_run=True), 0)
        return [(one.name, len(one.partitions)) for one in answer.topics] == [(name, 2)]

    await eventually(is_shown)
    answer = await tried.ask(HealBrokerRequest(broker_id=LOST, dry_run=False), 0)
    assert answer.error_code == 0, answer.error_message
    assert list(answer.left_out) == []
    [topic] = answer.topics
    assert {one.partition_index for one in topic.partitions} == {0, 1}
    for one in topic.partitions:
        await eventually(partial(tried.world.has, (name, one.partition_index, one.target)))


@case("ApproveRepairs")
async def approved(tried: Tried) -> None:
    """The moves of a repair that waits for approval are approved once, and start."""
    name = f"unapproved-{tried.number}"
    await put_topic(tried.zk, name, {0: (1, LOST), 1: (LOST, 2)}, topic_id=uuid4())
    await tried.world.settings({healing_settings.APPROVAL: "required", healing_settings.INTERVAL: "1"})

    async def waits() -> bool:
        found = await queue_json(tried.zk) or {}
        return sum("unapproved_since" in one for one in found.values()) == 2

    await eventually(waits)
    answer = await tried.ask(ApproveRepairsRequest(brokers=[LOST]), 0)
    assert (answer.error_code, answer.approved, answer.held, list(answer.brokers)) == (0, 2, 0, [LOST])
    await tried.world.settings({})
    for index, kept in ((0, 1), (1, 2)):
        await eventually(partial(_left, tried, (name, index), kept))


async def _left(tried: Tried, name: tuple[str, int], kept: int) -> bool:
    """Whether the partition has left the lost broker and has kept this one."""
    replicas = (await topic_json(tried.zk, name[0]))["partitions"][str(name[1])]
    return kept in replicas and LOST not in replicas and len(replicas) == 2


# ---------------------------------------------------------------------------------------------------- from brokers


async def broker_epoch(tried: Tried, broker: int) -> int:
    return (await tried.zk.get(znode_paths.broker(broker)))[1].czxid


@case("AlterPartition")
async def shrunk(tried: Tried) -> None:
    name = (f"shrunk-{tried.number}", 0)
    await tried.world.create_topic(name[0], {0: [1, 2]})
    state = await state_json(tried.zk, name)
    assert state["leader"] == 1
    epoch = (await tried.zk.get(znode_paths.partition_state(*name)))[1].version
    topic = AlterPartitionRequest.TopicData
    one = topic.PartitionData(
        partition_index=0,
        leader_epoch=state["leader_epoch"],
        new_isr=[1],
        leader_recovery_state=0,
        partition_epoch=epoch,
    )
    request = AlterPartitionRequest(
        broker_id=1,
        broker_epoch=await broker_epoch(tried, 1),
        topics=[topic(topic_name=name[0], partitions=[one])],
    )
    answer = await tried.ask(request, 1)
    [[found]] = [each.partitions for each in answer.topics]
    assert (answer.error_code, found.error_code, found.isr, found.partition_epoch) == (0, 0, [1], epoch + 1)


@case("ControlledShutdown")
async def shut_down(tried: Tried) -> None:
    name = (f"left-{tried.number}", 0)
    await tried.world.start_broker(4)
    await tried.world.fleets[4].ready()
    await eventually(lambda: tried.world.fleets[4].brokers)
    await tried.world.create_topic(name[0], {0: [4, 1]})
    await eventually(lambda: tried.world.led_by(name, 4))
    answer = await tried.ask(ControlledShutdownRequest(broker_id=4, broker_epoch=await broker_epoch(tried, 4)), 3)
    assert (answer.error_code, list(answer.remaining_partitions)) == (0, [])
    assert await tried.world.led_by(name, 1)
    assert not await tried.world.in_sync(name, 4)
    await tried.world.kill_broker(4)


@case("InitProducerId", "AllocateProducerIds")
async def given_out(tried: Tried) -> None:
    """No id is left out, none is given twice."""
    found = []
    for _ in range(2):
        init = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
        answer = await tried.ask(init, 1)
        assert answer.error_code == 0
        found.append(answer.producer_id)
        allocate = AllocateProducerIdsRequest(broker_id=1, broker_epoch=await broker_epoch(tried, 1))
        answer = await tried.ask(allocate, 0)
        assert (answer.error_code, answer.producer_id_len) == (0, 1)
        found.append(answer.producer_id_start)
    assert found == list(range(4 * tried.number, 4 * tried.number + 4))


# --------------------------------------------------------------------------------------------------------- configs


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
    """Of topics and of all brokers: each change is made and announced once, beside one that is refused."""
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


@case("IncrementalAlterConfigs", "AlterConfigs", "MoveServerSettings")
async def set_for_servers(tried: Tried) -> None:
    """The settings of servers, on the server's own node; and those that stand in the old place."""
    own = str(tried.world.server_id)
    value = str(600_000 + tried.number)
    assert await codes(tried, incremental((4, own, {"failure.alert.interval.ms": (0, value)}))) == [0]
    assert await configs_at(tried, znode_paths.SETTINGS) == {"failure.alert.interval.ms": value}
    assert await codes(tried, replacing(4, own, {"self.healing.max.moves": "3"})) == [0]
    assert await configs_at(tried, znode_paths.SETTINGS) == {"self.healing.max.moves": "3"}

    store = ConfigStore(tried.zk)
    await store.alter("brokers", "<default>", lambda now: {**now, "failure.alert.interval.ms": value})
    answer = await tried.ask(MoveServerSettingsRequest(), 0)
    assert [(one.name, one.value, one.moved) for one in answer.settings] == [("failure.alert.interval.ms", value, True)]
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


# ----------------------------------------------------------------------------------------------------------- tests

CHANGES = {
    AclOperation.CREATE,
    AclOperation.DELETE,
    AclOperation.ALTER,
    AclOperation.ALTER_CONFIGS,
    AclOperation.CLUSTER_ACTION,
    AclOperation.IDEMPOTENT_WRITE,
}
WRITE_NOTHING_HERE = {
    *("Fetch", "FindCoordinator", "DeleteRecords", "OffsetForLeaderEpoch", "AddPartitionsToTxn", "WriteTxnMarkers"),
    *("AlterReplicaLogDirs", "DeleteGroups", "OffsetDelete", "UpdateFeatures", "Envelope"),
}
"""APIs that change something at leaders, coordinators or in KRaft; what an envelope holds has a case of its own."""


def test_hm_3_and_sv_3_every_api_that_writes_has_a_case() -> None:
    changing = {api.name for api in SERVER_APIS.values() if any(acl.operation in CHANGES for acl in api.acl)}
    assert changing - WRITE_NOTHING_HERE == {name for one in CASES for name in one.apis}


@asynccontextmanager
async def tried_cluster(
    zookeeper: EmbeddedZooKeeper, connect: str, when: When, event_log: Path
) -> AsyncIterator[Tried]:
    async with (
        CuttingProxy(zookeeper.address) as proxy,
        cluster(
            connect,
            connect_of_server=f"{proxy.address}/{connect.partition('/')[2]}",
            brokers=(1, 2, 3),
            event_log=event_log,
            broker_settings={"auto.leader.rebalance.enable": False},
            authorizer=AuthorizerConfig(frozenset(["User:ANONYMOUS"])),
            acls=True,
        ) as world,
    ):
        for name in ("standing", "grown", "elected", "configured"):
            await world.create_topic(name, {0: [1, 2], 1: [1, 2]})
        await world.create_topic("moved", {0: [1, 2]}, held=True)
        yield Tried(world, proxy, when)


@pytest.mark.parametrize("when", When, ids=[when.value for when in When])
async def test_hm_3_and_sv_3_each_request_is_answered_once_and_truly_wherever_the_connection_is_cut(
    zookeeper: EmbeddedZooKeeper,
    zk_connect: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    when: When,
) -> None:
    monkeypatch.setattr(producer_ids, "BLOCK", 1)
    for name in ("MIN_BACKOFF", "MAX_BACKOFF"):
        monkeypatch.setattr(zookeeper_session, name, 0.001)
    async with tried_cluster(zookeeper, zk_connect, when, tmp_path) as tried:
        epoch = await tried.zk.get(znode_paths.CONTROLLER_EPOCH)
        for one in CASES:
            tried.answered.clear()
            tried.number = -1
            for tried.place in count():
                tried.number += 1
                tried.cuts = 0
                assert tried.place < MOST
                try:
                    await one.run(tried)
                except Exception as error:
                    error.add_note(f"{one.run.__name__}, cut {when.value} write {tried.place}")
                    raise
                if not tried.cuts:
                    break
            assert tried.place > 0, f"{one.run.__name__}: nothing was cut"
            assert tried.answered == set(one.apis)
        assert await tried.zk.get(znode_paths.CONTROLLER_EPOCH) == epoch
        assert "another server is the controller" not in caplog.text
        assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
