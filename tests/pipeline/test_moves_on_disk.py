"""Moves of many tasks come in the order that they would have in one table."""

import random
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.move_history import history_job
from kafka_reassign_rpc.pipeline.move_history.history_chunk import MOVES
from kafka_reassign_rpc.pipeline.move_history.history_job import MovesOnDisk
from kafka_reassign_rpc.pipeline.reports.result_tables import rows_of

NAMES = ["topic", "partition", "number", "outcome", "started", "seconds", "target"]
ORDERS = {
    "moves": (None, ("is_started", "started")),
    "slowest": (lambda part: pc.is_in(part["outcome"], pa.array(["completed"])), ("-seconds",)),
    "stalled": (lambda part: pc.greater(part["stalls"], 0), ("-is_stalled", "-stalled_seconds")),
}
MOVE = ("topic", "partition", "number")


def some_moves(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """With many ties, and with nulls."""
    return [
        {
            "topic": chance.choice(["a", "b", "ä", "\U0001f600", "\uffee"]),
            "partition": row % 7,
            "number": row,
            "outcome": chance.choice(["completed", "stalled", "moving"]),
            "started": chance.choice([None, 0, 5, 10**15]),
            "seconds": chance.choice([None, 0.0, 1.5, -2.0]),
            "stalls": chance.choice([0, 1]),
            "stalled_seconds": chance.choice([0.0, 3.0]),
            "target": chance.choice([None, [1, 2], [3]]),
        }
        for row in range(count)
    ]


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("table", list(ORDERS))
def test_dp_5_moves_of_many_tasks_have_one_order(table: str, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_job, "_HELD_ROWS", 60)
    rows = some_moves(random.Random(3), 300)
    which, order = ORDERS[table]
    with MovesOnDisk(MOVES) as moves:
        moves.add(MOVES.empty_table())
        for part in range(parts):
            moves.add(pa.Table.from_pylist(rows[part::parts], MOVES))
        found = moves.sorted(NAMES, which, *order, *MOVE)
        read, again = list(rows_of(found)), list(rows_of(found))
        assert sorted(moves.columns("number")["number"].to_pylist()) == list(range(300))
        assert sorted(one for (numbers,) in moves.batches("number") for one in numbers) == list(range(300))
    whole = pa.Table.from_pylist(rows, MOVES)
    for name, flags in (
        ("is_started", pc.is_valid(whole["started"])),
        ("is_stalled", pc.equal(whole["outcome"], "stalled")),
    ):
        whole = whole.append_column(name, flags.cast(pa.int8()))
    chosen = whole if which is None else whole.filter(which(whole))
    keys = [(name.lstrip("-"), "descending" if name[0] == "-" else "ascending") for name in (*order, *MOVE)]
    assert read == again == list(rows_of(chosen.sort_by(keys).select(NAMES)))
    assert len(found) == len(read) > 50


def test_dp_5_a_temporary_folder_that_takes_no_more_is_named_with_the_variable_that_names_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with MovesOnDisk(MOVES) as moves:
        [folder] = tmp_path.iterdir()
        folder.rmdir()  # as cleaners of /tmp do
        with pytest.raises(JobFailed, match=f"{folder}/part-0.arrow cannot be written: .*TMPDIR"):
            moves.add(pa.Table.from_pylist(some_moves(random.Random(1), 3), schema=MOVES))
        folder.mkdir()
