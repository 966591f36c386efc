"""Event logs as Parquet: every event once, also after a killed export, a new log or deleted events."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.client import ClusterNode, MoveTerms, ReassignmentClient, Unreachable
from kafka_reassign_rpc.client.server_calls import EventPage
from kafka_reassign_rpc.core.status.documents import Move
from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.event_logs import event_files, export_events
from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from tests.pipeline.test_export import run
from tests.waiting import eventually

pytestmark = pytest.mark.gate


class SimulatedLogs:
    """Takes the place of the client: event logs by server, which answer in pages of two events."""

    def __init__(self) -> None:
        self.logs: dict[int, list[dict[str, Any]]] = {1000: []}
        self.kept_from = 0
        self.refusals_from = 0
        self.torn = False
        self.down: set[int] = set()
        self.closed = 0

    def record(self, *events: str, server: int = 1000, **more: Any) -> None:
        log = self.logs.setdefault(server, [])
        for event in events:
            seq = log[-1]["seq"] + 1 if log else 0
            log.append({"at": 10 * seq, "event": event, "epoch": 1, "server": server, "seq": seq, **more})

    def connect(self, address: str) -> ReassignmentClient:
        assert not address.endswith(":1000"), "1000 is the controller, which has a client"
        return self  # type: ignore[return-value]

    def close(self) -> None:
        self.closed += 1

    def event_page(self, from_seq: int = 0, *, server: int | None = None) -> EventPage:
        if self.torn and from_seq > 0:
            raise msgspec.DecodeError("Input data was truncated")
        server = 1000 if server is None else server
        if server in self.down:
            raise Unreachable("no answer")
        log = [
            event
            for event in self.logs[server]
            if event["seq"] >= (self.refusals_from if event["event"].endswith("refused") else self.kept_from)
        ]
        page = tuple(event for event in log if from_seq <= event["seq"])[:2] if from_seq >= 0 else ()
        after = self.logs[server][-1]["seq"] + 1 if self.logs[server] else 0
        next_seq = page[-1]["seq"] + 1 if page else after
        servers = tuple(ClusterNode(one, "h", one, None) for one in self.logs) if from_seq < 0 else ()
        return EventPage(server, page, self.kept_from, next_seq, max(self.kept_from, self.refusals_from), servers)


def exported(directory: Path) -> list[tuple[int, int, str]]:
    rows = (
        row
        for file in event_files.list_files(directory)
        for row in parquet_files.read(file.path, event_files.EVENTS).to_pylist()
    )
    return [(row["server"], row["seq"], row["event"]) for row in rows]


def follow(log: Any, directory: Path) -> export_events.ExportedEvents:
    return export_events.export_new_events(log, log.connect, directory)


def test_dp_1_events_are_added_once_each_and_in_order(tmp_path: Path) -> None:
    log = SimulatedLogs()
    assert follow(log, tmp_path / "e") == export_events.ExportedEvents(0, 1, [])
    log.record("a", "b", "c")
    log.record("x", server=1001)
    assert follow(log, tmp_path / "e") == export_events.ExportedEvents(4, 2, [])
    assert follow(log, tmp_path / "e") == export_events.ExportedEvents(0, 2, [])
    log.record("d")
    (tmp_path / "e" / ".events-killed.parquet.77").write_text("half")
    assert follow(log, tmp_path / "e").events == 1
    assert exported(tmp_path / "e") == [(1000, 0, "a"), (1000, 1, "b"), (1000, 2, "c"), (1000, 3, "d"), (1001, 0, "x")]
    assert not [path for path in (tmp_path / "e").iterdir() if path.name.startswith(".")]
    assert event_files.check(tmp_path / "e") == 5
    del log.logs[1001]
    assert follow(log, tmp_path / "e").warnings == ["server 1001 does not run: its new events are missing"]


def test_dp_1_a_server_that_does_not_answer_is_named_and_its_events_come_with_the_next_export(tmp_path: Path) -> None:
    log = SimulatedLogs()
    log.record("a")
    log.record("x", server=1001)
    log.down = {1001}
    missing = "new events of server 1001 at h:1001 are missing: no answer"
    assert follow(log, tmp_path) == export_events.ExportedEvents(1, 1, [missing])
    log.down.clear()
    assert follow(log, tmp_path) == export_events.ExportedEvents(1, 2, [])
    assert exported(tmp_path) == [(1000, 0, "a"), (1001, 0, "x")]
    assert log.closed == 2, "the client of 1001, after each export"
    log.down = {1000}
    with pytest.raises(Unreachable):
        follow(log, tmp_path)


def restarted(generation: int) -> str:
    return f"server 1000 has started a new log: its events are exported from 0, as generation {generation}"


def test_dp_1_a_log_that_the_server_started_again_is_another_log_even_if_it_is_longer_by_now(tmp_path: Path) -> None:
    log = SimulatedLogs()
    log.record("a", "b", "c")
    follow(log, tmp_path)
    log.logs[1000] = []
    log.record("new")
    assert follow(log, tmp_path) == export_events.ExportedEvents(1, 1, [restarted(1)])
    log.logs[1000] = []
    log.record("newer", "k", "l", "m", "n")
    assert follow(log, tmp_path) == export_events.ExportedEvents(5, 1, [restarted(2)])
    assert [name for _, _, name in exported(tmp_path)] == ["a", "b", "c", "new", "newer", "k", "l", "m", "n"]
    assert follow(log, tmp_path).events == 0


def test_dp_1_a_warning_names_events_that_the_server_deleted_before_the_export(tmp_path: Path) -> None:
    log = SimulatedLogs()
    log.record("a", "b")
    follow(log, tmp_path)
    log.record("c", "d", "e")
    log.kept_from = 4
    assert follow(log, tmp_path) == export_events.ExportedEvents(
        1, 1, ["server 1000 has deleted events 2 to 3: they are missing"]
    )
    assert [seq for _, seq, _ in exported(tmp_path)] == [0, 1, 4]


def test_dp_1_refusals_that_the_server_deleted_before_decisions_make_no_new_log_of_it(tmp_path: Path) -> None:
    log = SimulatedLogs()
    log.record("a", "b", "c", "move.refused", "move.refused")
    follow(log, tmp_path)
    log.record("move.refused", "d", "move.refused", "e")
    log.refusals_from = 7
    assert follow(log, tmp_path) == export_events.ExportedEvents(
        3, 1, ["server 1000 has deleted some of the events 5 to 6: refusals may be missing"]
    )
    assert [seq for _, seq, _ in exported(tmp_path)] == [0, 1, 2, 3, 4, 6, 7, 8]
    assert [file.generation for file in event_files.list_files(tmp_path)] == [0, 0, 0, 0, 0]
    log.logs[1000] = []
    log.refusals_from = 0
    log.record(*"abcdefghijk")
    assert follow(log, tmp_path).warnings == [restarted(1)]


def test_dp_1_who_asked_is_exported_in_columns_and_files_of_an_earlier_release_go_on(
    tmp_path: Path, spark: SparkSession
) -> None:
    log = SimulatedLogs()
    log.record("a", who="User:a as x from 10.0.0.7")
    follow(log, tmp_path)
    [file] = event_files.list_files(tmp_path)
    old = pa.schema([field for field in event_files.EVENTS if field.name not in event_files._ADDED])
    rows = parquet_files.read(file.path, event_files.EVENTS).select(old.names).to_pylist()
    with parquet_files.TableWriter(file.path, old) as writer:
        writer.extend(tuple(row[name] for name in old.names) for row in rows)
    log.record("b", who="User:b from 10.0.0.8", principal="User:b", client_id="y z", address="10.0.0.8")
    assert follow(log, tmp_path) == export_events.ExportedEvents(1, 1, [])
    assert event_files.check(tmp_path) == 2
    files = [parquet_files.table_in(one.name, one.read_bytes(), event_files.EVENTS) for one in tmp_path.iterdir()]
    found = pa.concat_tables(files).sort_by("seq").to_pylist()
    assert [(row["who"], row["principal"], row["client_id"], row["address"], row["more"]) for row in found] == [
        ("User:a as x from 10.0.0.7", None, None, None, None),
        ("User:b from 10.0.0.8", "User:b", "y z", "10.0.0.8", None),
    ]


def test_dp_1_unknown_fields_are_kept_and_malformed_events_are_named(tmp_path: Path) -> None:
    log = SimulatedLogs()
    log.record("a", colour="red", depth=[1], topic=None, target=[1, 2])
    follow(log, tmp_path)
    [file] = event_files.list_files(tmp_path)
    [row] = parquet_files.read(file.path, event_files.EVENTS).to_pylist()
    assert (row["more"], row["target"], row["topic"]) == ('{"colour":"red","depth":[1]}', [1, 2], None)
    log.record("b", partition="five")
    with pytest.raises(
        BadInput, match=r"event 1 of server 1000: Expected `int \| null`, got `str` - at `\$.partition`"
    ):
        follow(log, tmp_path)
    assert len(event_files.list_files(tmp_path)) == 1
    log.torn = True
    with pytest.raises(JobFailed, match="server 1000 sends an event from 1 on that is no JSON"):
        follow(log, tmp_path)


def test_dp_1_directories_without_events_or_with_other_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere: no such directory"):
        event_files.check(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="no events there"):
        event_files.check(tmp_path)
    (tmp_path / "events-1-0-0-0.parquet").write_text("PAR1 and no more")
    with pytest.raises(BadInput, match=r"events-1-0-0-0\.parquet: not a readable Parquet file"):
        event_files.check(tmp_path)
    (tmp_path / "mine.parquet").write_text("")
    with pytest.raises(BadInput, match=r"mine\.parquet: not a file of events, by its name"):
        event_files.check(tmp_path)


async def test_dp_1_the_events_of_a_running_server_are_exported(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    topic = client.describe_topics(["payments"])["payments"]
    assert isinstance(topic, dict)
    turned = topic[0].replicas[::-1]
    assert client.alter_partition_reassignments({("payments", 0): turned}) == {("payments", 0): None}

    def moved() -> bool:
        code, out, err = run("export", "--bootstrap-server", bootstrap, "--events", str(tmp_path / "e"))
        assert (code, err) == (0, "")
        assert out.startswith(f"{tmp_path / 'e'}: ")
        return (1000, "move.completed") in {(server, event) for server, _, event in exported(tmp_path / "e")}

    await eventually(moved)
    found = exported(tmp_path / "e")
    assert len({seq for _, seq, _ in found}) == len(found)


async def test_dp_5_the_end_of_a_real_move_tells_what_it_has_copied(client: ReassignmentClient) -> None:
    """Slowly, so that the server samples it."""
    topic = client.describe_topics(["orders"])["orders"]
    assert isinstance(topic, dict)
    replicas = topic[1].replicas
    [other, *_] = [broker for broker in range(1, 7) if broker not in replicas]
    start = client.event_page(-1).next_seq
    target = {("orders", 1): [other, *replicas[1:]]}

    def sampled() -> Move | None:
        [found] = client.moves_in_flight()
        return found if found.copied.get(other) else None

    def move(throttle: int) -> None:
        moves = {name: MoveTerms(tuple(to), throttle=throttle) for name, to in target.items()}
        assert not any(client.alter_partition_reassignments(moves).values())

    move(1_000_000)
    size = (await eventually(sampled)).bytes_total
    assert not any(client.cancel_partition_reassignments(target).values())
    move(1_000_000)
    await eventually(sampled)
    move(0)

    def ends() -> dict[str, int] | None:
        found = {one["event"]: one for one in client.reassignment_events(start) if one.get("topic") == "orders"}
        if "move.completed" not in found:
            return None
        return {name: found[name]["copied"] for name in ("move.cancelled", "move.completed")}

    copied = await eventually(ends)
    assert size is not None
    assert 0 < copied["move.cancelled"] < size
    assert copied["move.completed"] == size
