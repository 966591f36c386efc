"""A standalone Spark cluster on loopback whose workers share no disk with the driver, nor with each other.

Each worker runs in a mount namespace of its own. Empty file systems cover the repository, the virtual environment and
the folder for temporary files there: a worker sees Spark, Java and a plain Python. What it writes nobody else sees.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyspark

from tests.conftest import run
from tests.jvm import QUICK
from tests.processes import children_of
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
SPARK = Path(str(pyspark.__file__)).parent
PYTHON = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
"""The Python of the workers: that of the driver's virtual environment, without any package."""
_SPARK_THERE = "/mnt/spark"
MEMORY_MB = 640
"""Of each executor."""


class SparkCluster(NamedTuple):
    """A running cluster. `master`: its URL."""

    master: str
    workers: "list[subprocess.Popen[bytes]]"

    def kill_worker(self, index: int) -> None:
        """A machine is lost: the worker and its executors, at once."""
        lost = self.workers[index]
        for pid in [lost.pid, *children_of(lost.pid)]:
            os.kill(pid, 9)
        lost.wait()


def can_unshare() -> bool:
    """Whether this machine lets a process have mount namespaces of its own."""
    return subprocess.run([*_unshare(), "true"], check=False, capture_output=True).returncode == 0


@contextmanager
def spark_cluster(
    directory: Path, *, workers: int = 2, shared: Path | None = None, memory_mb: int = MEMORY_MB
) -> Iterator[SparkCluster]:
    """Start a master and workers with one core each. shared: a folder that workers see as well."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        log = directory / "master.log"
        started.append(_start([f"{SPARK}/bin/spark-class", *_MASTER], log))
        run(eventually(lambda: "Starting Spark master at" in log.read_text(), within=120))
        master = log.read_text().partition("Starting Spark master at ")[2].split()[0]
        for number in range(workers):
            # Hosts of their own: on one host Spark takes what another executor has shuffled from its disk
            host = f"127.0.0.{number + 2}"
            command = [*_unshare(), "bash", "-c", _in_namespace(master, host, shared, memory_mb)]
            started.append(_start(command, directory / f"worker-{number}.log"))
        run(eventually(lambda: log.read_text().count("Registering worker") == workers, within=120))
        yield SparkCluster(master, started[1:])
    finally:
        for process in reversed(started):
            for pid in [*children_of(process.pid), process.pid] if process.poll() is None else []:
                os.kill(pid, 9)
            process.wait()


_MASTER = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]


def _unshare() -> list[str]:
    return [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]),
    ]


def _in_namespace(master: str, host: str, shared: Path | None, memory_mb: int) -> str:
    """What a worker's shell does: cover what is not its own, then become the worker."""
    hidden = {ROOT, Path(sys.prefix).resolve(), SPARK.parent, Path(tempfile.gettempdir())}
    kept = [] if shared is None else [shared]
    lines = ["set -e", "mount -t tmpfs none /mnt", f"mkdir {_SPARK_THERE}", f"mount --bind {SPARK} {_SPARK_THERE}"]
    lines += [f"mkdir /mnt/kept{n}; mount --bind {shlex.quote(str(path))} /mnt/kept{n}" for n, path in enumerate(kept)]
    lines += [f"mount -t tmpfs none {shlex.quote(str(path))}" for path in sorted(hidden, reverse=True) if path.is_dir()]
    for n, path in enumerate(kept):
        lines.append(f"mkdir -p {shlex.quote(str(path))}; mount --bind /mnt/kept{n} {shlex.quote(str(path))}")
    lines.append("cd /mnt; mkdir work")
    worker = f"{_SPARK_THERE}/bin/spark-class org.apache.spark.deploy.worker.Worker --host {host} --webui-port 0"
    lines.append(f"export SPARK_HOME={_SPARK_THERE} SPARK_LOCAL_IP={host}")
    lines.append(f"exec {worker} --cores 1 --memory {memory_mb}m --work-dir /mnt/work {master}")
    return "\n".join(lines)


def _start(command: list[str], log: Path) -> "subprocess.Popen[bytes]":
    environment = {
        "PATH": f"{PYTHON.parent}:{os.environ['PATH']}",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(SPARK),
        "SPARK_DAEMON_MEMORY": "128m",
        "SPARK_DAEMON_JAVA_OPTS": f"-Dspark.master.rest.enabled=false {' '.join(QUICK)}",
        **{name: value for name in ("JAVA_HOME", "HOME") if (value := os.environ.get(name))},
    }
    with log.open("wb") as file:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment)
