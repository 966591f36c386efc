"""Every command that is printed is run in the state in which it was printed, and harms nothing.

Each topic keeps its id, its partitions, their number of replicas and an in-sync replica that was in sync before; what
an operator has configured stands, and what nobody can read is still there to be repaired.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_reassign_rpc.core.config_values import BROKERS, TOPICS
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.znode_contents import encode_controller
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.command_lines import OURS
from tests.controller.bare_controller import topic_creates
from tests.controller.settings.test_migration_to_kraft import WAITS
from tests.faults.cluster import Cluster, simulated_cluster
from tests.fork_server import CLI, KAFKA_REASSIGN, output_of
from tests.http_client import get
from tests.migration.page import Shell, put_program, shell
from tests.preflight.command import every_znode
from tests.processes import processes
from tests.stock.cluster import StockCluster
from tests.stock.jars import BROKER_VERSION, require
from tests.waiting import eventually

pytestmark = [pytest.mark.gate, pytest.mark.timeout(400)]

TYPED = re.compile(r"`((?:kafka-reassign|kafka-reassign-rpc) [^`]*--[^`]*)`")
READS = ("--list", "--status", "--verify", "check", "status", "describe", "events")
ZOOKEEPER_SHELL = f"exec {sys.executable} -m tests.preflight.zookeeper_shell"
OF_OPERATORS = {"log.cleaner.threads": "2", "follower.replication.throttled.rate": "5000000"}
GARBAGE = (
    "/brokers/topics/garbage",
    "/brokers/topics/torn/partitions/0/state",
    "/config/topics/t",
    "/kafka-acl/Topic/t",
)


class Printed(NamedTuple):
    """The commands below findings, in their order, and those in sentences that do more than look."""

    below: list[str]
    in_words: list[str]


async def printed(cluster: Cluster, server: str | None = "a") -> Printed:
    """By all commands that look at a cluster. `server`: by those that ask this server of ours, too."""
    connect, below, words = ("--zookeeper-connect", cluster.connect), dict[str, None](), dict[str, None]()
    texts = []
    for asks in (["check"], ["check", "--for-kraft"], ["check", "--without", "3"]):
        ended = await output_of(CLI, [*asks, "--json", *connect])
        for one in json.loads(ended.out)["findings"]:
            below |= dict.fromkeys(one["commands"])
            texts.append(f"{one['text']} {one['advice']}")
    texts.append((await output_of(CLI, ["status", *connect])).out)
    if server is not None and cluster.servers[server].alive:
        bootstrap = ["--bootstrap-server", cluster.servers[server].ready_value("bootstrap")]
        texts += [(await output_of(KAFKA_REASSIGN, [*bootstrap, one])).out for one in ("status", "--list")]
        texts.append((await output_of(KAFKA_REASSIGN, ["heal", *bootstrap, "--status"])).out)
    for one in typed(texts):
        if not any(word in one.split() for word in READS):
            words[one] = None
    return Printed([*below], [*words])


def typed(texts: Iterable[str]) -> list[str]:
    return TYPED.findall(" ".join(texts))


class Facts(NamedTuple):
    """By topic: its id and for each partition its replicas and its ISR; the configs; what cannot be read."""

    topics: Mapping[str, Any]
    isrs: Mapping[str, frozenset[int]]
    configs: Mapping[str, Mapping[str, str]]
    garbage: Mapping[str, bytes]


async def facts(zk: ZooKeeper) -> Facts:
    topics, isrs, configs, garbage = {}, {}, {}, {}
    for path in await zk.tree("/"):
        read = await zk.multi_get([path])
        data = read[0][0] if read[0] is not None else b""
        if path in GARBAGE:
            garbage[path] = data
        elif path.endswith("/state"):
            isrs[path] = frozenset(json.loads(data)["isr"])
        elif re.fullmatch(r"/brokers/topics/[^/]+", path):
            topics[path] = json.loads(data)
        elif re.fullmatch(r"/config/(topics|brokers)/[^/]+", path):
            configs[path] = json.loads(data)["config"]
    return Facts(topics, isrs, configs, garbage)


def harm(before: Facts, after: Facts) -> list[str]:
    """What is worse than before."""
    found = [f"{path} is gone or another topic" for path, topic in before.topics.items()
             if after.topics.get(path, {}).get("topic_id") != topic.get("topic_id")]  # fmt: skip
    for path, topic in before.topics.items():
        for index, replicas in topic["partitions"].items():
            now = after.topics.get(path, {"partitions": {}})["partitions"].get(index, [])
            leaving = topic.get("removing_replicas", {}).get(index, [])
            if len(now) < len(replicas) - len(leaving):
                found.append(f"{path}-{index}: {replicas} has become {now}")
    found += [f"{path}: no replica of {isr} is in sync" for path, isr in before.isrs.items()
              if isr and not isr & after.isrs.get(path, frozenset())]  # fmt: skip
    for path, configs in before.configs.items():
        kept = {name: value for name, value in configs.items() if OF_OPERATORS.get(name) == value}
        if not kept.items() <= after.configs.get(path, {}).items():
            found.append(f"{path}: {kept} has become {after.configs.get(path)}")
    return found + [f"{path} is gone" for path in before.garbage if path not in after.garbage]


@asynccontextmanager
async def operator(folder: Path) -> AsyncIterator[Shell]:
    programs = folder / "bin"
    put_program(programs, "zookeeper-shell.sh", f'cd {Path.cwd()} && {ZOOKEEPER_SHELL} "$@"')
    async with shell(folder, programs) as opened:
        yield opened


async def none_harms(cluster: Cluster, opened: Shell, server: str = "a", *, leaves: bool = False) -> Printed:
    """`server`: the one that is asked. `leaves`: of commands that leave the cluster, too; our server is stopped when
    they ask for it."""
    found = await printed(cluster, server)
    before = await facts(cluster.zk)
    for line in [*found.below, *found.in_words]:
        words = line.split()
        if words[0] in OURS and words[:2] == ["kafka-reassign-rpc", "leave"]:
            if leaves:
                assert await cluster.servers["a"].stop() == 0
                await cluster.zk.create(znode_paths.CONTROLLER, encode_controller(1, 0), ephemeral=True)
                await opened.run(line)
                await cluster.zk.delete(znode_paths.CONTROLLER)
        elif not line.startswith("sed "):
            await opened.run(line.replace("HOST:PORT", cluster.servers[server].ready_value("bootstrap")))
        assert harm(before, await facts(cluster.zk)) == [], line
    return found


async def test_mg_1_no_command_that_is_printed_harms_the_cluster_in_the_state_in_which_it_is_printed(
    tmp_path: Path,
) -> None:
    async with simulated_cluster(tmp_path) as cluster, operator(tmp_path) as opened:
        zk = cluster.zk
        for broker in ("1", "3", "<default>"):
            await zk.ensure_path("/config/brokers")
            await zk.create(f"/config/brokers/{broker}", json.dumps({"version": 1, "config": OF_OPERATORS}).encode())
        idle = await none_harms(cluster, opened)
        assert (idle.below, idle.in_words) == ([one for one in idle.below if " leave " in one], [])

        await cluster.configure("a", {"partition.reassignments.max.per.cluster": "1"})
        there = await cluster.replicas()
        targets = {name: [({1, 2, 3} - set(found)).pop(), found[0]] for name, found in [*there.items()][:3]}
        assert set((await cluster.alter("a", targets, throttle=1_000)).values()) == {0}
        await eventually(cluster.throttles)
        moving = await none_harms(cluster, opened)
        assert not any("--cancel" in one for one in moving.below), "that would forget what waits"
        await cluster.alter("a", dict.fromkeys(targets))

        in_flight = next(iter(targets))
        assert set((await cluster.alter("a", {in_flight: targets[in_flight]})).values()) == {0}
        alone = await none_harms(cluster, opened)
        assert any(" --cancel" in one for one in alone.below)

        await zk.create(znode_paths.MIGRATION, WAITS)
        await zk.ensure_path(znode_paths.DELETE_TOPICS)
        step_3 = await none_harms(cluster, opened)
        assert not any("/migration" in one for one in step_3.below)
        await zk.delete(znode_paths.MIGRATION)

        assert await zk.exists("/brokers/topics/torn") is None
        epoch = int((await zk.get(znode_paths.CONTROLLER_EPOCH))[0])
        cluster.servers["a"].freeze()
        id_ = "AAAAAAAAQACAAAAAAAAAA"
        for number, (name, replicas, state) in enumerate(
            (("torn", [1, 2], b"{"), ("hollow", [], topic_znodes.encode_state(1, 0, (1,), epoch)))
        ):
            topic = {"version": 3, "topic_id": f"{id_}{'Qw'[number]}", "partitions": {"0": replicas, "1": [1, 2]}}
            states = {0: state, 1: topic_znodes.encode_state(1, 0, (1, 2), epoch)}
            await zk.multi(topic_creates(name, json.dumps(topic).encode(), states))
        await zk.create("/brokers/topics/garbage", b"{")
        await zk.ensure_path("/kafka-acl/Topic")
        await zk.create("/kafka-acl/Topic/t", b'{"version":1,"acls":7}')
        await zk.ensure_path("/config/topics")
        path = "/config/topics/t"
        if await zk.exists(path) is None:
            await zk.create(path, b"[]")
        await zk.set(path, b"[]")
        found = await printed(cluster, server=None)
        assert not any(one in line for one in GARBAGE for line in found.below), found
        assert not any("deleteall" in line or "delete_topics" in line for line in found.below), found
        cluster.servers["a"].thaw()

        registered = (await zk.get(znode_paths.broker(3)))[0]
        await zk.delete(znode_paths.broker(3))
        dead = await printed(cluster, server=None)
        assert any("plan heal" in one for one in dead.below)
        assert not any("/config/brokers/3" in one for one in dead.below), "it may come back"
        before = await facts(zk)
        for line in dead.below:
            if any(tool in line for tool in ("rpc export", "rpc plan heal", "rpc submit")):
                await opened.run(f"timeout 20 {line} || true" if "rpc submit" in line else line)
        assert await cluster.records(), "moves away from it have begun, and take minutes"
        assert harm(before, await facts(zk)) == []
        await cluster.alter("a", dict.fromkeys(await cluster.records()))
        await zk.create(znode_paths.broker(3), registered)

        left = await none_harms(cluster, opened, leaves=True)
        assert any(" leave " in one for one in left.below)
        after = await none_harms(cluster, opened)
        assert not any(" leave " in one for one in after.below)

        data = encode_controller(3000, 0).replace(b'"kraftControllerEpoch":-1', b'"kraftControllerEpoch":4')
        elect = [one for one in after.below if one.endswith("delete /controller")]
        await zk.create(znode_paths.CONTROLLER, data)
        for broker in ("1", "2"):
            await zk.delete(znode_paths.broker(int(broker)))
        stands = await every_znode(zk)
        assert (await printed(cluster)) == Printed([], []), "brokers in KRaft mode are not registered: nothing writes"
        assert await every_znode(zk) == stands
        for line in elect or [f"zookeeper-shell.sh {cluster.connect} get /controller"]:
            await opened.run(line)
        assert (await zk.get(znode_paths.CONTROLLER))[0] == data, "one printed before does nothing any more"


DISKS = ("--log-dirs", "2")


async def test_mg_1_no_command_harms_that_is_printed_with_a_failed_log_dir_or_by_a_standby(
    zk: ZooKeeper, zk_connect: str, tmp_path: Path
) -> None:
    async with processes(tmp_path) as group, operator(tmp_path) as opened:
        cluster = Cluster(group, zk, zk_connect, tmp_path)
        await cluster.server("a")
        await cluster.fleet("3", options=DISKS)
        await cluster.fleet("1,2", "t:8:2:1000", options=DISKS)
        await cluster.server("b", broker_id=1001)
        (tmp_path / "fleet" / "broker-3-dir-1.failed").touch()

        async def is_told() -> bool:
            status = ["status", "--bootstrap-server", cluster.servers["a"].ready_value("bootstrap")]
            return "lost log dirs" in (await output_of(KAFKA_REASSIGN, status)).out

        await eventually(is_told, within=30)
        beside_it = await none_harms(cluster, opened)
        assert beside_it.below
        by_standby = await none_harms(cluster, opened, "b")
        assert by_standby.below == (await printed(cluster)).below

        await cluster.servers["a"].stop()
        await eventually(lambda: cluster.is_controller("b"), within=30)
        await none_harms(cluster, opened, "b")


@pytest.mark.stock
async def test_mg_1_no_command_harms_that_watch_prints_of_a_cluster_of_others(tmp_path: Path) -> None:
    """A stock controller; throttles have stayed, and a broker is down."""
    require(BROKER_VERSION)
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(tmp_path / "zookeeper"))
        zk = await stack.enter_async_context(ZooKeeper(zookeeper.address))
        stock = StockCluster(zookeeper.address, tmp_path, (1, 2))
        stack.push_async_callback(stock.kill)
        await stock.start()
        admin = AdminClient({"bootstrap.servers": stock.bootstrap, "log_level": 0})
        made = admin.create_topics([NewTopic("t", num_partitions=2, replication_factor=2)], operation_timeout=30)
        await asyncio.to_thread(made["t"].result, 60)
        standing = {"log.cleaner.threads": "2", "follower.replication.throttled.rate": "7000000"}
        await ConfigStore(zk).alter(BROKERS, "1", lambda _now: standing)
        await ConfigStore(zk).alter(TOPICS, "t", lambda _now: {"follower.replication.throttled.replicas": "*"})
        group = await stack.enter_async_context(processes(tmp_path))
        first, page = stock.brokers[1].address, ("--metrics-listener", "127.0.0.1:0", "--status-page", "full")
        watch = await group.start("watch", "watch", "--bootstrap-server", first, *page)
        at = watch.ready_value("metrics")
        await stock.brokers[2].kill()

        async def told() -> list[str]:
            paths = ("status", "moves", "brokers", "partitions", "departure?brokers=2", "events")
            return [(await get(at, f"/api/v1/{path}")).body.decode() for path in paths]

        async def is_seen() -> bool:
            return "under-replicated" in (await told())[0]

        await eventually(is_seen, within=60)
        texts = await told()
        asks = ["--bootstrap-server", first]
        texts += [(await output_of(KAFKA_REASSIGN, [*asks, one])).out for one in ("--status", "--list")]
        assert "kafka-reassign-rpc check" in texts[4], "the question that watch cannot answer"

        moves = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}
        (tmp_path / "FILE").write_text(json.dumps(moves))
        opened = await stack.enter_async_context(operator(tmp_path))
        before = await facts(zk)
        asked = [f"kafka-reassign-rpc check --zookeeper-connect {zookeeper.address} --without 2 || true"]
        for line in (*dict.fromkeys(typed(texts)), *asked):
            await opened.run(line.replace("HOST:PORT", first))
            assert harm(before, await facts(zk)) == [], line
