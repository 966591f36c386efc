"""One Spark session for all tests of the pipeline: two threads, a small heap, no web page, no JVM left behind."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline.spark import session
from tests.processes import exists


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    settings = {"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}
    with session("tests", master="local[2]", memory="768m", settings=settings) as started:
        jvm = started.sparkContext._gateway.proc.pid
        yield started
    assert not exists(jvm)
