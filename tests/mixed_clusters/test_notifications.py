"""Stock brokers 3.9.1 that tell the controller through ZooKeeper: of a lost log dir, of ISRs that they have written."""

import shutil
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.bare_controller import state_json
from tests.faults.cluster import address_of, metadata
from tests.waiting import eventually

from .mixed_cluster import MixedCluster, Name, behind_our_server

pytestmark = [pytest.mark.stock, pytest.mark.release]

PARTITIONS = 6
Seen = dict[int, tuple[int, list[int], list[int]]]


def two_brokers(directory: Path, overrides: Mapping[str, str]) -> AbstractAsyncContextManager[MixedCluster]:
    """Stock brokers 1 and 2, each with the log dirs `a` and `b`, whose controller is our server."""
    dirs = {id_: {"log.dirs": ",".join(map(str, log_dirs(directory, id_)))} for id_ in (1, 2)}
    return behind_our_server(directory, (1, 2), overrides=overrides, per_broker=dirs)


def log_dirs(directory: Path, broker: int) -> tuple[Path, Path]:
    return directory / str(broker) / "a", directory / str(broker) / "b"


def held(directory: Path) -> set[int]:
    """The partitions of the topic `jbod` that have their log in this dir."""
    return {int(path.name.removeprefix("jbod-")) for path in directory.glob("jbod-*")}


async def seen(mixed: MixedCluster, broker: int) -> Seen:
    """Leader, ISR and offline replicas of the topic's partitions, in the Metadata of a stock broker."""
    answer = await metadata(address_of(mixed.stock.brokers[broker].address), "jbod")
    return {
        one.partition_index: (one.leader_id, sorted(one.isr_nodes), sorted(one.offline_replicas))
        for one in answer.topics[0].partitions
    }


async def test_sv_10_partitions_of_a_lost_log_dir_are_led_by_the_other_broker_until_the_restart(tmp_path: Path) -> None:
    async with two_brokers(tmp_path, {"replica.high.watermark.checkpoint.interval.ms": "500"}) as mixed:
        await mixed.create("jbod", dict.fromkeys(range(PARTITIONS), (1, 2)))
        lost_dir, other_dir = log_dirs(tmp_path, 1)
        lost, kept = held(lost_dir), held(other_dir)
        assert len(lost) == len(kept) == PARTITIONS / 2
        async with mixed.load("jbod", PARTITIONS) as load:
            await eventually(lambda: load.acked)
            shutil.rmtree(lost_dir)
            lost_dir.touch()  # as Kafka's LogDirFailureTest does: a file in its place
            wanted: Seen = dict.fromkeys(lost, (2, [2], [1])) | dict.fromkeys(kept, (1, [1, 2], []))

            async def is_seen() -> bool:
                found = [await seen(mixed, broker) for broker in (1, 2)]
                assert found == [wanted, wanted], found
                return True

            await eventually(is_seen, within=60)
            acked = load.acked
            # Until its timeout of 30 s a stock broker may hold requests that it got before it lost the dir.
            await eventually(lambda: load.acked > acked + 50, within=60)
        assert await mixed.zk.children(znode_paths.LOG_DIR_EVENTS) == []

        await mixed.stock.brokers[1].stop()
        lost_dir.unlink()
        await mixed.stock.brokers[1].start()

        async def is_back() -> bool:
            found = await seen(mixed, 2)
            assert all((isr, offline) == ([1, 2], []) for _, isr, offline in found.values()), found
            return True

        await eventually(is_back, within=60)


async def test_sv_10_isrs_that_brokers_of_protocol_2_6_write_are_read_and_moves_end(tmp_path: Path) -> None:
    async with two_brokers(tmp_path, {"inter.broker.protocol.version": "2.6"}) as mixed:
        await mixed.create("moved", {0: (1,)})
        await mixed.create("both", {0: (1, 2)})
        moved: Name = ("moved", 0)
        assert await mixed.alter({moved: (2,)}) == {moved: 0}
        await mixed.rest_at({moved: (2,)})
        assert (await state_json(mixed.zk, moved))["isr"] == [2]

        await mixed.stock.brokers[2].kill()
        await eventually(lambda: shows(mixed, moved=(-1, [2]), both=(1, [1])), within=60)
        await mixed.stock.brokers[2].start()
        await eventually(lambda: shows(mixed, moved=(2, [2]), both=(1, [1, 2])), within=90)


async def shows(mixed: MixedCluster, **wanted: tuple[int, list[int]]) -> bool:
    """Whether the Metadata of our server and of broker 1 have these leaders and ISRs of the topics' only partitions."""
    for address in (mixed.cluster.address(mixed.server), address_of(mixed.stock.brokers[1].address)):
        answer = await metadata(address, *wanted)
        found = {
            topic.name: (topic.partitions[0].leader_id, sorted(topic.partitions[0].isr_nodes))
            for topic in answer.topics
        }
        assert found == wanted, (address, found)
    return True
