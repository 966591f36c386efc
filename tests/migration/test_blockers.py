"""A cluster with every blocker of a migration at once: the check names each, and the commands it prints cure all."""

import asyncio
import json
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import topic_creates
from tests.faults.cluster import address_of, metadata
from tests.fork_server import CLI, output_of
from tests.mixed_clusters.mixed_cluster import PARTITION_BYTES, MixedCluster, behind_our_server, controller
from tests.waiting import eventually

from .hosts import DONE, KRAFT, WAITS, Hosts
from .page import Shell, block, section, shell

pytestmark = [pytest.mark.stock, pytest.mark.release, pytest.mark.timeout(600)]

LONG_SESSION = ("--zookeeper-session-timeout-ms", "100000")
"""The server is frozen while the check looks, so that nothing that stands is carried out meanwhile."""
STANDS = {
    "/admin/preferred_replica_election": b'{"version":1,"partitions":[{"topic":"safe","partition":0}]}',
    "/admin/reassign_cancel": b"",
    "/admin/reassign_partitions": b"{",
    "/admin/cancel_reassignment_in_progress": b"",
    "/admin/reassignment_requests/request_0000000007": b'{"version":1,"partitions":[]}',
    "/admin/delete_topics/safe": b"",
    "/config/users/a": b'{"version":1,"config":{"producer_byte_rate":"fast","request_percentage":"50"}}',
    "/config/users/scram": b'{"version":1,"config":{"SCRAM-SHA-512":"salt=a"}}',
    "/config/topics/gone": b"[]",
    "/config/brokers/none": b'{"version":1,"config":{}}',
    "/kafka-acl/Topic/safe": b'{"version":1,"acls":7}',
    "/migration": b"",
    "/brokers/topics/garbage": b"{",
}
BLOCKERS = {
    "acls", "broker-configs", "configs", "deletions", "empty-replicas", "leases", "log-dirs", "lost-replicas",
    "migration", "moves", "partition-states", "quotas", "requests", "settings", "stateless", "topic-ids", "topics",
    "versions", "waiting-moves",
}  # fmt: skip


class Found(NamedTuple):
    """The exit code of the check, and its blockers with their commands, by the subject."""

    code: int
    texts: dict[str, str]
    commands: list[str]

    def of(self, *tools: str) -> list[str]:
        """Each command of these tools once, in the order of the check."""
        return list(dict.fromkeys(one for one in self.commands if one.startswith(tools)))


async def blockers(connect: str) -> Found:
    ended = await output_of(CLI, ["check", "--for-kraft", "--json", "--zookeeper-connect", connect])
    found = [one for one in json.loads(ended.out)["findings"] if one["level"] == "UNSAFE"]
    texts: dict[str, str] = {}
    for one in found:
        texts[one["subject"]] = f"{texts.get(one['subject'], '')}\n{one['text']}"
    return Found(ended.code, texts, [command for one in found for command in one["commands"]])


def records(bootstrap: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "log_level": 0})
    try:
        first, last = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60)
        return int(last - first)
    finally:
        consumer.close()


async def put_broken_topics(zk: ZooKeeper) -> None:
    """As years of tools and accidents leave them."""
    epoch = int((await zk.get(znode_paths.CONTROLLER_EPOCH))[0])

    def state(*isr: int) -> bytes:
        return topic_znodes.encode_state(isr[0], 0, isr, epoch)

    def topic(*replicas: int) -> bytes:
        return json.dumps({"version": 2, "partitions": {"0": replicas}, "adding": {}, "removing": {}}).encode()

    await zk.multi(topic_creates("nameless", topic(1, 2), {0: state(1, 2)}))
    await zk.multi(topic_creates("empty", topic(), {}))
    await zk.multi(topic_creates("stateless", topic(2, 1), {}))
    await zk.multi(topic_creates("torn", topic(1, 2), {0: b"{"}))


async def prepare(mixed: MixedCluster, lost_dir: Path) -> None:
    """All that a server in control leaves standing: it moves one partition with a lease, and another waits."""
    cluster = mixed.cluster
    await mixed.create("safe", {0: (1, 2), 1: (2, 1)})
    await mixed.create("lost", {0: (1, 3)})
    await mixed.create("moves", {0: (1, 2), 1: (1, 2)})
    await cluster.configure("a", {"partition.reassignments.max.per.cluster": "1"})
    await ConfigStore(mixed.zk).alter(BROKERS, DEFAULT, lambda _: {"self.healing.max.moves": "7"})
    targets = {("moves", 0): (1, 3), ("moves", 1): (1, 3)}
    assert set((await cluster.alter("a", targets, throttle=1_000)).values()) == {0}

    async def is_leased() -> bool:
        return bool(await cluster.throttles()) and len(await cluster.records()) == 1

    await eventually(is_leased)
    lost_dir.rename(lost_dir.with_name("away"))
    lost_dir.touch()  # root may write into any directory, but not into a file as if it were one

    async def has_failed() -> bool:
        return "log-dirs" in (await blockers(cluster.connect)).texts

    await eventually(has_failed, within=60)
    await mixed.stock.brokers[3].stop()
    cluster.servers["a"].freeze()
    await put_broken_topics(mixed.zk)
    for path, data in STANDS.items():
        await mixed.zk.ensure_path(path.rpartition("/")[0])
        await mixed.zk.create(path, data)


async def put_replica_on_our_id(mixed: MixedCluster) -> None:
    """By a tool of Kafka's old times, under a stock controller, while a server of ours has been there: one of ours in
    control would give the replica to a broker."""
    await eventually(mixed.stock_controls, within=60)
    fields = {"version": 3, "topic_id": "AAAAAAAAQACAAAAAAAAAAQ", "partitions": {"0": [1, 1000]}}
    data = json.dumps({**fields, "adding_replicas": {}, "removing_replicas": {}}).encode()
    await mixed.zk.ensure_path(f"{znode_paths.REASSIGNMENT_SERVER_IDS}/1000")
    await mixed.zk.create(znode_paths.topic("ours"), data)
    await eventually(lambda: mixed.zk.exists(znode_paths.partition_state("ours", 0)), within=60)


async def by_hand(zk: ZooKeeper) -> None:
    """What no printed command does, since it would be gone for good: the operator of this cluster wants none of it."""
    await zk.create(znode_paths.delete_topic("empty"))
    for path in (
        "/admin/reassign_partitions",
        "/admin/reassignment_requests/request_0000000007",
        "/config/topics/gone",
        "/kafka-acl/Topic/safe",
        "/brokers/topics/garbage",
        znode_paths.partition_state("torn", 0),
    ):
        await zk.delete(path)


async def run_all(operator: Shell, commands: Collection[str]) -> None:
    for command in commands:
        await operator.run(command)


async def test_mg_1_each_blocker_is_cured_by_the_commands_that_the_check_prints_and_the_migration_that_hung_goes_on(
    tmp_path: Path,
) -> None:
    disk = tmp_path / "2" / "disk"
    of_2 = {"log.dirs": f"{disk},{tmp_path / '2' / 'other'}", "inter.broker.protocol.version": "3.8-IV0"}
    often = {"replica.high.watermark.checkpoint.interval.ms": "500"}
    async with behind_our_server(
        tmp_path, (1, 2, 3), overrides=often, per_broker={2: of_2}, options=LONG_SESSION
    ) as mixed:
        connect, server = mixed.cluster.connect, mixed.cluster.servers["a"]
        hosts = await Hosts.of(mixed, tmp_path)
        await prepare(mixed, disk)
        found = await blockers(connect)
        assert (found.code, set(found.texts)) == (1, BLOCKERS), found
        for path in STANDS:
            assert path.rpartition("/")[2] in "".join(found.texts.values()), path
        assert "lost-0" in found.texts["lost-replicas"]
        try:
            async with shell(tmp_path, hosts.programs) as operator:
                await by_hand(mixed.zk)
                await run_all(operator, found.of("zookeeper-shell.sh", "printf"))
                server.thaw()
                cancel = f"kafka-reassign --bootstrap-server {mixed.stock.bootstrap} --cancel --preserve-throttles"
                assert found.of("kafka-reassign --bootstrap-server") == [], "a cancel would forget what waits"
                await operator.run(cancel)
                assert await server.stop() == 0
                await run_all(operator, found.of("kafka-reassign-rpc leave"))
                await put_replica_on_our_id(mixed)
                await hosts.kraft.start()
                join = block(
                    section("The way"), "migration.enable=true\ncontroller.quorum", hosts.replaced, "on each broker"
                )
                [to_3_9] = found.of("sed")
                await hosts.broker(1, join)
                await hosts.broker(2, f"{to_3_9}\nrm {disk}\nmv {disk.with_name('away')} {disk}\n{join}")
                await hosts.kraft.wait_for_line(WAITS)
                found = await blockers(connect)
                assert set(found.texts) == {"lost-replicas"}, "that the quorum waits is no blocker"
                assert "ours-0" in found.texts["lost-replicas"]
                assert "the id of a server of kafka-reassign-rpc" in found.texts["lost-replicas"]
                await run_all(operator, found.of("kafka-reassign-rpc"))
                await hosts.kraft.wait_for_line(DONE, 120)
            assert await controller(mixed.zk) == KRAFT

            async def is_shown() -> bool:
                brokers = [mixed.stock.brokers[broker] for broker in (1, 2)]
                shown = [await metadata(address_of(broker.address), "safe", "lost", "ours") for broker in brokers]
                codes = [part.error_code for answer in shown for topic in answer.topics for part in topic.partitions]
                return codes == [0] * 8

            await eventually(is_shown, within=60)
            assert await asyncio.to_thread(records, mixed.stock.bootstrap, "lost") == PARTITION_BYTES // 5_000
        finally:
            if server.alive:
                server.thaw()
            await hosts.kraft.kill()
