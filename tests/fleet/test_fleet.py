"""A fleet on a real ZooKeeper, driven by a controller that sends real frames."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.fleet import Fleet, FleetConfig, LogSizeFileError
from kafka_reassign_rpc.fleet.controller_requests import SLICE
from kafka_reassign_rpc.protocol.messages import DescribeConfigsRequest, DescribeLogDirsRequest, MetadataRequest
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

from . import messages
from .controller import Partition, ScriptedController

MIB = 1 << 20
T0 = TopicPartition("t", 0)


@pytest_asyncio.fixture
async def fleet(zk_connect: str) -> AsyncIterator[Fleet]:
    """Brokers 1, 2, 3 without limits."""
    async with Fleet(FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1, 2, 3))) as started:
        await started.ready()
        yield started


@pytest_asyncio.fixture
async def controller(fleet: Fleet) -> AsyncIterator[ScriptedController]:
    async with ScriptedController(fleet) as started:
        yield started


async def until(condition: Callable[[], bool], timeout: float = 60.0) -> None:
    """Waits for a condition that nothing announces: checks every 10 ms."""
    async with asyncio.timeout(timeout):
        while not condition():
            await asyncio.sleep(0.01)


async def ask(fleet: Fleet, broker: int, request: Any, version: int) -> Any:
    connection = await RpcClient.open(*fleet.addresses[broker], "test", 10.0)
    try:
        return await connection.call(type(request), request, version)
    finally:
        connection.close()


async def sizes(fleet: Fleet, broker: int) -> dict[TopicPartition, int]:
    """The sizes that DescribeLogDirs shows."""
    answer = await ask(fleet, broker, DescribeLogDirsRequest(version=4, topics=None), 4)
    return {
        TopicPartition(topic.name, partition.partition_index): partition.partition_size
        for directory in answer.results
        for topic in directory.topics
        for partition in topic.partitions
    }


async def set_size(zk: ZooKeeper, topic: str, size: int) -> None:
    """Sets the size that new partitions of the topic have from the start."""
    await zk.ensure_path("/simulated_fleet")
    await zk.create(f"/simulated_fleet/{topic}", b"%d" % size)


async def test_brokers_register_as_stock_brokers_of_3_9_do(fleet: Fleet, zk: ZooKeeper) -> None:
    data, stat = await zk.get("/brokers/ids/2")
    host, port = fleet.addresses[2]
    found = json.loads(data)
    assert int(found.pop("timestamp")) > 1_600_000_000_000
    assert found == {
        "version": 5,
        "host": host,
        "port": port,
        "endpoints": [f"PLAINTEXT://{host}:{port}"],
        "jmx_port": -1,
        "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
        "features": {},
    }
    assert stat.ephemeral_owner
    assert stat.czxid == fleet.brokers[2].broker_epoch


async def test_racks_are_in_the_registration_and_in_metadata(zk_connect: str, zk: ZooKeeper) -> None:
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1, 2), racks={1: "a"})
    async with Fleet(config):
        await until_registered(zk, 1, 2)
        assert json.loads((await zk.get("/brokers/ids/1"))[0])["rack"] == "a"
        assert "rack" not in json.loads((await zk.get("/brokers/ids/2"))[0])


async def until_registered(zk: ZooKeeper, *brokers: int) -> None:
    async with asyncio.timeout(60):
        for broker in brokers:
            while await zk.exists(f"/brokers/ids/{broker}") is None:
                await asyncio.sleep(0.01)


async def test_455_3_a_replica_that_is_added_copies_and_joins_the_isr(
    fleet: Fleet, controller: ScriptedController, zk: ZooKeeper
) -> None:
    await set_size(zk, "t", 5 * MIB)
    await controller.set(0, Partition(1, (1, 2), (1, 2)))
    assert (await sizes(fleet, 2)) == {T0: 5 * MIB}
    await controller.set(0, Partition(1, (3, 1, 2), (1, 2), epoch=1, version=1))
    await controller.isr_is(0, 1, 2, 3)
    assert (await sizes(fleet, 3)) == {T0: 5 * MIB}
    await controller.set(0, Partition(3, (3,), (3,), epoch=2, version=3))
    for broker in (1, 2):
        assert await controller.stop_replica(broker, T0) == 0
        assert await sizes(fleet, broker) == {}


async def test_metadata_is_what_the_controller_said(fleet: Fleet, controller: ScriptedController) -> None:
    await controller.set(0, Partition(1, (1, 2), (1, 2)))
    answer = await ask(fleet, 3, MetadataRequest(version=12, topics=None), 12)
    assert answer.controller_id == 1000
    assert sorted(broker.node_id for broker in answer.brokers) == [1, 2, 3, 1000]
    [topic] = answer.topics
    [partition] = topic.partitions
    assert (topic.name, partition.leader_id, partition.replica_nodes) == ("t", 1, [1, 2])


async def test_many_isr_changes_travel_in_few_requests(fleet: Fleet, controller: ScriptedController) -> None:
    for index in range(60):
        await controller.set(index, Partition(1, (1, 2), (1,)))
    name = TopicPartition("t", 59)
    await controller.until(lambda: all(set(one.isr) == {1, 2} for one in controller.partitions.values()))
    assert controller.partitions[name].version == 1


@pytest.mark.parametrize("error", [41, 77], ids=["not controller", "stale broker epoch"])
async def test_an_isr_change_that_is_refused_as_a_whole_is_made_again(
    fleet: Fleet, controller: ScriptedController, error: int
) -> None:
    controller.alter_errors = [error, error]
    await controller.set(0, Partition(1, (1, 2), (1,)))
    await controller.isr_is(0, 1, 2)
    assert len(controller.of(56)) == 3


async def test_an_isr_change_that_is_out_of_date_waits_for_the_controller(
    fleet: Fleet, controller: ScriptedController
) -> None:
    controller.partition_errors = [95]
    await controller.set(0, Partition(1, (1, 2), (1,)))
    await controller.until(lambda: len(controller.of(56)) == 1)
    await controller.set(0, Partition(1, (1, 2), (1,), epoch=1, version=5))
    await controller.isr_is(0, 1, 2)
    assert len(controller.of(56)) == 2


async def test_a_member_that_is_not_eligible_is_proposed_again_later(
    fleet: Fleet, controller: ScriptedController
) -> None:
    controller.partition_errors = [107]
    await controller.set(0, Partition(1, (1, 2), (1,)))
    await controller.isr_is(0, 1, 2)


async def test_a_follower_that_caught_up_while_it_counted_as_dead_joins_once_it_is_live(
    fleet: Fleet, controller: ScriptedController
) -> None:
    controller.dead = {2}
    await controller.set(0, Partition(1, (1, 2), (1,)))
    await until(lambda: fleet.brokers[1]._leading.is_caught_up(T0, 2))
    controller.dead = set()
    await controller.update_metadata()
    await controller.isr_is(0, 1, 2)


async def test_sv_3_an_isr_change_that_a_frozen_controller_left_unanswered_goes_to_its_successor(
    fleet: Fleet, controller: ScriptedController
) -> None:
    controller.silent = True
    await controller.set(0, Partition(1, (1, 2), (1,)))
    await until(lambda: bool(controller.requests))
    async with ScriptedController(fleet) as successor:
        successor.epoch = 2
        await successor.set(0, Partition(1, (1, 2), (1,), epoch=1))
        await successor.isr_is(0, 1, 2)


async def test_a_follower_that_stops_leaves_the_isr_after_the_lag_time(zk_connect: str) -> None:
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1, 2, 3), replica_lag_time_max_ms=1000)
    async with Fleet(config) as fleet, ScriptedController(fleet) as controller:
        await fleet.ready()
        await controller.set(0, Partition(1, (1, 2, 3), (1, 2, 3)))
        began = time.monotonic()
        await fleet.stop_broker(3, controlled=False)
        await controller.isr_is(0, 1, 2)
        assert time.monotonic() - began > 0.4


async def test_a_leader_change_loses_no_byte(fleet: Fleet, controller: ScriptedController, zk: ZooKeeper) -> None:
    await set_size(zk, "t", 3 * MIB)
    await controller.set(0, Partition(1, (1, 2, 3), (1, 2)))
    await controller.isr_is(0, 1, 2, 3)
    await controller.set(0, Partition(2, (2, 3, 1), (2, 3), epoch=5, version=9))
    await controller.isr_is(0, 1, 2, 3)
    for broker in (1, 2, 3):
        assert await sizes(fleet, broker) == {T0: 3 * MIB}


async def test_controlled_shutdown_is_asked_for_before_a_broker_leaves(
    fleet: Fleet, controller: ScriptedController, zk: ZooKeeper
) -> None:
    epoch = fleet.brokers[2].broker_epoch
    await fleet.stop_broker(2)
    [request] = controller.of(7)
    assert (request.broker_id, request.broker_epoch) == (2, epoch)
    assert await zk.exists("/brokers/ids/2") is None


async def test_a_restarted_broker_has_a_new_epoch_and_refuses_requests_for_the_old_one(
    zk_connect: str, tmp_data: Path
) -> None:
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1, 2), data_dir=tmp_data)
    async with Fleet(config) as fleet:
        await fleet.ready()
        before = fleet.brokers[2].broker_epoch
        await fleet.stop_broker(2, controlled=False)
        await fleet.start_broker(2)
        await fleet.ready()
        assert fleet.brokers[2].broker_epoch > before


async def test_sizes_survive_the_end_of_the_process(zk_connect: str, zk: ZooKeeper, tmp_data: Path) -> None:
    await set_size(zk, "t", 7 * MIB)
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1, 2), data_dir=tmp_data)
    async with Fleet(config) as fleet, ScriptedController(fleet) as controller:
        await fleet.ready()
        await controller.set(0, Partition(1, (1, 2), (1,)))
        await controller.isr_is(0, 1, 2)
    async with Fleet(config) as fleet:
        await fleet.ready()
        for broker in (1, 2):
            assert await sizes(fleet, broker) == {T0: 7 * MIB}


async def test_a_session_that_is_over_is_followed_by_a_new_registration(
    fleet: Fleet, controller: ScriptedController, zk: ZooKeeper
) -> None:
    broker = fleet.brokers[1]
    before = broker.broker_epoch
    await end_session(broker._zk)
    await until(lambda: broker.broker_epoch > before)
    assert (await zk.get("/brokers/ids/1"))[1].czxid == broker.broker_epoch


async def end_session(zk: ZooKeeper) -> None:
    """Ends a session on the server, as its expiry does: closes it from another connection."""
    thief = ZooKeeper(zk.connect)
    thief._session.session_id, thief._session.password = zk._session.session_id, zk._session.password
    await thief.start()
    await thief.close()


async def moved_in(controller: ScriptedController, index: int, timeout: float = 60.0) -> float:
    """Adds broker 2 to a partition that broker 1 leads; seconds until it is in the ISR."""
    await controller.set(index, Partition(1, (1,), (1,)))
    began = time.monotonic()
    await controller.set(index, Partition(1, (2, 1), (1,), epoch=1, version=1))
    await controller.isr_is(index, 1, 2, timeout=timeout)
    return time.monotonic() - began


async def test_copies_take_the_time_that_the_bandwidth_says(zk_connect: str, zk: ZooKeeper) -> None:
    await set_size(zk, "t", 4 * MIB)
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1, 2), bandwidth=4 * MIB)
    async with Fleet(config) as fleet, ScriptedController(fleet) as controller:
        await fleet.ready()
        assert await moved_in(controller, 0) > 0.7


@pytest.mark.parametrize("side", ["leader", "follower"])
async def test_l_a_throttle_slows_a_copy_down_and_taking_it_away_speeds_it_up(
    fleet: Fleet, controller: ScriptedController, zk: ZooKeeper, side: str
) -> None:
    await set_size(zk, "t", 40 * MIB)
    store = ConfigStore(zk)
    broker = {"leader": "1", "follower": "2"}[side]
    rate = f"{side}.replication.throttled.rate"
    await store.alter("topics", "t", lambda _: {f"{side}.replication.throttled.replicas": f"0:{broker}"})
    await store.alter("brokers", broker, lambda _: {rate: str(MIB)})
    throttles = fleet._throttles
    await until(lambda: throttles.rate(rate, int(broker)) == MIB)
    began = time.monotonic()
    copy = asyncio.create_task(moved_in(controller, 0))
    await moved_in(controller, 1)
    logs = fleet.brokers[2]._table.logs
    await until(lambda: T0 in logs and logs[T0].size > MIB // 2)
    assert logs[T0].size <= MIB * (1 + time.monotonic() - began)
    assert not copy.done(), "the other copy has passed it"
    left, began = 40 * MIB - logs[T0].size, time.monotonic()
    await store.alter("brokers", broker, lambda _: {})
    await copy
    assert time.monotonic() - began < left / MIB / 2, "at the throttle it takes twice as long"


async def test_a_data_directory_of_another_owner_stops_the_fleet_with_a_reason(zk_connect: str, tmp_data: Path) -> None:
    (tmp_data / "broker-2.log").write_text('{"cluster_id":"other","broker_id":2}\n')
    fleet = Fleet(FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1, 2), data_dir=tmp_data))
    with pytest.raises(LogSizeFileError, match="belongs to broker 2 of cluster other"):
        await fleet.__aenter__()
    assert fleet.brokers == {}


async def test_a_port_that_is_taken_is_an_error(fleet: Fleet, zk_connect: str) -> None:
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(9,), ports={9: fleet.addresses[1][1]})
    with pytest.raises(OSError, match="address already in use"):
        await Fleet(config).__aenter__()


async def test_a_large_request_is_applied_without_holding_up_the_loop(
    monkeypatch: pytest.MonkeyPatch, fleet: Fleet, controller: ScriptedController
) -> None:
    monkeypatch.setattr("kafka_reassign_rpc.support.turns.TURN_S", 0)
    states = [{"index": index, "leader": 1, "epoch": 1, "isr": [1, 2], "replicas": [1, 2]} for index in range(10_000)]
    request = messages.leader_and_isr(*states, broker_epoch=fleet.brokers[1].broker_epoch)
    applied = asyncio.create_task(
        fleet.brokers[1].leader_and_isr(messages.received(request, 7), RequestContext(4, 7, 0, None))
    )
    turns = 0
    while not applied.done():
        await asyncio.sleep(0)
        turns += 1
    answer: Any = await applied
    assert len(answer.topics[0][1]) == 10_000
    assert turns >= 10_000 / SLICE, "others have their turn after each slice"


async def test_sv_3_a_simulated_broker_says_that_zookeeper_is_away_where_its_configs_are_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    zookeeper = EmbeddedZooKeeper(tmp_path)
    await zookeeper.start()
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=4, resource_name="1", configuration_keys=None
    )
    request = DescribeConfigsRequest(
        resources=[resource], include_synonyms=False, include_documentation=False, version=4
    )
    config = FleetConfig(zookeeper_connect=zookeeper.address, broker_ids=(1,), session_timeout_ms=3_000)
    async with Fleet(config) as fleet:
        await zookeeper.stop()
        [result] = (await ask(fleet, 1, request, 4)).results
        assert (result.error_code, result.error_message[:26]) == (8, "ZooKeeper cannot be asked:")
    assert "failed" not in caplog.text
