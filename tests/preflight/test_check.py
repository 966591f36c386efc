"""`kafka-reassign-rpc check` of a cluster with brokers: what is safe, what is not, and that nothing changes."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kafka_reassign_rpc.api.config_changes import replacing
from kafka_reassign_rpc.controller.lifecycle.server_config import AuthorizerConfig
from kafka_reassign_rpc.core.acls.acl_binding import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.preflight.findings import Finding, Level
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.znode_contents import encode_broker
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import batch
from tests.faults.cluster import Cluster
from tests.silent_server import silent_server

from .checking import checked, standing, subjects, text_of
from .command import every_znode, run

pytestmark = [pytest.mark.asyncio(loop_scope="module")]


async def test_sv_4_a_cluster_that_can_be_controlled_is_safe_and_not_a_znode_of_it_changes(simulated: Cluster) -> None:
    before = await every_znode(simulated.zk)

    ended = await run("check", "--zookeeper-connect", simulated.connect, "--broker-id", "1001")

    assert (ended.code, ended.err) == (0, "")
    *lines, verdict = ended.out.splitlines()
    assert verdict == "It is safe for a kafka-reassign-rpc server to control this cluster."
    assert {line.split(" ", 1)[0] for line in lines} == {"OK"}
    assert any("server 1000 at" in line for line in lines), "another server of ours"
    assert any("broker 1, broker 2, broker 3 can be reached" in line for line in lines)
    after = await every_znode(simulated.zk)
    assert after == before


async def test_hm_1_topics_at_whose_configs_brokers_end_are_named(simulated: Cluster) -> None:
    store = ConfigStore(simulated.zk)
    bad = {
        "t.remote": {"remote.storage.enable": "true"},
        "t.kraft": {"remote.log.copy.disable": "true"},
        "t.small": {"segment.bytes": "1"},
        "t.throttled": {"leader.replication.throttled.replicas": "0:1, 1:2"},
        "t.fine": {"leader.replication.throttled.replicas": "0:1,1:2,", "of.another.version": "1"},
    }

    async def found() -> list[Finding]:
        return [one for one in await checked(simulated.connect) if one.subject == "topic-configs"]

    try:
        assert [one.level for one in await found()] == [Level.OK]
        for name, configs in bad.items():
            await store.alter("topics", name, replacing(configs))
        warned = await found()
        text = " ".join(one.text for one in warned)
        assert {one.level for one in warned} == {Level.WARNING}
        assert "2 topics have configs that brokers of 3.9 cannot live with: no broker starts while they stand" in text
        assert all(name in text for name in bad if name != "t.fine")
        assert "t.fine" not in text
        assert all("before a broker restarts" in one.advice for one in warned)
        assert not [one for one in warned if one.commands], "what is taken away leaves a topic with the brokers' own"
    finally:
        for name in bad:
            await simulated.zk.delete(znode_paths.config(f"topics/{name}"))


async def test_hm_1_cluster_wide_configs_that_brokers_cannot_apply_or_start_with_are_named(simulated: Cluster) -> None:
    store = ConfigStore(simulated.zk)

    async def found_with(configs: dict[str, str]) -> tuple[Level, str]:
        await store.alter("brokers", "<default>", lambda _now: configs)
        found = [one for one in await checked(simulated.connect) if one.subject == "default-configs"]
        return max(one.level for one in found), " ".join(one.text for one in found)

    try:
        assert await found_with({"log.roll.ms": "5"}) == (
            Level.OK,
            "every broker can live with the 1 cluster-wide config",
        )
        level, text = await found_with({"log.local.retention.ms": "999999999999", "log.roll.ms": "5"})
        assert level is Level.WARNING
        assert "brokers 1, 2, 3 cannot apply the cluster-wide configs" in text
        assert "also of throttles: log.local.retention.ms; a broker that starts does not judge it" in text
        level, text = await found_with({"broker.id": "7", "log.roll.ms": "soon"})
        assert level is Level.WARNING
        assert "brokers leave out of the cluster-wide configs what they cannot use: broker.id, log.roll.ms" in text
        lags = {"log.cleaner.min.compaction.lag.ms": "10", "log.cleaner.max.compaction.lag.ms": "5"}
        level, text = await found_with(lags)
        assert level is Level.WARNING
        assert "it would not start again" in text
    finally:
        await store.alter("brokers", "<default>", lambda _now: {})


SETTINGS = b'{"version":1,"config":{%s}}'


@pytest.mark.parametrize(
    ("brokers", "level", "text"),
    [
        ("", Level.OK, "no broker is cordoned"),
        ("2,77", Level.OK, "cordoned, so that they get no new replica: 2, 77 (not registered: 77)"),
        ("1,2,3,4,5,6,7,8,9", Level.WARNING, "all registered brokers are cordoned: no topic can be created"),
        ("two", Level.WARNING, "cordoned.brokers='two' cordons no broker"),
    ],
)
async def test_dh_2_the_check_names_the_cordoned_brokers(
    simulated: Cluster, brokers: str, level: Level, text: str
) -> None:
    znode = SETTINGS % b'"cordoned.brokers":"%s"' % brokers.encode()
    async with standing(simulated.zk, znode_paths.SETTINGS, znode):
        [found] = [one for one in await checked(simulated.connect) if one.subject == "cordon"]
    assert found.level is level
    assert found.text.startswith(text)


@pytest.mark.parametrize(
    ("znode", "defaults", "level", "text", "advice"),
    [
        (None, {}, Level.OK, "no setting is set for all servers", ""),
        (
            SETTINGS % b'"self.healing.paused":"true","failure.interval.ms":"30000"',
            {"log.roll.ms": "5"},
            Level.OK,
            "the servers share failure.interval.ms='30000', self.healing.paused='true'",
            "",
        ),
        (
            SETTINGS % b'"failure.interval.ms":"30"',
            {},
            Level.WARNING,
            "failure.interval.ms=30 is 0.03 s: a broker that restarts is away for longer",
            " --set failure.interval.ms=30min`, with a server as the controller",
        ),
        (
            b"garbage",
            {"failure.interval.ms": "5"},
            Level.UNSAFE,
            "/admin/reassignment_settings: ",
            "repair /admin/reassignment_settings, or delete it to do without",
        ),
        (
            SETTINGS % b'"failure.intervall.ms":"5"',
            {},
            Level.WARNING,
            "/admin/reassignment_settings has settings that this version does not know: failure.intervall.ms",
            "if no later version has written them, correct their names there",
        ),
        (
            SETTINGS % b'"failure.interval.ms":"5","self.healing.paused":"true"',
            {"failure.interval.ms": "6", "self.healing.paused": "true", "self.healing.max.moves": "7"},
            Level.WARNING,
            "failure.interval.ms=5 of /admin/reassignment_settings holds; 6 of the brokers' default configs has no"
            " effect; self.healing.max.moves=7 holds, but is set in the brokers' default configs, which a later version"
            " does not read; self.healing.paused=true of the brokers' default configs is superfluous",
            "--delete-config failure.interval.ms,self.healing.max.moves,self.healing.paused`",
        ),
    ],
    ids=["none", "shared", "30 ms", "unreadable", "unknown", "old place"],
)
async def test_hm_1_the_check_tells_what_the_servers_share_and_what_is_wrong_with_it(
    simulated: Cluster, znode: bytes | None, defaults: dict[str, str], level: Level, text: str, advice: str
) -> None:
    store = ConfigStore(simulated.zk)
    await store.alter("brokers", "<default>", replacing(defaults))
    try:
        async with AsyncExitStack() as stack:
            if znode is not None:
                await stack.enter_async_context(standing(simulated.zk, znode_paths.SETTINGS, znode))
            [found] = [one for one in await checked(simulated.connect) if one.subject == "settings"]
        assert found.level is level
        assert text in found.text
        assert advice in found.advice
        assert "HOST:PORT" not in found.advice, "the check has reached the brokers"
    finally:
        await store.alter("brokers", "<default>", replacing({}))


async def test_sv_4_the_json_of_the_check_has_the_verdict_and_every_finding(simulated: Cluster) -> None:
    ended = await run("check", "--zookeeper-connect", simulated.connect, "--json")  # 1000 is the controller's id

    assert (ended.code, ended.err) == (1, "")
    assert ended.document["safe"] is False
    assert [one for one in ended.document["findings"] if one["level"] == "UNSAFE"] == [
        {
            "level": "UNSAFE",
            "subject": "broker-id",
            "text": "1000 is the id of the present controller, another server",
            "advice": "choose another --broker-id",
            "commands": [],
        }
    ]


async def test_hm_1_a_setting_of_this_server_that_keeps_all_moves_away_is_named(simulated: Cluster) -> None:
    cap = ("--partition-reassignments-max-per-cluster", "0")
    ended = await run("check", "--zookeeper-connect", simulated.connect, "--broker-id", "1001", *cap)
    [found] = [line for line in ended.lines if line.startswith("WARNING  settings:")]
    assert "partition.reassignments.max.per.cluster=0: no move that copies anything starts" in found


async def test_sv_5_the_check_reads_acls_where_the_server_would(simulated: Cluster, apart: ZooKeeper) -> None:
    cluster = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL)
    entry = AccessControlEntry("User:ANONYMOUS", "*", AclOperation.CLUSTER_ACTION, AclPermissionType.ALLOW)
    store = AclStore(apart)
    await store.create_paths()
    await store.change(cluster, lambda _: frozenset([entry]))

    here = await checked(simulated.connect, authorizer=AuthorizerConfig())
    there = await checked(simulated.connect, authorizer=AuthorizerConfig(zookeeper_url=apart.connect))
    nowhere = await checked(simulated.connect, authorizer=AuthorizerConfig(zookeeper_url="127.0.0.1:1"), seconds=1)

    assert "brokers 1, 2, 3 would come as User:ANONYMOUS, who lacks" in text_of(here, "authorizer")
    assert "brokers 1, 2, 3 may do as User:ANONYMOUS what brokers do" in text_of(there, "authorizer")
    assert "the ACLs in ZooKeeper cannot be read in time" in text_of(nowhere, "authorizer")


@pytest.mark.parametrize(
    ("super_users", "saying"),
    [
        ("User:admin,User:kafka", "would come as User:kafka, who lacks CLUSTER_ACTION"),
        ("", "super.users is empty"),
        ("User:admin;User:kafka", ""),  # they speak only PLAINTEXT, so it is not known that they are fine
    ],
)
async def test_hm_6_a_brokers_own_file_says_who_brokers_are(
    simulated: Cluster, tmp_path: Path, super_users: str, saying: str
) -> None:
    file, jaas = tmp_path / "server.properties", "org.apache.kafka.common.security.plain.PlainLoginModule required"
    login = f'{jaas} username="kafka" password="it is secret" user_kafka="it is secret";'
    file.write_text(
        "listeners=INTERNAL://:9092\nlistener.security.protocol.map=INTERNAL:SASL_PLAINTEXT\n"
        "inter.broker.listener.name=INTERNAL\nsasl.enabled.mechanisms=PLAIN\n"
        "sasl.mechanism.inter.broker.protocol=PLAIN\n"
        f"listener.name.internal.plain.sasl.jaas.config={login}\n"
        "authorizer.class.name=kafka.security.authorizer.AclAuthorizer\n"
        f"super.users={super_users}\n"
    )
    ended = await run(
        "check", "--zookeeper-connect", simulated.connect, "--broker-id", "1001", "--kafka-config", str(file),
        "--listeners", "INTERNAL://127.0.0.1:9092",
    )  # fmt: skip
    assert (ended.code, ended.err) == (1, "")
    said = [line for line in ended.out.splitlines() if " authorizer: " in line]
    assert len(said) == bool(saying), ended.out
    assert all(saying in line for line in said)
    assert "it is secret" not in ended.out


async def test_sv_4_a_zookeeper_that_cannot_be_reached_is_unsafe() -> None:
    found = await checked("127.0.0.1:1", seconds=0.3)

    assert subjects(found, Level.UNSAFE) == {"zookeeper"}


async def test_sv_4_a_zookeeper_that_never_answers_ends_the_check_at_its_limit() -> None:
    async with asyncio.timeout(20), silent_server() as silent:
        found = await checked(f"127.0.0.1:{silent.port}", seconds=0.3)

    assert subjects(found, Level.UNSAFE) == {"zookeeper"}


async def test_sv_4_a_chroot_that_does_not_exist_is_unsafe_and_is_not_made(simulated: Cluster) -> None:
    connect = f"{simulated.connect}-elsewhere"

    assert subjects(await checked(connect), Level.UNSAFE) == {"chroot"}

    async with ZooKeeper(connect) as zk:
        assert await zk.exists("/") is None


async def test_sv_4_a_chroot_that_no_cluster_uses_is_unsafe(simulated: Cluster) -> None:
    async with ZooKeeper(simulated.connect) as zk:
        await zk.ensure_path("/empty")

    found = await checked(f"{simulated.connect}/empty")

    assert subjects(found, Level.UNSAFE) == {"cluster"}
    await simulated.zk.delete("/empty")


async def test_sv_4_znodes_that_a_server_may_not_write_are_unsafe(simulated: Cluster) -> None:
    acl = [(1, "world", "anyone"), (31, "digest", "kafka:xyz")]
    async with standing(simulated.zk, znode_paths.config_broker("7"), b'{"version":1,"config":{}}', acl):
        found = await checked(simulated.connect)

    assert subjects(found, Level.UNSAFE) == {"rights"}
    assert "/config/brokers/7 (write)" in text_of(found, "rights")


async def test_sv_4_znodes_that_a_server_may_not_even_read_are_unsafe(simulated: Cluster) -> None:
    acl = [(31, "digest", "kafka:xyz")]
    async with standing(simulated.zk, znode_paths.REASSIGN_PARTITIONS, batch({("t", 0): (1, 2)}), acl):
        found = await checked(simulated.connect)

    assert subjects(found, Level.UNSAFE) == {"rights", "zookeeper"}
    assert "/admin/reassign_partitions (read, write)" in text_of(found, "rights")


async def test_sv_5_znodes_of_brokers_with_an_identity_are_a_warning_for_a_server_that_would_create_open_ones(
    simulated: Cluster,
) -> None:
    acl = [(31, "digest", "kafka:xyz"), (31, "world", "anyone")]
    async with standing(simulated.zk, znode_paths.config_broker("7"), b'{"version":1,"config":{}}', acl):
        found = await checked(simulated.connect)

    assert subjects(found, Level.UNSAFE) == set()
    assert subjects(found, Level.WARNING) == {"new-znodes"}
    assert "/config/brokers/7" in text_of(found, "new-znodes")


async def test_sv_4_rights_that_some_addresses_have_are_a_warning(simulated: Cluster) -> None:
    acl = [(31, "ip", "127.0.0.0/8"), (1, "world", "anyone")]
    async with standing(simulated.zk, znode_paths.config_broker("7"), b'{"version":1,"config":{}}', acl):
        found = await checked(simulated.connect)

    assert subjects(found, Level.UNSAFE) == set()
    assert subjects(found, Level.WARNING) == {"rights"}


async def test_sv_4_a_migration_to_kraft_is_unsafe(simulated: Cluster) -> None:
    async with standing(simulated.zk, znode_paths.MIGRATION, b'{"version":0}'):
        found = await checked(simulated.connect)

    assert subjects(found, Level.UNSAFE) == {"migration"}


@pytest.mark.parametrize("server_id", [2, 1000], ids=["broker", "controller"])
async def test_sv_4_an_id_that_is_in_use_is_unsafe(simulated: Cluster, server_id: int) -> None:
    assert subjects(await checked(simulated.connect, server_id=server_id), Level.UNSAFE) == {"broker-id"}


async def test_sv_3_an_id_that_a_server_standing_by_has_is_unsafe(simulated: Cluster) -> None:
    async with standing(simulated.zk, znode_paths.reassignment_server(1001)):
        found = await checked(simulated.connect, server_id=1001)

    assert subjects(found, Level.UNSAFE) == {"broker-id"}
    assert "1001 is the id of another server that runs" in text_of(found, "broker-id")
    assert subjects(await checked(simulated.connect, server_id=1001), Level.UNSAFE) == set()


async def test_sv_4_a_registration_that_cannot_be_understood_is_unsafe(simulated: Cluster) -> None:
    async with standing(simulated.zk, znode_paths.broker(77), b"garbage"):
        found = await checked(simulated.connect)

    assert subjects(found, Level.UNSAFE) == {"registrations"}


async def test_sv_4_brokers_that_do_not_answer_in_time_or_not_in_plaintext_are_unsafe(simulated: Cluster) -> None:
    async with silent_server() as silent:
        here = encode_broker([Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", silent.port)], 0)
        closed = encode_broker([Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1)], 0)
        tls = encode_broker([Endpoint("SSL", "SSL", "127.0.0.1", 1)], 0)
        async with (
            standing(simulated.zk, znode_paths.broker(77), here),
            standing(simulated.zk, znode_paths.broker(78), closed),
            standing(simulated.zk, znode_paths.broker(79), tls),
            asyncio.timeout(30),
        ):
            found = await checked(simulated.connect, seconds=2)

    assert subjects(found, Level.UNSAFE) == {"addresses", "brokers"}
    text = text_of(found, "brokers")
    assert "3 of 6 brokers cannot be controlled" in text
    assert f"broker 77 at 127.0.0.1:{silent.port} (no answer within 2 s)" in text
    assert (
        "broker 79 at 127.0.0.1:1 (listener SSL, SSL: this server has no settings of TLS (ssl.truststore.location))"
        in text
    )


async def test_mg_1_a_clean_cluster_is_ready_for_kraft_and_not_a_znode_of_it_changes(simulated: Cluster) -> None:
    before = await every_znode(simulated.zk)

    ended = await run("check", "--for-kraft", "--zookeeper-connect", simulated.connect)

    assert (ended.code, ended.err) == (0, "")
    *lines, verdict = ended.out.splitlines()
    assert verdict == "It is safe to begin the migration of this cluster to KRaft."
    assert {line.split(":")[0].split()[1] for line in lines if not line.startswith(("OK", " "))} == {
        "controllers",
        "own-znodes",
    }
    assert await every_znode(simulated.zk) == before
