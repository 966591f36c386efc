"""What executors get from the driver, and what they find out about themselves."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from kafka_reassign_rpc.pipeline import spark_session
from kafka_reassign_rpc.pipeline.executor_look import Wanted, digest, look
from kafka_reassign_rpc.pipeline.spark_master import is_local, with_attempts
from tests.pipeline.spark_cluster import PYTHON, SPARK

pytestmark = pytest.mark.gate


TASK = """
import sys
from importlib.metadata import version
sys.path[:0] = sys.argv[1:]
from kafka_reassign_rpc.pipeline.planning import chunk_callers, planning_rounds, verify_chunk
import kafka_reassign_rpc
print(kafka_reassign_rpc.__file__)
"""


def test_dp_6_the_archive_holds_all_that_a_task_imports(tmp_path: Path) -> None:
    """A Python without packages, beside Spark's own: as an executor's."""
    archive = spark_session.build(tmp_path)
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(archive), str(tmp_path / "there")], check=True)
    libraries = sorted(map(str, (SPARK / "python" / "lib").glob("*.zip")))
    environment = {**os.environ, "PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}
    done = subprocess.run(
        [str(PYTHON), "-S", "-c", TASK, str(tmp_path / "there"), *libraries],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert done.stdout.startswith(str(tmp_path / "there")), done.stderr
    assert archive.stat().st_size < 100_000_000


def test_dp_6_an_executor_says_which_module_version_or_file_it_lacks(tmp_path: Path) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_text("a")
    other.write_text("b")
    assert look(Wanted(("msgspec",), "", ((str(file), digest(str(file))),))) == ()
    [line] = look(Wanted(("no_such_module",), "1", ()))
    assert "cannot import no_such_module" in line
    assert f"Python 3.{sys.version_info.minor}" in line
    [line] = look(Wanted((), "99", ()))
    assert f"kafka-reassign-rpc {version('kafka-reassign-rpc')}, this machine has 99" in line
    changed, absent = look(Wanted((), "", ((str(other), digest(str(file))), (str(tmp_path / "no"), ""))))
    assert f"another file at {other}" in changed
    assert f"does not see {tmp_path}/no (No such file or directory)" in absent


@pytest.mark.parametrize(
    ("master", "local"),
    [
        ("local", True),
        ("local[*]", True),
        ("local-cluster[2,1,512]", False),
        ("spark://a:7077", False),
        ("yarn", False),
    ],
)
def test_dp_6_only_a_local_master_has_no_executors_of_its_own(master: str, local: bool) -> None:
    assert is_local(master) is local


@pytest.mark.parametrize(
    ("master", "tries"),
    [
        ("local", "local[1,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("local-cluster[2,1,512]", "local-cluster[2,1,512]"),
        ("spark://host:7077", "spark://host:7077"),
    ],
)
def test_dp_6_a_local_master_tries_a_task_again_as_others_do(master: str, tries: str) -> None:
    assert with_attempts(master) == tries
