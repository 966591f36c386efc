"""A Spark session for one job: it starts without output and ends with its JVM. PySpark's own JVM would live as long as
Python.

What Spark's executors need beside PySpark: this package, msgspec, numpy and PyArrow, as an archive for
`spark.archives`. Three are compiled, so executors need the driver's platform and minor version of Python.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from kafka_reassign_rpc.pipeline import class_archive
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.spark_master import DEFAULT_MEMORY, LOCAL, is_local, with_attempts
from kafka_reassign_rpc.pipeline.store_paths import s3_endpoint

NAME = "kafka-reassign-rpc-packages"
"""Executors unpack the archive into this directory."""
_PACKAGES = ("kafka_reassign_rpc", "kafka_reassign_rpc.schemas", "msgspec", "numpy", "pyarrow")
"""A checkout has the schemas elsewhere than the package that they belong to."""
_LIBRARY = re.compile(r"\.(py|so|pyd|dll|json)$|\.so\.\d+$|^lib.*\.so\.[\d.]+$")
_NOT_NEEDED = re.compile(r"(^|/)(tests|include)/|flight|arrow_s3|_s3fs")
"""Of PyArrow and numpy, a third of their bytes."""


def build(directory: Path) -> Path:
    archive = directory / f"{NAME}.zip"
    files = {name: source for package in _PACKAGES for name, source in _files(package)}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, source in files.items():
            file.write(source, name)
    return archive


def _files(package: str) -> Iterator[tuple[Path, Path]]:
    """By their place in the archive."""
    root, place = Path(str(import_module(package).__file__)).parent, Path(*package.split("."))
    libraries = root.with_name(f"{package}.libs")  # what wheels bring along
    for folder, name in ((root, place), (libraries, Path(libraries.name))):
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            if _LIBRARY.search(path.name) and not _NOT_NEEDED.search(str(inside)) and path.is_file():
                yield name / inside, path


PACKAGES_SENT = "spark.kafkaReassignRpc.packagesSent"
"""Whether executors get the packages from the driver."""
_PYTHON = "PYSPARK_PYTHON"
_JVM_EXIT_SECONDS = 20.0
_ARCHIVE_SECONDS = 600.0
_JVM_OPTIONS = "-XX:-UsePerfData -XX:+ExitOnOutOfMemoryError"
"""Out of memory, a JVM neither ends by itself nor reports anything useful."""
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.default": "parquet",
    "spark.sql.catalogImplementation": "in-memory",
}
_S3_SETTINGS = {
    # A store that is gone fails a read after about half a minute, not after a quarter of an hour
    "spark.hadoop.fs.s3a.attempts.maximum": "3",
    "spark.hadoop.fs.s3a.retry.limit": "3",
    "spark.hadoop.fs.s3a.connection.establish.timeout": "10s",
}
SMALL_ROWS = 5000
"""Partitions of a small job: starting another task and compiling Java cost more than they save."""
_FEW_ROWS_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Of a job whose rows Python works on: to compile queries takes Java longer than they run."""
_SMALL_SETTINGS = {
    "spark.default.parallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    **_FEW_ROWS_SETTINGS,
}
_QUICK_JVM, _SMALL_JVM = "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"
_LOCAL_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.python.daemon.module": "kafka_reassign_rpc.pipeline.worker_daemon",
    "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
}


@contextmanager
def session(
    name: str,
    *,
    master: str = LOCAL,
    memory: str = DEFAULT_MEMORY,
    settings: Mapping[str, str] | None = None,
    java: str = "",
    send_packages: bool = True,
    rows: int | None = None,
    classes_to: Path | None = None,
    imports: str | None = None,
    in_python: bool = False,
) -> Iterator[SparkSession]:
    """The only session of this process.

    memory          the driver's heap; java: more options of its JVM
    settings        Spark's properties; they win over those that are set here
    rows            partitions that the job reads; None: unknown. Few of them need less with a local master
    classes_to      the JVM writes the archive of classes to this file when it ends
    imports         a module that the job imports later: it loads while the JVM starts
    in_python       Python does what there is to do with the rows, and Java hands them over
    send_packages   executors of a remote master get this package and what it needs from here; otherwise they have it

    Raises JobFailed if Java is missing or the master cannot be reached.
    """
    given = dict(settings or {})
    small = rows is not None and is_small(master, rows)
    classes = class_archive.options_to_use() if classes_to is None else class_archive.options_to_make(classes_to)
    quick = _QUICK_JVM if small or in_python else ""
    options = [_JVM_OPTIONS, quick, _SMALL_JVM if small else "", classes, java]
    with tempfile.TemporaryDirectory(prefix="spark-") as scratch, tempfile.TemporaryFile() as log:
        chosen = {
            "spark.master": with_attempts(master),
            "spark.app.name": name,
            "spark.driver.memory": memory,
            "spark.sql.warehouse.dir": f"file:{scratch}/warehouse",
            "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={scratch} {' '.join(filter(None, options))}",
            "spark.executor.defaultJavaOptions": f"{_JVM_OPTIONS} {quick}",
            **_SETTINGS,
            **_s3_settings(),
            **(_local_settings(scratch) if is_local(master) else {}),
            **(_FEW_ROWS_SETTINGS if in_python else {}),
            **(_SMALL_SETTINGS if small else {}),
            **given,
        }
        if send_packages and not is_local(master):
            chosen |= _sent_packages(Path(scratch), given)
        with _imported(imports):
            gateway = _launch(chosen, log)
        garbage, context = JvmGarbage(gateway._gateway_client), None
        try:
            with _python_of_executors(master, given.get("spark.pyspark.python")):
                context = _context(chosen, gateway)
            with spark_errors_as_job_failed():
                yield SparkSession(context)
        except (JobFailed, ConnectionError):
            if not _has_ended(gateway):
                raise
            raise JobFailed(_reason_of_exit(log, memory)) from None
        finally:
            garbage.end()
            if context is not None:
                _stop_context(context, gateway, kill=is_local(master) and classes_to is None)
            _end_jvm(gateway, _JVM_EXIT_SECONDS if classes_to is None else _ARCHIVE_SECONDS)


@contextmanager
def _imported(module: str | None) -> Iterator[None]:
    """The block must import nothing itself: modules of PySpark import each other in circles, so two threads that
    import parts of one meet half-made modules.
    """

    def load(name: str) -> None:
        with suppress(ImportError):  # the job's own import statement raises it again
            import_module(name)

    if module is None:
        yield
        return
    importing = threading.Thread(target=load, args=[module], name=f"import of {module}")
    importing.start()
    try:
        yield
    finally:
        importing.join()


def is_small(master: str, rows: int) -> bool:
    return is_local(master) and rows <= SMALL_ROWS


def _local_settings(scratch: str) -> dict[str, str]:
    """Java searches 280 jars for Spark's own classes, so their jar comes first."""
    core = next((Path(_find_spark_home()) / "jars").glob("spark-core_*.jar"), "")
    return _LOCAL_SETTINGS | {"spark.local.dir": f"{scratch}/local", "spark.driver.extraClassPath": str(core)}


def _s3_settings() -> dict[str, str]:
    """Spark takes credentials and endpoint from the environment; stores other than AWS's have no virtual hosts."""
    return _S3_SETTINGS | ({"spark.hadoop.fs.s3a.path.style.access": "true"} if s3_endpoint() else {})


def _sent_packages(scratch: Path, given: Mapping[str, str]) -> dict[str, str]:
    archive = f"{build(scratch)}#{NAME}"
    path = "spark.executorEnv.PYTHONPATH"
    return {
        "spark.archives": ",".join(filter(None, [given.get("spark.archives"), archive])),
        path: os.pathsep.join(filter(None, [NAME, given.get(path)])),
        PACKAGES_SENT: "true",
    }


@contextmanager
def _python_of_executors(master: str, given: str | None) -> Iterator[None]:
    """PySpark takes the executors' Python from PYSPARK_PYTHON; on a remote master it defaults to python3 there."""
    before = os.environ.get(_PYTHON)
    python = given or before or (sys.executable if is_local(master) else "python3")
    os.environ[_PYTHON] = python
    try:
        yield
    finally:
        if before is None:
            del os.environ[_PYTHON]
        else:
            os.environ[_PYTHON] = before


@contextmanager
def spark_errors_as_job_failed() -> Iterator[None]:
    """JobFailed has one line."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise JobFailed(f"Spark failed: {_cause(str(error))}") from None


def _cause(text: str) -> str:
    """The innermost cause (the last line of a Python traceback), with the Parquet file if it names one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    files = re.findall(r"(?:file|s3a|hdfs):\S*?\.parquet", text)
    cause = _raised_in_python(text) or (causes[-1] if causes else " ".join(lines[:2]))
    return cause if not files or files[0] in cause else f"{files[0]}: {cause}"


def _raised_in_python(text: str) -> str:
    _, found, traceback = text.rpartition("Traceback (most recent call last):")
    lines = traceback.splitlines() if found else []
    return next((line for line in lines if line and not line[0].isspace()), "")


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
    """Waits for a second."""
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


def _stop_context(context: SparkContext, gateway: Any, *, kill: bool) -> None:
    """With `kill` at once: a JVM that is its own only executor holds nothing that is needed, and takes a second to
    end.
    """
    if gateway.proc.poll() is None and not kill:
        SparkSession(context).stop()
        return
    context._accumulatorServer.shutdown()  # these two first, else they report the end of the JVM as an error
    gateway.shutdown()
    gateway.proc.kill()
    gateway.proc.wait()
    context._jsc = None  # there is nothing to stop
    context.stop()
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _end_jvm(gateway: Any, seconds: float) -> None:
    """It ends when its standard input is closed."""
    gateway.shutdown()
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(seconds)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None


class JvmGarbage:
    """Ends py4j's thread that tells the JVM which objects Python no longer needs. If the JVM ended before it answered
    that thread, py4j would print a traceback after a job that has succeeded. Only the thread of `client`, of a gateway,
    calls `garbage_collect_object` with `enqueue=False`.
    """

    def __init__(self, client: Any) -> None:
        self._collect = client.garbage_collect_object
        self._one_at_a_time = threading.Lock()
        self._ended = False
        client.garbage_collect_object = self._one

    def end(self) -> None:
        """Waits for the answer to what was sent, and sends no more."""
        with self._one_at_a_time:
            self._ended = True

    def _one(self, target_id: str, enqueue: bool = True) -> None:
        if enqueue:
            self._collect(target_id)
            return
        with self._one_at_a_time:
            if not self._ended:
                self._collect(target_id, False)
