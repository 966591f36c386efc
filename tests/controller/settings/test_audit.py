"""The event log says who asked for each decision, on secured listeners too, and whichever server decided."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps, ReassignmentSettings
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.protocol.messages import CreatePartitionsRequest, ElectLeadersRequest
from kafka_reassign_rpc.security.login.sasl_login import SaslLogin
from kafka_reassign_rpc.security.sasl.sasl_config import SaslConfig
from kafka_reassign_rpc.server.listener import ListenerSecurity
from kafka_reassign_rpc.server.sasl_sources import SaslSources
from kafka_reassign_rpc.transport.rpc_client import RpcClient, log_in
from tests.controller.cluster import LISTENERS, Cluster, cluster
from tests.waiting import eventually

EXTERNAL = "EXTERNAL"
USERS = {"alice": "a-secret", "bob": "b-secret"}
PROPERTIES = {
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.external.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required"
    + "".join(f' user_{name}="{secret}"' for name, secret in USERS.items())
    + ";",
}
Asked = tuple[str, str | None, str | None, str | None, str | None]
"""(event, principal, listener, mechanism, address)."""


def security() -> dict[str, Any]:
    sasl = SaslSources({EXTERNAL: SaslConfig.of(PROPERTIES, EXTERNAL)})
    return {"sasl": sasl, "security": {EXTERNAL: ListenerSecurity(None, sasl.authenticator(EXTERNAL))}}


async def come_as(world: Cluster, user: str) -> None:
    """Later requests are those of this user."""
    host, port = world.addresses[EXTERNAL]
    client = await RpcClient.open(host, port, "test", 20.0)
    await log_in(
        client, SaslLogin("PLAIN", {"sasl_plain_username": user, "sasl_plain_password": USERS[user]}), "localhost"
    )
    await world.reconnect(client)


async def grow(world: Cluster, name: str, count: int) -> None:
    kind = CreatePartitionsRequest.CreatePartitionsTopic
    topics = [kind(name=name, count=count, assignments=None)]
    await world.ask(CreatePartitionsRequest(topics=topics, timeout_ms=10_000, validate_only=False), 2)


async def elect(world: Cluster, topic: str) -> int:
    kind = ElectLeadersRequest.TopicPartitions
    topics = [kind(topic=topic, partitions=[0])]
    answer = await world.ask(ElectLeadersRequest(election_type=0, topic_partitions=topics, timeout_ms=10_000), 1)
    return int(answer.replica_election_results[0].partition_result[0].error_code)


def asked(events: Iterable[dict[str, Any]]) -> list[Asked]:
    """Who asked for moves, topics and elections. (Throttles follow from moves: the controller sets them.)"""
    return [
        (one["event"], one.get("principal"), one.get("listener"), one.get("mechanism"), one.get("address"))
        for one in events
        if one["event"].startswith(("move.", "topic.", "leaders."))
    ]


async def asked_are(world: Cluster, expected: list[Asked]) -> bool:
    found = asked(await world.events())
    assert found == expected
    return True


def of(user: str, *events: str) -> list[Asked]:
    return [(event, f"User:{user}", EXTERNAL, "PLAIN", "127.0.0.1") for event in events]


async def test_sv_5_every_decision_names_its_principal_listener_mechanism_and_address_on_each_server(
    zk_connect: str, tmp_path: Path
) -> None:
    caps = ReassignmentSettings(caps=InFlightCaps(-1, 1, -1))
    async with cluster(zk_connect, settings=caps, event_log=tmp_path) as world:
        world.listeners = (*LISTENERS, Endpoint(EXTERNAL, "SASL_PLAINTEXT", "127.0.0.1", 0))
        world.security = security
        await world.stop_server()
        await world.start_server(1001)
        await come_as(world, "alice")
        await world.create_topic("t", {0: (1, 2), 1: (1, 2)}, held=True)
        await world.create_topic("u", {0: (1, 2)})
        await world.create_topic("v", {0: (5, 1)})
        await eventually(lambda: world.in_sync(("v", 0), 1))
        await world.kill_broker(5)
        await eventually(lambda: world.led_by(("v", 0), 1))
        await world.start_broker(5)
        await eventually(lambda: world.in_sync(("v", 0), 5))
        await grow(world, "u", 2)
        assert (await world.alter({("t", 0): (3, 4)}, throttle=1_000_000))["t", 0][0] == 0
        assert (await world.alter({("t", 0): (4, 5)}))["t", 0][0] == 0
        assert (await world.alter({("t", 0): (99,)}))["t", 0][0] != 0
        assert (await world.alter({("t", 1): (3, 4)}, queue=True))["t", 1][0] == 0
        assert await elect(world, "v") == 0
        await come_as(world, "bob")
        assert (await world.alter({("t", 1): None}))["t", 1][0] == 0
        await world.delete_topic("u")
        decided = [
            *of("alice", *["topic.created"] * 3, "topic.partitions_added"),
            *of("alice", "move.started", "move.retargeted", "move.refused", "move.waiting", "leaders.elected"),
            *of("bob", "move.withdrawn", "topic.deleted"),
        ]
        await eventually(lambda: asked_are(world, decided))  # an answer may be there before its event

        await world.stop_server()
        await world.start_server(1002)
        await come_as(world, "bob")
        assert (await world.alter({("t", 0): None}))["t", 0][0] == 0
        # What alice has begun at another server
        await eventually(lambda: asked_are(world, of("bob", "move.cancelled")))

        await world.stop_server()
        await world.start_server(1001)
        await come_as(world, "alice")
        assert asked(await world.events()) == decided, "the log of a server outlives its end"
