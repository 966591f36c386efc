"""Small disks and tiered storage for stock brokers from Kafka 4.3 on, and what lies there."""

import asyncio
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_reassign_rpc.client import throttle_configs
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC
from tests.stock.jars import tiered_storage
from tests.waiting import eventually
from tests.watch.kraft_world import BROKERS
from tests.watch.stage import Stage

HAS_TIERS = "4.3.1"
"""The release of which Maven has tiered storage in a directory; it has none of 4.4.0."""
CORDONED = "cordoned.log.dirs"
FULL_RECORDS, FEW_RECORDS, TIERED_RECORDS = 60, 4, 460
LOCAL_BYTES = 1_200_000
"""Less than this are one segment and the beginning of the next."""
SMALL_BYTES = 256 * 1024
TIERED_TOPIC: Mapping[str, str] = {
    "remote.storage.enable": "true",
    "segment.bytes": str(2**20),
    "local.retention.bytes": "1",
    "retention.bytes": "-1",
}
"""Each closed segment is copied to tiered storage, and then deleted here."""


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """The folder is a disk of its own, of `SMALL_BYTES`. False: it is none, since this user may not mount one."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_BYTES}", "tmpfs", str(folder)]
    is_mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def with_tiers(folder: Path) -> Mapping[str, str]:
    """Settings of a broker whose tiered storage is in this folder. Raises JarsUnavailable."""
    return {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": "org.apache.kafka.server.log.remote.storage.LocalTieredStorage",
        "remote.log.storage.manager.class.path": tiered_storage(),
        "remote.log.storage.manager.impl.prefix": "rsm.config.",
        "rsm.config.dir": str(folder),
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
        "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
        "rlmm.config.remote.log.metadata.initialization.retry.interval.ms": "300",
        "remote.log.manager.task.interval.ms": "500",
        "log.initial.task.delay.ms": "500",
        "log.retention.check.interval.ms": "500",
    }


class Storage:
    """Of a cluster whose last broker has a third log dir, `small`, and whose topics may be tiered. `is_small`: whether
    that log dir is a small disk."""

    def __init__(self, version: str, folder: Path, small: Path, *, is_small: bool) -> None:
        self._has_tiers = version == HAS_TIERS
        self._small = small
        self._is_small = is_small
        self._tiers = folder / "tiers"
        last = BROKERS[-1]
        self._dirs = (folder / "nodes" / f"{last}a", folder / "nodes" / f"{last}b", small)

    def settings(self) -> dict[int, dict[str, str]]:
        """The second broker's new replicas leave out what is tiered already."""
        found = {broker: dict(with_tiers(self._tiers) if self._has_tiers else {}) for broker in BROKERS}
        if self._has_tiers:
            found[BROKERS[1]]["follower.fetch.last.tiered.offset.enable"] = "true"
        found[BROKERS[-1]]["log.dirs"] = ",".join(map(str, self._dirs))
        return found

    async def _open(self, stage: Stage, *, small: bool) -> None:
        """Open the small disk alone to new replicas, or all other log dirs."""
        others = f"{self._dirs[0]},{self._dirs[1]}"
        await stage.configs({(BROKER, str(stage.lost)): {CORDONED: others if small else str(self._small)}})

    async def close_small_disk(self, stage: Stage) -> None:
        """Nothing comes to it before it is opened."""
        await self._open(stage, small=False)

    async def is_told(self, stage: Stage) -> None:
        tiered = {topic: TIERED_TOPIC for topic in ("tiered", "newer") if self._has_tiers}
        topics = {
            "full": FULL_RECORDS,
            "early": FEW_RECORDS,
            "closed": FEW_RECORDS,
            **dict.fromkeys(tiered, TIERED_RECORDS),
        }
        await asyncio.to_thread(stage.world.create, {topic: [stage.stays] for topic in topics}, 0, tiered)
        for topic, records in topics.items():
            await asyncio.to_thread(stage.world.produce, topic, records)
        await stage.hold([*topics], stage.stays, [stage.target, stage.lost])
        if self._is_small:
            await self._open(stage, small=True)
            await stage.moves({"full": [stage.lost]})
            await eventually((self._small / "full-0").exists)
        await self._open(stage, small=False)
        if tiered:
            await self._is_tiered(stage, *tiered)
            await stage.moves({"tiered": [stage.lost], "newer": [stage.target]})
            await self._what_is_tiered_is_not_to_come(stage)
        if self._is_small:
            await self._a_full_disk_is_named(stage)
        await self._a_cordoned_broker_is_told(stage)

    async def _is_tiered(self, stage: Stage, *topics: str) -> None:
        """All but the last segment lies in tiered storage alone."""

        def is_over() -> bool:
            return all(
                0 < stage.world.on_disk(stage.stays, topic) < LOCAL_BYTES < self._bytes_in_tiers(topic)
                for topic in topics
            )

        await eventually(is_over, within=60)

    def _bytes_in_tiers(self, topic: str) -> int:
        return sum(one.stat().st_size for one in self._tiers.rglob("*.log") if one.parent.name.startswith(f"{topic}-0"))

    async def _what_is_tiered_is_not_to_come(self, stage: Stage) -> None:
        local = stage.world.on_disk(stage.stays, "tiered")

        async def are_told() -> bool:
            moves = await stage.watch.moves()
            return moves["tiered-0"]["bytes_total"] == local and moves["newer-0"]["bytes_total"] is None

        await eventually(are_told)
        await stage.stalled("newer", _is_held(stage, stage.target))
        one = (await stage.watch.moves())["newer-0"]
        assert (one["bytes_copied"], one["remaining_ms"], one["share"]) == (None, None, None)

    async def _a_full_disk_is_named(self, stage: Stage) -> None:
        async def is_named() -> bool:
            one, disk = (await stage.watch.moves())["full-0"], os.statvfs(self._small)
            left = stage.world.on_disk(stage.stays, "full") - (one["bytes_copied"] or 0)
            told = f"{disk.f_bavail * disk.f_frsize} bytes are free where {left} are to come"
            return bool(one["stalled"] == f"broker {stage.lost} is out of disk: {told}")

        await eventually(is_named, within=60)
        await stage.configs({(TOPIC, "full"): dict.fromkeys(throttle_configs.TOPIC_THROTTLES)})
        why = f"log dir {self._small} of broker {stage.lost} has failed (KAFKA_STORAGE_ERROR: offline, or out of disk)"

        async def has_failed() -> bool:
            return bool((await stage.watch.moves())["full-0"]["stalled"] == why)

        await eventually(has_failed, within=90)

    async def _a_cordoned_broker_is_told(self, stage: Stage) -> None:
        """A broker reports it while it has moves."""
        await stage.moves({"early": [stage.lost]})
        await eventually(lambda: _is_cordoned(stage, known=False), within=60)
        await stage.configs({(BROKER, str(stage.lost)): {CORDONED: "*"}})
        await eventually(lambda: _is_cordoned(stage, known=True), within=60)
        if stage.release >= (4, 4):
            with pytest.raises(AssertionError, match="cordoned"):
                await stage.moves({"closed": [stage.lost]})
        else:  # it takes the replica anyway
            await stage.moves({"closed": [stage.lost]})
            await stage.stalled("closed", _is_held(stage, stage.lost))


async def _is_cordoned(stage: Stage, *, known: bool) -> bool:
    found = {one["id"]: one["cordoned"] for one in (await stage.watch.document("brokers"))["brokers"]}
    return found[stage.lost] is known


def _is_held(stage: Stage, broker: int) -> str:
    return f"broker {broker} fetches nothing from broker {stage.stays}, throttled to 1 B/s"


@contextmanager
def storage_of(version: str, folder: Path) -> Iterator[Storage | None]:
    """None before Kafka 4.3."""
    if tuple(map(int, version.split(".")[:2])) < (4, 3):
        yield None
        return
    small = folder / "small"
    with small_disk(small) as is_small:
        yield Storage(version, folder, small, is_small=is_small)
