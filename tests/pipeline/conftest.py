"""What all tests of the pipeline share: one Spark session with two threads and a small heap, which must leave no JVM
behind, and one cluster: a kafka-reassign-rpc server with six simulated brokers in three racks."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.cli import spark_arguments
from kafka_reassign_rpc.client import ReassignmentClient
from kafka_reassign_rpc.pipeline.spark_master import NO_SPARK
from kafka_reassign_rpc.pipeline.spark_session import session, spark_errors_as_job_failed
from tests.jvm import QUICK
from tests.optional_software import HAS_PROMETHEUS
from tests.processes import exists
from tests.python_client.conftest import whole_cluster

collect_ignore = [] if HAS_PROMETHEUS else ["test_rates_recipe.py"]


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    # Tables are tiny here: the session is that of a small job, but for its tasks, of which there are two at a time.
    settings, java = {"spark.default.parallelism": "2"}, " ".join(QUICK)
    with session("tests", master="local[2]", memory="768m", settings=settings, java=java, rows=1) as started:
        jvm = started.sparkContext._gateway.proc.pid
        yield started
    assert not exists(jvm)


@pytest.fixture
def shared(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in the tests' Spark session."""
    use_session(spark, monkeypatch)


def use_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands take this Spark session and not start their own."""

    @contextmanager
    def the_same_session(*_: object, **__: object) -> Iterator[SparkSession]:
        with spark_errors_as_job_failed():
            yield spark

    monkeypatch.setattr("kafka_reassign_rpc.pipeline.spark_session.session", the_same_session)


@pytest.fixture(autouse=True)
def jobs_without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a test names a master: what they write is the same (test_plan_in_memory, test_same_results)."""
    monkeypatch.setattr(spark_arguments, "LOCAL", NO_SPARK)


@pytest.fixture(scope="package")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with whole_cluster(tmp_path_factory.mktemp("pipeline")) as bootstrap:
        yield bootstrap


@pytest.fixture
def client(bootstrap: str) -> Iterator[ReassignmentClient]:
    """A client; afterwards no move is in flight and no throttle is set."""
    with ReassignmentClient(bootstrap_servers=bootstrap) as client:
        yield client
        client.cancel_partition_reassignments(client.list_partition_reassignments())
        brokers = [node.id for node in client.describe_cluster()]
        throttles = dict.fromkeys(("leader.replication.throttled.rate", "follower.replication.throttled.rate"))
        client.change_configs({(4, str(broker)): throttles for broker in brokers})
