"""Audits of snapshots with known findings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_reassign_rpc.pipeline import parquet_files
from kafka_reassign_rpc.pipeline.auditing import audit_job
from kafka_reassign_rpc.pipeline.auditing.load_spread import MEASURES, spread_of_loads, targets_of
from kafka_reassign_rpc.pipeline.event_logs import event_files
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.output_directory import require_free
from kafka_reassign_rpc.pipeline.reports import result_pages, result_tables
from kafka_reassign_rpc.pipeline.reports.html_page import HtmlPage, add_table
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.pipeline.topic_pieces import CallHere
from tests.pipeline.test_export import run

RACKS = {1: "a", 2: "a", 3: "b", 4: None}
MINUTE = 60_000

Partitions = Sequence[tuple[str, int, list[int], list[int]]]
"""Topic, partition, replicas, ISR; the first broker of the ISR is the leader."""

FIRST: Partitions = [("t", 0, [1, 3], [1, 3]), ("t", 1, [3, 1], [3, 1]), ("u", 0, [2, 3], [2, 3])]
SECOND: Partitions = [("t", 0, [1, 2, 3], [1, 3]), ("t", 1, [1, 2], [1]), ("u", 0, [2, 3], [2])]
THIRD: Partitions = [("t", 0, [1, 2, 3], [1, 2, 3]), ("t", 1, [1, 2], [1]), ("u", 0, [2, 4], [2])]

P = TypeVar("P", bound=StorePath)


def write_snapshot(path: P, at: int, partitions: Partitions, cluster: str = "c1", moving: tuple[int, ...] = ()) -> P:
    """A snapshot: replicas of topic t have ten bytes, u-0 has 100 on broker 2 and an unknown size elsewhere."""
    with SnapshotWriter(path) as writer:
        writer.brokers.extend((b, rack, "h", 1, None, None, b != 4) for b, rack in RACKS.items())
        for topic, index, replicas, isr in partitions:
            size = None if topic == "u" else 10
            adding = [broker for broker in moving if broker in replicas]
            writer.partitions.add((topic, index, replicas, isr[0], isr, adding, [], size, None, None))
            writer.replicas.extend((topic, index, b, 10, "/d", False) for b in replicas if topic == "t")
            if topic == "u":
                writer.replicas.add((topic, index, 2, 100, "/d", False))
                writer.replicas.add((topic, index, 2, 7, "/e", True))
        writer.finish(SnapshotMeta(cluster, at))
    return path


def event(seq: int, name: str, at: int, **more: Any) -> dict[str, Any]:
    return {"at": at, "event": name, "epoch": 1, "server": 1000, "seq": seq, **more}


def write_event_file(directory: P, events: Sequence[dict[str, Any]]) -> P:
    directory.mkdir(exist_ok=True)
    first, last = events[0]["seq"], events[-1]["seq"]
    with parquet_files.TableWriter(
        directory / f"events-1000-000-{first:012d}-{last:012d}.parquet", event_files.EVENTS
    ) as writer:
        writer.extend(map(event_files.to_row, events))
    return directory


@pytest.fixture
def snapshots(tmp_path: Path) -> Path:
    for number, partitions in enumerate((FIRST, SECOND, THIRD), 1):
        write_snapshot(tmp_path / "snaps" / f"s{number}", number * MINUTE, partitions)
    (tmp_path / "snaps" / ".s4.77").mkdir()
    return tmp_path / "snaps"


def test_dp_5_an_audit_of_known_snapshots_has_the_known_findings(snapshots: Path, tmp_path: Path) -> None:
    grown = {"topic": "t", "partition": 0, "who": "User:eve", "route": "rpc", "original": [1, 3], "target": [1, 2, 3]}
    events = write_event_file(tmp_path / "events", [
        event(0, "move.started", 10, **grown | {"who": "User:early"}),
        event(1, "move.started", MINUTE + 5, **grown | {"target": [1, 2, 3]}),
        event(2, "move.started", MINUTE + 6, **grown | {"partition": 1, "original": [3, 1], "target": [1, 2]}),
    ])  # fmt: skip
    frames = audit_job.audit_tables(CallHere(), snapshot_files.find_snapshots(snapshots), events)
    shown = {name: result_tables.excerpt(frame) for name, frame in frames.items()}
    found = {name: [dict(zip(one.columns, row, strict=True)) for row in one.rows] for name, one in shown.items()}

    last = [row for row in found["brokers"] if row["at"] == 3 * MINUTE]
    assert [(r["broker"], r["bytes"], r["replicas"], r["leaders"], r["unknown"], r["live"]) for r in last] == [
        (1, 20, 2, 2, 0, True),
        (2, 120, 3, 1, 0, True),
        (3, 10, 1, 0, 0, True),
        (4, 0, 1, 0, 1, False),
    ]
    spread = {(one.at, one.measure): one for one in spread_of_loads(found["brokers"])}
    replicas = spread[3 * MINUTE, "replicas"]
    assert (replicas.brokers, replicas.least, replicas.most, replicas.mean) == (3, 1, 3, 2)
    assert (replicas.worst, replicas.fullest) == (1.5, 2)
    assert replicas.deviation == pytest.approx((2 / 3) ** 0.5 / 2), "no disk is known: all count alike"
    assert spread[MINUTE, "leaders"].worst == 1.0
    [drift] = found["drift"]
    assert (drift["topic"], drift["partition"], drift["before"], drift["after"]) == ("t", 0, 2, 3)
    assert (drift["seen_before"], drift["seen"]) == (MINUTE, 2 * MINUTE)
    assert (drift["when"], drift["who"], drift["route"]) == (MINUTE + 5, "User:eve", "rpc")
    assert list(shown["mixed"].rows) == [("t", 2, 3, 2)]
    [violation] = found["rack_violations"]
    assert (violation["topic"], violation["partition"], violation["racks"]) == ("t", 1, ["a", "a"])
    assert (violation["on_racks"], violation["possible"]) == (1, 2)
    behind = [(r["topic"], r["partition"], r["missing"], r["since"]) for r in found["under_replicated"]]
    assert behind == [("t", 1, [2], 2 * MINUTE), ("u", 0, [4], 2 * MINUTE)]
    metas = [one.meta for one in snapshot_files.find_snapshots(snapshots)]
    now = [row for row in last if row["live"]]
    page = result_pages.audit_page(metas, [one._asdict() for one in spread.values()], now, targets_of(now), shown)
    assert page.count("<svg") == 2
    assert "User:eve" in page
    assert "http" not in page.replace("http://www.w3.org/", "")

    without = audit_job.audit_tables(CallHere(), snapshot_files.find_snapshots(snapshots), None)
    assert [(row["when"], row["who"]) for row in without["drift"].to_pylist()] == [(None, None)]


def test_dp_12_skew_is_the_distance_from_targets_by_disks_or_by_weights() -> None:
    """Broker 1 has three times the disk of broker 2, and three times the load; only broker 3 is lost."""
    rows: list[dict[str, Any]] = [
        {"at": 1, "broker": broker, "live": broker != 3, "capacity": size, "holdable": size}
        | dict.fromkeys(MEASURES, load)
        for broker, size, load in ((1, 300, 30), (2, 100, 10), (3, 500, 7))
    ]
    assert {(one.worst, one.deviation, one.fullest, one.target) for one in spread_of_loads(rows)} == {(1, 0, 1, 30)}
    equal = {broker: dict.fromkeys(MEASURES, 1.0) for broker in (1, 2)}
    assert {(one.worst, one.deviation, one.mean) for one in spread_of_loads(rows, equal)} == {(1.5, 0.5, 20)}
    for row in rows:
        row["capacity"] = row["holdable"] = None
    assert {one.worst for one in spread_of_loads(rows)} == {1.5}, "no disk is known"


def test_dp_12_an_audit_knows_what_disks_can_hold(tmp_path: Path) -> None:
    """What is on its way to broker 2 is not there yet; broker 3 contradicts itself."""
    with SnapshotWriter(tmp_path / "s") as writer:
        writer.brokers.extend((n, None, "h", 1, size, free, True) for n, size, free in
                              ((1, 100, 60), (2, 200, 200), (3, 10, 20), (4, None, None)))  # fmt: skip
        writer.partitions.add(("t", 0, [1, 2], 1, [1], [2], [], 40, None, None))
        writer.finish(SnapshotMeta("c1", 1))
    tables = audit_job.audit_tables(CallHere(), snapshot_files.find_snapshots(tmp_path / "s"), None)
    rows = tables["brokers"].to_pylist()
    assert [(row["capacity"], row["holdable"]) for row in rows] == [(100, 100), (200, 200), (None, None), (None, None)]


def test_dp_13_an_audit_shows_the_rates_that_are_known(tmp_path: Path) -> None:
    """What producers send counts at the leader, what consumers would read at each replica; nobody tells messages."""
    with SnapshotWriter(tmp_path / "s") as writer:
        writer.brokers.extend((n, None, "h", 1, None, None, True) for n in (1, 2, 3))
        writer.partitions.add(("t", 0, [1, 2], 1, [1, 2], [], [], 40, 30.0, 8.0))
        writer.partitions.add(("t", 1, [2, 1], 2, [2, 1], [], [], 40, 10.0, None))
        writer.finish(SnapshotMeta("c1", 1))
    tables = audit_job.audit_tables(CallHere(), snapshot_files.find_snapshots(tmp_path / "s"), None)
    rows = tables["brokers"].to_pylist()
    told = [
        [row[name] for name in ("produce", "fetch", "bytes_in", "potential_out", "messages_in", "cpu")] for row in rows
    ]
    assert told == [[40, 8, 30, 8, None, None], [40, None, 10, 8, None, None], [None] * 6]
    spread = {one.measure: one for one in spread_of_loads(rows)}
    assert spread.keys() == {*MEASURES} - {"messages_in", "cpu"}
    assert spread["bytes_in"].fullest == 1
    assert spread["bytes_in"].worst == pytest.approx(30 / (40 / 3))
    table = result_tables.TableExcerpt(spread["bytes_in"]._fields, [tuple(spread["bytes_in"])], 1)
    assert "30 B/s" in "\n".join(result_tables.text_lines("spread", table, empty=""))


def test_dp_5_a_line_needs_three_points(tmp_path: Path) -> None:
    for number in (1, 2):
        write_snapshot(tmp_path / f"s{number}", number * MINUTE, FIRST)
    found = snapshot_files.find_snapshots(tmp_path)
    frames = audit_job.audit_tables(CallHere(), found, None)
    shown = {name: result_tables.excerpt(frame) for name, frame in frames.items()}
    brokers = frames["brokers"].to_pylist()
    spread = [one._asdict() for one in spread_of_loads(brokers)]
    now = [row for row in brokers if row["at"] == 2 * MINUTE and row["live"]]
    page = result_pages.audit_page([one.meta for one in found], spread, now, targets_of(now), shown)
    assert page.count("<svg") == 1, "the brokers"
    assert "1970-01-01 00:02:00" in page
    assert "fair share" in page


def test_dp_5_a_replica_that_a_move_brings_in_is_not_behind(tmp_path: Path) -> None:
    write_snapshot(tmp_path / "s", 5, [("t", 0, [1, 2, 3], [1, 3])], moving=(2,))
    frames = audit_job.audit_tables(CallHere(), snapshot_files.find_snapshots(tmp_path / "s"), None)
    assert len(frames["under_replicated"]) == 0


def test_dp_5_an_audit_names_missing_unreadable_and_mixed_snapshots(snapshots: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere: no such directory"):
        snapshot_files.find_snapshots(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="empty: no snapshots there"):
        snapshot_files.find_snapshots(tmp_path / "empty")
    half = snapshots / "half"
    (half / "partitions").mkdir(parents=True)
    with pytest.raises(BadInput, match="half: no snapshot"):
        snapshot_files.find_snapshots(snapshots)
    (half / "partitions").rmdir()
    write_snapshot(snapshots / "same", MINUTE, FIRST)
    with pytest.raises(BadInput, match="s1 and same were taken at the same time"):
        snapshot_files.find_snapshots(snapshots)
    write_snapshot(snapshots / "other", 99, FIRST, cluster="c2")
    code, out, err = run("audit", "--snapshots", str(snapshots))
    assert (code, out) == (2, "")
    assert err == (
        f"kafka-reassign-rpc audit: {snapshots}: snapshots of different clusters: other is of c2, s1 of c1\n"
    )
    part = snapshots / "other" / "partitions" / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:-9])
    code, out, err = run("audit", "--snapshots", str(snapshots))
    assert (code, out) == (2, "")
    assert "other/partitions/part-00000.parquet: not a readable Parquet file" in err


@pytest.mark.usefixtures("shared")
def test_dp_5_an_audit_refuses_a_snapshot_in_which_a_partition_stands_twice(snapshots: Path, tmp_path: Path) -> None:
    """Its replicas would count twice on their brokers."""
    write_snapshot(snapshots / "odd", 99, [*FIRST, FIRST[0]])
    code, out, err = run("audit", "--snapshots", str(snapshots), "--out", str(tmp_path / "out"))
    assert (code, out) == (2, "")
    topic, index = FIRST[0][:2]
    partitions = snapshots / "odd" / "partitions"
    assert f"audit: {partitions}: {topic}-{index} occurs twice: export the snapshot again\n" in err
    assert not (tmp_path / "out").exists()


def test_dp_5_tables_as_text_say_how_much_is_not_shown() -> None:
    shown = result_tables.excerpt(
        pa.table({"at": range(5), "share": [one / 3 for one in range(5)], "ids": [[one] for one in range(5)]}), rows=2
    )
    assert result_tables.text_lines("things", shown, empty="none") == [
        "things (5):",
        "  AT                   SHARE  IDS",
        "  1970-01-01 00:00:00  0      0",
        "  1970-01-01 00:00:00  0.333  1",
        "  … and 3 more",
    ]
    assert result_tables.text_lines("things", shown._replace(total=0), empty="none") == ["things: none"]
    assert result_tables.json_document(shown)["total"] == 5


def test_dp_5_texts_and_pages_have_units_and_json_has_the_numbers() -> None:
    spread = result_tables.TableExcerpt(
        ("measure", "most", "mean", "worst"), [("bytes", 1.09e9, 2.5e8, 4.36), ("leaders", 12.0, 4.5, 2.67)], 2
    )
    assert result_tables.text_lines("spread", spread, empty="") == [
        "spread (2):",
        "  MEASURE  MOST    MEAN      WORST",
        "  bytes    1.1 GB  250.0 MB  4.36",
        "  leaders  12      4.5       2.67",
    ]
    moves = result_tables.TableExcerpt(
        ("topic", "waited_seconds", "seconds", "efficiency"), [("t", 0.971, 440.0, 0.5), ("u", None, 59.94, None)], 2
    )
    assert result_tables.text_lines("moves", moves, empty="")[1:] == [
        "  TOPIC  WAITED   TOOK        RECEIVED OF RATE",
        "  t      0.971 s  7 min 20 s  0.5",
        "  u      -        59.9 s      -",
    ]
    page = HtmlPage("", "")
    add_table(page, "Moves", moves, without=["topic"])
    html = page.html()
    assert "7 min 20 s" in html
    assert "received of rate" in html
    assert "topic" not in html
    assert result_tables.json_document(moves)["rows"][0]["seconds"] == 440.0


def test_dp_5_results_appear_whole_and_replace_what_was_there(tmp_path: Path) -> None:
    for count in (1, 2):
        with result_tables.ResultDirectory(tmp_path / "out") as writer:
            assert writer.write_tables({"t": pa.table({"n": range(count)})})["t"].total == count
            writer.write_page("report.html", f"page {count}")
        assert pq.read_table(tmp_path / "out" / "t.parquet").num_rows == count
        assert (tmp_path / "out" / "report.html").read_text() == f"page {count}"

    def fail() -> None:
        with result_tables.ResultDirectory(tmp_path / "out") as writer:
            writer.write_page("report.html", "half")
            raise ConnectionError

    with pytest.raises(ConnectionError):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "report.html").read_text() == "page 2"
    with pytest.raises(BadInput, match="exists already"):
        require_free(tmp_path / "out")


@pytest.mark.parametrize(
    ("tiered", "named"),
    [((1, 2, 3), {"kraft"}), ((1, 2), {"kraft", "remote"}), (None, {"kraft"})],
    ids=["all brokers", "not all", "not known"],
)
def test_hm_1_topics_at_whose_configs_brokers_end_are_found(
    tmp_path: Path, tiered: tuple[int, ...] | None, named: set[str]
) -> None:
    path = tmp_path / "snaps" / "s1"
    with SnapshotWriter(path) as writer:
        writer.brokers.extend((broker, rack, "h", 1, None, None, broker != 4) for broker, rack in RACKS.items())
        writer.partitions.add(("remote", 0, [1], 1, [1], [], [], 1, None, None))
        writer.configs.add(("topic", "remote", "remote.storage.enable", "true"))
        writer.configs.add(("topic", "kraft", "retention.ms", "5"))
        writer.configs.add(("topic", "kraft", "remote.log.copy.disable", "true"))
        writer.configs.add(("topic", "fine", "retention.ms", "5"))
        for broker in () if tiered is None else (1, 2, 3):
            writer.configs.add(("broker", str(broker), "broker.id", str(broker)))
        for broker in tiered or ():
            writer.configs.add(("broker", str(broker), "remote.log.storage.system.enable", "true"))
        writer.finish(SnapshotMeta("c1", MINUTE))
    tables = audit_job.audit_tables(CallHere(), snapshot_files.find_snapshots(path), None)
    assert {row["resource"] for row in tables["ending_configs"].to_pylist()} == named


OWN, DEFAULT, STATIC = 2, 3, 4
LAGS = {"log.cleaner.min.compaction.lag.ms": "10", "log.cleaner.max.compaction.lag.ms": "5"}


@pytest.mark.parametrize(
    ("defaults", "of_broker_1", "starts"),
    [
        ({"log.retention.ms": "5", "max.connections": "7"}, {}, []),
        ({"max.connections": "0"}, {}, ["max.connections: brokers such as 1 (2 of 2) cannot apply"]),
        ({"max.connections": "0"}, {"max.connections": ("9", OWN)}, ["max.connections: brokers such as 2 (1 of 2)"]),
        (
            {"max.connections": "0"},
            {"max.connections": ("9", DEFAULT)},
            ["max.connections: brokers such as 1 (2 of 2)"],
        ),
        ({"max.connections": "0"}, {"max.connections": ("9", None)}, ["max.connections: brokers such as 2 (1 of 1)"]),
        (LAGS, {}, [", ".join(sorted(LAGS)) + ": brokers such as 1 (2 of 2) accept that, but"]),
        ({"broker.id": "7"}, {}, ["broker.id: brokers leave it out"]),
        ({"metric.reporters": "com.example.Known"}, {}, []),
    ],
)
def test_hm_1_cluster_wide_configs_that_brokers_cannot_live_with_are_found_beside_topics(
    tmp_path: Path,
    defaults: dict[str, str],
    of_broker_1: dict[str, tuple[str, int | None]],
    starts: list[str],
) -> None:
    path = tmp_path / "snaps" / "s1"
    with SnapshotWriter(path) as writer:
        writer.brokers.extend((broker, rack, "h", 1, None, None, broker < 3) for broker, rack in RACKS.items())
        writer.partitions.add(("kraft", 0, [1], 1, [1], [], [], 1, None, None))
        writer.configs.add(("topic", "kraft", "remote.log.copy.disable", "true", 1))
        writer.configs.extend(("broker", "", name, value, DEFAULT) for name, value in defaults.items())
        for broker in ("1", "2"):
            writer.configs.add(("broker", broker, "listeners", "OUT://:1,IN://:2", STATIC))
            writer.configs.add(("broker", broker, "ssl.key.password", None, STATIC))
        writer.configs.extend(("broker", "1", name, *found) for name, found in of_broker_1.items())
        writer.finish(SnapshotMeta("c1", MINUTE))
    tables = audit_job.audit_tables(CallHere(), snapshot_files.find_snapshots(path), None)
    shown = result_tables.excerpt(tables["ending_configs"])
    *of_defaults, of_topic = shown.rows
    assert of_topic[:2] == ("topic", "kraft")
    assert [row[:2] for row in of_defaults] == [("broker", "<default>")] * len(starts)
    for row, start in zip(of_defaults, starts, strict=True):
        assert row[2].startswith(start)
    text = "\n".join(result_tables.text_lines("ending configs", shown, empty="none"))
    assert text.count("<default>") == len(starts)
    page = HtmlPage("Audit", "")
    add_table(page, "Configs that brokers cannot live with", shown)
    assert page.html().count("&lt;default&gt;") == len(starts)
