"""Files and directories appear as a whole or not at all."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_reassign_rpc.support.files import AtomicDirectory, write_file


@pytest.mark.parametrize("sync", [False, True])
def test_a_file_is_written_and_replaced(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "file"
    write_file(path, (b"a", b"b"), sync=sync)
    write_file(path, (b"c",), sync=sync)
    assert path.read_bytes() == b"c"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"half"
        raise ValueError

    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(ValueError):  # noqa: PT011
        write_file(path, parts())
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_is_not_there_before_it_is_published(tmp_path: Path) -> None:
    made = AtomicDirectory(tmp_path / "out")
    (made.hidden / "x").touch()
    assert not made.path.exists()
    made.publish()
    made.discard()
    assert [path.name for path in made.path.iterdir()] == ["x"]
    assert list(tmp_path.iterdir()) == [made.path]


def test_a_directory_that_is_forgotten_leaves_nothing_behind(tmp_path: Path) -> None:
    made = AtomicDirectory(tmp_path / "out")
    (made.hidden / "x").touch()
    del made
    assert list(tmp_path.iterdir()) == []


def test_a_directory_whose_writer_fails_at_its_start_is_gone_when_the_process_ends(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path;"
        "from kafka_reassign_rpc.support.files import AtomicDirectory;"
        "kept = AtomicDirectory(Path(sys.argv[1]) / 'out'); (kept.hidden / 'x').touch();"
        "child = os.fork(); child or sys.exit(0); os.waitpid(child, 0); assert kept.hidden.exists();"
        "raise OSError(28, 'No space left on device')"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False)
    assert ended.stderr.endswith("No space left on device\n")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_replaces_the_one_before_or_leaves_it(tmp_path: Path) -> None:
    for name in ("first", "second"):
        made = AtomicDirectory(tmp_path / "out")
        (made.hidden / name).touch()
        made.replace()
    AtomicDirectory(tmp_path / "out").discard()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["second"]
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]
