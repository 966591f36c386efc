"""The state log on three brokers in KRaft mode: what a commit and a snapshot take, and a take-over at L = 4 s."""

import asyncio
import contextlib
import re
import signal
import sys
import time
from pathlib import Path

from benchmarks.tables import duration, show
from kafka_reassign_rpc.client.client_settings import ClientSettings, client_settings
from kafka_reassign_rpc.kraft.state_log.log_reading import LEAD_S
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog
from tests.stock.kraft import kraft_cluster, start_all
from tests.stock.process import LoggedProcess

INTENT = b'{"topic":"orders","partition":%d,"target":[4,5,6],"original":[1,2,3],"reason":"drain of broker 1"}'
COMMITS = ((1, 200, "one intent"), (1_000, 20, "1,000 intents, one record"), (9_000, 10, "9,000 intents, one record"))
ROUNDS = 5
MANY = 100_000
"""Intents of a snapshot."""


async def run(_zookeeper: str, directory: Path, *, quick: bool) -> str:
    nodes = kraft_cluster(directory / "state-log", (1, 2, 3))
    await start_all(nodes)
    try:
        bootstrap = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        settings = client_settings({"bootstrap_servers": bootstrap})
        rows = [*await _commits(settings, quick=quick)]
        for number in (signal.SIGKILL, signal.SIGSTOP):
            took = [
                await _takes_over(bootstrap, settings, directory, f"{number.name}-{attempt}", number)
                for attempt in range(1 if quick else ROUNDS)
            ]
            rows.append([f"take-over after {number.name}, L = {LEAD_S:g} s", *_row(took)])
    finally:
        for node in nodes:
            await node.kill()
    return show("state log: three brokers in KRaft mode", ("what", "median", "longest", "times"), rows)


def _row(took: list[float]) -> list[str]:
    took.sort()
    return [duration(took[len(took) // 2]), duration(took[-1]), str(len(took))]


async def _commits(settings: ClientSettings, *, quick: bool) -> list[list[str]]:
    rows = []
    async with StateLog(settings) as log:
        await log.claim()
        for intents, times, name in COMMITS:
            payload = b"[" + b",".join(INTENT % number for number in range(intents)) + b"]"
            took = []
            for number in range(3 + (3 if quick else times)):
                began = time.perf_counter()
                await log.commit([payload])
                if number >= 3:
                    took.append(time.perf_counter() - began)
            rows.append([f"commit of {name} ({len(payload):,} bytes)", *_row(took)])
        payloads = [INTENT % number for number in range(MANY // 100 if quick else MANY)]
        assert log.snapshot_is_due or quick
        began = time.perf_counter()
        await log.snapshot(payloads)
        rows.append([f"snapshot of {len(payloads):,} intents", *_row([time.perf_counter() - began])])
        began = time.perf_counter()
        async for _ in log.read(to_end=True):
            pass
        rows.append(["the same, read", *_row([time.perf_counter() - began])])
    return rows


async def _takes_over(
    bootstrap: str, settings: ClientSettings, directory: Path, topic: str, number: signal.Signals
) -> float:
    """Seconds from the loss of a leader to the first commit of the next one."""
    leader = LoggedProcess(directory / f"{topic}.log")
    async with StateLog(settings, topic=topic) as log:
        leader.launch([sys.executable, "-m", "tests.kraft.state_log.committer", bootstrap, topic, str(LEAD_S)])
        await leader.wait_for_line(re.compile(rb"acked 10 "))
        following = asyncio.create_task(followed(log))
        await leader.wait_for_line(re.compile(rb"acked 60 "))
        leader.send(number)
        began = time.perf_counter()
        await log.silence()
        await log.claim()
        await log.commit([b"{}"])
        took = time.perf_counter() - began
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    with contextlib.suppress(ProcessLookupError):
        await leader.kill()
    return took


async def followed(log: StateLog) -> None:
    async for _ in log.follow():
        pass
