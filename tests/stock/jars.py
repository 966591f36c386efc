"""Kafka's own jars, by Maven, kept in `.jars/` at the root of the repository.

`python -m tests.stock.jars` fetches what `make test` needs, with `--all` whatever any test needs: a test that fetches
jars itself holds its event loop for so long that its sessions of ZooKeeper end.

One directory for each version, filled from `poms/kafka-VERSION.xml`. Several test runs may start at once: the
first one resolves under a lock, the others wait for it. A directory is valid only with its pom's digest
in it, so a half-finished copy or a changed pom is resolved again.
"""

import fcntl
import hashlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_reassign_rpc.embedded_kraft import JarsUnavailable, run_maven

BROKER_VERSION = "3.9.1"
"""The last line of Kafka that runs on ZooKeeper."""

TOOL_VERSIONS = ("3.9.1", "4.1.0")
OLDEST = "2.8.2"

EACH_TOOL = (TOOL_VERSIONS[0], *(pytest.param(version, marks=pytest.mark.gate) for version in TOOL_VERSIONS[1:]))
"""For tests that run the tools themselves: a JVM takes ten seconds, so in most runs one stands for both."""

_POMS = Path(__file__).parent / "poms"
CACHE = (Path(__file__).parents[2] / ".jars").resolve()
_DONE = ".pom-digest"


def jars(version: str) -> Path:
    """The directory with the jars of Kafka `version`, resolved if need be. Raises JarsUnavailable."""
    return _jars_of(_POMS / f"kafka-{version}.xml", version)


def s3_jars() -> Path:
    """The directory with the jars that Spark needs for s3a:, resolved if need be. Raises JarsUnavailable."""
    return _jars_of(_POMS / "hadoop-aws.xml", "hadoop-aws")


def tiered_storage() -> str:
    """A classpath with Kafka's tiered storage in a directory, resolved if need be. Raises JarsUnavailable."""
    return f"{_jars_of(_POMS / 'local-tiered-storage.xml', 'local-tiered-storage')}/*"


def jmx_exporter() -> Path:
    """The agent that tells Prometheus what a JVM tells by JMX, resolved if need be. Raises JarsUnavailable."""
    (agent,) = _jars_of(_POMS / "jmx-exporter.xml", "jmx-exporter").glob("jmx_prometheus_javaagent-*.jar")
    return agent


def _jars_of(pom: Path, version: str) -> Path:
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()
    target = CACHE / version
    with locked(CACHE / f"{version}.lock"):
        if not _holds(target, digest):
            shutil.rmtree(target, ignore_errors=True)
            run_maven(pom, "dependency:copy-dependencies", f"-DoutputDirectory={target}")
            (target / _DONE).write_text(digest)
    return target


def classpath(version: str) -> str:
    """A classpath with all jars of `version`."""
    return f"{jars(version)}/*"


def require(version: str) -> None:
    """Skip the calling test where the jars are not available."""
    try:
        jars(version)
    except JarsUnavailable as error:
        pytest.skip(f"stock Kafka {version} cannot be resolved: {error}")


def _holds(target: Path, digest: str) -> bool:
    done = target / _DONE
    return done.exists() and done.read_text() == digest


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time into the block."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(*, everything: bool) -> None:
    """Says what it fetches and what cannot be fetched: tests that need that are skipped, loudly."""
    names = [f"kafka-{version}" for version in {BROKER_VERSION, *TOOL_VERSIONS, OLDEST}]
    for name in sorted(one.stem for one in _POMS.glob("*.xml")) if everything else sorted(names):
        pom = _POMS / f"{name}.xml"
        directory = name.removeprefix("kafka-")
        if _holds(CACHE / directory, hashlib.sha256(pom.read_bytes()).hexdigest()):
            continue
        print(f"fetching the jars of {name} by Maven, once", flush=True)
        try:
            _jars_of(pom, directory)
        except JarsUnavailable as error:
            print(f"{name} cannot be fetched, tests that need it are skipped: {error}", flush=True)


if __name__ == "__main__":
    main(everything=sys.argv[1:] == ["--all"])
