"""Cluster-wide broker configs that clients set at our server, and stock brokers that have to live with them."""

import random
import re
from collections.abc import AsyncIterator, Mapping
from functools import partial

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.configs.config_definitions import BROKER_CONFIGS, ConfigValueError, ignored_default
from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers
from kafka_reassign_rpc.core.configs.config_rules import judge_reconfiguration
from kafka_reassign_rpc.core.restarts.ending_values import later_trouble
from kafka_reassign_rpc.core.throttling.replication_throttles import LEADER_RATE
from kafka_reassign_rpc.protocol.messages import IncrementalAlterConfigsRequest
from kafka_reassign_rpc.transport.broker_answers import broker_configs
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode
from tests.api.random_defaults import Change, random_change
from tests.faults.cluster import Address, address_of, ask
from tests.stock.cluster import StockBroker
from tests.stock.jars import BROKER_VERSION
from tests.stock.tools import Tools
from tests.waiting import eventually

from .mixed_cluster import MixedCluster, behind_our_server

pytestmark = [
    pytest.mark.stock,
    pytest.mark.release,
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="module"),
]

SEED, CASES, WRITTEN, RESTARTS = 32, 500, 0.15, 8
INVALID_REQUEST = 42
DYNAMIC_DEFAULT = 3
"""Kafka's DescribeConfigsResponse.ConfigSource of the cluster-wide configs."""
LIKE_OTHERS = {
    "log.cleaner.enable": "true",
    "log.cleaner.dedupe.buffer.size": "2097154",
    "num.io.threads": "8",
    "num.network.threads": "3",
    "background.threads": "10",
}

REFUSED: Mapping[str, Mapping[str, str]] = {
    "a class that no broker can load": {"metric.reporters": "no.such.Class"},
    "no connections": {"max.connections": "0"},
    "no connections from an address": {"max.connections.per.ip": "0"},
    "no new connections": {"max.connection.creation.rate": "0"},
    "nothing kept": {"log.retention.ms": "0"},
    "segments of no time": {"log.roll.ms": "0"},
    "jitter below zero": {"log.roll.jitter.ms": "-1"},
    "far more request handlers": {"num.io.threads": "1000"},
    "far fewer request handlers": {"num.io.threads": "3"},
    "far more network threads": {"num.network.threads": "7"},
    "no fetchers": {"num.replica.fetchers": "0"},
    "no log cleaners": {"log.cleaner.threads": "0"},
    "more log cleaners than room": {
        "log.cleaner.threads": "2",
        "log.cleaner.dedupe.buffer.size": "2097152",
    },
    "more kept locally than at all": {"log.retention.ms": "1000", "log.local.retention.ms": "1001"},
    "more bytes kept locally than at all": {"log.retention.bytes": "5", "log.local.retention.bytes": "6"},
    "overrides without numbers": {"max.connections.per.ip.overrides": "10.0.0.9"},
    "no connections at a listener": {"listener.name.plaintext.max.connections": "0"},
    "a provider that cannot be loaded": {"config.providers": "x", "config.providers.x.class": "no.such"},
    "a password": {"my.ssl.key.password": "secret"},
    "another unit": {"log.retention.hours": "1"},
    "a config of one broker": {"sasl.jaas.config": "x"},
}
"""What a stock broker refuses."""

ENDS_BROKERS: Mapping[str, Mapping[str, str]] = {
    "compaction earliest after it is latest": {
        "log.cleaner.min.compaction.lag.ms": "10",
        "log.cleaner.max.compaction.lag.ms": "5",
    },
    "a reporter that cannot be configured": {"metric.reporters": "org.apache.kafka.tools.PushHttpMetricsReporter"},
    "log cleaners without room": {"log.cleaner.io.buffer.load.factor": "0"},
    "a default that no topic may have": {"log.flush.interval.ms": "-1"},
    "an index without room": {"log.index.size.max.bytes": "4"},
    "a throttle with blanks": {LEADER_RATE: " 5 "},
    "log cleaners without a buffer": {"log.cleaner.io.buffer.size": "0"},
    "log cleaners that may read nothing": {"log.cleaner.io.max.bytes.per.second": "0"},
    "log cleaners without a pause": {"log.cleaner.backoff.ms": "0"},
    "log cleaners without memory": {"log.cleaner.dedupe.buffer.size": "9000000000"},
}
"""What a stock broker accepts, and does not start with, or does not work with any more."""

ACCEPTED: tuple[Mapping[str, str], ...] = (
    {"num.io.threads": "16", "num.network.threads": "6", "num.replica.fetchers": "2", "background.threads": "5"},
    {"metric.reporters": "org.apache.kafka.common.metrics.JmxReporter"},
    {"log.retention.ms": "2000000", "log.local.retention.ms": "1000000", "log.roll.ms": "5000"},
    {"max.connections": "500", "max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:400"},
    {"log.cleaner.min.compaction.lag.ms": "5", "log.cleaner.max.compaction.lag.ms": "10"},
    {"listener.name.plaintext.max.connections": "300", "log.cleanup.policy": "compact,delete"},
)
"""What brokers live with. Each stays when the next one comes."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MixedCluster]:
    """One broker for all tests: it restarts where a test is about that."""
    directory = tmp_path_factory.mktemp("defaults")
    async with behind_our_server(directory, [1], overrides=LIKE_OTHERS) as cluster:
        yield cluster


@pytest_asyncio.fixture(loop_scope="module")
async def mixed(cluster: MixedCluster) -> AsyncIterator[MixedCluster]:
    """Afterwards no cluster-wide config is set."""
    yield cluster
    await put(cluster, {})
    await applied(cluster, {})


async def change(address: Address, changes: Change, *, only: bool = False) -> tuple[int, str]:
    """The code and the message that a node answers to changes of the cluster-wide configs."""
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [
        resource.AlterableConfig(name=name, config_operation=int(value is None), value=value)
        for name, value in changes.items()
    ]
    asked = resource(resource_type=4, resource_name="", configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[asked], validate_only=only)
    [result] = (await ask(address, request, 1)).responses
    return result.error_code, result.error_message or ""


async def standing(mixed: MixedCluster) -> dict[str, str]:
    path = znode_paths.config("brokers/<default>")
    try:
        return znode_contents.decode_config((await mixed.zk.get(path))[0], path)
    except NoNode:
        return {}


async def put(mixed: MixedCluster, configs: Mapping[str, str]) -> None:
    """Write the cluster-wide configs into ZooKeeper, as former versions and other tools do."""
    store = ConfigStore(mixed.zk)
    await store.alter("brokers", "<default>", lambda _current: configs)


async def applied(mixed: MixedCluster, configs: Mapping[str, str]) -> None:
    """Wait until the broker has these cluster-wide configs."""
    broker = mixed.stock.brokers[1]

    async def shown() -> bool:
        client = await RpcClient.open("127.0.0.1", broker.port, "test", 30)
        try:
            entries = await broker_configs(client, 1, [*configs, *BROKER_CONFIGS])
        finally:
            client.close()
        found = {one.name for entry in entries for one in entry.synonyms if one.source == DYNAMIC_DEFAULT}
        return found == {name for name in configs if ignored_default(name, configs[name]) is None}

    await eventually(shown, within=30)


def address(broker: StockBroker) -> Address:
    return address_of(broker.address)


async def test_hm_1_what_a_stock_broker_refuses_as_a_cluster_wide_config_is_refused_with_its_words(
    mixed: MixedCluster,
) -> None:
    stock, ours = address(mixed.stock.brokers[1]), mixed.cluster.address(mixed.server)
    for what, configs in REFUSED.items():
        before = await standing(mixed)
        theirs = await change(stock, dict(configs))
        assert theirs[0], what
        assert await change(ours, dict(configs)) == theirs, what
        assert (await change(ours, dict(configs), only=True))[0] == (await change(stock, dict(configs), only=True))[0]
        assert await standing(mixed) == before, what
    for what, configs in ENDS_BROKERS.items():
        assert await change(stock, dict(configs), only=True) == (0, ""), what
        assert (await change(ours, dict(configs)))[0] == INVALID_REQUEST, what
    assert await standing(mixed) == {}


async def test_hm_1_a_stock_broker_starts_with_all_that_is_accepted_and_its_tool_still_sets_throttles(
    mixed: MixedCluster,
) -> None:
    broker, ours = mixed.stock.brokers[1], mixed.cluster.address(mixed.server)
    for configs in ACCEPTED:
        assert await change(ours, dict(configs)) == (0, ""), configs
        await broker.stop()
        await broker.start()
        assert await standing(mixed) == {**await standing(mixed), **configs}
        for rate in ("1000", None):
            assert await change(address(broker), {LEADER_RATE: rate}) == (0, ""), configs
    with Tools(BROKER_VERSION) as tools:
        for step in (f"--add-config {LEADER_RATE}=77", f"--delete-config {LEADER_RATE}"):
            for entity in ("--entity-name 1", "--entity-default"):
                words = f"--bootstrap-server {broker.address} --entity-type brokers --alter {entity} {step}"
                await eventually(partial(_succeeds, tools, words), within=30)


async def _succeeds(tools: Tools, words: str) -> bool:
    """The tool deletes nothing that the broker does not show, and a broker learns of a config after the answer."""
    done = await tools.run("configs", *words.split())
    assert done.code == 0, done
    return True


async def test_hm_1_what_is_set_and_cannot_be_applied_is_named_and_can_be_deleted(mixed: MixedCluster) -> None:
    stock, ours = address(mixed.stock.brokers[1]), mixed.cluster.address(mixed.server)
    bad = {"log.local.retention.ms": "999999999999", "log.segment.bytes": "2000"}
    await put(mixed, bad)
    await eventually(lambda: _refuses(stock))
    code, theirs = await change(stock, {LEADER_RATE: "5"})
    ours_code, text = await change(ours, {LEADER_RATE: "5"})
    assert ours_code == code
    assert text.startswith(theirs)
    assert "cannot apply what is set already: delete or correct log.local.retention.ms first" in text
    assert await change(ours, {"log.local.retention.ms": None}) == (0, "")
    assert await change(ours, {LEADER_RATE: "5"}) == (0, "")
    assert await standing(mixed) == {"log.segment.bytes": "2000", LEADER_RATE: "5"}


async def _refuses(stock: Address) -> bool:
    return (await change(stock, {}, only=True))[0] != 0


async def test_hm_1_what_brokers_leave_out_of_the_cluster_wide_configs_blocks_nothing(mixed: MixedCluster) -> None:
    stock, ours = address(mixed.stock.brokers[1]), mixed.cluster.address(mixed.server)
    odd = {"log.roll.ms": "soon", "broker.id": "7", "sasl.jaas.config": "x", "my.ssl.key.password": "x"}
    await put(mixed, odd)
    await applied(mixed, odd)
    assert await change(stock, {LEADER_RATE: "5"}, only=True) == (0, "")
    assert await change(ours, {LEADER_RATE: "5"}) == (0, "")
    assert await standing(mixed) == {**odd, LEADER_RATE: "5"}
    same = {"log.roll.ms": "soon"}
    assert await change(ours, dict(same)) == await change(stock, dict(same), only=True) != (0, "")
    assert await change(ours, {"broker.id": None, "log.roll.ms": "9"}) == (0, "")


async def test_hm_1_random_cluster_wide_configs_are_accepted_if_and_only_if_a_stock_broker_accepts_them(
    mixed: MixedCluster,
) -> None:
    """And the rules by which simulated brokers judge say the same."""
    broker, ours = mixed.stock.brokers[1], mixed.cluster.address(mixed.server)
    rng = random.Random(SEED)
    now: dict[str, str] = {}
    counts = {"accepted": 0, "refused": 0, "written": 0}
    for number in range(CASES):
        changes = random_change(rng)
        wanted = {name: value for name, value in {**now, **changes}.items() if value is not None}
        code, text = await change(address(broker), changes, only=True)
        mine = _model(broker, now, wanted)
        assert bool(mine) == bool(text), (number, now, changes, mine, text)
        if len(changes) == 1 and text.startswith(("requirement", "Invalid value org.apache")):
            assert _plain(mine) == _plain(text), (number, now, changes)
        got = await change(ours, changes, only=True)
        later = code == 0 and got[0] != 0 and "would accept this, but" in got[1]
        assert got[0] == code or later, (number, now, changes, got, text)
        if later:
            before, after = (ConfigLayers({}, one, broker.properties).effective() for one in (now, wanted))
            assert later_trouble(before, after), changes
        counts["refused" if code else "accepted"] += 1
        shuts_us_out = any("connection" in name for name in changes)
        if got[0] == 0 and not shuts_us_out and rng.random() < WRITTEN:
            assert await change(ours, changes) == (0, ""), changes
            now = wanted
            await applied(mixed, now)
            counts["written"] += 1
            if counts["written"] % RESTARTS == 0:
                await broker.stop()
                await broker.start()
    assert min(counts["accepted"], counts["refused"]) > CASES // 8, counts
    assert counts["written"] >= RESTARTS, counts


def _plain(text: str) -> str:
    """Scala's sets have no order, and more than one name."""
    return re.sub(r"(?:Hash)?Set\((.*?)\)", lambda found: str(sorted(found[1].split(", "))), text)


def _model(broker: StockBroker, now: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    try:
        judge_reconfiguration(broker.properties, now, {}, wanted, "plaintext")
    except ConfigValueError as error:
        return str(error)
    return ""


async def test_hm_1_brokers_of_2_8_and_3_3_are_asked_as_well(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Broker 2, of 2.8.2, runs fewer threads than the others, so that it alone refuses."""
    overrides = {**LIKE_OTHERS, "inter.broker.protocol.version": "2.8"}
    async with behind_our_server(
        tmp_path_factory.mktemp("versions"),
        [1, 2, 3],
        overrides=overrides,
        versions={1: "3.3.2", 2: "2.8.2"},
        per_broker={2: {"num.io.threads": "3"}},
    ) as mixed:
        ours = mixed.cluster.address(mixed.server)
        code, text = await change(ours, {"num.io.threads": "16"})
        assert (code, text.startswith("Broker 2: ")) == (INVALID_REQUEST, True), text
        lags = {"log.cleaner.min.compaction.lag.ms": "10", "log.cleaner.max.compaction.lag.ms": "5"}
        code, text = await change(ours, dict(lags))
        assert (code, "would not start again" in text) == (INVALID_REQUEST, True), text
        assert await standing(mixed) == {}
        assert await change(ours, {"num.io.threads": "6", "log.roll.ms": "5000"}) == (0, "")
        assert await standing(mixed) == {"num.io.threads": "6", "log.roll.ms": "5000"}
