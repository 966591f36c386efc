"""A simulated broker loses a log dir as a stock one does: by a file in the data directory."""

import asyncio
import json
from collections.abc import Collection
from pathlib import Path

import pytest

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet import Fleet, FleetConfig, LogSizeFileError
from kafka_reassign_rpc.fleet.simulated_broker import SimulatedBroker
from kafka_reassign_rpc.protocol.messages import DescribeLogDirsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.waiting import eventually

from .controller import Partition, ScriptedController
from .test_fleet import ask

STORAGE_ERROR = 56


async def log_dirs(fleet: Fleet, broker: int) -> dict[str, tuple[int, list[int]]]:
    """By name: the error, and the partitions there."""
    answer = await ask(fleet, broker, DescribeLogDirsRequest(version=4, topics=None), 4)
    return {
        one.log_dir.rpartition("/")[2]: (
            one.error_code,
            sorted(found.partition_index for topic in one.topics for found in topic.partitions),
        )
        for one in answer.results
    }


async def lose(fleet: Fleet, data: Path, zk: ZooKeeper, broker: int, directory: int) -> None:
    """Waits until the controller knows it from the broker."""
    before = len(await zk.children(znode_paths.LOG_DIR_EVENTS))
    (data / f"broker-{broker}-dir-{directory}.failed").touch()

    async def is_told() -> bool:
        return len(await zk.children(znode_paths.LOG_DIR_EVENTS)) > before

    await eventually(is_told)


async def test_dh_3_what_a_lost_log_dir_held_is_offline_and_new_replicas_go_to_the_others(
    zk_connect: str, zk: ZooKeeper, tmp_data: Path
) -> None:
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1, 2), data_dir=tmp_data, log_dirs=2)
    async with Fleet(config) as fleet, ScriptedController(fleet) as controller:
        await fleet.ready()
        for index in range(4):
            await controller.set(index, Partition(1, (1, 2), (1,)))
            await controller.isr_is(index, 1, 2)
        assert await log_dirs(fleet, 2) == {"dir-0": (0, [0, 2]), "dir-1": (0, [1, 3])}

        await lose(fleet, tmp_data, zk, 2, 1)
        [name] = await zk.children(znode_paths.LOG_DIR_EVENTS)
        told, _ = await zk.get(f"{znode_paths.LOG_DIR_EVENTS}/{name}")
        assert json.loads(told) == {"version": 1, "broker": 2, "event": 1}
        assert await log_dirs(fleet, 2) == {"dir-0": (0, [0, 2]), "dir-1": (STORAGE_ERROR, [])}
        for index, code in enumerate((0, STORAGE_ERROR, 0, STORAGE_ERROR)):
            controller.partitions[TopicPartition("t", index)] = Partition(1, (1, 2), (1, 2), epoch=1, version=5)
            assert await controller.leader_and_isr(2, TopicPartition("t", index)) == code
            assert await controller.stop_replica(2, TopicPartition("t", index), delete=False) == code
        await controller.set(4, Partition(1, (1, 2), (1,)))
        assert (await log_dirs(fleet, 2))["dir-0"] == (0, [0, 2]), "it may be on the lost log dir"
        await controller.set(5, Partition(1, (1, 2), (1,)), is_new=True)
        await controller.isr_is(5, 1, 2)
        assert (await log_dirs(fleet, 2))["dir-0"] == (0, [0, 2, 5])

        await fleet.stop_broker(2)
        await fleet.start_broker(2)
        assert await log_dirs(fleet, 2) == {"dir-0": (0, [0, 2, 5]), "dir-1": (STORAGE_ERROR, [])}
        (tmp_data / "broker-2-dir-1.failed").unlink()
        await fleet.stop_broker(2, controlled=False)
        await fleet.start_broker(2)
        assert await log_dirs(fleet, 2) == {"dir-0": (0, [0, 2, 5]), "dir-1": (0, [1, 3])}


async def test_dh_3_a_simulated_broker_that_has_lost_all_its_log_dirs_ends(
    zk_connect: str, zk: ZooKeeper, tmp_data: Path
) -> None:
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1, 2), data_dir=tmp_data, log_dirs=1)
    async with Fleet(config) as fleet:
        await fleet.ready()
        (tmp_data / "broker-2-dir-0.failed").touch()
        (tmp_data / "broker-1-dir-7.failed").touch()

        async def has_ended() -> bool:
            return fleet.brokers.keys() == {1} and await zk.children(znode_paths.BROKER_IDS) == ["1"]

        await eventually(has_ended)
        with pytest.raises(LogSizeFileError, match=r"delete broker-2-dir-\*\.failed"):
            await fleet.start_broker(2)


async def test_dh_3_a_broker_that_is_stopped_while_it_loses_its_last_log_dir_keeps_none_from_losing_theirs(
    zk_connect: str, tmp_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1, 2), data_dir=tmp_data, log_dirs=1)
    lose, stopped = SimulatedBroker.lose_log_dirs, list[int]()
    async with Fleet(config) as fleet:

        async def stopped_meanwhile(broker: SimulatedBroker, directories: Collection[int]) -> None:
            await lose(broker, directories)
            await fleet.stop_broker(broker.node_id, controlled=False)
            stopped.append(broker.node_id)

        monkeypatch.setattr(SimulatedBroker, "lose_log_dirs", stopped_meanwhile)
        for broker in (2, 1):
            (tmp_data / f"broker-{broker}-dir-0.failed").touch()
            await eventually(lambda: broker in stopped, within=20)  # noqa: B023


async def test_dh_3_a_fleet_that_ends_waits_for_a_broker_that_ends_without_log_dirs(
    zk_connect: str, tmp_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1, 2), data_dir=tmp_data, log_dirs=1)
    close, closed = SimulatedBroker.close, list[int]()

    async def slowly(broker: SimulatedBroker) -> None:
        await close(broker)
        await asyncio.sleep(0.3)
        closed.append(broker.node_id)

    monkeypatch.setattr(SimulatedBroker, "close", slowly)
    async with Fleet(config) as fleet:
        (tmp_data / "broker-2-dir-0.failed").touch()
        await eventually(lambda: fleet.brokers.keys() == {1})
    assert sorted(closed) == [1, 2]


async def test_dh_3_a_data_directory_that_cannot_be_read_for_a_while_takes_no_log_dir_and_ends_no_fleet(
    zk_connect: str, tmp_data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1, 2), data_dir=tmp_data, log_dirs=1)
    async with Fleet(config) as fleet:
        away = tmp_data.rename(tmp_data.with_name("away"))
        tmp_data.touch()
        await eventually(lambda: "brokers lose no log dirs while --data-dir cannot be read" in caplog.text)
        (away / "broker-2-dir-0.failed").touch()
        tmp_data.unlink()
        away.rename(tmp_data)
        await eventually(lambda: fleet.brokers.keys() == {1})
