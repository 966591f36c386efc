"""`kafka-reassign-rpc check` of a ZooKeeper without brokers: what its znodes mean for a server."""

import re
from collections.abc import Sequence
from contextlib import AsyncExitStack

import msgspec
import pytest

from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.lifecycle.server_config import AuthorizerConfig
from kafka_reassign_rpc.preflight.findings import Level
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.topic_znodes import encode_state
from kafka_reassign_rpc.zookeeper.znode_contents import encode_broker, encode_controller
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import batch, put_topic
from tests.controller.settings.test_migration_to_kraft import WAITS

from .checking import PLAINTEXT, checked, standing, subjects, text_of
from .command import every_znode, run

pytestmark = [pytest.mark.asyncio(loop_scope="module")]

WITHOUT_WRITE = 31 - 2


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


async def test_sv_3_an_id_under_which_a_broker_holds_or_may_hold_replicas_is_unsafe(apart: ZooKeeper) -> None:
    async def unsafe(isr: Sequence[int]) -> bool:
        await apart.set(znode_paths.partition_state("t", 0), encode_state(2, 4, tuple(isr), 1))
        found = await checked(apart.connect, server_id=1001, seconds=30)
        held = "1001 is the id of a broker that is not registered and holds 1 replica, such as of t-0"
        assert (held in text_of(found, "broker-id")) is ("broker-id" in subjects(found, Level.UNSAFE))
        return held in text_of(found, "broker-id")

    await put_topic(apart, "t", {0: (1001, 2)})
    assert await unsafe([2]), "nothing tells whether that broker has ever been there"
    assert await unsafe([1001, 2])
    await apart.ensure_path(znode_paths.reassignment_server_id(1001))
    assert not await unsafe([2]), "a stock broker has placed it on the server that had this id"
    assert await unsafe([1001, 2])


async def test_sv_4_requests_that_wait_in_znodes_are_warnings_with_what_would_come_of_them(apart: ZooKeeper) -> None:
    """There is no controller, so that no one takes these znodes up."""
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

    found = await checked(apart.connect, seconds=30, takeover=Takeover.NEVER)

    assert subjects(found, Level.UNSAFE) == {"addresses", "brokers"}, "nothing listens there"
    assert subjects(found, Level.WARNING) == {"controller", "deletions", "leftovers", "lost-brokers", "new-moves"}
    assert "1 move that waits in znodes (t-0)" in text_of(found, "new-moves")
    assert "(gone)" in text_of(found, "deletions")
    assert "preferred_replica_election" in text_of(found, "leftovers")
    assert "1 partition (t-1)" in text_of(found, "leaders")
    assert "/admin/reassignments" in text_of(found, "writes")
    assert await every_znode(apart) == before


@pytest.mark.parametrize(("per_cluster", "starts"), [(1, True), (0, False)])
async def test_sv_4_moves_that_the_window_of_now_lets_start_are_a_warning(
    apart: ZooKeeper, per_cluster: int, starts: bool
) -> None:
    for broker in (1, 2, 3):
        await apart.ensure_path("/brokers/ids")
        await apart.create(znode_paths.broker(broker), encode_broker([PLAINTEXT], 0), ephemeral=True)
    await put_topic(apart, "t", {0: (1, 2)})
    always = f"mon-sun 00:00-24:00 UTC max.per.cluster={per_cluster}"
    await apart.create(znode_paths.SETTINGS, b'{"version":1,"config":{"reassignment.windows":"%s"}}' % always.encode())
    await apart.create(znode_paths.REASSIGN_PARTITIONS, batch({("t", 0): (2, 3)}))

    found = await checked(apart.connect, seconds=30)

    assert ("new-moves" in subjects(found, Level.WARNING)) is starts


async def test_sv_4_brokers_that_only_moves_in_flight_name_are_awaited_and_not_lost(apart: ZooKeeper) -> None:
    await put_topic(apart, "t", {0: (1, 2)})
    value = b'{"version":3,"partitions":{"0":[1,7,2]},"adding_replicas":{"0":[7]},"removing_replicas":{"0":[2]}}'
    await apart.set(znode_paths.topic("t"), value)
    found = await checked(apart.connect)
    assert "brokers 1, 2 hold replicas" in text_of(found, "lost-brokers")
    assert "moves in flight wait for broker 7: not registered" in text_of(found, "awaited-brokers")


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
        assert subjects(await checked(apart.connect), Level.UNSAFE) == {"migration"}, "nothing else is known"


@pytest.mark.parametrize(
    ("path", "data", "level", "what"),
    [
        (znode_paths.MIGRATION, b"", Level.WARNING, "/migration has no data, so it is no migration to KRaft"),
        (znode_paths.MIGRATION, WAITS, Level.WARNING, "KRaft controllers wait for this cluster"),
        (znode_paths.MIGRATION, b"?", Level.UNSAFE, "that this server does not know"),
        (znode_paths.CONTROLLER, b"", Level.UNSAFE, "/controller is persistent (it has no data)"),
        (znode_paths.CONTROLLER, encode_controller(7, 0), Level.UNSAFE, "/controller is persistent (it names 7)"),
        (znode_paths.CONTROLLER_EPOCH, b"", Level.UNSAFE, "/controller_epoch cannot be understood (it has no data)"),
        (znode_paths.CONTROLLER_EPOCH, b"3", Level.WARNING, "a server of this product is elected above 57"),
    ],
)
async def test_hm_4_the_check_says_what_the_znodes_of_the_election_hold(
    apart: ZooKeeper, path: str, data: bytes, level: Level, what: str
) -> None:
    await apart.ensure_path(znode_paths.BROKER_IDS)
    await apart.ensure_path("/cluster")
    await apart.create(znode_paths.CLUSTER_ID, b'{"version":"1","id":"abc"}')
    await apart.create(path, data)
    if path == znode_paths.CONTROLLER_EPOCH:
        await put_topic(apart, "t", {0: (1, 2)})
        await apart.set(znode_paths.partition_state("t", 0), encode_state(1, 3, (1, 2), 57))
    found = await checked(apart.connect)
    subject = "migration" if path == znode_paths.MIGRATION else "controller"
    assert subject in subjects(found, level)
    assert what in text_of(found, subject)
    assert "session of its owner" not in text_of(found, subject)


async def test_hm_4_the_check_tells_the_least_epoch_that_can_be_written(apart: ZooKeeper) -> None:
    await put_topic(apart, "t", {0: (1, 2)})
    await apart.set(znode_paths.partition_state("t", 0), encode_state(1, 3, (1, 2), 57))
    await apart.create(znode_paths.CONTROLLER_EPOCH, b"x")
    (found,) = [one for one in await checked(apart.connect) if one.subject == "controller"]
    assert "it was 57 or more" in found.advice


async def test_sv_4_a_cluster_without_a_registered_broker_is_unsafe_since_no_broker_could_be_asked(
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


async def test_mg_1_what_the_login_may_not_read_is_reported_as_that_and_not_as_a_slow_zookeeper(
    apart: ZooKeeper,
) -> None:
    path = znode_paths.config("users")
    await apart.ensure_path(path.rpartition("/")[0])
    async with standing(apart, path, acl=((31, "digest", "a:x"),)):
        ended = await run("check", "--for-kraft", "--json", "--zookeeper-connect", apart.connect)

    assert (ended.code, ended.err) == (1, "")
    [blocker] = [one for one in msgspec.json.decode(ended.out)["findings"] if one["level"] == "UNSAFE"]
    assert path in blocker["text"]
    assert "login" in blocker["advice"]


async def test_mg_1_whatever_a_zookeeper_holds_is_named_before_a_migration(apart: ZooKeeper) -> None:
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
        "acls", "broker-configs", "brokers", "cluster-id", "configs", "deletions", "leases", "lost-replicas",
        "migration", "producer-ids", "quotas", "topic-ids", "topics", "waiting-moves", "znode-acls",
    }  # fmt: skip
    assert "/config/topics/lost (retention.ms: no text)" in texts["configs"]
    assert "/config/ips/10.0.0.1 (" in texts["configs"]
    assert "/kafka-acl/Topic/lost" in texts["acls"]
    for broker, names in ((1, "lost-0, lost-1, nameless-0"), (2, "nameless-0"), (7, "lost-0, lost-1")):
        assert re.search(rf"on {broker}, which .* waits for it forever. {names}", texts["lost-replicas"])
    for name in ("users/a%40b (producer_byte_rate", "users/a%40b/clients/c (x "):
        assert f"/config/{name}" in texts["quotas"]


async def test_mg_1_without_a_zookeeper_or_its_chroot_nothing_is_ready(apart: ZooKeeper) -> None:
    for connect in (f"{apart.connect}/none", "127.0.0.1:1"):
        ended = await run("check", "--for-kraft", "--timeout-ms", "500", "--zookeeper-connect", connect)
        assert ended.code == 1
        assert ended.out.splitlines()[-1] == "It is NOT safe to begin the migration of this cluster to KRaft."
