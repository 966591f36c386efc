"""All jobs on a standalone Spark cluster whose machines share nothing but the store, against those on `local[2]`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.client import KafkaError, ReassignmentClient, TopicPartition
from kafka_reassign_rpc.embedded_kraft import JarsUnavailable
from kafka_reassign_rpc.pipeline.store_paths import store_path
from tests.conftest import run
from tests.pipeline.jobs_for_spark import LAST, plan_commands, prepare, settings, started
from tests.pipeline.s3 import BUCKET, S3, in_environment, s3_endpoint
from tests.pipeline.spark_cluster import SparkCluster, can_unshare, spark_cluster
from tests.stock.jars import s3_jars
from tests.waiting import eventually

pytestmark = [pytest.mark.release, pytest.mark.timeout(3600)]

LIMIT_S = 1500.0
"""Seconds for all jobs on both masters: they take a few minutes on an idle machine."""
CODES = [
    *("0 plan heal", "0 plan drain", "0 plan expand", "0 plan set-rf", "0 plan rebalance", "0 plan verify"),
    *("3 audit --snapshots", "0 history --snapshot"),
]
"""The jobs in their order, with their exit codes. No partition is on the lost broker and on the drained one, and each
that loses a replica to set-rf keeps live ones. What expand and rebalance leave out does not make them incomplete. The
audit finds a changed replication factor."""
RESULTS = {"heal", "drain", "expand", "set-rf", LAST, "audit", "history"}


@pytest.fixture(scope="module")
def jars() -> str:
    try:
        return ",".join(sorted(map(str, s3_jars().glob("*.jar"))))
    except JarsUnavailable as error:
        pytest.fail(f"the jars for s3a cannot be resolved: {error}")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    assert can_unshare(), "this test needs mount namespaces: root, or user namespaces"
    with spark_cluster(tmp_path) as started:
        yield started


def all_commands(store: str, out: str) -> list[list[str]]:
    """A plan for every goal, the last one as above; then an audit and a history of what was exported."""
    snapshot = ["--snapshot", f"{store}/cluster"]
    goals = {
        "heal": [],
        "drain": ["--brokers", "2"],
        "expand": ["--brokers", "3"],
        "set-rf": ["--replication-factor", "2", "--topics", "t0"],
    }
    plans = [["plan", goal, *more, *snapshot, "--out", f"{out}/{goal}"] for goal, more in goals.items()]
    audit = ["audit", "--snapshots", f"{store}/exported", "--events", f"{store}/events", "--out", f"{out}/audit"]
    history = ["history", "--snapshot", f"{store}/exported/one", "--events", f"{store}/events"]
    return [*plans, *plan_commands(store, out), audit, [*history, "--out", f"{out}/history"]]


def export_before_and_after_a_move(client: ReassignmentClient, bootstrap: str, store: str) -> None:
    """Two snapshots of a cluster, between which a partition gets one more replica, and the events of that."""
    topic = client.describe_topics(["orders"])["orders"]
    assert not isinstance(topic, KafkaError)
    held = topic[0].replicas
    grown = {TopicPartition("orders", 0): (*held, next(one for one in range(1, 7) if one not in held))}
    for name in ("one", "two"):
        if name == "two":
            assert not any(client.alter_partition_reassignments(grown).values())
            run(eventually(lambda: not client.list_partition_reassignments(), within=120))
        out = ["--out", f"{store}/exported/{name}", "--events", f"{store}/events"]
        assert main(["export", "--bootstrap-server", bootstrap, *out]) == 0


def content(s3: S3, directory: str) -> dict[str, bytes]:
    """The files by name. Pages name their own directory in commands."""
    found, place = {}, f"{BUCKET}/{directory}/".encode()
    for name in s3.names(directory):
        with s3.file_system().open_input_file(f"{BUCKET}/{name}") as file:
            found[name.removeprefix(f"{directory}/")] = file.readall().replace(place, b"")
    return found


def test_dp_6_every_job_gives_the_same_on_a_cluster_that_loses_a_machine_as_here(
    cluster: SparkCluster, jars: str, monkeypatch: pytest.MonkeyPatch, client: ReassignmentClient, bootstrap: str
) -> None:
    with s3_endpoint() as s3, in_environment(s3, monkeypatch):
        store = f"s3a://{BUCKET}/in"
        prepare(store_path(store))
        export_before_and_after_a_move(client, bootstrap, store)
        own_python = {key: value for key, value in settings(jars).items() if key != "spark.pyspark.python"}
        with (
            started("local[2]", own_python, all_commands(store, f"s3a://{BUCKET}/here")) as here,
            started(cluster.master, settings(jars), all_commands(store, f"s3a://{BUCKET}/there")) as there,
        ):
            run(eventually(lambda: kept_rounds(s3) or there.poll() is not None, within=LIMIT_S))
            assert there.poll() is None, there.communicate()[1][-3000:]
            cluster.kill_worker(0)
            said_there, error_there = there.communicate(timeout=LIMIT_S)
            said_here, error_here = here.communicate(timeout=LIMIT_S)
        assert (here.returncode, there.returncode) == (0, 0), error_here + error_there
        assert codes(said_here) == CODES, error_here
        assert said_there.replace(f"{BUCKET}/there/", f"{BUCKET}/here/") == said_here
        expected, found = content(s3, "here"), content(s3, "there")
        assert sorted(found) == sorted(expected)
        assert [name for name in expected if found[name] != expected[name]] == []
        assert {name.partition("/")[0] for name in found} == RESULTS, "nothing else is left"


def codes(said: str) -> list[str]:
    """The lines with exit codes, as jobs_on_master prints them."""
    return [line for line in said.splitlines() if line[:1].isdigit() and line.split()[1:2] != []]


def kept_rounds(s3: S3) -> list[str]:
    """The rounds of the last plan that are in the store: it has begun, and decides."""
    return [name for name in s3.names("there") if f".{LAST}.rounds" in name and "/rdd-" in name]
