"""`plan disks`: a snapshot becomes a plan between log dirs, which keeps its rules; each change by hand is found."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.pipeline.disks.disk_plan_files import (
    DiskRequest,
    read_dir_batch,
    read_dir_moves,
    read_disk_summary,
)
from kafka_reassign_rpc.pipeline.disks.plan_disks_job import DiskJob, run
from kafka_reassign_rpc.pipeline.disks.verify_disk_facts import DiskFacts, LeftOut, read_facts
from kafka_reassign_rpc.pipeline.disks.verify_disks import broken_rules
from kafka_reassign_rpc.pipeline.plans.batch_reader import plan_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import SnapshotMeta

DOCS = Path(__file__).parents[2] / "docs" / "pipeline.md"
MB = 1_000_000


def write_snapshot(path: Path) -> Path:
    """Broker 1 has all in /a of two disks, broker 2 one log dir, broker 3 tells nothing. t-4 moves to broker 3, t-5 is
    copied to /b already, and /c of broker 1 is offline."""
    with SnapshotWriter(path) as writer:
        writer.brokers.extend((broker, None, "h", 1, None, None, True) for broker in (1, 2, 3))
        writer.log_dirs.extend([
            (1, "/a", True, 0, 1000 * MB, 500 * MB),
            (1, "/b", True, 1, 1000 * MB, 900 * MB),
            (1, "/c", False, None, None, None),
            (2, "/x", True, 0, 1000 * MB, 900 * MB),
        ])  # fmt: skip
        adding = {4: [3]}
        writer.partitions.extend(
            ("t", index, [2, 1], 2, [1, 2], adding.get(index, []), [], 10 * MB, None, None, False) for index in range(6)
        )
        writer.topics.add(("t", "id-of-t"))
        for index in range(6):
            writer.replicas.add(("t", index, 1, (index + 1) * 10 * MB, "/a", False))
            writer.replicas.add(("t", index, 2, (index + 1) * 10 * MB, "/x", False))
        writer.replicas.add(("t", 5, 1, 20 * MB, "/b", True))
        writer.finish(SnapshotMeta("c1", 5))
    return path


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    return write_snapshot(tmp_path / "snapshot")


@pytest.mark.parametrize("empty", [{1: ["/a"]}, {}], ids=["empty", "even out"])
def test_dh_3_a_replica_that_its_partition_does_not_have_stays_and_is_named(
    empty: dict[int, list[str]], tmp_path: Path
) -> None:
    """A move or a deletion that ends while a snapshot is taken leaves such rows. t-1 is another's, gone-0 nobody's."""
    with SnapshotWriter(tmp_path / "snapshot") as writer:
        writer.brokers.extend((broker, None, "h", 1, None, None, True) for broker in (1, 2))
        writer.log_dirs.extend((1, path, True, at, 1000 * MB, 900 * MB) for at, path in enumerate(("/a", "/b")))
        for index, broker in enumerate((1, 2, 1)):
            writer.partitions.add(("t", index, [broker], broker, [broker], [], [], 10 * MB, None, None, False))
            writer.replicas.add(("t", index, 1, 10 * MB, "/a", False))
        writer.replicas.add(("gone", 0, 1, 10 * MB, "/a", False))
        writer.finish(SnapshotMeta("c1", 5))

    made = run(DiskJob(tmp_path / "snapshot", tmp_path / "plan", DiskRequest(empty=empty)))

    assert f"2 replicas stay: {STRAY}" in made.notes
    assert {move.topic for move in read_dir_moves(tmp_path / "plan")} == {"t"}
    assert [(one.reason, one.first) for one in made.left_out] == (
        [(STRAY, ["gone-0 of broker 1", "t-1 of broker 1"])] if empty else []
    )


def test_dh_3_replicas_whose_log_dir_is_not_told_stay_and_the_others_are_planned(tmp_path: Path) -> None:
    with SnapshotWriter(tmp_path / "snapshot") as writer:
        writer.brokers.add((1, None, "h", 1, None, None, True))
        writer.log_dirs.extend((1, path, True, at, 1000 * MB, 900 * MB) for at, path in enumerate(("/a", "/b")))
        for index, path in enumerate(("/a", "/a", None, "/a", "/a")):
            writer.partitions.add(("t", index, [1], 1, [1], [], [], 10 * MB, None, None, False))
            writer.replicas.add(("t", index, 1, 10 * MB, path, False))
        writer.replicas.extend(("t", index, 1, MB, path, True) for index, path in ((3, None), (4, "/b")))
        writer.finish(SnapshotMeta("c1", 5))
    made = run(DiskJob(tmp_path / "snapshot", tmp_path / "plan", DiskRequest()))
    assert (made.replicas, made.moves) == (4, 2)


EMPTY = DiskRequest(empty={1: ["/a"]})


def test_dh_3_an_even_plan_has_batches_for_the_stock_tool_and_their_rollback(
    snapshot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = snapshot.with_name("plan")
    assert main(["plan", "disks", "--snapshot", str(snapshot), "--out", str(out), "--throttle", "10MB"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        f"{out}: 4 of 12 replicas move between log dirs of 1 broker in 1 batch",
        "  copied    100.0 MB",
        "  takes     10 s at the throttle of 10.0 MB/s on each broker",
        "  log dirs  broker 1 /a on 1.0 GB: 210.0 MB in 6 replicas, then 110.0 MB in 2 replicas",
        "            broker 1 /b on 1.0 GB: 0 B in 0 replicas, then 100.0 MB in 4 replicas",
        "            furthest from its share 100.0% (broker 1), then 4.8% (broker 1)",
        "  moves     t-3 on broker 1  /a → /b  40.0 MB  batch 1  /a holds more than its share of bytes",
        "            t-2 on broker 1  /a → /b  30.0 MB  batch 1  /a holds more than its share of bytes",
        "            t-1 on broker 1  /a → /b  20.0 MB  batch 1  /a holds more than its share of bytes",
        "            t-0 on broker 1  /a → /b  10.0 MB  batch 1  /a holds more than its share of bytes",
    ]
    assert said.err.splitlines() == [
        "note: broker 3 did not tell the log dirs: the plan leaves it out",
        "note: broker 2 has one log dir: nothing moves there",
        "note: broker 1: offline log dirs: /c",
        "note: 2 replicas stay: a reassignment of its partition is in flight or waits",
        "note: 1 replica stays: its broker copies it to another log dir already",
    ]
    forward, back = (json.loads((out / name).read_text()) for name in BATCH_FILES)
    first = {"topic": "t", "partition": 3, "replicas": [2, 1], "log_dirs": ["any", "/b"]}
    assert forward["partitions"][0] == first | {"expected_log_dirs": ["any", "/a"]}
    assert back["partitions"][-1] == first | {"log_dirs": ["any", "/a"], "expected_log_dirs": ["any", "/b"]}
    assert forward["topic_ids"] == {"t": "id-of-t"}
    assert main(["plan", "verify", "--snapshot", str(snapshot), "--plan", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: 4 moves, no rule is broken\n"
    assert main(["plan", "show", str(out), "--sort", "bytes", "--limit", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["to_log_dir"] == "/b"
    assert main(["plan", "show", str(out), "--topic", "tt"]) == 1
    assert "the plan has no such move: there is no topic tt (is t meant?)" in capsys.readouterr().err
    (out / BATCH_FILES[1]).unlink()
    assert main(["plan", "verify", "--snapshot", str(snapshot), "--plan", str(out)]) == 1
    assert capsys.readouterr().err.startswith("rollback: t-0 of broker 1: ('/a', '/b') in the table, None in the file")


BATCH_FILES = "batches/batch-0001.json", "rollback/rollback-0001.json"


def test_dh_3_emptying_a_log_dir_names_what_it_leaves_out_and_has_an_exit_code_of_its_own(
    snapshot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--snapshot", str(snapshot), "--out", str(snapshot.with_name("plan"))]
    assert main(["plan", "disks", "--empty", "1:/a", "--empty", "1://a/", *where]) == 4, "the same log dir"
    said = capsys.readouterr()
    assert "incomplete: 2 replicas stay in a log dir that is to be emptied" in said.out.splitlines()[0]
    assert "left out: 1 replica: its broker copies it to another log dir already (t-5 of broker 1)" in said.err
    summary = read_disk_summary(snapshot.with_name("plan"))
    assert (summary.moves, summary.complete, summary.bytes) == (4, False, 100 * MB)
    after = [(one.log_dir, one.bytes_after, one.replicas_after) for one in summary.dirs]
    assert after == [("/a", 110 * MB, 2), ("/b", 100 * MB, 4), ("/c", 0, 0)]


@pytest.mark.parametrize(
    ("flags", "code", "saying"),
    [
        (["--until", "0.01"], 5, ""),
        (["--brokers", "2"], 3, "broker 2 has one log dir"),
        (["--brokers", "9"], 2, "the snapshot has no live broker 9"),
        (["--brokers", "3"], 2, "broker 3 has not told its log dirs"),
        (["--empty", "1:/z"], 2, "broker 1 has no log dir /z; it has /a, /b, /c"),
        (["--empty", "1:/c"], 2, "/c of broker 1 is offline"),
        (["--empty", "2:/x"], 2, "broker 2 has no other log dir"),
        (["--empty", "/a"], 2, "expected a broker and the absolute path"),
        (["--empty", "1:/a", "--brokers", "1"], 2, "leave out --brokers"),
        (["--empty", "1:/a", "--until", "0.1"], 2, "leave out --until"),
        (["--empty", "1:/a", "--tolerance", "0.1"], 2, "leave out --tolerance"),
        (["--empty", "1:/a", "--max-bytes", "1GB"], 2, "leave out --max-bytes"),
        (["--topics", "u"], 2, "no topic u"),
        (["--exclude-topics", "t*"], 2, "no topic is left"),
        (["--tolerance", "x"], 2, "--tolerance"),
    ],
)
def test_dh_3_wrong_flags_and_what_a_plan_does_not_reach_have_their_exit_codes(
    flags: list[str], code: int, saying: str, snapshot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = snapshot.with_name("plan")
    assert main(["plan", "disks", *flags, "--snapshot", str(snapshot), "--out", str(out)]) == code
    assert saying in capsys.readouterr().err
    assert out.exists() == (code != 2)


def test_dh_3_odd_partitions_stay_and_what_was_not_asked_for_is_not_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """u-1 has a broker twice; v-0 moves to another broker."""
    with SnapshotWriter(tmp_path / "snapshot") as writer:
        writer.brokers.extend((broker, None, "h", 1, None, None, True) for broker in (1, 2))
        writer.log_dirs.extend((1, path, True, place, 1000, 900) for place, path in enumerate(("/a", "/b")))
        for topic, index, replicas, adding in (("u", 0, [1], []), ("u", 1, [1, 1], []), ("v", 0, [1], [2])):
            writer.partitions.add((topic, index, replicas, 1, [1], adding, [], 10, None, None, False))
            writer.replicas.add((topic, index, 1, 10, "/a", False))
        writer.finish(SnapshotMeta("c1", 5))
    where = ["--snapshot", str(tmp_path / "snapshot"), "--out", str(tmp_path / "u")]
    assert main(["plan", "disks", "--empty", "1:/a", "--topics", "u", *where]) == 4
    why = "the replicas of its partition lack a broker or have one twice"
    assert f"left out: 1 replica: {why} (u-1 of broker 1)" in capsys.readouterr().err
    made = read_disk_summary(tmp_path / "u")
    assert (made.moves, [one.reason for one in made.left_out]) == (1, [why])


def test_dh_3_moves_are_cut_into_batches_and_the_way_back_begins_with_the_last(snapshot: Path) -> None:
    out = snapshot.with_name("plan")
    run(DiskJob(snapshot, out, msgspec.structs.replace(EMPTY, moves_per_batch=3)))
    assert [len(read_dir_batch(file).partitions) for file in plan_files(out, (1, 2), undo=False)] == [3, 1]
    assert [file.stem for file in plan_files(out, (), undo=True)] == ["rollback-0002", "rollback-0001"]
    assert [(one.start, one.batch) for one in read_dir_moves(out)] == [(1, 1), (2, 1), (3, 1), (4, 2)]


# -- changes by hand ---------------------------------------------------------------------------------------------------

Change = Callable[[DiskFacts], DiskFacts]


def first_move(**fields: Any) -> Change:
    return lambda facts: facts._replace(moves=[facts.moves[0]._replace(**fields), *facts.moves[1:]])


def asked(**fields: Any) -> Change:
    def change(facts: DiskFacts) -> DiskFacts:
        requested = msgspec.structs.replace(facts.summary.requested, **fields)
        return facts._replace(summary=msgspec.structs.replace(facts.summary, requested=requested))

    return change


def summary(**fields: Any) -> Change:
    return lambda facts: facts._replace(summary=msgspec.structs.replace(facts.summary, **fields))


def log_dir(path: str, **fields: Any) -> Change:
    def change(facts: DiskFacts) -> DiskFacts:
        of_broker: dict[str, Mapping[str, Any]] = {**facts.dirs[1]}
        of_broker[path] = {**of_broker[path], **fields}
        return facts._replace(dirs={**facts.dirs, 1: of_broker})

    return change


def batch(**fields: Any) -> Change:
    return lambda facts: facts._replace(batches={1: msgspec.structs.replace(facts.batches[1], **fields)})


def first_broker(**fields: Any) -> Change:
    return lambda facts: summary(
        brokers=[msgspec.structs.replace(facts.summary.brokers[0], **fields), *facts.summary.brokers[1:]]
    )(facts)


def first_dir(**fields: Any) -> Change:
    return lambda facts: summary(
        dirs=[msgspec.structs.replace(facts.summary.dirs[0], **fields), *facts.summary.dirs[1:]]
    )(facts)


def other_replicas(facts: DiskFacts) -> DiskFacts:
    first, *others = facts.batches[1].partitions
    return batch(partitions=[msgspec.structs.replace(first, replicas=(2, 3)), *others])(facts)


LEFT = "no other log dir of the broker has room"
STRAY = "its partition has no replica on this broker"
EVEN_CHANGES: list[tuple[str, str, Change]] = [
    ("unknown-replica", "a broker moves a replica that it does not hold", first_move(partition=77)),
    ("stale", "a replica lies in another log dir", first_move(from_log_dir="/c")),
    ("bytes", "a move between log dirs copies one byte more", first_move(bytes=40 * MB + 1)),
    ("no-move", "a replica stays in its log dir", first_move(to_log_dir="/a")),
    ("known-dir", "a replica goes to a log dir that its broker does not have", first_move(to_log_dir="/z")),
    ("online-dir", "a replica goes to a log dir that is offline", first_move(to_log_dir="/c")),
    ("cordoned", "a replica goes to a cordoned log dir", log_dir("/b", cordoned=True)),
    ("copying", "the broker copies the replica already",
     lambda one: one._replace(copied={1: {**one.copied[1], ("t", 3): ("/b", 0)}})),
    ("two-dirs", "a replica moves that its broker lists in two log dirs",
     lambda one: one._replace(twice={(1, ("t", 3))})),
    ("in-flight", "the partition of a replica that moves has a reassignment",
     lambda one: one._replace(reassigned={**one.reassigned, ("t", 3): one.partitions["t", 3]})),
    ("topics", "a replica of a topic that was not asked for", asked(topics=["u"])),
    ("brokers", "a replica of a broker that was not asked for", asked(brokers=[2])),
    ("reason", "a move between log dirs has no reason", first_move(reason="")),
    ("reason", "the reason of a move between log dirs has a word more",
     lambda one: first_move(reason=f"{one.moves[0].reason} now")(one)),
    ("moved-twice", "a replica moves twice", lambda one: one._replace(moves=[*one.moves, one.moves[0]])),
    ("room", "a disk gets more than it has free", log_dir("/b", free_bytes=100 * MB)),
    ("evener", "a plan makes disks less even", log_dir("/a", volume_bytes=9000 * MB)),
    ("max-bytes", "a broker copies more than it may", asked(max_bytes=1)),
    ("batches", "a batch file lacks a replica that moves", batch(partitions=[])),
    ("batches", "a batch file has another order than the table",
     lambda one: batch(partitions=one.batches[1].partitions[::-1])(one)),
    ("rollback", "a rollback lacks a replica that moves",
     lambda one: one._replace(rollbacks={1: msgspec.structs.replace(one.rollbacks[1], partitions=[], topic_ids={})})),
    ("replicas", "a batch file changes the replicas of a partition", other_replicas),
    ("topic-id", "a batch file has another id of a topic between log dirs", batch(topic_ids={"t": "other"})),
    ("start", "the table has another order than its places", first_move(start=2)),
    ("summary", "the number of replicas that move differs", summary(moves=5)),
    ("summary", "the bytes between log dirs differ", summary(bytes=1)),
    ("summary", "a log dir will hold other bytes", lambda one: summary(dirs=one.summary.dirs[1:])(one)),
    ("summary", "a log dir is said to have other room", first_dir(free=1)),
    ("summary", "a log dir is told twice", lambda one: summary(dirs=[*one.summary.dirs, one.summary.dirs[0]])(one)),
    ("summary", "a broker is left out", lambda one: summary(brokers=one.summary.brokers[1:])(one)),
    ("limits-of-a-batch", "a batch moves a replica more than it may", asked(moves_per_batch=1)),
    ("summary", "a broker is nearer to even than it is", first_broker(furthest_after=0.0)),
    ("summary", "a broker takes less time than it does", first_broker(seconds=0.1)),
    ("summary", "a note on log dirs is left out", lambda one: summary(notes=one.summary.notes[1:])(one)),
    ("summary", "log dirs are noted that are not offline", lambda one: summary(notes=[*one.summary.notes, "odd"])(one)),
    ("summary", "the plan takes less than its slowest broker", summary(expected_seconds=0.1)),
]  # fmt: skip
EMPTY_CHANGES: list[tuple[str, str, Change]] = [
    ("keeps-others", "a replica of a log dir that is not to be emptied", asked(empty={1: ["/b"]})),
    ("leaves-dirs", "a replica goes to a log dir that is to be emptied", asked(empty={1: ["/a", "/b"]})),
    ("forgotten", "a replica of an emptied log dir is not in the plan", lambda one: one._replace(moves=one.moves[1:])),
    ("complete", "a plan between log dirs is said to be complete", summary(complete=True)),
    ("left-out", "a replica both moves and is left out",
     lambda one: one._replace(left_out=[*one.left_out, LeftOut("t", 3, 1, "/a", 40 * MB, LEFT)])),
    ("left-out", "a replica is left out as if nothing had room",
     lambda one: one._replace(left_out=[one.left_out[0]._replace(reason=LEFT), *one.left_out[1:]])),
    ("left-out", "a replica is left out as if its partition did not have it",
     lambda one: one._replace(left_out=[one.left_out[0]._replace(reason=STRAY), *one.left_out[1:]])),
    ("left-out", "a replica is left out with other bytes",
     lambda one: one._replace(left_out=[one.left_out[0]._replace(bytes=1), *one.left_out[1:]])),
    ("left-out", "a replica is left out for an invented reason",
     lambda one: one._replace(left_out=[one.left_out[0]._replace(reason="no wish"), *one.left_out[1:]])),
    ("left-out", "a replica that does not lie there is left out",
     lambda one: one._replace(left_out=[one.left_out[0]._replace(log_dir="/b"), *one.left_out[1:]])),
    ("summary", "fewer replicas are left out than the table has", summary(left_out=[])),
    ("summary", "a reason of replicas that are left out is told twice",
     lambda one: summary(left_out=[*one.summary.left_out, one.summary.left_out[0]])(one)),
    ("summary", "a broker that is emptied is said to be uneven", first_broker(furthest_before=0.1)),
    ("summary", "another replica is named as left out", lambda one: summary(
        left_out=[msgspec.structs.replace(one.summary.left_out[0], first=["t-77 of broker 1"]),
                  *one.summary.left_out[1:]])(one)),
]  # fmt: skip


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> tuple[DiskFacts, DiskFacts]:
    """An even plan, and one that empties /a of broker 1."""
    snapshot = write_snapshot(tmp_path_factory.mktemp("disks") / "snapshot")
    found = []
    for name, requested in (("even", DiskRequest()), ("empty", EMPTY)):
        run(DiskJob(snapshot, snapshot.with_name(name), requested))
        found.append(read_facts(snapshot, snapshot.with_name(name)))
    return found[0], found[1]


@pytest.mark.parametrize(
    ("which", "rule", "change"),
    [(which, rule, change) for which, some in enumerate((EVEN_CHANGES, EMPTY_CHANGES)) for rule, _, change in some],
    ids=[text for some in (EVEN_CHANGES, EMPTY_CHANGES) for _, text, _ in some],
)
def test_dh_3_each_change_by_hand_of_a_plan_between_log_dirs_is_found(
    plans: tuple[DiskFacts, DiskFacts], which: int, rule: str, change: Change
) -> None:
    assert list(broken_rules(plans[which])) == []
    assert rule in {one.rule for one in broken_rules(change(plans[which]))}


def test_dh_3_the_snapshot_and_not_the_plan_says_which_brokers_were_to_be_looked_at(tmp_path: Path) -> None:
    snapshot, plan = write_snapshot(tmp_path / "snapshot"), tmp_path / "plan"
    made = run(DiskJob(snapshot, plan, EMPTY))
    nobody = msgspec.structs.replace(made, brokers=[], dirs=[])
    (plan / "summary.json").write_bytes(msgspec.json.encode(nobody))
    assert {one.rule for one in broken_rules(read_facts(snapshot, plan))} == {"summary"}


def test_dh_3_the_table_of_changes_between_log_dirs_in_the_docs_has_every_change_that_is_tried() -> None:
    lines = DOCS.read_text().partition("| rule | a change of log dirs that it finds |\n")[2].splitlines()[1:]
    rows = []
    for line in lines:
        if not line.startswith("| `"):
            break
        rows.append(tuple(cell.strip() for cell in line.split("|")[1:3]))
    assert rows == sorted((f"`{rule}`", text) for rule, text, _ in (*EVEN_CHANGES, *EMPTY_CHANGES))
