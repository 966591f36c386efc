"""`kafka-reassign-rpc check` against real ZooKeepers: what is safe, what is not, and that nothing changes."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from kafka_reassign_rpc.api.config_changes import replacing
from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.lifecycle.server_config import AuthorizerConfig, ServerConfig
from kafka_reassign_rpc.core.acls.acl_binding import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.core.state.cluster import Endpoint
from kafka_reassign_rpc.preflight.check import check
from kafka_reassign_rpc.preflight.findings import Finding, Level
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.access import Access
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.topic_znodes import encode_state
from kafka_reassign_rpc.zookeeper.znode_acls import always
from kafka_reassign_rpc.zookeeper.znode_contents import encode_broker, encode_controller
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import batch, put_topic
from tests.controller.settings.test_migration_to_kraft import WAITS
from tests.faults.cluster import Cluster
from tests.silent_server import silent_server

from .command import every_znode, run

pytestmark = [pytest.mark.asyncio(loop_scope="module")]

WITHOUT_WRITE = 31 - 2
PLAINTEXT = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092)


async def checked(
    connect: str,
    *,
    server_id: int = 1001,
    seconds: float = 5,
    takeover: Takeover = Takeover.ALWAYS,
    authorizer: AuthorizerConfig | None = None,
) -> list[Finding]:
    config = ServerConfig(
        zookeeper_connect=connect,
        listeners=[PLAINTEXT],
        server_id=server_id,
        takeover=takeover,
        authorizer=authorizer,
    )
    return await check(config, seconds)


def subjects(found: Sequence[Finding], level: Level) -> set[str]:
    return {one.subject for one in found if one.level is level}


def text_of(found: Sequence[Finding], subject: str) -> str:
    return " ".join(f"{one.text} {one.advice}" for one in found if one.subject == subject)


@pytest_asyncio.fixture(loop_scope="module")
async def apart(zk_connect: str) -> AsyncIterator[ZooKeeper]:
    """An empty chroot."""
    async with ZooKeeper(zk_connect) as zk:
        yield zk


@asynccontextmanager
async def standing(
    zk: ZooKeeper, path: str, data: bytes = b"", acl: Sequence[tuple[int, str, str]] = ((31, "world", "anyone"),)
) -> AsyncIterator[None]:
    """A znode that stands for a while, created with this ACL."""
    async with ZooKeeper(zk.connect, access=Access(acl_of=always(acl))) as author:
        await author.create(path, data)
    yield
    await zk.delete(path)


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

    async def found() -> Finding:
        (one,) = [one for one in await checked(simulated.connect) if one.subject == "topic-configs"]
        return one

    try:
        assert (await found()).level is Level.OK
        for name, configs in bad.items():
            await store.alter("topics", name, replacing(configs))
        level, _, text, advice, _ = await found()
        assert level is Level.WARNING
        assert text.startswith("4 topics have configs at which every broker of 3.9 ends when it starts: t.kraft (")
        assert all(name in text for name in bad if name != "t.fine")
        assert "t.fine" not in text
        assert "before a broker restarts" in advice
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
            "every broker can live with the 1 cluster-wide configs",
        )
        level, text = await found_with({"log.local.retention.ms": "999999999999", "log.roll.ms": "5"})
        assert level is Level.WARNING
        assert "brokers 1, 2, 3 cannot apply the cluster-wide configs" in text
        assert "also of throttles: log.local.retention.ms (broker 1: " in text
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
            SETTINGS % b'"self.healing.paused":"true","failure.interval.ms":"5"',
            {"log.roll.ms": "5"},
            Level.OK,
            "the servers share failure.interval.ms='5', self.healing.paused='true'",
            "",
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
            " effect; self.healing.max.moves=7 holds, but stands in the brokers' default configs, which a later version"
            " does not read; self.healing.paused=true of the brokers' default configs is superfluous",
            "--delete-config failure.interval.ms,self.healing.max.moves,self.healing.paused`",
        ),
    ],
    ids=["none", "shared", "unreadable", "unknown", "old place"],
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
        ("User:admin;User:kafka", ""),  # they speak PLAINTEXT alone, so nobody can say that they are fine
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


@pytest.mark.parametrize(
    "path",
    [
        "/config/users",
        "/config/users/alice",
        "/config/clients",
        "/config/ips",
        "/delegation_token/tokens",
        "/delegation_token/token_changes",
        "/feature",
        "/kafka-acl/Topic",
        "/kafka-acl-extended/prefixed/Topic",
        "/kafka-acl-changes",
        "/kafka-acl-extended-changes",
    ],
)
async def test_sv_4_every_znode_that_a_server_reads_or_writes_counts(apart: ZooKeeper, path: str) -> None:
    await apart.ensure_path(path.rpartition("/")[0] or "/")
    async with standing(apart, path, b"", [(31, "digest", "kafka:xyz")]):
        found = await checked(apart.connect, authorizer=AuthorizerConfig())
        without = await checked(apart.connect)

    assert f"{path} (" in text_of(found, "rights")
    assert (f"{path} (" in text_of(without, "rights")) is not path.startswith("/kafka-acl"), "no authorizer, no ACLs"


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


async def test_sv_3_an_id_under_which_a_broker_holds_or_may_hold_replicas_is_unsafe(apart: ZooKeeper) -> None:
    async def unsafe(isr: Sequence[int]) -> bool:
        await apart.set(znode_paths.partition_state("t", 0), encode_state(2, 4, tuple(isr), 1))
        found = await checked(apart.connect, server_id=1001, seconds=1)
        held = "1001 is the id of a broker that is not registered and holds 1 replica, such as of t-0"
        assert (held in text_of(found, "broker-id")) is ("broker-id" in subjects(found, Level.UNSAFE))
        return held in text_of(found, "broker-id")

    await put_topic(apart, "t", {0: (1001, 2)})
    assert await unsafe([2]), "nothing tells whether that broker has ever been there"
    assert await unsafe([1001, 2])
    await apart.ensure_path(znode_paths.reassignment_server_id(1001))
    assert not await unsafe([2]), "a stock broker has placed it on the server that had this id"
    assert await unsafe([1001, 2])


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

    assert subjects(found, Level.UNSAFE) == {"brokers"}
    text = text_of(found, "brokers")
    assert "3 of 6 brokers cannot be controlled" in text
    assert f"broker 77 at 127.0.0.1:{silent.port} (no answer within 2 s)" in text
    assert (
        "broker 79 at 127.0.0.1:1 (listener SSL, SSL: this server has no settings of TLS (ssl.truststore.location))"
        in text
    )


async def test_sv_4_requests_that_stand_in_znodes_are_warnings_with_what_would_come_of_them(apart: ZooKeeper) -> None:
    """Nobody controls this cluster, so that nobody takes these znodes up."""
    here = encode_broker([PLAINTEXT], 0)
    for path in znode_paths.PERSISTENT:
        await apart.ensure_path(path)
    await apart.create(znode_paths.CLUSTER_ID, b'{"version":"1","id":"abc"}')
    await apart.create(znode_paths.CONTROLLER_EPOCH, b"4")
    for broker in (1, 2, 3):
        await apart.create(znode_paths.broker(broker), here, ephemeral=True)
    await apart.create(znode_paths.topic("t"), b'{"version":3,"partitions":{"0":[1,2],"1":[4,2]}}')
    state = b'{"controller_epoch":4,"leader":%d,"version":1,"leader_epoch":0,"isr":[%d,2]}'
    for index, leader in ((0, 1), (1, 4)):
        await apart.ensure_path(znode_paths.partition(("t"), index))
        await apart.create(znode_paths.partition_state("t", index), state % (leader, leader))
    await apart.create(znode_paths.delete_topic("gone"))
    await apart.create(znode_paths.PREFERRED_REPLICA_ELECTION, b"{}")
    await apart.create(znode_paths.REASSIGN_PARTITIONS, batch({("t", 0): (2, 3)}))
    before = await every_znode(apart)

    found = await checked(apart.connect, seconds=1, takeover=Takeover.NEVER)

    assert subjects(found, Level.UNSAFE) == {"brokers"}, "nothing listens there"
    assert subjects(found, Level.WARNING) == {"controller", "deletions", "leftovers", "lost-brokers", "new-moves"}
    assert "1 move that waits in znodes (t-0)" in text_of(found, "new-moves")
    assert "(gone)" in text_of(found, "deletions")
    assert "preferred_replica_election" in text_of(found, "leftovers")
    assert "1 partition (t-1)" in text_of(found, "leaders")
    assert "/admin/reassignments" in text_of(found, "writes")
    assert await every_znode(apart) == before


async def test_sv_4_a_controller_znode_that_cannot_be_understood_is_unsafe(apart: ZooKeeper) -> None:
    await apart.ensure_path(znode_paths.BROKER_IDS)
    await apart.ensure_path("/cluster")
    await apart.create(znode_paths.CLUSTER_ID, b'{"version":"1","id":"abc"}')
    for path, garbage in ((znode_paths.CONTROLLER, b"?"), (znode_paths.CONTROLLER_EPOCH, b"?")):
        async with standing(apart, path, garbage):
            found = await checked(apart.connect)
        assert subjects(found, Level.UNSAFE) == {"controller", "cluster"}
    kraft = encode_controller(3000, 0).replace(b'"kraftControllerEpoch":-1', b'"kraftControllerEpoch":5')
    async with standing(apart, znode_paths.CONTROLLER, kraft):
        assert subjects(await checked(apart.connect), Level.UNSAFE) == {"migration", "cluster"}


@pytest.mark.parametrize(
    ("path", "data", "level", "what"),
    [
        (znode_paths.MIGRATION, b"", Level.WARNING, "/migration has no data, so it is no migration to KRaft"),
        (znode_paths.MIGRATION, WAITS, Level.WARNING, "KRaft controllers wait for this cluster"),
        (znode_paths.MIGRATION, b"?", Level.UNSAFE, "that this server does not know"),
        (znode_paths.CONTROLLER, b"", Level.UNSAFE, "/controller is persistent (it has no data)"),
        (znode_paths.CONTROLLER, encode_controller(7, 0), Level.UNSAFE, "/controller is persistent (it names 7)"),
        (znode_paths.CONTROLLER_EPOCH, b"", Level.UNSAFE, "/controller_epoch cannot be understood (it has no data)"),
    ],
)
async def test_hm_4_the_check_says_what_stands_in_the_znodes_of_the_election(
    apart: ZooKeeper, path: str, data: bytes, level: Level, what: str
) -> None:
    await apart.ensure_path(znode_paths.BROKER_IDS)
    await apart.ensure_path("/cluster")
    await apart.create(znode_paths.CLUSTER_ID, b'{"version":"1","id":"abc"}')
    await apart.create(path, data)
    found = await checked(apart.connect)
    subject = "migration" if path == znode_paths.MIGRATION else "controller"
    assert subject in subjects(found, level)
    assert what in text_of(found, subject)
    assert "session of its owner" not in text_of(found, subject)


async def test_hm_4_the_check_tells_the_least_epoch_that_can_be_written(apart: ZooKeeper) -> None:
    await put_topic(apart, "t", {0: (1, 2)})
    await apart.create(znode_paths.CONTROLLER_EPOCH, b"x")
    (found,) = [one for one in await checked(apart.connect) if one.subject == "controller"]
    assert "it was 1 or more" in found.advice


async def test_sv_4_a_cluster_without_a_registered_broker_is_unsafe_since_nobody_could_be_asked(
    apart: ZooKeeper,
) -> None:
    await apart.ensure_path(znode_paths.BROKER_IDS)
    await apart.ensure_path("/cluster")
    await apart.create(znode_paths.CLUSTER_ID, b'{"version":"1","id":"abc"}')

    found = await checked(apart.connect)

    assert subjects(found, Level.UNSAFE) == {"cluster"}
    assert "no registered broker: what its brokers speak, have set and allow cannot be found out" in text_of(
        found, "cluster"
    )


async def test_sv_4_the_check_names_every_znode_that_a_server_creates_or_writes(apart: ZooKeeper) -> None:
    await apart.ensure_path(znode_paths.BROKER_IDS)
    await apart.ensure_path("/brokers/topics")

    made, _, written = text_of(await checked(apart.connect), "writes").partition("; it never registers")

    for path in ("/cluster/id", "/feature", "/admin/reassignments", "/isr_change_notification"):
        assert f"{path}," in made or made.endswith(path), path
    assert "/brokers/topics" not in made
    for path in (
        "/controller",
        "/controller_epoch",
        "/brokers/topics",
        "/admin",
        "/latest_producer_id_block",
        *(f"/config/{kind}" for kind in ("topics", "brokers", "users", "clients", "ips", "changes")),
        "/delegation_token/tokens",
        "/delegation_token/token_changes",
        "/isr_change_notification",
        "/log_dir_event_notification",
    ):
        assert f" {path}," in written, path


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


async def test_mg_1_what_the_login_may_not_read_is_told_as_that_and_not_as_a_slow_zookeeper(apart: ZooKeeper) -> None:
    path = znode_paths.config("users")
    await apart.ensure_path(path.rpartition("/")[0])
    async with standing(apart, path, acl=((31, "digest", "a:x"),)):
        ended = await run("check", "--for-kraft", "--json", "--zookeeper-connect", apart.connect)

    assert (ended.code, ended.err) == (1, "")
    [blocker] = [one for one in msgspec.json.decode(ended.out)["findings"] if one["level"] == "UNSAFE"]
    assert path in blocker["text"]
    assert "login" in blocker["advice"]


async def test_mg_1_whatever_stands_in_a_zookeeper_is_named_before_a_migration(apart: ZooKeeper) -> None:
    """Everything at once, as znodes: nothing of it reaches a KRaft controller unseen."""
    await put_topic(apart, "nameless", {0: (1, 2)}, topic_id=None)
    await put_topic(apart, "lost", {0: (1, 7), 1: (7, 1)})
    await apart.create(znode_paths.topic("garbage"), b"{")
    await apart.ensure_path(znode_paths.DELETE_TOPICS)
    for path, data in {
        znode_paths.REASSIGN_PARTITIONS: batch({("lost", 0): (1, 2)}),
        f"{znode_paths.DELETE_TOPICS}/lost": b"",
        znode_paths.MIGRATION: b"",
        znode_paths.throttle_memory("brokers", "1"): b"{}",
        znode_paths.config("users/a%40b"): b'{"version":1,"config":{"producer_byte_rate":"fast"}}',
        znode_paths.config("users/a%40b/clients/c"): b'{"version":1,"config":{"request_percentage":"1","x":""}}',
        znode_paths.config("ips/10.0.0.1"): b"[]",
        znode_paths.config("brokers/none"): b'{"version":1,"config":{}}',
        znode_paths.config("topics/lost"): b'{"version":1,"config":{"retention.ms":5}}',
        "/kafka-acl/Topic/lost": b'{"version":1,"acls":7}',
    }.items():
        await apart.ensure_path(path.rpartition("/")[0])
        await apart.create(path, data)
    async with AsyncExitStack() as stack:
        for path, data, owner in (
            (znode_paths.CONTROLLER_EPOCH, b"3", "a:x"),
            (znode_paths.PRODUCER_ID_BLOCK, b"", "b:x"),
        ):
            acl = ((31, "digest", owner), (WITHOUT_WRITE, "world", "anyone"))
            await stack.enter_async_context(standing(apart, path, data, acl))
        ended = await run("check", "--for-kraft", "--json", "--zookeeper-connect", apart.connect)

    assert (ended.code, ended.err) == (1, "")
    document = msgspec.json.decode(ended.out)
    assert document["ready"] is False
    texts: dict[str, str] = {}
    for one in document["findings"]:
        if one["level"] == "UNSAFE":
            texts[one["subject"]] = texts.get(one["subject"], "") + one["text"]
    assert texts.keys() == {
        "acls", "broker-configs", "brokers", "configs", "deletions", "leases", "lost-replicas", "migration", "quotas",
        "topic-ids", "topics", "waiting-moves", "znode-acls",
    }  # fmt: skip
    assert "/config/topics/lost." in texts["configs"]
    assert "/kafka-acl/Topic/lost" in texts["acls"]
    for broker, names in ((1, "lost-0, lost-1, nameless-0"), (2, "nameless-0"), (7, "lost-0, lost-1")):
        assert re.search(rf"on {broker}, which .* waits for it forever. {names}", texts["lost-replicas"])
    for name in ("users/a%40b (producer_byte_rate", "users/a%40b/clients/c (x ", "ips/10.0.0.1 ("):
        assert f"/config/{name}" in texts["quotas"]


async def test_mg_1_without_a_zookeeper_or_its_chroot_nothing_is_ready(apart: ZooKeeper) -> None:
    for connect in (f"{apart.connect}/none", "127.0.0.1:1"):
        ended = await run("check", "--for-kraft", "--timeout-ms", "500", "--zookeeper-connect", connect)
        assert ended.code == 1
        assert ended.out.splitlines()[-1] == "It is NOT safe to begin the migration of this cluster to KRaft."
