"""Jobs of the pipeline end cleanly.

The file of `plan --broker-weights`.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.pipeline_jobs import MEASURES, read_broker_weights, run_job
from kafka_reassign_rpc.support.files import AtomicDirectory
from kafka_reassign_rpc.support.quiet_arguments import UsageError


def wait_for_ever(out: Path) -> int:
    """A job that has half of its output."""
    directory = AtomicDirectory(out)
    try:
        (directory.hidden / "half").touch()
        print("ready", flush=True)
        sys.stdin.read()
    finally:
        directory.discard()
        raise ConnectionError("what the signal broke off fails on the way out")


def test_dp_3_a_job_that_gets_sigterm_leaves_nothing_half_written(tmp_path: Path) -> None:
    run = f"sys.exit(run_job('x', lambda: wait_for_ever(Path({str(tmp_path / 'out')!r}))))"
    program = f"from tests.cli.test_pipeline_jobs import *; {run}"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == "ready\n"
        assert [path.name for path in tmp_path.iterdir()] == [f".out.{job.pid}"]
        job.send_signal(signal.SIGTERM)
        assert job.wait(30) == 143
    assert list(tmp_path.iterdir()) == []


class Swallows:
    """What a signal raises inside of a destructor is lost."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)


def is_signalled_inside_a_destructor(out: Path) -> int:
    Swallows()
    return wait_for_ever(out)


def test_dp_3_a_job_ends_on_sigterm_that_comes_where_python_swallows_what_it_raises(tmp_path: Path) -> None:
    run = f"sys.exit(run_job('x', lambda: is_signalled_inside_a_destructor(Path({str(tmp_path / 'out')!r}))))"
    program = f"from tests.cli.test_pipeline_jobs import *; {run}"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == b"ready\n"
        assert job.wait(30) == 143
    assert list(tmp_path.iterdir()) == []


def test_dp_3_what_a_job_does_on_sigterm_ends_with_the_job() -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert run_job("x", lambda: 7 if signal.getsignal(signal.SIGTERM) is not before else 0) == 7
    assert signal.getsignal(signal.SIGTERM) is before


def written(directory: Path, text: str) -> str:
    (directory / "weights.csv").write_text(text)
    return str(directory / "weights.csv")


def test_dp_12_a_weight_is_for_all_measures_and_a_column_of_a_measure_for_that_one(tmp_path: Path) -> None:
    found = read_broker_weights(written(tmp_path, "broker,weight,leaders\n1,4,2\n2, 0.5, 1\n"))
    assert found == {
        1: dict.fromkeys(MEASURES, 4.0) | {"leaders": 2.0},
        2: dict.fromkeys(MEASURES, 0.5) | {"leaders": 1.0},
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected a first line of broker,weight"),
        ("broker\n1\n", "expected a first line of broker,weight"),
        ("broker,heat\n1,2\n", "expected a first line of broker,weight"),
        ("broker,weight\n", "names no broker"),
        ("broker,weight\n1,0\n", "line 2: expected a number from 1e-06"),
        ("broker,weight\n1,nan\n", "line 2: expected a number from 1e-06"),
        ("broker,weight\n-1,2\n", "line 2"),
        ("broker,weight\n1,2\n1,3\n", "line 3: broker 1 occurs twice"),
        ("broker,weight\n1\n", "line 2: expected 2 values"),
        ("broker,weight\n1,2,3\n", "line 2: expected 2 values"),
    ],
)
def test_dp_12_a_wrong_file_of_weights_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_broker_weights(written(tmp_path, text))


def test_dp_12_a_missing_file_of_weights_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_broker_weights(str(tmp_path / "none.csv"))
