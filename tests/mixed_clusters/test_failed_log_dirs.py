"""A stock broker 3.9.1 that loses one of its two log dirs for real: what that held is repaired elsewhere (KIP-46)."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths
from tests.faults.cluster import ask, metadata
from tests.vendor_requests import told, wanted
from tests.waiting import eventually

from .mixed_cluster import MixedCluster, Replicas, behind_our_server

pytestmark = [pytest.mark.stock, pytest.mark.release]

BROKER = 3
WHERE: dict[int, Replicas] = {0: (3, 1), 1: (3, 2), 2: (2, 3), 3: (3, 1), 4: (1, 2)}
"""By partition. Each log dir of broker 3 has two of them, and leads at least one."""


async def test_dh_3_what_a_failed_log_dir_of_a_stock_broker_held_is_repaired_and_nothing_else_moves(
    tmp_path: Path,
) -> None:
    lost_dir, other_dir = tmp_path / "3" / "a", tmp_path / "3" / "b"
    async with behind_our_server(
        tmp_path,
        (1, 2, 3, 4),
        overrides={"replica.high.watermark.checkpoint.interval.ms": "500"},
        per_broker={BROKER: {"log.dirs": f"{lost_dir},{other_dir}"}},
        options=("--failure-interval-ms", "600000"),
    ) as mixed:
        await mixed.create("jbod", WHERE)
        lost = {int(path.name.removeprefix("jbod-")) for path in lost_dir.glob("jbod-*")}
        assert len(lost) == 2
        # Until its timeout a stock broker may hold a request that it got before it lost the log dir.
        async with mixed.load("jbod", len(WHERE), request_timeout_ms=3_000) as load:
            lost_dir.rename(tmp_path / "away")
            lost_dir.touch()  # root may write into any directory, but not into a file as if it were one
            await eventually(lambda: is_shown(mixed, str(lost_dir), len(lost)))
            assert await replicas(mixed) == WHERE, "nothing moves before the interval is over"
            await mixed.cluster.configure(mixed.server, {"failure.interval.ms": "1000"})
            await eventually(lambda: is_repaired(mixed, lost))
            await mixed.cluster.configure(mixed.server, {"failure.interval.ms": None})  # a restart takes its time
            acked = load.acked
            await eventually(lambda: load.acked > acked + 20)
        await eventually(lambda: is_shown_no_more(mixed))
        repaired = {("jbod", index): found for index, found in (await replicas(mixed)).items()}

        await mixed.stock.brokers[BROKER].stop()
        lost_dir.unlink()
        (tmp_path / "away").rename(lost_dir)
        await mixed.stock.brokers[BROKER].start()
        await mixed.rest_at(repaired)
        await mixed.cluster.configure(mixed.server, {"failure.interval.ms": "1000"})
        status = told(await ask(mixed.cluster.address(mixed.server), wanted("healing"), 0))
        assert status["interval_ms"] == 1000
        assert (status["failed"], status["log_dirs"], status["repairs"]) == ([], [], [])
        for path in (znode_paths.FAILED_LOG_DIRS, znode_paths.FAILED_BROKERS, znode_paths.LOG_DIR_EVENTS):
            assert await mixed.zk.children(path) == []
        moved = [one for one in await mixed.cluster.events(mixed.server) if one["event"] == "move.completed"]
        assert sorted(one["partition"] for one in moved if one["topic"] == "jbod") == sorted(lost)


async def is_shown(mixed: MixedCluster, path: str, replicas: int) -> bool:
    status = told(await ask(mixed.cluster.address(mixed.server), wanted("healing"), 0))
    shown = [(one["broker"], one["paths"], one["replicas"]) for one in status["log_dirs"]]
    assert (shown, status["failed"]) == ([(BROKER, [path], replicas)], []), status
    return True


async def is_shown_no_more(mixed: MixedCluster) -> bool:
    """The disk is still bad, and no longer holds anything."""
    return await mixed.zk.children(znode_paths.FAILED_LOG_DIRS) == []


async def replicas(mixed: MixedCluster) -> dict[int, Replicas]:
    """As our server shows them to clients. The topic's znode names a replica until its broker has deleted the log."""
    [topic] = (await metadata(mixed.cluster.address(mixed.server), "jbod")).topics
    return {one.partition_index: tuple(one.replica_nodes) for one in topic.partitions}


async def is_repaired(mixed: MixedCluster, lost: set[int]) -> bool:
    """Whether what was lost is in sync elsewhere, and all else is in sync where it was."""
    [topic] = (await metadata(mixed.cluster.address(mixed.server), "jbod")).topics
    for one in topic.partitions:
        before, after = WHERE[one.partition_index], one.replica_nodes
        if one.partition_index in lost:
            assert set(before) - {BROKER} < set(after), (before, after)
            assert BROKER not in after
            assert len(after) == len(before)
        else:
            assert tuple(after) == before
        assert sorted(one.isr_nodes) == sorted(after), one
    return True
