"""Histories of events whose answers are known, at once and while more events arrive."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.auditing import audit_and_history_report, history_job
from kafka_reassign_rpc.pipeline.auditing.history_stream import HistoryStream, checkpoint
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.reports import result_tables
from tests.pipeline.test_audit import dicts, event, put_events, snap
from tests.pipeline.test_export import run
from tests.processes import children_of, exists
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(400)  # many small Spark jobs: a loaded machine takes its time


def move(seq: int, name: str, at: int, partition: int, topic: str = "t", **more: Any) -> dict[str, Any]:
    return event(seq, f"move.{name}", at, topic=topic, partition=partition, **more)


PLAN: dict[str, Any] = {"original": [1, 3], "target": [1, 2]}
EVENTS = [
    move(0, "waiting", 1_000, 0, route="queue", who="User:a"),
    event(1, "throttle.set", 3_000, broker=2, bytes=10),
    move(2, "started", 3_000, 0, id=7, route="queue", who="User:a", reason="heal", **PLAN),
    move(3, "stalled", 4_000, 0, reason="broker 1 does not answer"),
    move(4, "resumed", 4_500, 0),
    move(5, "completed", 5_000, 0, id=7, who="controller", **PLAN),
    move(6, "started", 5_000, 1, id=8, route="rpc", who="User:b", **PLAN),
    move(7, "retargeted", 5_500, 1, id=8, who="User:c", original=[1, 3], target=[4, 2]),
    move(8, "cancelled", 6_000, 1, id=8, who="User:c", original=[1, 3], target=[4, 2]),
    event(9, "throttle.restored", 7_000, broker=2),
    move(10, "started", 8_000, 0, id=9, route="rpc", who="User:b", original=[1, 2], target=[2, 1]),
    move(11, "completed", 8_000, 0, id=9),
    move(12, "started", 9_000, 1, id=10, **PLAN),
    move(13, "stalled", 9_500, 1, id=10),
    move(14, "refused", 9_500, 5, reason="InvalidReplicationFactor: no"),
    move(15, "waiting", 9_600, 2, route="queue"),
    move(16, "waiting", 9_600, 3, route="queue"),
    move(17, "withdrawn", 9_700, 3, route="queue"),
]


def test_dp_5_a_history_tells_what_is_known_to_have_happened(tmp_path: Path, spark: SparkSession) -> None:
    events = put_events(tmp_path / "events", EVENTS)
    sizes = history_job.sizes_of(spark, snap(tmp_path / "snap", 1, [("t", 0, [1], [1]), ("t", 1, [1], [1])]))
    frames = history_job.history(history_job.read(spark, events), sizes)

    moves = {(row["partition"], row["started"]): row for row in dicts(frames["moves"])}
    assert len(moves) == 6
    first = moves[0, 3_000]
    assert (first["outcome"], first["route"], first["who"], first["reason"]) == ("completed", "queue", "User:a", "heal")
    assert (first["waited_seconds"], first["seconds"], first["stalls"], first["stalled_seconds"]) == (2, 2, 1, 0.5)
    assert (first["bytes"], first["bytes_per_second"], first["id"]) == (10, 5, 7)
    second = moves[1, 5_000]
    assert (second["outcome"], second["retargets"], second["target"]) == ("cancelled", 1, [4, 2])
    assert (second["who"], second["bytes_per_second"], second["bytes"]) == ("User:b", None, 20)
    order = moves[0, 8_000]
    assert (order["outcome"], order["seconds"], order["bytes"], order["waited_seconds"]) == ("completed", 0, 0, None)
    assert moves[1, 9_000]["outcome"] == "stalled"
    assert (moves[2, None]["outcome"], moves[3, None]["outcome"]) == ("waiting", "withdrawn")

    outcomes = {(row["outcome"], row["route"]): row for row in dicts(frames["outcomes"])}
    assert outcomes["completed", "queue"]["median_seconds"] == 2
    assert outcomes["stalled", "unknown"]["moves"] == 1
    assert [(row["partition"], row["seconds"]) for row in dicts(frames["slowest"])] == [(0, 2), (1, 1), (0, 0)]
    assert [(row["partition"], row["outcome"]) for row in dicts(frames["stalled"])] == [
        (1, "stalled"),
        (0, "completed"),
    ]
    [throttle] = dicts(frames["throttles"])
    # 10 bytes of the first move in its two seconds; 20 bytes of the second in its one second, half of them to broker 2.
    assert (throttle["broker"], throttle["rate"], throttle["bytes"]) == (2, 10, 20)
    assert throttle["efficiency"] == pytest.approx(20 / 4 / 10)
    assert [(row["reason"], row["events"]) for row in dicts(frames["refusals"])] == [
        ("InvalidReplicationFactor: no", 1)
    ]
    shown = {name: result_tables.show(frame) for name, frame in frames.items()}
    page = audit_and_history_report.history(frames, shown)
    assert page.count("<svg") == 2
    assert "6 moves" in page

    unsized = history_job.history(history_job.read(spark, events), None)
    assert {row["bytes"] for row in dicts(unsized["moves"])} == {None}


def test_dp_5_the_events_of_a_failover_are_one_history_in_the_order_of_the_controllers(
    tmp_path: Path, spark: SparkSession
) -> None:
    started = move(500, "started", 90_000, 0, id=7, **PLAN)
    # The next controller has a log of its own, and a clock that is behind.
    completed = move(3, "completed", 80_000, 0, id=7, **PLAN) | {"epoch": 2, "server": 1001}
    put_events(tmp_path / "e", [started])
    put_events(tmp_path / "e", [completed])
    [row] = dicts(history_job.moves(history_job.read(spark, tmp_path / "e"), None))
    assert (row["outcome"], row["seconds"], row["bytes_per_second"]) == ("completed", -10, None)


def test_dp_5_a_history_that_follows_keeps_its_tables_up_to_date_and_goes_on_after_a_stop(
    tmp_path: Path, spark: SparkSession
) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    put_events(events, EVENTS[:6])
    updates: list[int] = []

    def update() -> None:
        frames = history_job.history(history_job.read(spark, events), None)
        with result_tables.ResultWriter(out) as writer:
            updates.append(writer.tables({"moves": frames["moves"]})["moves"].count())

    following = HistoryStream(spark, events, out, update, every="0 seconds")
    try:
        following.catch_up()
        assert updates[-1] == 1
        put_events(events, EVENTS[6:12])
        following.catch_up()
        assert updates[-1] == 3
    finally:
        following.stop()
    seen = len(updates)
    again = HistoryStream(spark, events, out, update, every="0 seconds")
    try:
        again.catch_up()
        assert len(updates) == seen, "nothing was new"
        put_events(events, EVENTS[12:])
        again.catch_up()
        assert updates[-1] == 6
        (events / "events-1000-000-000000000090-000000000091.parquet").write_text("PAR1 torn")
        with pytest.raises(BadInput, match=r"000000000091\.parquet: not a readable Parquet file"):
            again.catch_up()
    finally:
        again.stop()
    assert checkpoint(out).is_dir()


QUICK = " ".join(
    (
        *("--conf spark.sql.shuffle.partitions=1", "--conf spark.sql.adaptive.enabled=false"),
        *("--conf spark.sql.codegen.wholeStage=false", "--conf spark.sql.codegen.factoryMode=NO_CODEGEN"),
        '--driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"',
        "pyspark-shell",
    )
)


class Command:
    """A command of the pipeline as a process."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "kafka_reassign_rpc.cli.main", *arguments, "--driver-memory", "512m"]
        environment = os.environ | {"PYSPARK_SUBMIT_ARGS": QUICK}
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        self.pid = self._process.pid

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    async def ended(self) -> tuple[int, str, str]:
        out, err = await asyncio.to_thread(self._process.communicate, timeout=60)
        return self._process.returncode, out.decode(), err.decode()


async def test_dp_5_a_history_that_follows_ends_on_a_signal_and_leaves_nothing_running(tmp_path: Path) -> None:
    events = put_events(tmp_path / "events", EVENTS)
    with Command("history", "--events", str(events), "--follow", "--out", str(tmp_path / "out")) as follower:
        await eventually((tmp_path / "out" / "report.html").exists, within=180)
        children = children_of(follower.pid)
        assert children
        follower.interrupt()
        code, out, _ = await follower.ended()
    assert code == 0
    assert "completed" in out
    await eventually(lambda: not any(map(exists, children)))


@pytest.mark.usefixtures("shared")
def test_dp_5_the_history_command_prints_tables_and_writes_them_with_a_page(tmp_path: Path) -> None:
    events = put_events(tmp_path / "events", EVENTS)
    code, out, _ = run("history", "--events", str(events), "--out", str(tmp_path / "out"))
    assert code == 0
    assert "slowest (3):" in out
    assert "InvalidReplicationFactor: no" in out
    assert "throttles (1):" in out
    assert "<svg" in (tmp_path / "out" / "report.html").read_text()
    assert parquet_files.files_of(tmp_path / "out" / "moves.parquet")


@pytest.mark.usefixtures("shared")
def test_dp_5_the_audit_command_says_by_its_exit_code_that_something_was_found(tmp_path: Path) -> None:
    snap(tmp_path / "snaps" / "one", 5, [("t", 0, [1, 2], [1, 2])])
    code, out, _ = run("audit", "--snapshots", str(tmp_path / "snaps"), "--out", str(tmp_path / "out"), "--json")
    assert code == 3
    document = json.loads(out)
    assert (document["cluster_id"], document["rack_violations"]["total"], document["drift"]["total"]) == ("c1", 1, 0)
    assert (tmp_path / "out" / "report.html").read_text().startswith("<!doctype html>")
    assert parquet_files.files_of(tmp_path / "out" / "spread.parquet")


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (("--follow",), "--follow: keeps tables up to date, so it needs --out"),
        ((), "no events there; `kafka-reassign-rpc export --events` writes them"),
        (("--events", "nowhere"), "nowhere: no such directory"),
    ],
)
def test_dp_5_events_that_cannot_be_read_are_exit_code_2(
    tmp_path: Path, arguments: tuple[str, ...], saying: str
) -> None:
    code, out, err = run("history", "--events", str(tmp_path), *arguments)
    assert (code, out) == (2, "")
    assert saying in err
    assert err.count("\n") == 1
