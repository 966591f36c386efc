"""What `core.restarts.table` says of each kind of value, tried on a stock broker; and that both checks name it."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT
from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.restarts.table import ENDINGS, Ending, Victim
from kafka_reassign_rpc.preflight.check import check, check_for_kraft
from kafka_reassign_rpc.preflight.findings import Finding, Level
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.znode_contents import encode_producer_id_block
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode
from tests.preflight.checking import PLAINTEXT
from tests.waiting import eventually

from .ports import kept_ports
from .restarting import RestartedBroker, restarted_broker

pytestmark = [pytest.mark.stock, pytest.mark.release, pytest.mark.timeout(600)]

READS_ALL = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "delegation.token.secret.key": "secret",
    "zookeeper.connection.timeout.ms": "3000",
}
ALL_BROKERS = f"/config/brokers/{DEFAULT}"
FIELDS = b'"partitions":{"0":[1]},"adding_replicas":{},"removing_replicas":{}'
TOPIC = {"/brokers/topics/t": b'{"version":3,"topic_id":"AAAAAAAAQACAAAAAAAAAAQ",%s}' % FIELDS}
NEW_TOPIC = {"/brokers/topics/i": b'{"version":3,"topic_id":"AAAAAAAAQACAAAAAAAAAAg",%s}' % FIELDS}


class Example(NamedTuple):
    """ends      what a broker that starts throws; empty: it starts
    logs      what it then logs
    stops     what a migration throws; empty: it goes on
    named     whether the checks name it with the broker down: some of it only the broker can tell
    """

    znodes: Mapping[str, bytes]
    ends: str = ""
    logs: str = ""
    stops: str = ""
    named: bool = True


def configs(path: str, **values: str) -> dict[str, bytes]:
    """`values` with `_` for `.`, but for a name that has one."""
    named = {name if name in _AS_THEY_ARE else name.replace("_", "."): value for name, value in values.items()}
    return {path: json.dumps({"version": 1, "config": named}).encode()}


_AS_THEY_ARE = ("producer_byte_rate", "SCRAM-SHA-256", "connection_creation_rate")
NO_ELECTION = "Error while electing or becoming controller"
EXAMPLES: dict[Ending, Example] = {
    table.LOG_DEFAULTS: Example(configs(ALL_BROKERS, log_flush_interval_ms="-1"), "flush.ms: Value must be at least 0"),
    table.INDEX_ROOM: Example(
        {**configs(ALL_BROKERS, log_index_size_max_bytes="4"), **TOPIC}, logs="Invalid max index size: 4"
    ),
    table.COMPACTION_LAGS: Example(
        configs(ALL_BROKERS, log_cleaner_min_compaction_lag_ms="10", log_cleaner_max_compaction_lag_ms="5"),
        "conflict topic config setting min.compaction.lag.ms",
    ),
    table.REPORTERS: Example(
        configs(ALL_BROKERS, metric_reporters="org.apache.kafka.tools.PushHttpMetricsReporter"), "metrics", named=False
    ),
    table.UNJUDGED_AT_START: Example(
        configs(ALL_BROKERS, metric_reporters="no.such.Class"), "ClassNotFoundException", named=False
    ),
    table.RATES: Example(configs(ALL_BROKERS, leader_replication_throttled_rate=" 5 "), 'For input string: " 5 "'),
    table.TOPIC_VALUES: Example(
        {**configs("/config/topics/t", retention_ms="abc"), **TOPIC}, "retention.ms: Not a number of type LONG"
    ),
    table.TOPIC_REPLICAS: Example(
        configs("/config/topics/t", leader_replication_throttled_replicas="0:1,,1:1"),
        "must be the literal|out of bounds",
    ),
    table.TOPIC_FORMAT: Example(
        {**configs("/config/topics/t", message_format_version=" 3.0"), **TOPIC}, "not a valid version"
    ),
    table.TOPIC_TIERED: Example(configs("/config/topics/t", remote_log_copy_disable="true"), "under Zookeeper's mode"),
    table.TOPIC_INDEX: Example(
        {**configs("/config/topics/i", segment_index_bytes="4"), **NEW_TOPIC}, logs="Invalid max index size: 4"
    ),
    table.CONFIG_TEXTS: Example(
        {"/config/brokers/7": b'{"version":1,"config":{"a":7}}'}, "Expected `String` value", stops="Expected `String`"
    ),
    table.CONFIG_JSON: Example({"/config/users/a": b"{"}),
    table.BROKER_NAMES: Example(
        configs("/config/brokers/none"), 'For input string: "none"', stops='For input string: "none"'
    ),
    table.CLIENT_NAMES: Example({"/config/users/50%": b""}, "URLDecoder", stops="URLDecoder"),
    table.QUOTAS: Example(configs("/config/users/a", producer_byte_rate="1.5"), 'For input string: "1.5"'),
    table.CREDENTIALS: Example(
        configs("/config/users/a", **{"SCRAM-SHA-256": "salt=a"}),
        "Credentials not valid",
        stops="Credentials not valid",
    ),
    table.ADDRESSES: Example({"/config/ips/300.1.1.1": b""}, "Unable to resolve address 300.1.1.1"),
    table.HOSTS: Example({"/config/ips/no.such.host.invalid": b""}, "Unable to resolve address no.such.host"),
    table.CLIENT_NUMBERS: Example(configs("/config/users/a", other="x"), stops="Unexpected client quota configuration"),
    table.CHANGES: Example({"/config/changes/note": b""}, logs="Error while processing notification change"),
    table.CLUSTER_ID: Example({"/cluster/id": b"{"}, "Failed to parse the cluster id"),
    table.REGISTRATIONS: Example({"/brokers/ids/foo": b"{}"}, 'For input string: "foo"'),
    table.INTERNAL_TOPICS: Example(
        {"/brokers/topics/__consumer_offsets": b'{"version":2,"partitions":{"a":[1]}}'},
        'For input string: "a"',
        stops='For input string: "a"',
    ),
    table.TOPICS: Example(
        {"/brokers/topics/u": b'{"version":2,"partitions":{"a":[1]}}'}, logs=NO_ELECTION, stops='For input string: "a"'
    ),
    table.FEATURE_LEVELS: Example(
        {"/feature": b'{"version":2,"status":1,"features":{"kraft.version":{"max_version_level":99}}}'},
        "Timed out after waiting for 3000ms for FeatureCache",
    ),
    table.FEATURES: Example({"/feature": b"{"}, logs=NO_ELECTION),
    table.PRODUCER_IDS: Example({"/latest_producer_id_block": b"none"}, stops="Failed to parse the producerId block"),
    table.ACLS: Example(
        {"/kafka-acl/Topic/t": b'{"version":1,"acls":7}'}, "Expected JSON array", stops="Expected JSON array"
    ),
    table.TOKENS: Example({"/delegation_token/tokens/x": b"[]"}, stops="Expected JSON object"),
}
EMPTY = {
    table.PRODUCER_IDS: Example({"/latest_producer_id_block": b""}, stops="Expected JSON object"),
}
"""What is there without saying anything: Kafka parses it, where it takes a znode without data for none."""
PARTS = {table.CLEANER_MAP, table.CLEANER_BUFFER, table.CLEANER_RATE, table.CLEANER_PAUSE, table.CLEANER_MEMORY}
"""They hit a broker that runs."""


@asynccontextmanager
async def standing(zk: ZooKeeper, znodes: Mapping[str, bytes]) -> AsyncIterator[None]:
    """As it was before at the end, whatever a broker has put below."""
    before: dict[str, bytes | None] = {}
    for path, data in znodes.items():
        await zk.ensure_path(path.rpartition("/")[0])
        try:
            before[path] = (await zk.get(path))[0]
            await zk.set(path, data)
        except NoNode:
            before[path] = None
            await zk.create(path, data)
    yield
    for path, former in before.items():
        if former is None:
            await remove(zk, path)
        else:
            await zk.set(path, former)


async def remove(zk: ZooKeeper, path: str) -> None:
    try:
        for child in await zk.children(path):
            await remove(zk, f"{path}/{child}")
        await zk.delete(path)
    except NoNode:  # a broker that starts takes some away
        pass


def names(found: list[Finding], ending: Ending, example: Example) -> list[Level]:
    """The levels of the findings that name the value for what it does."""
    shown = [path.rpartition("/")[2] for path in example.znodes]
    return [
        one.level
        for one in found
        if one.subject == ending.subject and ending.dies.lower() in one.text.lower() and one.advice
        and (ending.subject == "default-configs" or any(name in one.text for name in shown))
    ]  # fmt: skip


async def test_hm_1_each_row_of_the_table_does_to_a_stock_broker_what_it_says_and_both_checks_name_it(
    zk: ZooKeeper, zk_connect: str, tmp_path: Path
) -> None:
    config = ServerConfig(zookeeper_connect=zk_connect, listeners=[PLAINTEXT], server_id=1001)
    async with restarted_broker(tmp_path, zk_connect, READS_ALL) as broker:
        assert [await broker.tell(command) for command in ("start", "stop", "migrate")] == ["ok"] * 3
        await zk.set(znode_paths.PRODUCER_ID_BLOCK, encode_producer_id_block(1, 0, 999))
        for ending, example in (*EXAMPLES.items(), *EMPTY.items()):
            async with standing(zk, example.znodes):
                await eventually(lambda: no_broker(zk), within=30)
                if example.named:
                    checked, for_kraft = await check(config, 30), await check_for_kraft(config, 30)
                    assert bool(names(checked, ending, example)) == (ending.victims != {Victim.MIGRATION}), (
                        ending.name,
                        checked,
                    )
                    ends = ending.certain and not ending.victims.isdisjoint({Victim.BROKERS, Victim.MIGRATION})
                    if ends:
                        assert Level.UNSAFE in names(for_kraft, ending, example), (ending.name, for_kraft)
                await does(broker, ending, example)
        assert [await broker.tell(command) for command in ("start", "stop", "migrate")] == ["ok"] * 3, "nothing is left"


async def no_broker(zk: ZooKeeper) -> bool:
    return "1" not in await zk.children(znode_paths.BROKER_IDS)


async def does(broker: RestartedBroker, ending: Ending, example: Example) -> None:
    """What the table says."""
    migrated = await broker.tell("migrate")
    assert re.search(example.stops, migrated) if example.stops else migrated == "ok", (ending.name, migrated)
    logged = broker.log.stat().st_size
    started = await broker.tell("start")
    if example.ends:
        assert started.startswith("thrown"), (ending.name, started)
        assert re.search(example.ends, started), (ending.name, started)
    else:
        assert started == "ok", (ending.name, started)
    if example.logs:
        await eventually(lambda: example.logs in broker.log.read_text()[logged:], within=30)
    if not example.ends:
        assert await broker.tell("stop") == "ok", ending.name


def test_hm_1_every_row_of_the_table_has_an_example() -> None:
    assert EXAMPLES.keys() | PARTS == set(ENDINGS)
    for ending, example in EXAMPLES.items():
        assert bool(example.ends) == (Victim.BROKERS in ending.victims), ending.name


# --------------------------------------------------------------------------------------------------- running brokers

CLEANER, CHANGES = "kafka-log-cleaner-thread-0", "/config/changes-event-process-thread"
CLEANS = {
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.dedupe.buffer.size": "2097154",
}
BUSY_MS = 500
"""CPU that a log cleaner with nothing to do takes in minutes."""


async def cpu(broker: RestartedBroker) -> int:
    told = await broker.tell(f"thread {CLEANER}")
    return -1 if told == "none" else int(told.split()[0])


async def fill(port: int, topic: str) -> None:
    """A topic with something to clean."""
    at = {"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0}
    compact = {"cleanup.policy": "compact", "segment.bytes": "1000", "min.cleanable.dirty.ratio": "0.01"}
    admin = AdminClient(at)

    async def knows_controller() -> bool:
        """librdkafka would wait a minute for the controller that the first answer of a new broker lacks."""
        return bool((await asyncio.to_thread(admin.list_topics, timeout=10)).controller_id == 1)

    def work() -> None:
        admin.create_topics([NewTopic(topic, 1, 1, config=compact)])[topic].result(60)
        producer = Producer({**at, "linger.ms": 0, "batch.size": 500})
        for number in range(60):
            producer.produce(topic, b"x" * 100, key=str(number % 5))
        assert not producer.flush(60)

    await eventually(knows_controller, within=60)
    await asyncio.to_thread(work)


async def test_hm_1_log_cleaners_of_a_stock_broker_spin_sleep_or_end_as_the_table_says(
    zk: ZooKeeper, zk_connect: str, tmp_path: Path
) -> None:
    store, [port] = ConfigStore(zk), kept_ports(1)

    async def put(values: Mapping[str, str]) -> None:
        await store.alter(BROKERS, DEFAULT, lambda _now: values)

    async def is_busy(before: int) -> bool:
        return await cpu(broker) > before + BUSY_MS

    async def stands(thread: str, what: str) -> bool:
        return what in await broker.tell(f"thread {thread}")

    async with restarted_broker(tmp_path, zk_connect, CLEANS, port) as broker:
        assert await broker.tell("start") == "ok"
        await fill(port, "t")
        await put({"log.cleaner.backoff.ms": "0"})
        await eventually(lambda: is_busy(0), within=60)
        await put({})
        await put({"log.cleaner.io.buffer.load.factor": "0"})
        await eventually(lambda: stands(CLEANER, "none"), within=60)
        await put({"log.cleaner.io.buffer.size": "1"})
        await fill(port, "u")
        await eventually(lambda: is_busy(0), within=60)
        assert "growBuffers" in broker.log.read_text() or await stands(CLEANER, "Cleaner")
        await put({"log.cleaner.io.max.bytes.per.second": "0"})
        await eventually(lambda: stands(CLEANER, "Throttler.maybeThrottle"), within=60)
        await put({"log.cleaner.backoff.ms": "300"})
        await eventually(lambda: stands(CHANGES, "LogCleaner.shutdownCleaners"), within=60)
    async with restarted_broker(tmp_path, zk_connect, CLEANS, port) as broker:
        await put({})
        await eventually(lambda: no_broker(zk), within=60)
        assert await broker.tell("start") == "ok"
        await put({"log.cleaner.dedupe.buffer.size": "9000000000"})
        await eventually(lambda: stands(CHANGES, "none"), within=60)
        assert await stands(CLEANER, "none")
