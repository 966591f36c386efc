"""Spark's classes in an archive that the JVM maps (class data sharing, JEP 350). A JVM of another build, or with other
jars, ignores it.
"""

import os
import sys
from pathlib import Path

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.support.connection_flags import SPARK_CLASSES


def archive_path() -> Path:
    """The environment variable wins over the place beside Spark's jars."""
    named = os.environ.get(SPARK_CLASSES)
    return Path(named) if named else Path(sys.prefix) / "share" / "kafka-reassign-rpc" / "spark-classes.jsa"


def options_to_use() -> str:
    archive = archive_path()
    return f"-XX:SharedArchiveFile={archive} -Xlog:cds*=off" if archive.is_file() and _is_one_word(archive) else ""


def options_to_make(archive: Path) -> str:
    if not _is_one_word(archive):
        raise BadInput(f"{archive}: Spark divides the options of Java at spaces, so the path must not have one")
    return f"-XX:ArchiveClassesAtExit={archive}"


def _is_one_word(path: Path) -> bool:
    return len(str(path).split()) == 1
