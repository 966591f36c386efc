"""Flags for Spark, shared by the jobs that run on it.

Their values are checked before PySpark is imported, which takes seconds.
"""

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from kafka_reassign_rpc.pipeline.spark_master import DEFAULT_MEMORY, LOCAL, NO_SPARK
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.support.secrecy import told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_reassign_rpc.pipeline.store_paths import StorePath
    from kafka_reassign_rpc.pipeline.topic_pieces import PieceCaller

_MASTER = re.compile(
    r"local(\[([1-9]\d*|\*)(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|spark://[^\s/]+:\d+(,[^\s/]+:\d+)*|yarn|k8s://\S+"
)
_MEMORY = re.compile(r"([1-9]\d{0,8})([kmgt])", re.IGNORECASE)
_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_LEAST_MEMORY = 512 * 2**20
"""Spark does not start with less than 450 MiB of a heap (UnifiedMemoryManager)."""


def add_spark_arguments(parser: argparse.ArgumentParser) -> None:
    spark = parser.add_argument_group("Spark")
    spark.add_argument(
        "--master",
        default=LOCAL,
        metavar="URL",
        help="the Spark master (default: %(default)s, this machine; none: without Spark and Java, in this process)",
    )
    spark.add_argument(
        "--driver-memory",
        default=DEFAULT_MEMORY,
        metavar="SIZE",
        help="memory of the Spark driver here (default: %(default)s)",
    )
    spark.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a property of Spark, such as spark.jars.packages=org.apache.hadoop:hadoop-aws:3.5.0; may be repeated",
    )
    spark.add_argument(
        "--executor-packages",
        choices=("sent", "installed"),
        default="sent",
        help="executors of a remote master get this package from here (sent, the default), or have it (installed)",
    )


def check_spark_arguments(arguments: argparse.Namespace) -> None:
    """Raises UsageError for values with which Spark would not start."""
    if not _MASTER.fullmatch(arguments.master) and arguments.master != NO_SPARK:
        others = "spark://HOST:PORT, yarn, k8s://URL or none"
        raise UsageError(f"--master: expected local[N], {others}, got {told(arguments.master)}")
    found = _MEMORY.fullmatch(arguments.driver_memory)
    if found is None or int(found[1]) * _UNITS[found[2].lower()] < _LEAST_MEMORY:
        raise UsageError(f"--driver-memory: expected 512m or more, such as 2g, got {told(arguments.driver_memory)}")
    _properties(arguments)


def _properties(arguments: argparse.Namespace) -> Mapping[str, str]:
    found = {}
    for text in arguments.conf:
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("spark."):
            raise UsageError(f"--conf: expected spark.KEY=VALUE, got {told(key)}")
        found[key] = value
    return found


def spark_session(
    name: str,
    arguments: argparse.Namespace,
    rows: int | None = None,
    *,
    imports: str | None = None,
    in_python: bool = False,
) -> "AbstractContextManager[SparkSession]":
    """The arguments are checked already. For the others see `spark_session.session`."""
    from kafka_reassign_rpc.pipeline.spark_session import session

    return session(
        name,
        master=arguments.master,
        memory=arguments.driver_memory,
        settings=_properties(arguments),
        send_packages=arguments.executor_packages == "sent",
        rows=rows,
        imports=imports,
        in_python=in_python,
    )


@contextmanager
def piece_caller(
    name: str,
    arguments: argparse.Namespace,
    rows: int,
    inputs: "Sequence[StorePath]",
    show_status: Callable[[str], None],
    *,
    imports: str | None = None,
) -> "Iterator[PieceCaller]":
    """By --master. `rows`: that the job reads; `inputs`: where. The arguments are checked already."""
    from kafka_reassign_rpc.pipeline.topic_pieces import CallHere, CallOnSpark

    if arguments.master == NO_SPARK:
        yield CallHere()
        return
    show_status("starting Spark")
    with spark_session(name, arguments, rows, imports=imports, in_python=True) as spark:
        from kafka_reassign_rpc.pipeline.executor_probe import require_executors

        require_executors(spark, *inputs)
        yield CallOnSpark(spark, rows)
