"""No text that is shipped, or that ships it, has both sides of a merge in it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("kafka_reassign_rpc", "benchmarks", "deploy", "docs", "examples", "tests")
MARKER = re.compile(rb"^(?:<{7}|>{7}|\|{7}) ", re.MULTILINE)


def test_no_file_has_the_markers_of_a_conflict() -> None:
    files = [path for path in ROOT.iterdir() if path.is_file()]
    files += [path for name in FOLDERS for path in (ROOT / name).rglob("*") if path.is_file()]
    assert len(files) > 1_000
    assert [str(path.relative_to(ROOT)) for path in files if MARKER.search(path.read_bytes())] == []
