"""Jobs of small snapshots: what they leave away, and wrong paths that are told at once."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.pipeline import spark_session
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.spark_session import SMALL_ROWS
from kafka_reassign_rpc.support.connection_flags import SPARK_CLASSES
from tests.pipeline.test_plan_room import write_snapshot


def settings_of(monkeypatch: pytest.MonkeyPatch, **arguments: Any) -> Mapping[str, str]:
    """The settings with which Spark would start."""
    chosen: dict[str, str] = {}

    def launch(settings: Mapping[str, str], _: object) -> None:
        chosen.update(settings)
        raise JobFailed("not started")

    monkeypatch.setattr(spark_session, "_launch", launch)
    with pytest.raises(JobFailed, match="not started"), spark_session.session("test", **arguments):
        pass
    return chosen


@pytest.mark.parametrize(
    ("arguments", "is_small"),
    [
        ({"rows": 42}, True),
        ({"rows": SMALL_ROWS, "master": "local[4]"}, True),
        ({"rows": SMALL_ROWS + 1}, False),
        ({}, False),
        ({"rows": 42, "master": "local-cluster[2,1,512]"}, False),
        ({"rows": 42, "master": "spark://spark-1:7077"}, False),
    ],
)
def test_dp_6_a_small_job_here_has_one_task_for_each_step_and_compiles_little(
    arguments: dict[str, Any], is_small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings_of(monkeypatch, send_packages=False, **arguments)
    assert (chosen.get("spark.default.parallelism") == "1") == is_small
    assert (chosen.get("spark.sql.shuffle.partitions") == "1") == is_small
    assert ("-XX:TieredStopAtLevel=1" in chosen["spark.driver.extraJavaOptions"]) == is_small


@pytest.mark.parametrize("master", ["local[4]", "spark://spark-1:7077"])
@pytest.mark.parametrize("in_python", [True, False])
def test_dp_6_java_that_only_hands_rows_over_compiles_little_wherever_it_runs(
    master: str, in_python: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings_of(monkeypatch, master=master, in_python=in_python, send_packages=False)
    for options in ("driver.extraJavaOptions", "executor.defaultJavaOptions"):
        assert ("-XX:TieredStopAtLevel=1" in chosen[f"spark.{options}"]) == in_python


def test_dp_6_what_the_user_sets_goes_before_the_settings_of_a_small_job(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = settings_of(monkeypatch, rows=42, settings={"spark.default.parallelism": "3"})
    assert chosen["spark.default.parallelism"] == "3"


@pytest.mark.parametrize(
    ("directory", "is_there", "is_used"), [("d", True, True), ("d", False, False), ("a d", True, False)]
)
def test_dp_6_the_classes_of_spark_come_from_an_archive_where_there_is_one(
    directory: str, is_there: bool, is_used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / directory / "classes.jsa"
    monkeypatch.setenv(SPARK_CLASSES, str(archive))
    archive.parent.mkdir()
    if is_there:
        archive.write_bytes(b"classes")
    options = settings_of(monkeypatch, rows=42)["spark.driver.extraJavaOptions"].split()
    assert (f"-XX:SharedArchiveFile={archive}" in options) == is_used


def test_dp_6_what_a_job_imports_beside_the_start_of_its_jvm_is_there_when_the_jvm_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else two threads import parts of PySpark at once. Its modules import each other in circles: one thread fails."""
    module = "kafka_reassign_rpc.pipeline.reports.svg_plots"
    monkeypatch.delitem(sys.modules, module, raising=False)
    settings_of(monkeypatch, imports=module)
    assert module in sys.modules
    assert not [thread for thread in threading.enumerate() if module in thread.name]


def test_dp_6_executors_java_has_the_options_of_the_sites_spark_defaults_too(tmp_path: Path) -> None:
    """Such as a truststore."""
    (tmp_path / "spark-defaults.conf").write_text("spark.executor.extraJavaOptions -Dof.site=yes\n")
    job = (
        "from kafka_reassign_rpc.pipeline.spark_session import session\n"
        "with session('options', rows=42, in_python=True) as spark:\n"
        "    config = getattr(spark._jvm.org.apache.spark.internal.config, 'package$')\n"
        "    options = getattr(config, 'MODULE$').EXECUTOR_JAVA_OPTIONS()\n"
        "    print(spark._jsc.sc().conf().get(options).get())"
    )
    environment = os.environ | {"SPARK_CONF_DIR": str(tmp_path)}
    out = subprocess.check_output([sys.executable, "-c", job], env=environment, text=True)
    assert {"-Dof.site=yes", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError"} <= set(out.split())


def count_in_a_session(archive: Path, java: str) -> str:
    """What a job prints that counts five rows, with these options for its JVM."""
    job = (
        "from kafka_reassign_rpc.pipeline.spark_session import session\n"
        f"with session('count', rows=42, java={java!r}) as spark: print(spark.range(5).count())"
    )
    environment = {**os.environ, SPARK_CLASSES: str(archive)}
    done = subprocess.run([sys.executable, "-c", job], check=False, capture_output=True, text=True, env=environment)
    return done.stdout or done.stderr


@pytest.mark.gate
@pytest.mark.timeout(1500)  # a JVM writes 200 MB, in CI with a low priority
def test_dp_6_prepare_writes_an_archive_that_jobs_use_and_one_that_does_not_fit_does_no_harm(tmp_path: Path) -> None:
    archive = tmp_path / "share" / "classes.jsa"
    command = [sys.executable, "-m", "kafka_reassign_rpc.cli.main", "prepare"]
    environment = {**os.environ, SPARK_CLASSES: str(archive)}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (
        0,
        f"{archive}: {archive.stat().st_size / 1e6:.0f} MB: jobs start sooner from now on\n",
    )
    assert [file.name for file in archive.parent.iterdir()] == ["classes.jsa"], "what the jobs wrote is gone"

    assert count_in_a_session(archive, "-Xshare:on") == "5\n", "-Xshare:on: a JVM that cannot use it does not start"
    archive.chmod(0o600)
    archive.write_bytes(b"no classes")
    assert count_in_a_session(archive, "") == "5\n"
    assert "Unable to use shared archive" in count_in_a_session(archive, "-Xshare:on")


def test_dp_6_prepare_says_where_it_cannot_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(SPARK_CLASSES, str(tmp_path / "file" / "classes.jsa"))
    assert main(["prepare"]) == 1
    assert str(tmp_path / "file") in capsys.readouterr().err
    monkeypatch.setenv(SPARK_CLASSES, str(tmp_path / "a b.jsa"))
    assert main(["prepare"]) == 2
    assert "the path must not have one" in capsys.readouterr().err


def test_dp_6_what_plans_and_audits_import_has_no_client_of_kafka() -> None:
    """It takes a third of a second, and they contact no cluster."""
    jobs = "planning.plan_job, reports.plan_report, auditing.audit_job, reports.result_pages"
    script = f"import sys, {', '.join(f'kafka_reassign_rpc.pipeline.{job}' for job in jobs.split(', '))}\n" + (
        "print([name for name in sys.modules if name.split('.')[0] == 'kafka' or name == 'kafka_reassign_rpc.client'])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


HEAL = "plan heal --snapshot {0}/snapshot --out {0}/plan"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("plan heal --snapshot {0}/none --out {0}/plan", "{0}/none: no such directory"),
        ("plan verify --snapshot {0}/none --plan {0}", "{0}/none: no such directory"),
        ("plan show {0}/none", "{0}/none: no plan (summary.json is missing)"),
        ("audit --snapshots {0}/none", "{0}/none: no such directory"),
        ("history --events {0}/none", "{0}/none: no such directory"),
        ("submit --plan {0}/none --bootstrap-server 127.0.0.1:1", "{0}/none: no such directory"),
        (
            "plan heal --snapshot {0}/snapshot --out {0}/snapshot",
            "{0}/snapshot: exists already; give a directory that does not exist or is empty",
        ),
        (HEAL + " --topics t,nope,none", "the snapshot has no topics none, nope"),
        ("plan drain --brokers 66 --snapshot {0}/snapshot --out {0}/plan", "drain: the snapshot has no broker 66"),
        (
            "export --bootstrap-server 127.0.0.1:1 --out {0}/new --rates-from {0}/none",
            "{0}/none: no such directory",
        ),
        (HEAL + " --conf nonsense", "--conf: expected spark.KEY=VALUE, got [hidden]"),
        (
            HEAL + " --master nonsense",
            "--master: expected local[N], spark://HOST:PORT, yarn, k8s://URL or none, got [hidden]",
        ),
        (
            HEAL + " --driver-memory lots",
            "--driver-memory: expected 512m or more, such as 2g, got [hidden]",
        ),
        (
            "history --events {0} --driver-memory 400m",
            "--driver-memory: expected 512m or more, such as 2g, got '400m'",
        ),
        (
            "audit --snapshots {0} --master local[0]",
            "--master: expected local[N], spark://HOST:PORT, yarn, k8s://URL or none, got [hidden]",
        ),
    ],
)
def test_dp_2_what_is_wrong_with_a_job_is_told_before_pyspark_is_imported(
    command: str, told: str, tmp_path: Path
) -> None:
    write_snapshot(tmp_path / "snapshot")
    script = (
        "import sys; from kafka_reassign_rpc.cli.main import main; code = main(sys.argv[1:]); "
        "sys.exit(9 if 'pyspark' in sys.modules else code)"
    )
    arguments = command.format(tmp_path).split()
    ended = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, f"kafka-reassign-rpc {arguments[0]}: {told.format(tmp_path)}\n")
