"""Finds out before a job on a remote master what its executors lack."""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline import executor_look
from kafka_reassign_rpc.pipeline.executor_look import Wanted, digest, look
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.spark_master import is_local
from kafka_reassign_rpc.pipeline.spark_session import PACKAGES_SENT, spark_errors_as_job_failed
from kafka_reassign_rpc.pipeline.store_paths import (
    RemotePath,
    StoreError,
    StorePath,
    remove_tree,
    spark_uri,
    store_path,
)

_MODULES = ("msgspec", "numpy", "pyarrow", "kafka_reassign_rpc.pipeline.planning.planning_rounds")
_TASKS_PER_CORE = 2
_START_SECONDS = 300.0
"""For the first executor."""


def require_executors(spark: SparkSession, *inputs: StorePath, out: StorePath | None = None) -> None:
    """Raises JobFailed if executors lack the package, or cannot read `inputs` or files beside `out`. Only those that
    have started are checked; with a local master none are.
    """
    if is_local(spark.sparkContext.master):
        return
    with _token(out) as token:
        files = [file for path in inputs if (file := _first_file(path)) is not None] + ([token] if token else [])
        local = tuple((str(file.absolute()), digest(str(file))) for file in files if isinstance(file, Path))
        shipped = spark.conf.get(PACKAGES_SENT, "") == "true"
        with _time_limit(spark):
            lacks = _ask(spark, Wanted(_MODULES, "" if shipped else version("kafka-reassign-rpc"), local))
        if lacks:
            more = f" (and {len(lacks) - 1} more)" if len(lacks) > 1 else ""
            raise JobFailed(f"{lacks[0]}{more}")
        for file in files:
            if isinstance(file, RemotePath):
                _read_on_executor(spark, file)


def _ask(spark: SparkSession, wanted: Wanted) -> list[str]:
    context = spark.sparkContext
    tasks = _TASKS_PER_CORE * max(2, context.defaultParallelism)
    cloudpickle.register_pickle_by_value(executor_look)
    try:
        found = context.range(tasks, numSlices=tasks).flatMap(lambda _: look(wanted)).collect()
    finally:
        cloudpickle.unregister_pickle_by_value(executor_look)
    return list(dict.fromkeys(found))


def _read_on_executor(spark: SparkSession, file: RemotePath) -> None:
    try:
        with spark_errors_as_job_failed():
            spark.sparkContext.textFile(spark_uri(file), 1).take(1)
    except JobFailed as error:
        raise JobFailed(f"executors do not read {file}: {error}") from None


@contextmanager
def checkpoint_directory(spark: SparkSession, out: StorePath) -> Iterator[Callable[[str], None] | None]:
    """Where rounds of a plan are kept, so that a lost executor costs at most one. Yields a function that deletes a
    round; with a local master None: there the executor is lost together with the driver.
    """
    if is_local(spark.sparkContext.master):
        yield None
        return
    directory = out.with_name(f".{out.name}.rounds-{secrets.token_hex(4)}")
    spark.sparkContext.setCheckpointDir(spark_uri(directory))
    try:
        yield lambda uri: remove_tree(store_path(uri))
    finally:
        with suppress(OSError, StoreError):
            remove_tree(directory)


@contextmanager
def _token(out: StorePath | None) -> Iterator[StorePath | None]:
    """A file beside `out`: executors that can read it can read what the driver will write."""
    if out is None:
        yield None
        return
    made = out.with_name(f"{out.name}.probe-{secrets.token_hex(4)}")  # Spark reads no file whose name is hidden
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_bytes(secrets.token_hex(16).encode())
    try:
        yield made
    finally:
        with suppress(OSError, StoreError):
            made.unlink(missing_ok=True)


def _first_file(path: StorePath) -> StorePath | None:
    if path.is_file():
        return path
    inside: list[StorePath] = sorted(path.iterdir(), key=lambda one: one.name)
    seen = [one for one in inside if not one.name.startswith(".")]
    return next((file for one in seen if (file := _first_file(one)) is not None), None)


@contextmanager
def _time_limit(spark: SparkSession) -> Iterator[None]:
    """Ends the first job if no executor starts: Spark would wait forever."""
    late = threading.Event()

    def end() -> None:
        late.set()
        spark.sparkContext.cancelAllJobs()

    timer = threading.Timer(_START_SECONDS, end)
    timer.start()
    try:
        with spark_errors_as_job_failed():
            yield
    except JobFailed as error:
        if late.is_set():
            raise JobFailed(f"no executor has started within {_START_SECONDS:.0f} s: has the master room?") from None
        raise JobFailed(
            f"executors do not run the Python {spark.sparkContext.pythonExec} (--conf spark.pyspark.python names "
            f"another): {error}"
        ) from None
    finally:
        timer.cancel()
