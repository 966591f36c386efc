"""A store that refuses the credentials, or that vanishes in the middle of a job: one line, nothing half published."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from kafka_reassign_rpc.pipeline.spark_session import SMALL_ROWS
from kafka_reassign_rpc.pipeline.store_paths import StorePath, store_path
from tests.pipeline.failing_s3 import DENIED, EXPIRED, GONE, failing_endpoint
from tests.pipeline.s3 import BUCKET, S3, in_environment, s3_endpoint
from tests.pipeline.spark_cluster import ROOT
from tests.pipeline.test_audit import event, write_event_file, write_snapshot
from tests.pipeline.test_export import run
from tests.stock.jars import s3_jars

pytestmark = pytest.mark.gate

SECRET = "hushhush"
"""The secret key of the tests: no line may have it."""


@pytest.fixture(scope="module")
def behind() -> Iterator[S3]:
    with s3_endpoint() as found:
        yield found


@pytest.fixture
def store(behind: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    """The endpoint that fails; the one behind it has an empty bucket."""
    behind.file_system().delete_dir_contents(BUCKET)
    with failing_endpoint(behind) as found:
        secret = found._replace(environment=found.environment | {"AWS_SECRET_ACCESS_KEY": SECRET})
        with in_environment(secret, monkeypatch):
            yield secret


def arguments(job: str, at: str) -> list[str]:
    """The command of a job that reads and writes below `at`."""
    snapshot, out = ["--snapshot", f"{at}/snapshots/one"], ["--out", f"{at}/out"]
    return {
        "plan": ["plan", "heal", *snapshot, *out],
        "verify": ["plan", "verify", *snapshot, "--plan", f"{at}/plan"],
        "audit": ["audit", "--snapshots", f"{at}/snapshots", *out],
        "history": ["history", "--events", f"{at}/events", *out],
    }[job]


JOBS = ("plan", "verify", "audit", "history")


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("job", JOBS)
def test_dp_6_credentials_that_a_store_refuses_are_one_line_before_spark_starts(job: str, behind: S3) -> None:
    code, out, err = run(*arguments(job, f"s3a://{BUCKET}/{DENIED}"))
    assert (code, out) == (1, "")
    [line] = err.splitlines()
    assert line.startswith(f"kafka-reassign-rpc {'plan' if job == 'verify' else job}: s3a://{BUCKET}/{DENIED}/")
    assert "not allowed with the credentials given (AWS_ACCESS_KEY_ID, " in line
    assert "ACCESS_DENIED" in line
    assert SECRET not in line
    assert behind.names() == []


@pytest.mark.usefixtures("store")
def test_dp_6_an_export_to_a_store_that_refuses_the_credentials_is_one_line(bootstrap: str, behind: S3) -> None:
    code, out, err = run("export", "--bootstrap-server", bootstrap, "--out", f"s3a://{BUCKET}/{DENIED}/out")
    assert (code, out) == (1, "")
    [line] = err.splitlines()
    assert line.startswith(f"kafka-reassign-rpc export: s3a://{BUCKET}/{DENIED}/")
    assert SECRET not in line
    assert behind.names() == []


# -- in the middle of a job of Spark -----------------------------------------------------------------------------------


class Ended(NamedTuple):
    """A job that has ended: its exit code, and its line on standard error."""

    code: int
    line: str


def prepare(at: StorePath, partitions: int = 2) -> None:
    """A snapshot of a cluster that has lost broker 4, with partitions to heal, and the events of a move."""
    write_snapshot(at / "snapshots" / "one", 5, [("t", index, [1, 4], [1]) for index in range(partitions)])
    write_event_file(at / "events", [event(0, "move.started", 5, topic="t", partition=0, original=[1], target=[2])])


def run_on_spark(commands: list[list[str]]) -> list[Ended]:
    """Run commands one after the other in one process, on a local Spark that knows S3."""
    settings = {
        "spark.jars": ",".join(sorted(map(str, s3_jars().glob("*.jar")))),
        "spark.sql.shuffle.partitions": "1",
        "spark.hadoop.fs.s3a.retry.interval": "50ms",  # as many attempts as else, with less of a pause between them
    }
    program = [sys.executable, "-m", "tests.pipeline.jobs_on_master", "local[2]", json.dumps(settings)]
    program.append(json.dumps(commands))
    done = subprocess.run(program, cwd=ROOT, check=False, capture_output=True, text=True)
    codes = re.findall(r"^(\d+) (?:plan|audit|history) \S+$", done.stdout, re.MULTILINE)
    assert len(codes) == len(commands), done.stderr
    assert "Traceback" not in done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("kafka-reassign-rpc ")]
    assert len(said) == len(codes) - codes.count("0"), said
    lines = iter(said)
    return [Ended(int(code), next(lines) if code != "0" else "") for code in codes]


@pytest.mark.gate
@pytest.mark.timeout(1500)
def test_dp_6_credentials_that_expire_and_a_store_that_vanishes_while_spark_reads_are_one_line_and_no_result(
    store: S3, behind: S3
) -> None:
    folders = {f"{how}-{job}": job for how in (EXPIRED, GONE) for job in JOBS}
    bucket = store_path(f"s3a://{BUCKET}/fine").parent
    prepare(bucket / "fine")
    for folder, job in folders.items():
        prepare(bucket / folder, SMALL_ROWS + 1 if job == "audit" else 2)  # Spark does not read a small one
    commands = [arguments(job, f"s3a://{BUCKET}/{folder}") for folder, job in folders.items()]
    for command in commands:
        if "--plan" in command:  # it is read before Spark starts: what fails is the snapshot
            command[-1] = f"s3a://{BUCKET}/fine/out"

    made, *failed = run_on_spark([arguments("plan", f"s3a://{BUCKET}/fine"), *commands])

    assert made.code == 0
    for (folder, job), ended in zip(folders.items(), failed, strict=True):
        assert ended.code == 1, ended
        assert ended.line.startswith(f"kafka-reassign-rpc {'plan' if job == 'verify' else job}: "), ended
        assert f"s3a://{BUCKET}/{folder}/" in ended.line
        assert ("403" in ended.line) == folder.startswith(EXPIRED), ended
        assert SECRET not in ended.line
    published = {name for name in behind.names() if "/out/" in name and not name.startswith("fine/")}
    assert published == set(), "nothing half published"
