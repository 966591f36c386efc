"""Histories of known events, made once and kept up to date while events arrive."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.move_history.history_stream import HistoryStream
from kafka_reassign_rpc.pipeline.move_history.stream_checkpoint import checkpoint_directory
from kafka_reassign_rpc.pipeline.reports import result_pages, result_tables
from kafka_reassign_rpc.pipeline.topic_pieces import CallHere, CallOnSpark
from tests.jvm import QUICK
from tests.pipeline.histories import tables_of
from tests.pipeline.test_audit import event, write_event_file, write_snapshot
from tests.pipeline.test_export import run
from tests.processes import children_of, exists
from tests.waiting import eventually


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
    move(8, "cancelled", 6_000, 1, id=8, who="User:c", original=[1, 3], target=[4, 2], copied=6),
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


def test_dp_5_a_history_refuses_a_snapshot_in_which_a_partition_stands_twice(tmp_path: Path) -> None:
    """Its moves would count twice."""
    path = write_snapshot(tmp_path / "snapshot", 1, [("t", 0, [1], [1]), ("t", 1, [1], [1]), ("t", 1, [1], [1])])
    with pytest.raises(BadInput, match="partitions: t-1 occurs twice: export the snapshot again"):
        tables_of(CallHere(), write_event_file(tmp_path / "events", EVENTS), path)


def test_dp_5_a_history_of_known_events_has_the_known_answers(tmp_path: Path) -> None:
    events = write_event_file(tmp_path / "events", EVENTS)
    snapshot = write_snapshot(tmp_path / "snap", 1, [("t", 0, [1], [1]), ("t", 1, [1], [1])])
    frames = tables_of(CallHere(), events, snapshot)

    moves = {(row["partition"], row["started"]): row for row in frames["moves"].to_pylist()}
    assert len(moves) == 6
    first = moves[0, 3_000]
    assert (first["outcome"], first["route"], first["who"], first["reason"]) == ("completed", "queue", "User:a", "heal")
    assert (first["waited_seconds"], first["seconds"], first["stalls"], first["stalled_seconds"]) == (2, 2, 1, 0.5)
    assert (first["bytes"], first["bytes_per_second"], first["id"]) == (10, 5, 7)
    second = moves[1, 5_000]
    assert (second["outcome"], second["retargets"], second["target"]) == ("cancelled", 1, [4, 2])
    assert (second["who"], second["bytes_per_second"], second["bytes"]) == ("User:b", None, 6)
    order = moves[0, 8_000]
    assert (order["outcome"], order["seconds"], order["bytes"], order["waited_seconds"]) == ("completed", 0, 0, None)
    assert moves[1, 9_000]["outcome"] == "stalled"
    assert (moves[2, None]["outcome"], moves[3, None]["outcome"]) == ("waiting", "withdrawn")

    outcomes = {(row["outcome"], row["route"]): row for row in frames["outcomes"].to_pylist()}
    assert outcomes["completed", "queue"]["median_seconds"] == 2
    assert outcomes["stalled", "unknown"]["moves"] == 1
    assert [(row["partition"], row["seconds"]) for row in frames["slowest"].to_pylist()] == [(0, 2), (1, 1), (0, 0)]
    assert [(row["partition"], row["outcome"]) for row in frames["stalled"].to_pylist()] == [
        (1, "stalled"),
        (0, "completed"),
    ]
    [throttle] = frames["throttles"].to_pylist()
    # 10 bytes of the first move in its two seconds; 6 bytes of the second in its one second, half of them to broker 2.
    assert (throttle["broker"], throttle["rate"], throttle["bytes"]) == (2, 10, 13)
    assert throttle["efficiency"] == pytest.approx(13 / 4 / 10)
    assert [(row["reason"], row["events"]) for row in frames["refusals"].to_pylist()] == [
        ("InvalidReplicationFactor: no", 1)
    ]
    shown = {name: result_tables.excerpt(frame) for name, frame in frames.items()}
    page = result_pages.history_page(frames["moves"], shown)
    assert page.count("<svg") == 2
    assert "6 moves" in page

    unsized = tables_of(CallHere(), events, None)
    assert {row["bytes"] for row in unsized["moves"].to_pylist()} == {None, 6}


def test_dp_5_the_events_of_a_failover_are_one_history_in_the_order_of_the_controllers(tmp_path: Path) -> None:
    started = move(500, "started", 90_000, 0, id=7, **PLAN)
    # The next controller has its own log, and its clock is behind.
    completed = move(3, "completed", 80_000, 0, id=7, **PLAN) | {"epoch": 2, "server": 1001}
    write_event_file(tmp_path / "e", [started])
    write_event_file(tmp_path / "e", [completed])
    [row] = tables_of(CallHere(), tmp_path / "e", None)["moves"].to_pylist()
    assert (row["outcome"], row["seconds"], row["bytes_per_second"]) == ("completed", -10, None)


@pytest.mark.gate
def test_dp_5_a_history_that_follows_keeps_its_tables_up_to_date_and_goes_on_after_a_stop(
    tmp_path: Path, spark: SparkSession
) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    write_event_file(events, EVENTS[:6])
    updates: list[int] = []

    def update() -> None:
        frames = tables_of(CallOnSpark(spark, 1), events, None)
        with result_tables.ResultDirectory(out) as writer:
            updates.append(writer.write_tables({"moves": frames["moves"]})["moves"].total)

    following = HistoryStream(spark, events, out, update, every="0 seconds")
    try:
        following._query.processAllAvailable()
        assert updates[-1] == 1
        write_event_file(events, EVENTS[6:12])
        following._query.processAllAvailable()
        assert updates[-1] == 3
    finally:
        following.stop()
    seen = len(updates)
    again = HistoryStream(spark, events, out, update, every="0 seconds")
    try:
        again._query.processAllAvailable()
        assert len(updates) == seen, "nothing was new"
        write_event_file(events, EVENTS[12:])
        again._query.processAllAvailable()
        assert updates[-1] == 6
        (events / "events-1000-000-000000000090-000000000091.parquet").write_text("PAR1 torn")
        with pytest.raises(BadInput, match=r"000000000091\.parquet: not a readable Parquet file"):
            again.wait(60)
    finally:
        again.stop()
    assert checkpoint_directory(out).is_dir()


ON_SPARK = ("--master", "local[2]")
SUBMIT_ARGUMENTS = " ".join(
    (
        *("--conf spark.sql.shuffle.partitions=1", "--conf spark.sql.adaptive.enabled=false"),
        *("--conf spark.sql.codegen.wholeStage=false", "--conf spark.sql.codegen.factoryMode=NO_CODEGEN"),
        f'--driver-java-options "{" ".join(QUICK)}"',
        "pyspark-shell",
    )
)


class Command:
    """A command of the pipeline as a process."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "kafka_reassign_rpc.cli.main", *arguments, "--driver-memory", "512m"]
        environment = os.environ | {"PYSPARK_SUBMIT_ARGS": SUBMIT_ARGUMENTS}
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
        out, err = await asyncio.to_thread(self._process.communicate, timeout=180)
        return self._process.returncode, out.decode(), err.decode()


@pytest.mark.gate  # it starts a Spark of its own; the next test ends one that is shared
async def test_dp_5_a_history_that_follows_ends_on_a_signal_and_leaves_nothing_running(tmp_path: Path) -> None:
    """No events exist yet: Spark runs and waits for them."""
    events, out = tmp_path / "events", tmp_path / "out"
    events.mkdir()
    with Command("history", "--events", str(events), "--follow", "--out", str(out)) as follower:
        await eventually((checkpoint_directory(out) / "metadata").exists, within=180)
        children = children_of(follower.pid)
        assert children
        follower.interrupt()
        code, _, err = await follower.ended()
    assert code == 0, err
    await eventually(lambda: not any(map(exists, children)))


@pytest.mark.usefixtures("shared")
def test_dp_5_the_history_command_follows_prints_tables_and_writes_them_with_a_page_until_ctrl_c(
    tmp_path: Path,
) -> None:
    events, out_directory = write_event_file(tmp_path / "events", EVENTS), tmp_path / "out"
    ended = threading.Event()

    def press_ctrl_c() -> None:
        first_update = checkpoint_directory(out_directory) / "commits" / "0"
        while not first_update.exists() and not ended.wait(0.1):
            pass
        if not ended.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    operator = threading.Thread(target=press_ctrl_c)
    operator.start()
    try:
        code, out, _ = run("history", "--events", str(events), "--out", str(out_directory), "--follow", *ON_SPARK)
    finally:
        ended.set()
        operator.join()
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert code == 0
    assert "slowest (3):" in out
    assert "completed" in out
    assert "<svg" in (out_directory / "report.html").read_text()


def test_dp_5_a_history_warns_of_events_that_are_in_no_file(tmp_path: Path) -> None:
    events = tmp_path / "events"
    for first, last in ((0, 2), (3, 3), (6, 9), (11, 11)):
        write_event_file(events, [event(seq, "server.started", seq) for seq in (first, last)])
    (events / "events-1000-000-000000000011-000000000011.parquet").rename(
        events
        / "events-1000-001-000000000011-000000000011.parquet"  # of another log: nothing is known of what was before
    )
    lacks = ["history", "--events", str(events), "--snapshot", str(tmp_path / "none")]  # so that no Spark starts
    code, _, err = run(*lacks)
    assert code == 2
    why = "a server had deleted them before they were exported, or a file is lost"
    assert f"warning: events 4 to 5 of server 1000 are in no file: {why}\n" in err
    write_event_file(events, [event(seq, "server.started", seq) for seq in (4, 5)])
    assert "warning" not in run(*lacks)[2]


@pytest.mark.usefixtures("shared")
def test_dp_5_the_history_command_prints_tables_and_writes_them_with_a_page(tmp_path: Path) -> None:
    events = write_event_file(tmp_path / "events", EVENTS)
    code, out, _ = run("history", "--events", str(events), "--out", str(tmp_path / "out"))
    assert code == 0
    assert "slowest (3):" in out
    assert "InvalidReplicationFactor: no" in out
    assert "throttles (1):" in out
    assert "<svg" in (tmp_path / "out" / "report.html").read_text()
    assert parquet_files.table_files(tmp_path / "out" / "moves.parquet")


@pytest.mark.usefixtures("shared")
def test_dp_5_the_audit_command_says_by_its_exit_code_that_something_was_found(tmp_path: Path) -> None:
    write_snapshot(tmp_path / "snaps" / "one", 5, [("t", 0, [1, 2], [1, 2])])
    code, out, _ = run("audit", "--snapshots", str(tmp_path / "snaps"), "--out", str(tmp_path / "out"), "--json")
    assert code == 3
    document = json.loads(out)
    assert (document["cluster_id"], document["rack_violations"]["total"], document["drift"]["total"]) == ("c1", 1, 0)
    assert (tmp_path / "out" / "report.html").read_text().startswith("<!doctype html>")
    assert parquet_files.table_files(tmp_path / "out" / "spread.parquet")


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (("--follow",), "--follow: keeps tables up to date, so it needs --out"),
        (("--follow", "--out", "x", "--master", "none"), "--follow: Spark's streaming remembers what it has read"),
        ((), "no events there; `kafka-reassign-rpc export` with --events writes them"),
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
