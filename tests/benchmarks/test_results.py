"""Results of benchmarks as JSON, and the comparison of two of them, on cases made by hand."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import compare
from benchmarks.results import NOISE, PAGE, ROOT, Change, NoResults, compared, document, figure, read, unlike, written
from benchmarks.tables import Table, duration, recorded, show
from tests.tables import for_each

HEAD = ("Alter", "answered", "stock", "ratio", "requests/s", "resident", "moves")
ROW = ("1,000 of one topic", "70.0 ms (3)", "2.10 s", "30.0x", "9,330", "120 MB", "1,000")


def results(*rows: Sequence[str], head: Sequence[str] = HEAD, quick: bool = False) -> dict[str, Any]:
    return document({"bulk": [Table("bulk: one Alter", head, rows)]}, machine="two cores", quick=quick)


def changed(**cells: str) -> Sequence[str]:
    by_name = dict(zip(("of", "answered", "stock", "ratio", "rate", "resident", "moves"), ROW, strict=True))
    return tuple({**by_name, **cells}.values())


def worse(old: Sequence[str], new: Sequence[str], head: Sequence[str] = HEAD) -> list[str]:
    changes = compared(results(old, head=head), results(new, head=head))
    return [change.name.split(" | ")[-1] for change in changes if change.is_worse(NOISE)]


@for_each(
    ("text", "column", "value", "unit"),
    [
        ("70.0 ms", "answered", 0.07, "s"),
        ("0.39 s (3)", "answered", 0.39, "s"),
        ("12 us", "", 12e-6, "s"),
        ("2.5", "µs for each decision", 2.5e-6, "s"),
        ("9,330", "requests/s", 9330, "/s"),
        ("250", "per second", 250, "/s"),
        ("18.8 MB/s", "rate", 18.8e6, "B/s"),
        ("120 MiB", "resident", 120 * 1024**2, "B"),
        ("30.0x", "ratio", 30, ""),
        (">120x", "ratio", 120, ""),
        ("18 %", "server CPU", 18, ""),
        ("1,000", "moves", 1000, ""),
        ("-", "answered", None, None),
        ("heal", "goal", None, None),
        ("", "", None, None),
    ],
)
def test_a_cell_is_a_figure_with_what_its_text_or_its_column_says_of_its_unit(
    text: str, column: str, value: float | None, unit: str | None
) -> None:
    found = figure(text, column)

    assert (None if found is None else found.value) == (None if value is None else pytest.approx(value))
    assert (None if found is None else found.unit) == unit


@pytest.mark.parametrize("seconds", [0.0000123, 0.0456, 1.5, 321.0])
def test_each_duration_that_a_table_shows_is_read_back(seconds: float) -> None:
    found = figure(duration(seconds), "answered")

    assert found is not None
    assert found.value == pytest.approx(seconds, rel=0.04)


def test_more_time_more_memory_and_less_throughput_beyond_the_noise_are_worse() -> None:
    assert worse(ROW, changed(answered="88.0 ms (3)")) == ["answered"]
    assert worse(ROW, changed(answered="0.09 s")) == ["answered"], "another unit"
    assert worse(ROW, changed(rate="7,400")) == ["requests/s"]
    assert worse(ROW, changed(resident="151 MB")) == ["resident"]


def test_what_is_better_or_within_the_noise_is_not_worse() -> None:
    assert worse(ROW, ROW) == []
    assert worse(ROW, changed(answered="87.0 ms", rate="7,500", resident="149 MB")) == []
    assert worse(ROW, changed(answered="1.0 ms", rate="90,000", resident="1 MB")) == []


def test_what_stock_kafka_does_and_what_follows_from_it_is_not_judged() -> None:
    assert worse(ROW, changed(stock="99 s", ratio="1.0x", moves="1")) == []
    head = ("", "requests/s", "p50", "stock requests/s", "p50", "ratio")
    old, new = ("one", "9,000", "1.0 ms", "9,000", "1.0 ms", "1.0x"), ("one", "9,000", "1.0 ms", "10", "9.00 s", "9x")
    assert worse(old, new, head) == [], "a column that comes once more behind stock Kafka's is stock Kafka's"
    assert worse(old, ("one", "9,000", "2.0 ms", "9,000", "1.0 ms", "1.0x"), head) == ["p50"]
    assert worse(("stock", "1.0 s"), ("stock", "9.0 s"), ("", "time")) == []


def test_a_figure_that_is_in_one_of_them_alone_is_shown_and_not_judged() -> None:
    old, new = results(ROW), results(changed(of="4,000 of one topic"))

    changes = compared(old, new)

    assert len(changes) == 12
    assert not any(change.is_worse(NOISE) for change in changes)
    assert {change.ratio for change in changes} == {None}


def test_rows_that_are_called_the_same_are_compared_in_their_order() -> None:
    old, new = results(ROW, ROW), results(ROW, changed(answered="1.00 s"))

    found = [change.name for change in compared(old, new) if change.is_worse(NOISE)]

    assert found == ["bulk | bulk: one Alter | 1,000 of one topic | answered (2)"]


def test_the_ratio_of_nothing_is_unknown() -> None:
    assert Change("moves", figure("0 ms", ""), figure("5 ms", "")).ratio is None


def test_a_run_keeps_the_results_of_other_benchmarks_and_names_its_commit(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    table = Table("list", ("", "time"), (("all", "1.0 ms"),))

    written(results(ROW), file)
    written(document({"list": [table]}, machine="two cores", quick=False), file)

    kept = read(str(file))
    assert list(kept) == ["bulk", "list"]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert kept["list"]["commit"] == commit.strip()
    assert kept["bulk"]["tables"][0]["rows"] == [list(ROW)]


def test_the_tables_that_a_benchmark_shows_are_recorded() -> None:
    with recorded() as tables:
        show("one", ("", "time"), [("a", "1 s")])
        show("two", ("", "time"), [("b", "2 s")])
    show("three", ("", "time"), [("c", "3 s")])

    assert [(table.title, table.rows) for table in tables] == [("one", (("a", "1 s"),)), ("two", (("b", "2 s"),))]


def test_a_run_of_other_sizes_is_named() -> None:
    assert unlike(results(ROW), results(ROW)) == []
    assert unlike(results(ROW), results(ROW, quick=True)) == ["bulk: quick was False and is True"]


def test_compare_prints_old_new_and_ratio_and_ends_with_1_where_something_is_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = str(tmp_path / "old.json"), str(tmp_path / "new.json")
    written(results(ROW), Path(old))
    written(results(changed(answered="0.14 s")), Path(new))

    assert compare.main([old, old]) == 0
    assert "WORSE" not in capsys.readouterr().out
    assert compare.main([old, new]) == 1
    out = capsys.readouterr().out
    (line,) = (line for line in out.splitlines() if line.endswith("WORSE"))
    assert line.split()[:5] == ["70.0", "ms", "(3)", "0.14", "s"]
    assert " 2.00  bulk | bulk: one Alter | 1,000 of one topic | answered" in line
    assert "1 of 6 figures is worse by more than 25 %" in out
    assert compare.main([old, new, "--noise", "1.1"]) == 0


def test_compare_of_what_is_no_result_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        compare.main([str(tmp_path / "nothing.json")])

    assert ended.value.code == 2
    assert f"nothing.json is no file, and no commit that has {PAGE}" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, "", "[]", '{"bulk": {}}', json.dumps({"bulk": {"tables": [{}]}})])
def test_what_is_no_result_is_refused(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "results.json"
    if content is not None:
        file.write_text(content)

    with pytest.raises(NoResults, match=rf"results.json (is no file, and no commit that has {PAGE}|has no results)"):
        read(str(file))
