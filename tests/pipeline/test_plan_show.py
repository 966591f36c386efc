"""`plan show`: the moves of a plan for reviewers, without Spark."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.pipeline.plans import move_list
from kafka_reassign_rpc.pipeline.plans.move_list import MoveFilter, read_moves
from kafka_reassign_rpc.pipeline.plans.move_texts import move_lines
from kafka_reassign_rpc.pipeline.plans.plan_summary import ImpactFigures, LoadFigures, RackFigures
from kafka_reassign_rpc.pipeline.plans.plan_writer import PlanWriter
from kafka_reassign_rpc.pipeline.reports import plan_report
from kafka_reassign_rpc.planner.plan_result import PlannedMove
from tests.pipeline.plans import SUMMARY, write_full_plan

MOVES = (
    (
        PlannedMove("orders", 1, (6, 1), (5, 1), 6, 50_000_000, 0, "broker 6 lost", "live-brokers"),
        PlannedMove("orders", 0, (6, 2, 1), (3, 4, 1), 2, 80_000_001, 1, "broker 6 is to be drained", "drain", 1),
    ),
    (
        PlannedMove("logs", 12, (3, 4), (4, 3), 3, 0, 2, "broker 3 has 140% of its share of leaders", "leaders"),
        PlannedMove("logs", 2, (4, 3), (4, 5), 4, 999, 2, "broker 3 has 120% of its share of bytes", "bytes"),
    ),
)
LINES = {
    "orders-1": "orders-1  [6,1]   → [5,1]    50.0 MB  batch 1  broker 6 lost",
    "orders-0": "orders-0  [6,2,1] → [3,4,1]  80.0 MB  batch 1  broker 6 is to be drained; broker 1 leads first",
    "logs-12": "logs-12   [3,4]   → [4,3]        0 B  batch 2  broker 3 has 140% of its share of leaders",
    "logs-2": "logs-2    [4,3]   → [4,5]      999 B  batch 2  broker 3 has 120% of its share of bytes",
}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return write_full_plan(tmp_path / "plan", *MOVES)


def shown(plan: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["plan", "show", str(plan), *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_dp_9_each_move_is_a_line_in_the_order_in_which_moves_start(
    plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(plan, capsys) == [*LINES.values(), f"{plan}: 4 moves shown, 130.0 MB"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("--topic", "orders"), ["orders-1", "orders-0"]),
        (("--topic", "order*,none"), ["orders-1", "orders-0"]),
        (("--topic", "orders", "--topic", "logs", "--batch", "2"), ["logs-12", "logs-2"]),
        (("--broker", "5"), ["orders-1", "logs-2"]),
        (("--broker", "2"), ["orders-0"]),  # it loses the replica, but does not send: 1 leads first
        (("--broker", "1"), ["orders-0"]),  # it sends; of orders-1 it keeps its replica, and 6 sends
        (("--broker", "3,6", "--topic", "logs"), ["logs-12", "logs-2"]),
        (("--reason", "broker 6"), ["orders-1", "orders-0"]),
        (("--reason", "leaders"), ["logs-12"]),
        (("--sort", "topic"), ["logs-2", "logs-12", "orders-0", "orders-1"]),
        (("--sort", "bytes"), ["orders-0", "orders-1", "logs-2", "logs-12"]),
        (("--sort", "reason"), ["logs-2", "orders-0", "logs-12", "orders-1"]),
        (("--sort", "bytes", "--limit", "2"), ["orders-0", "orders-1"]),
    ],
)
def test_dp_9_moves_are_chosen_and_sorted(
    arguments: tuple[str, ...], names: list[str], plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [line.split()[0] for line in shown(plan, capsys, *arguments)[:-1]] == names


def test_dp_9_what_is_said_of_the_whole_plan_is_said_so_where_fewer_moves_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = LoadFigures(*[0] * len(LoadFigures.__struct_fields__))
    racks = [RackFigures(name, 1, nothing, nothing) for name in "ab"]
    impact = ImpactFigures(bytes_across_racks=50_000_000, fewer_racks=1)
    plan = write_full_plan(tmp_path / "plan", *MOVES, racks=racks, impact=impact)
    crossed, fewer = "50.0 MB of 130.0 MB cross racks", "1 partition ends on fewer racks than before"
    assert shown(plan, capsys)[-2:] == [f"{plan}: {crossed}", f"{plan}: {fewer}: the loss of one costs more"]
    for arguments in (("--topic", "logs"), ("--limit", "3")):
        assert shown(plan, capsys, *arguments)[-2:] == [
            f"{plan}: of the whole plan: {crossed}",
            f"{plan}: of the whole plan: {fewer}: the loss of one costs more",
        ]


@pytest.mark.parametrize("leader", [None, -1])
def test_dp_9_a_move_without_a_leader_has_none_also_in_a_plan_of_an_earlier_release(
    leader: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan"
    with PlanWriter(plan, SUMMARY.at) as writer:
        writer.moves.add(("t", 0, (1, 2), (1, 3), leader, 7, "broker 2 is lost", "live-brokers", 1, 0, None, 1))
        writer.write_summary(msgspec.structs.replace(SUMMARY, moves=1, bytes=7))
        writer.publish()
    assert json.loads(shown(plan, capsys, "--json")[0])["leader"] is None
    assert [line.split()[0] for line in shown(plan, capsys, "--broker", "3", "--group", "broker")]


@pytest.mark.parametrize("also", [(), ("--group", "topic"), ("--json",)])
@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--topic", "order"), ": there is no topic order (is orders meant?)"),
        (("--topic", "order*,log", "--batch", "9"), ": there is no topic log (is logs meant?)"),
        (("--topic", "logs", "--broker", "77"), ": there is no broker 77 (known: 1, 2, 3, 4, 5, 6)"),
        (("--reason", "nothing of it"), ""),
    ],
)
def test_dp_9_where_no_move_fits_the_exit_code_is_1_and_the_nearest_name_is_told(
    arguments: tuple[str, ...], hint: str, also: tuple[str, ...], plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "show", str(plan), *arguments, *also]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"kafka-reassign-rpc plan show: the plan has no such move{hint}\n")


def test_dp_9_sums_are_shown_by_broker_topic_reason_or_batch(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [line.split("  ")[0] for line in shown(plan, capsys, "--group", "topic")] == ["TOPIC", "orders", "logs"]
    assert [line.split() for line in shown(plan, capsys, "--group", "broker")[1:]] == [
        ["1", "0", "0", "B", "0", "80.0", "MB"],
        ["2", "0", "0", "B", "1", "0", "B"],
        ["3", "1", "40.0", "MB", "1", "0", "B"],
        ["4", "1", "40.0", "MB", "0", "999", "B"],
        ["5", "2", "50.0", "MB", "0", "0", "B"],
        ["6", "0", "0", "B", "2", "50.0", "MB"],
    ]
    assert shown(plan, capsys, "--group", "batch", "--limit", "1") == [
        "BATCH  MOVES  BYTES",
        "1      2      130.0 MB",
        "and 1 more",
    ]
    assert shown(plan, capsys, "--group", "rule", "--broker", "5")[1:] == [
        "live-brokers  1      50.0 MB",
        "bytes         1      999 B",
    ]


def test_dp_9_bytes_that_copies_do_not_share_evenly_are_not_lost() -> None:
    sums = dict(move_list.broker_sums([move_list.ListedMove("t", 0, [1], [2, 3, 4], 1, 11, "", "", 1, 0)]))
    assert [sums[broker].bytes_in for broker in (2, 3, 4)] == [4, 4, 3]
    assert sums[1].bytes_out == 11


def test_dp_9_json_has_a_line_for_each_move(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, *others = [json.loads(line) for line in shown(plan, capsys, "--json")]
    assert first == {
        "topic": "orders",
        "partition": 1,
        "from_replicas": [6, 1],
        "to_replicas": [5, 1],
        "leader": 6,
        "bytes": 50_000_000,
        "reason": "broker 6 lost",
        "rule": "live-brokers",
        "batch": 1,
        "priority": 0,
        "first_leader": None,
        "start": 1,
    }
    assert [one["start"] for one in others] == [2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (("--broker", "x"), "--broker: expected a whole number, got [hidden]"),
        (("--broker", ","), "--broker: names nothing"),
        (("--batch", "0"), "--batch: expected a whole number from 1"),
        (("--limit", "0"), "--limit: expected a whole number from 1"),
        (("--topic", ",".join(map(str, range(1001)))), "--topic: names 1001; at most 1000"),
        (("--json", "--group", "topic"), "--json: lists moves"),
    ],
)
def test_dp_9_wrong_flags_are_refused(
    arguments: tuple[str, ...], saying: str, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "show", str(plan), *arguments]) == 2
    assert saying in capsys.readouterr().err


def test_dp_9_a_directory_that_is_no_plan_and_a_plan_that_is_cut_short_are_refused(
    plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "show", str(plan.parent)]) == 2
    assert f"{plan.parent}: no plan (summary.json is missing)" in capsys.readouterr().err
    file = plan / "moves" / "part-00000.parquet"
    file.write_bytes(file.read_bytes()[:-10])
    assert main(["plan", "show", str(plan)]) == 2
    assert "not a readable Parquet file" in capsys.readouterr().err


def test_dp_9_a_name_in_a_plan_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    evil = PlannedMove("a\x1b[2J\nb", 0, (1,), (2,), 1, 5, 0, "so\r\x07 " + "x" * 500, "bytes")
    plan = write_full_plan(tmp_path / "plan", [evil])
    [line] = move_lines((one.move, "") for one in read_moves(plan, MoveFilter()))
    assert line.startswith(r"a\x1b[2J\nb-0  [1] → [2]  5 B  batch 1  so\r\x07 xxx")
    assert line.isprintable()
    assert len(line) < 400


def test_dp_9_moves_stream_and_a_reader_that_wants_the_first_ends_it(
    plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows become Python objects one record batch at a time."""
    monkeypatch.setattr(move_list, "_ROWS", 1)
    taken = []
    as_moves = move_list.as_moves

    def counted(rows):  # type: ignore[no-untyped-def]
        taken.append(rows.num_rows)
        return as_moves(rows)

    monkeypatch.setattr(move_list, "as_moves", counted)
    assert [one.row for one in read_moves(plan, MoveFilter(), limit=2)] == [0, 1]
    assert taken == [1, 1]
    taken.clear()
    assert [one.row for one in read_moves(plan, MoveFilter(), "bytes")] == [1, 0, 3, 2]
    assert taken == [1, 1, 1, 1]


def test_dp_9_the_output_may_be_cut_short_and_neither_spark_nor_the_server_is_imported(tmp_path: Path) -> None:
    """Both take seconds to import."""
    many = [PlannedMove("t", number, (1,), (2,), 1, 5, 0, "x" * 200, "bytes") for number in range(5000)]
    plan = write_full_plan(tmp_path / "plan", many)
    script = (
        "import sys; from kafka_reassign_rpc.cli.main import main; code = main(sys.argv[1:]); "
        "sys.exit(code or 9 * bool({'pyspark', 'aiohttp'} & sys.modules.keys()))"
    )
    command = [sys.executable, "-c", script, "plan", "show", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("t-0  ")
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_dp_9_the_page_of_a_plan_lists_its_first_moves_and_says_how_many_more(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = plan_report.write(plan).read_bytes().decode()
    for text in ("[6,2,1]", "[3,4,1]", "broker 6 is to be drained; broker 1 leads first", "80.0 MB"):
        assert text in page
    assert "3 more" not in page
    monkeypatch.setattr(plan_report, "_MOVES", 1)
    page = plan_report.write(plan).read_bytes().decode()
    assert "orders-1" in page
    assert "orders-0" not in page
    assert "3 more" in page
