"""Jobs of the pipeline end cleanly."""

import signal
import subprocess
import sys
from pathlib import Path

from kafka_reassign_rpc.cli.pipeline_jobs import run_job
from kafka_reassign_rpc.support.files import AtomicDirectory


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
