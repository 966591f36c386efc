"""One Spark session for all tests of the pipeline (two threads, a small heap, no web page, no JVM left behind), and a
whole cluster of ours: six simulated brokers in three racks."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.client import ReassignmentClient
from kafka_reassign_rpc.pipeline.spark_session import session, told
from tests.client.conftest import whole_cluster
from tests.processes import exists


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Tables are tiny here: what takes time is compiling, of Java and of what Spark generates, not running.
    settings = {
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    with session("tests", master="local[2]", memory="768m", settings=settings, java=java) as started:
        jvm = started.sparkContext._gateway.proc.pid
        yield started
    assert not exists(jvm)


@pytest.fixture
def shared(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands take the session that is there."""

    @contextmanager
    def session_that_is_there(*_: object, **__: object) -> Iterator[SparkSession]:
        with told():
            yield spark

    monkeypatch.setattr("kafka_reassign_rpc.pipeline.spark_session.session", session_that_is_there)


@pytest.fixture(scope="package")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with whole_cluster(tmp_path_factory.mktemp("pipeline")) as bootstrap:
        yield bootstrap


@pytest.fixture
def client(bootstrap: str) -> Iterator[ReassignmentClient]:
    """With no move in flight and no throttle afterwards."""
    with ReassignmentClient(bootstrap_servers=bootstrap) as client:
        yield client
        client.cancel_partition_reassignments(client.list_partition_reassignments())
        brokers = [node.id for node in client.describe_cluster()]
        throttles = dict.fromkeys(("leader.replication.throttled.rate", "follower.replication.throttled.rate"))
        client.change_configs({(4, str(broker)): throttles for broker in brokers})
