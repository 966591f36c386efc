"""Archives of the classes that Kafka loads until it serves: a JVM that maps one starts in half of the time."""

import hashlib
import subprocess
from functools import cache
from pathlib import Path

from .jars import jars


def of_tools(version: str) -> tuple[str, ...]:
    """Options for the JVM of a tool: none as long as no node of this version has run."""
    archive = archive_of(version, "tool")
    return mapped(archive) if archive.exists() else ()


def mapped(archive: Path) -> tuple[str, ...]:
    return (f"-XX:SharedArchiveFile={archive}", "-Xlog:cds*=off")


def archive_of(version: str, kind: str) -> Path:
    """Its place, beside the jars. `kind`: zookeeper or kraft (a node in this mode), or tool."""
    place = jars(version)
    return place / f"{kind}-{_fits(place)}.jsa"


@cache
def _fits(place: Path) -> str:
    """Tells one JVM from another, and one place of the jars from another: no JVM maps what was written for others."""
    said = subprocess.run(["java", "-version"], capture_output=True, check=True)
    return hashlib.sha256(said.stderr + str(place).encode()).hexdigest()[:8]
