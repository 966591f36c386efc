"""The Spark session of a job: the message when memory runs out."""

import subprocess
import sys

import pytest

from tests.jvm import QUICK

pytestmark = [pytest.mark.gate, pytest.mark.timeout(500)]  # a JVM that starts on a loaded machine

JOB = """
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.spark_session import session
from pyspark import SparkContext
try:
    with session("full", master="local[1]", memory="512m", java={java!r}) as spark:
        spark.range(1).selectExpr("repeat('x', 900000000) as much").collect()
except JobFailed as error:
    print(error, SparkContext._active_spark_context, SparkContext._gateway)
"""


def test_dp_6_a_job_without_enough_memory_names_the_option_that_gives_it_more() -> None:
    done = subprocess.run(
        [sys.executable, "-c", JOB.format(java=" ".join(QUICK))],
        check=False,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.stdout == "Spark ran out of memory with --driver-memory 512m: give it more None None\n", done.stderr
    assert done.returncode == 0
