"""Kafka's jars, where Maven keeps them (`~/.m2`): it fetches them from its central repository once."""

import os
import subprocess
from pathlib import Path

KAFKA_VERSION = "4.1.0"
_LOG4J = "2.24.3"
"""As Kafka's distribution of this version has it."""
LONGEST_S = 900
"""Some 100 MB have to come."""
_DEPENDENCY = """
    <dependency>
      <groupId>{}</groupId>
      <artifactId>{}</artifactId>
      <version>{}</version>
    </dependency>"""
_POM = f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>embedded</groupId>
  <artifactId>kafka</artifactId>
  <version>{KAFKA_VERSION}</version>
  <packaging>pom</packaging>
  <dependencies>{_DEPENDENCY.format("org.apache.kafka", "kafka_2.13", KAFKA_VERSION)}{
    _DEPENDENCY.format("org.apache.logging.log4j", "log4j-slf4j-impl", _LOG4J)
}
  </dependencies>
</project>
"""
_ADVICE = "or serve a cluster of yours: --bootstrap-server"


class JarsUnavailable(RuntimeError):
    """The message says what to install, or why Maven cannot fetch them."""


def class_path(directory: Path) -> str:
    """What Maven has found is kept in this directory. Blocks. Raises JarsUnavailable."""
    found = directory / f"classpath-{KAFKA_VERSION}"
    if (known := _known(found)) is not None:
        return known
    pom = directory / f"kafka-{KAFKA_VERSION}.xml"
    pom.write_text(_POM)
    run_maven(pom, "dependency:build-classpath", f"-Dmdep.outputFile={found}")
    return found.read_text().strip()


def run_maven(pom: Path, *goal: str) -> None:
    """`pom` names what it fetches by its own name. Blocks. Raises JarsUnavailable."""
    command = ["mvn", "-q", "-B", "-f", str(pom), "-DincludeScope=runtime", *goal]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except FileNotFoundError:
        raise JarsUnavailable(
            f"Maven is needed, which fetches the jars of Kafka: install it so that mvn is on the PATH, {_ADVICE}"
        ) from None
    except subprocess.TimeoutExpired:
        raise JarsUnavailable(f"Maven does not get the jars of {pom.stem} in {LONGEST_S} s") from None
    if result.returncode:
        why = next((line for line in result.stdout.splitlines() if line.startswith("[ERROR]")), "it does not say why")
        raise JarsUnavailable(f"Maven does not get the jars of {pom.stem}, {_ADVICE}: {why}")


def _known(found: Path) -> str | None:
    """None where a jar is gone, too."""
    path = found.read_text().strip() if found.exists() else ""
    return path if path and all(Path(one).exists() for one in path.split(os.pathsep)) else None
