"""Users by SCRAM and users by certificate beside each other under the ACLs that the stock tool writes, at two of our
servers in front of stock brokers: what each may do, and how events name who was refused, also after a failover.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.client import KafkaError, MoveTerms, ReassignmentClient, client_configs
from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed, InvalidRequest, NoReassignmentInProgress
from kafka_reassign_rpc.core.state.broker import Endpoint
from tests.certificates import Authority
from tests.processes import Process
from tests.stock.jars import BROKER_VERSION
from tests.stock.tools import Tools
from tests.waiting import eventually

from .mixed_cluster import controller
from .secured_cluster import (
    BROKERS,
    Secured,
    common_properties,
    create_topic,
    only_super_users_are_safe,
    secured_cluster,
)
from .zookeeper_users import SECRET

pytestmark = [
    pytest.mark.stock,
    pytest.mark.release,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]

LISTENERS = "INTERNAL://127.0.0.1:0,CLIENT://127.0.0.1:0"
CLUSTER = "--cluster"
ACLS = (
    f"--add --allow-principal User:alice --operation Describe --operation Alter {CLUSTER}",
    f"--add --allow-principal User:bob --operation Describe {CLUSTER}",
    f"--add --allow-principal User:dora --operation Alter --operation AlterConfigs {CLUSTER}",
    f"--add --allow-principal User:mallory --operation All {CLUSTER}",
    f"--add --deny-principal User:mallory --deny-host 127.0.0.1 --operation Alter {CLUSTER}",
    "--add --allow-principal User:* --operation Describe --topic t",
)
NOTHING = ("t", 1)
"""A partition that does not move: whoever may cancel hears that."""

DENIED = ClusterAuthorizationFailed.code
Call = Callable[[ReassignmentClient], Any]


def only(results: Mapping[Any, KafkaError | None]) -> None:
    for error in results.values():
        if error is not None:
            raise error


def lease(client: ReassignmentClient) -> None:
    """A move with a throttle of its own, which changes configs."""
    only(client.alter_partition_reassignments({("t", 0): MoveTerms((2,), throttle=10_000_000)}))


CALLS: Mapping[str, Call] = {
    "ListPartitionReassignments": lambda client: client.list_partition_reassignments(),
    "AlterPartitionReassignments": lambda client: only(client.cancel_partition_reassignments([NOTHING])),
    "DescribeReassignments": lambda client: client.describe_reassignments(),
    "AskDocument": lambda client: client.event_page(),
    "DoCommand": lambda client: client.heal_broker(1, dry_run=True),
}
HAS_NOTHING_TO_DO = {"AlterPartitionReassignments": NoReassignmentInProgress.code, "DoCommand": InvalidRequest.code}
"""What these calls say to whoever may make them."""
SEEING = ("ListPartitionReassignments", "DescribeReassignments", "AskDocument")
MAY: Mapping[str, list[str]] = {
    "alice": list(CALLS),
    "bob": [name for name in CALLS if name in SEEING],
    "carol": [],
    "dora": list(CALLS),
    "mallory": [name for name in CALLS if name in SEEING],
    "zoe": [],
}
"""By ACLS: to see needs Describe, to change Alter. Alter implies Describe; what denies goes before all that allows."""
BY_SCRAM = ("alice", "carol", "mallory")
BY_CERTIFICATE = ("bob", "dora", "zoe")


def broker_properties(directory: Path, ca: Authority) -> dict[str, str]:
    return {
        **common_properties(directory, ca),
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+),OU=People$/$1/L,DEFAULT",
        "listeners": "INTERNAL://127.0.0.1:0,CLIENT://127.0.0.1:0",
        "listener.security.protocol.map": "INTERNAL:SSL,CLIENT:SASL_SSL",
        "inter.broker.listener.name": "INTERNAL",
        "super.users": "User:CN=kafka;User:admin",
    }


class Guarded:
    """The cluster and the server that controls it now."""

    def __init__(self, cluster: Secured) -> None:
        self.cluster = cluster
        self.at: Mapping[str, str] = {}

    async def controlled_by(self, server: Process) -> None:
        """That server is the controller; `at` has its addresses by listener."""

        async def address() -> Sequence[Endpoint] | None:
            owner = await controller_election.owner(self.cluster.zk)
            ours = owner is not None and any(f":{one.port}" in server.ready_line for one in owner.endpoints)
            return owner.endpoints if owner is not None and ours else None

        endpoints = await eventually(address)
        self.at = {one.listener: f"{one.host}:{one.port}" for one in endpoints}

    def client(self, user: str) -> ReassignmentClient:
        if user in BY_CERTIFICATE:
            properties = self.cluster.certificate(f"{user.upper()},OU=People")
            return ReassignmentClient(**client_configs(self.at["INTERNAL"], properties))
        properties = self.cluster.login("SCRAM-SHA-512", user=user)
        return ReassignmentClient(**client_configs(self.at["CLIENT"], properties))

    async def call(self, user: str, call: Call) -> Any:
        """The result, or the Kafka code of the error."""

        def ask() -> Any:
            with self.client(user) as client:
                return call(client)

        try:
            return await asyncio.to_thread(ask)
        except KafkaError as error:
            return error.code

    async def what_each_may(self) -> dict[str, list[str]]:
        """The calls that each user may make; all others were answered with CLUSTER_AUTHORIZATION_FAILED."""
        found: dict[str, list[str]] = {}
        for user in MAY:
            results = {name: await self.call(user, call) for name, call in CALLS.items()}
            found[user] = [name for name, result in results.items() if result != DENIED]
            for name in found[user]:
                refused = results[name] if isinstance(results[name], int) else 0
                assert refused == HAS_NOTHING_TO_DO.get(name, 0), (user, name)
        return found

    def events(self, server: str, kind: str) -> list[dict[str, Any]]:
        """Everything that a server has recorded of a kind."""
        files = sorted((self.cluster.directory / f"events-{server}").rglob("*.jsonl"))
        found = [json.loads(line) for path in files for line in path.read_text().splitlines()]
        return [one for one in found if one["event"] == kind]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def secured(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Secured]:
    users = ("admin", *BY_SCRAM)
    async with secured_cluster(tmp_path_factory.mktemp("principals"), broker_properties, users=users) as made:
        yield made


async def write_acls(secured: Secured) -> None:
    """By the stock tool at a stock broker, whose AclAuthorizer writes them."""
    properties = secured.file("admin", secured.login("SCRAM-SHA-512"))
    tools = Tools(BROKER_VERSION)
    await asyncio.to_thread(tools.start)
    try:
        for line in ACLS:
            at = ("--bootstrap-server", secured.listener("CLIENT", 1), "--command-config", properties)
            done = await tools.run("acls", *at, *line.split())
            assert done.code == 0, done
    finally:
        tools.stop()


async def is_controlled_by_a_broker(secured: Secured) -> bool:
    return await controller(secured.zk) in BROKERS


def refusals(guarded: Guarded, server: str) -> dict[str, tuple[set[str], set[tuple[str, ...]]]]:
    """By user: the APIs that were refused, and how events name who asked."""
    found: dict[str, tuple[set[str], set[tuple[str, ...]]]] = {}
    for event in guarded.events(server, "access.denied"):
        apis, names = found.setdefault(event["principal"].removeprefix("User:"), (set(), set()))
        apis.add(event["reason"].split()[0])
        names.add((event["listener"], event.get("mechanism", ""), event["address"]))
    return found


def named(user: str) -> tuple[str, str, str]:
    return ("CLIENT", "SCRAM-SHA-512", "127.0.0.1") if user in BY_SCRAM else ("INTERNAL", "", "127.0.0.1")


async def test_hm_6_the_check_knows_brokers_by_their_certificates_and_the_rules(secured: Secured) -> None:
    await only_super_users_are_safe(secured, "User:CN=kafka")
    (code, said), (none, nobody) = await asyncio.gather(
        secured.check(ssl_principal_mapping_rules="RULE:^CN=(.*)$/$1/U"),
        secured.check(ssl_principal_mapping_rules="RULE:^CN=nobody$/x/"),
    )
    assert (code, "brokers 1, 2 would come as User:KAFKA, who lacks CLUSTER_ACTION" in said) == (1, True), said
    assert (none, "brokers 1, 2 could not log in to the server" in nobody) == (1, True), nobody


async def test_sv_5_acls_hold_for_users_by_scram_and_by_certificate_and_events_name_them(secured: Secured) -> None:
    await write_acls(secured)
    guarded = Guarded(secured)
    first = await secured.serve("first", listeners=LISTENERS)
    assert await controller(secured.zk) == 1000
    await guarded.controlled_by(first)
    await asyncio.to_thread(create_topic, client_configs(guarded.at["CLIENT"], secured.login("PLAIN")), "t")

    assert await guarded.what_each_may() == MAY
    assert await guarded.call("alice", lease) == DENIED
    assert await guarded.call("dora", lease) is None
    await eventually(lambda: guarded.events("first", "move.completed"))
    (started,) = guarded.events("first", "move.started")
    assert (started["principal"], started["listener"]) == ("User:dora", "INTERNAL")
    assert "mechanism" not in started

    await first.kill()
    await eventually(lambda: is_controlled_by_a_broker(secured))
    second = await secured.serve("second", "--broker-id", "1001", listeners=LISTENERS)
    await guarded.controlled_by(second)
    assert await guarded.what_each_may() == MAY
    back = {("t", 0): MoveTerms((1,), reason="home")}
    assert await guarded.call("alice", lambda c: only(c.alter_partition_reassignments(back))) is None
    await eventually(lambda: guarded.events("second", "move.completed"))
    (started,) = guarded.events("second", "move.started")
    assert {name: started.get(name) for name in ("principal", "listener", "mechanism", "address", "reason")} == {
        "principal": "User:alice",
        "listener": "CLIENT",
        "mechanism": "SCRAM-SHA-512",
        "address": "127.0.0.1",
        "reason": "home",
    }
    for server in ("first", "second"):
        found = refusals(guarded, server)
        for user, may in MAY.items():
            missing = len(CALLS) - len(may) + (user == "alice" and server == "first")
            apis, names = found.pop(user, (set(), set()))
            assert (len(apis), names) == (missing, {named(user)} if missing else set()), (server, user, apis)
        assert not found
    assert SECRET not in second.log + first.log
    assert await second.stop() == 0
