"""The same requests under the same ACLs, to a stock broker 3.9.1 with AclAuthorizer and to this server.

This server's ACLs are written by `AclStore`, so the stock broker reads what we write. Ours runs live. A stock broker
runs beside it where tests marked `more` do more, and must do what is recorded of it; elsewhere the recording speaks for
it.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    AlterConfigsRequest,
    AlterPartitionReassignmentsRequest,
    AlterUserScramCredentialsRequest,
    CreateAclsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteAclsRequest,
    DeleteTopicsRequest,
    DescribeAclsRequest,
    DescribeClientQuotasRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    DescribeLogDirsRequest,
    DescribeUserScramCredentialsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ListGroupsRequest,
    ListPartitionReassignmentsRequest,
    UpdateFeaturesRequest,
)
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest
from kafka.protocol.producer import InitProducerIdRequest

from kafka_reassign_rpc.controller.lifecycle.server_config import AuthorizerConfig, ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.acls.acl_authorizer import Entries
from kafka_reassign_rpc.core.acls.acl_binding import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.fleet import Fleet, FleetConfig
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.interop.wire import Wire
from tests.stock.cluster import StockCluster
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.live import Recordings, Transcript, plain, runs_live
from tests.waiting import eventually

RECORDED = Recordings(Path(__file__).with_name("recorded"))
NAME = "requests"
pytestmark = [pytest.mark.more, pytest.mark.timeout(600)]

ANONYMOUS, AUTHORIZER = "User:ANONYMOUS", "kafka.security.authorizer.AclAuthorizer"
Rights = Mapping[tuple[str, str], str]
"""(type of resource, its name; `*` at the end: a prefix) -> operations, `-` before those that are denied."""
GROUP_DENIED = 30

CLUSTER = ("Cluster", "kafka-cluster")
ALL: Rights = {CLUSTER: "ALL", ("Topic", "*"): "ALL", ("TransactionalId", "*"): "ALL"}
PROFILES: Mapping[str, Rights] = {
    "nothing": {},
    "a may be seen, b changed": {
        ("Topic", "a"): "DESCRIBE DESCRIBE_CONFIGS",
        ("Topic", "b"): "ALTER DELETE ALTER_CONFIGS CREATE",
        ("Topic", "new-*"): "CREATE",
        ("Group", "g"): "READ",
        ("TransactionalId", "x"): "WRITE",
    },
    "the cluster may be seen, one topic is denied": {
        CLUSTER: "DESCRIBE DESCRIBE_CONFIGS",
        ("Topic", "*"): "DESCRIBE",
        ("Topic", "b"): "-DESCRIBE",
    },
    "the cluster may be altered, configs not": {CLUSTER: "ALTER CREATE", ("Topic", "*"): "WRITE -ALTER"},
    "any topic may be written": {("Topic", "z*"): "WRITE", ("Topic", "za"): "-WRITE"},
}


class Side:
    """One of the two: how to reach it, and its ZooKeeper."""

    def __init__(self, name: str, zk: ZooKeeper, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.name = name
        self.address = address
        self.store = AclStore(zk)
        self.wire = Wire(host, int(port))
        self._before: set[ResourcePattern] = set()
        self._steps = 0

    async def grant(self, rights: Rights) -> None:
        """ANONYMOUS has these rights and no others, and the node knows. The node itself, whose principal it is, may
        CLUSTER_ACTION in any case."""
        self._steps += 1
        wanted: dict[ResourcePattern, set[AccessControlEntry]] = {}
        marker = f"marker-{self._steps}"
        with_marker = {**rights, ("Group", marker): "DESCRIBE", ("Group", f"prefix-{marker}*"): "DESCRIBE"}
        with_marker[CLUSTER] = f"{rights.get(CLUSTER, '')} CLUSTER_ACTION"
        for (kind, name), operations in with_marker.items():
            resource = ResourceType[re.sub("(?<=[a-z])(?=[A-Z])", "_", kind).upper()]
            is_prefix = len(name) > 1 and name.endswith("*")
            pattern = (
                ResourcePattern(resource, name[:-1], PatternType.PREFIXED)
                if is_prefix
                else ResourcePattern(resource, name, PatternType.LITERAL)
            )
            for one in operations.split():
                permission = AclPermissionType.DENY if one.startswith("-") else AclPermissionType.ALLOW
                entry = AccessControlEntry(ANONYMOUS, "*", AclOperation[one.removeprefix("-")], permission)
                wanted.setdefault(pattern, set()).add(entry)
        for pattern in sorted(self._before | wanted.keys(), key=lambda one: marker in one.name):
            entries = frozenset(wanted.get(pattern, ()))
            await self.store.change(pattern, partial(_replaced, entries))
        self._before = set(wanted)
        await eventually(lambda: self._knows(marker))

    async def _knows(self, marker: str) -> bool:
        """Announcements are followed in the order of each of the two feeds: the last of both was followed."""
        answer = await self.wire.ask(DescribeGroupsRequest(groups=[marker, f"prefix-{marker}-1"]), 4)
        return all(one["error_code"] != GROUP_DENIED for one in answer["groups"])


def _replaced(entries: Entries, _current: Entries) -> Entries:
    return entries


@asynccontextmanager
async def ours(connect: str, *, brokers: tuple[int, ...] = (1,)) -> AsyncIterator[Side]:
    """This server, with simulated brokers, which have no authorizer."""
    config = ServerConfig(
        zookeeper_connect=connect,
        listeners=(Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0),),
        authorizer=AuthorizerConfig(frozenset(["User:root"])),
    )
    async with AsyncExitStack() as stack:
        zk = await stack.enter_async_context(ZooKeeper(connect))
        server = await stack.enter_async_context(ControllerProcess(config))
        await server.ready()
        side = Side("ours", zk, server.bootstrap)
        stack.callback(side.wire.drop)
        await side.grant(ALL)
        if brokers:
            config_of_brokers = FleetConfig(zookeeper_connect=connect, broker_ids=brokers)
            fleet = await stack.enter_async_context(Fleet(config_of_brokers))
            await fleet.ready()
        yield side


@asynccontextmanager
async def stock(connect: str, directory: Path) -> AsyncIterator[Side]:
    overrides = {"authorizer.class.name": AUTHORIZER, "super.users": "User:root"}
    broker = StockCluster(connect, directory, (1,), overrides=overrides)
    async with AsyncExitStack() as stack:
        zk = await stack.enter_async_context(ZooKeeper(connect))
        action = AccessControlEntry(ANONYMOUS, "*", AclOperation.ALL, AclPermissionType.ALLOW)
        for kind, name in ALL:
            resource = ResourceType[re.sub("(?<=[a-z])(?=[A-Z])", "_", kind).upper()]
            pattern = ResourcePattern(resource, name, PatternType.LITERAL)
            await AclStore(zk).change(pattern, lambda _: frozenset([action]))
        stack.push_async_callback(broker.kill)
        await broker.start()
        side = Side("stock", zk, broker.bootstrap)
        stack.callback(side.wire.drop)
        side._before = {pattern async for pattern, _ in side.store.read_all()}
        await side.grant(ALL)
        yield side


ANY_ACL = (1, None, 1, None, None, 1, 1)


def requests(profile: str) -> Iterable[tuple[Any, int]]:
    """Requests and the versions in which they are sent. None changes what a later one of the same profile shows."""
    named = [(None, name) for name in ("a", "b", "c")]
    yield MetadataRequest(topics=[(name,) for name in "abc"], allow_auto_topic_creation=False), 4
    yield MetadataRequest(topics=named, allow_auto_topic_creation=False), 12
    yield MetadataRequest(topics=None, allow_auto_topic_creation=False), 12
    operations = {"include_cluster_authorized_operations": True, "include_topic_authorized_operations": True}
    yield MetadataRequest(topics=[("a",)], allow_auto_topic_creation=False, **operations), 9
    yield DescribeClusterRequest(include_cluster_authorized_operations=True), 0
    yield FindCoordinatorRequest(key="g", key_type=0), 3
    yield FindCoordinatorRequest(key="x", key_type=1), 3
    yield FindCoordinatorRequest(key_type=0, coordinator_keys=["h"]), 4
    yield DescribeGroupsRequest(groups=["h"]), 4
    yield ListGroupsRequest(), 2
    new: list[Any] = [(name, 1, 1, [], []) for name in ("new-1", "b", "d", "d")]
    yield CreateTopicsRequest(topics=new, timeout_ms=5000, validate_only=True), 5
    yield CreatePartitionsRequest(topics=[(name, 2, None) for name in "abc"], timeout_ms=5000, validate_only=True), 1
    yield DeleteTopicsRequest(topics=[("a", None), ("c", None)], timeout_ms=5000), 6
    yield DescribeConfigsRequest(resources=[(2, name, ["retention.ms"]) for name in "abc"]), 2
    yield DescribeConfigsRequest(resources=[(4, "", ["retention.ms"])]), 2
    change = [("retention.ms", 0, "5")]
    altered = [(2, "a", change), (2, "c", change), (4, "", [("log.retention.ms", 0, "5")])]
    yield IncrementalAlterConfigsRequest(resources=altered, validate_only=True), 1
    legacy = [(2, "a", [("retention.ms", "5")]), (4, "", [("log.retention.ms", "5")])]
    yield AlterConfigsRequest(resources=legacy, validate_only=True), 1
    yield AlterPartitionReassignmentsRequest(timeout_ms=5000, topics=[("c", [(0, [1]), (1, None)])]), 0
    yield ListPartitionReassignmentsRequest(timeout_ms=5000, topics=None), 0
    yield ElectLeadersRequest(election_type=0, topic_partitions=[("c", [0])], timeout_ms=5000), 2
    yield InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=5000), 1
    yield InitProducerIdRequest(transactional_id="y", transaction_timeout_ms=5000), 1
    yield DescribeClientQuotasRequest(components=[("user", 0, "u")], strict=False), 0
    yield (
        AlterClientQuotasRequest(entries=[([("user", "u")], [("producer_byte_rate", 5.0, False)])], validate_only=True),
        0,
    )
    yield DescribeUserScramCredentialsRequest(users=[("u",)]), 0
    yield AlterUserScramCredentialsRequest(deletions=[("u", 1)], upsertions=[]), 0
    yield DescribeAclsRequest(*ANY_ACL[:0], **_filter(principal="User:nobody")), 2
    yield DeleteAclsRequest(filters=[(2, "nothing", 3, "User:nobody", None, 1, 1)]), 2
    wrong = [(4, "other"), (2, ""), (2, "a/b")]
    creations = [(kind, name, 3, "User:nobody", "*", 3, 3) for kind, name in wrong]
    yield CreateAclsRequest(creations=creations), 2
    if profile == "nothing":
        yield DescribeLogDirsRequest(topics=None), 3
        yield UpdateFeaturesRequest(timeout_ms=5000, feature_updates=[]), 0


def _filter(principal: str) -> dict[str, Any]:
    return {
        **{"resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1},
        **{"principal_filter": principal, "host_filter": None, "operation": 1, "permission_type": 1},
    }


SILENT = frozenset(
    (
        *("brokers", "cluster_id", "controller_id", "throttle_time_ms", "producer_id", "offline_replicas", "node_id"),
        *("host", "port", "leader_epoch", "config_source", "synonyms", "config_type", "read_only", "is_sensitive"),
        *("documentation", "is_default", "value"),
    )
)
"""What differs between any two clusters, or is no matter of authorization."""
CONSUMER_OFFSETS = "__consumer_offsets"
"""A stock broker creates it when it is asked for a coordinator."""
LOADING = 14
REFUSED = re.compile(r"Request .* is not authorized\..*")


def shown(value: Any, name: str = "") -> Any:
    """What an answer says of rights: without what differs anyway, in one order, each once; no text is an empty text."""
    match value:
        case dict():
            return {key: shown(one, key) for key, one in value.items() if key not in SILENT}
        case list():
            kept = [one for one in value if not isinstance(one, dict) or one.get("name") != CONSUMER_OFFSETS]
            return sorted({repr(one): one for one in map(shown, kept)}.values(), key=repr)
        case str() if name == "topic_id":
            return "none" if set(value) <= set("0-A") else "an id"
        case str() if name == "error_message":
            return REFUSED.sub("Request … is not authorized.", value) or None
    return value


async def transcript(side: Side) -> Transcript:
    """Creates topics a, b and za, and asks everything under each profile."""
    topics: list[Any] = [(name, 1, 1, [], []) for name in ("a", "b", "za")]
    created = await side.wire.ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 5)
    assert [one["error_code"] for one in created["topics"]] == [0, 0, 0], created
    await eventually(lambda: _are_led(side))
    found: Transcript = []
    for profile, rights in PROFILES.items():
        await side.grant(rights)
        for number, (request, version) in enumerate(requests(profile)):
            answer = await side.wire.ask(request, version)
            while answer.get("error_code") == LOADING:  # a broker's first producer id
                await asyncio.sleep(0.05)
                answer = await side.wire.ask(request, version)
            name = type(request).__name__.removesuffix("Request")
            found.append((f"{profile}: {number} {name} v{version}", shown(answer)))
    return found


async def _are_led(side: Side) -> bool:
    answer = await side.wire.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False), 4)
    return all(one["leader_id"] == 1 for topic in answer["topics"] for one in topic["partitions"])


async def test_sv_5_each_request_is_answered_as_by_a_stock_broker_with_the_same_acls(
    tmp_path: Path, zookeeper: EmbeddedZooKeeper
) -> None:
    if runs_live():
        require(BROKER_VERSION)
    async with ZooKeeper(zookeeper.address) as outside:
        for chroot in ("/acls-ours", "/acls-stock"):
            await outside.ensure_path(chroot)
    async with ours(f"{zookeeper.address}/acls-ours") as here:
        mine = plain(await transcript(here))
    if runs_live():
        async with stock(f"{zookeeper.address}/acls-stock", tmp_path) as there:
            RECORDED.check(NAME, await transcript(there))
    theirs = RECORDED.get(NAME)
    assert [label for label, _ in mine] == [label for label, _ in theirs]
    differences = [
        f"{label}:\n   ours  {answer}\n   stock {wanted}"
        for (label, answer), (_, wanted) in zip(mine, theirs, strict=True)
        if answer != wanted
    ]
    assert not differences, "\n".join(differences)
