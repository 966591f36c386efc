"""The configs of topics that others create. Brokers do not announce those of internal topics."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
import pytest_asyncio

from kafka_reassign_rpc.controller.loading import load_cluster
from kafka_reassign_rpc.core.leadership.elections import allows_unclean
from kafka_reassign_rpc.core.state.partition import NO_LEADER
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Delete
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import (
    BareController,
    elected_controller,
    put_topic,
    register,
    state_json,
    topic_creates,
)
from tests.controller.bare_watches import watches_of
from tests.waiting import eventually

FORBIDDEN = {"unclean.leader.election.enable": "false", "min.insync.replicas": "2"}


@pytest_asyncio.fixture
async def here(zk: ZooKeeper, zk_connect: str) -> AsyncIterator[BareController]:
    """A controller that watches. The cluster's default allows unclean elections; brokers 2 and 3 live."""
    await register(zk, 2, 3)
    for path in (znode_paths.CONFIG_CHANGES, znode_paths.TOPICS, znode_paths.config_type("topics")):
        await zk.ensure_path(path)
    await configured(zk, "brokers/<default>", {"unclean.leader.election.enable": "true"})
    async with elected_controller(zk_connect) as controller:
        watches = watches_of(controller)
        controller.zk.on_watch(watches.watch_fired)
        await watches.place()
        running = asyncio.create_task(watches.run())
        yield controller
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def configured(zk: ZooKeeper, entity: str, config: dict[str, str]) -> None:
    """Write a config without a notification, as Kafka does for a topic that it creates."""
    path = f"{znode_paths.CONFIG}/{entity}"
    await zk.ensure_path(path)
    await zk.set(path, znode_contents.encode_config(config))


async def test_sv_10_the_config_of_a_topic_that_a_broker_creates_holds_from_its_first_election_on(
    here: BareController, zk: ZooKeeper
) -> None:
    await configured(zk, "topics/__transaction_state", FORBIDDEN)
    state = topic_znodes.encode_state(1, 3, (1,), 1)  # only 1, which is gone, is in sync
    topic = topic_znodes.encode_topic(None, {0: ((1, 2, 3), (), ())})
    await zk.multi(topic_creates("__transaction_state", topic, {0: state}))
    await eventually(lambda: "__transaction_state" in here.cluster.topics)
    assert here.cluster.topic_configs["__transaction_state"] == FORBIDDEN
    assert not allows_unclean(here.cluster, "__transaction_state")
    await here.check()
    found = await state_json(zk, ("__transaction_state", 0))
    assert (found["leader"], found["isr"]) == (NO_LEADER, [1])


async def test_sv_10_the_configs_of_many_new_topics_are_read_in_one_round_trip_and_those_of_known_ones_stay(
    here: BareController, zk: ZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[list[str]] = []
    really_read = load_cluster.read_named_configs

    async def noted(client: ZooKeeper, kind: str, names: list[str]) -> object:
        read.append(sorted(names))
        return await really_read(client, kind, names)

    monkeypatch.setattr(load_cluster, "read_named_configs", noted)
    names = [f"t{number}" for number in range(20)]
    for name in names:
        await configured(zk, f"topics/{name}", FORBIDDEN)
    async with asyncio.timeout(20):
        await asyncio.gather(*(put_topic(zk, name, {0: (2, 3)}, topic_id=None) for name in names))
        await eventually(lambda: set(names) <= here.cluster.topics.keys())
    assert [here.cluster.topic_configs[name] for name in names] == [FORBIDDEN] * 20
    assert len(read) < 20
    # Without a notification a change of a known topic's config does not count: a stock controller does not read it.
    await configured(zk, "topics/t0", {})
    data, _ = await zk.get(znode_paths.topic("t0"))
    stat = await zk.set(znode_paths.topic("t0"), data)
    await eventually(lambda: here.cluster.topics["t0"].version >= stat.version)
    assert here.cluster.topic_configs["t0"] == FORBIDDEN


async def test_sv_10_a_topic_made_again_under_its_name_has_its_own_config(here: BareController, zk: ZooKeeper) -> None:
    await configured(zk, "topics/t", FORBIDDEN)
    await put_topic(zk, "t", {0: (2, 3)})
    await eventually(lambda: "t" in here.cluster.topics)
    state, partition = znode_paths.partition_state("t", 0), znode_paths.partition("t", 0)
    await zk.multi([Delete(path) for path in (state, partition, znode_paths.partitions("t"), znode_paths.topic("t"))])
    await configured(zk, "topics/t", {"min.insync.replicas": "1"})
    await put_topic(zk, "t", {0: (3, 2)})
    await eventually(lambda: here.cluster.topic_configs.get("t") == {"min.insync.replicas": "1"})
