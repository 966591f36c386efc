"""A Spark session for one job: it starts without output and ends together with its JVM.

PySpark's own JVM lives until the Python process ends. Here the JVM ends with the block, so that a job leaves no process
behind.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline.job_errors import JobFailed

LOCAL = "local[*]"
_JVM_EXIT_SECONDS = 20.0
_JVM_OPTIONS = "-XX:-UsePerfData -XX:+ExitOnOutOfMemoryError"
"""Out of memory, a JVM neither ends by itself nor reports anything useful: so it exits at once."""
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.default": "parquet",
    "spark.sql.catalogImplementation": "in-memory",
}
_LOCAL_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
}


@contextmanager
def session(
    name: str, *, master: str = LOCAL, memory: str = "2g", settings: Mapping[str, str] | None = None, java: str = ""
) -> Iterator[SparkSession]:
    """The only session of this process. memory: the driver's heap; java: more options of its JVM.

    Raises JobFailed where Java is missing or the master cannot be reached.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="spark-") as scratch, tempfile.TemporaryFile() as log:
        chosen = {
            "spark.master": master,
            "spark.app.name": name,
            "spark.driver.memory": memory,
            "spark.sql.warehouse.dir": f"file:{scratch}/warehouse",
            "spark.local.dir": f"{scratch}/local",
            "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={scratch} {_JVM_OPTIONS} {java}",
            **_SETTINGS,
            **(_LOCAL_SETTINGS if master.startswith("local") else {}),
            **(settings or {}),
        }
        gateway = _launch(chosen, log)
        context = None
        try:
            context = _context(chosen, gateway)
            with spark_errors_as_job_failed():
                yield SparkSession(context)
        except (JobFailed, ConnectionError):
            if not _has_ended(gateway):
                raise
            raise JobFailed(_reason_of_exit(log, memory)) from None
        finally:
            if context is not None:
                _stop_context(context, gateway)
            _end_jvm(gateway)


@contextmanager
def spark_errors_as_job_failed() -> Iterator[None]:
    """Turns an error of Spark into JobFailed with one line: an unreadable data page, an executor out of memory."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise JobFailed(f"Spark failed: {_cause(str(error))}") from None


def _cause(text: str) -> str:
    """The innermost cause in a stack trace, with the Parquet file if the trace names one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    files = re.findall(r"file:\S*?\.parquet", text)
    cause = causes[-1] if causes else " ".join(lines[:2])
    return cause if not files or files[0] in cause else f"{files[0]}: {cause}"


def _launch(chosen: Mapping[str, str], log: IO[bytes]) -> Any:
    if SparkContext._gateway is not None:
        raise RuntimeError("this process has a Spark session already")
    conf = SparkConf(loadDefaults=False).setAll(list(chosen.items()))
    try:
        return launch_gateway(conf, popen_kwargs={"stdout": log, "stderr": log})
    except (PySparkRuntimeError, OSError) as error:
        raise JobFailed(
            f"Spark needs Java 17 or later (JAVA_HOME, or on the PATH): {_last_line(log) or error}"
        ) from None


def _context(chosen: Mapping[str, str], gateway: Any) -> SparkContext:
    try:
        return SparkContext(gateway=gateway, conf=SparkConf(_jvm=gateway.jvm).setAll(list(chosen.items())))
    except Exception as error:  # py4j has its own class for exceptions of the JVM
        first = str(error).strip().splitlines()
        raise JobFailed(f"Spark does not start with --master {chosen['spark.master']}: {' '.join(first[:3])}") from None


def _last_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def _has_ended(gateway: Any) -> bool:
    """Whether the JVM has ended, or ends within a second."""
    try:
        gateway.proc.wait(1.0)
    except subprocess.TimeoutExpired:
        return False
    return True


def _reason_of_exit(log: IO[bytes], memory: str) -> str:
    log.seek(0)
    if b"OutOfMemoryError" in log.read():
        return f"Spark ran out of memory with --driver-memory {memory}: give it more"
    return f"Spark's Java process has ended: {_last_line(log)}"


def _stop_context(context: SparkContext, gateway: Any) -> None:
    if gateway.proc.poll() is None:
        SparkSession(context).stop()
        return
    context._jsc = None  # the JVM has ended: there is nothing to stop
    context.stop()
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _end_jvm(gateway: Any) -> None:
    """The JVM ends when its standard input is closed."""
    gateway.shutdown()
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(_JVM_EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None
