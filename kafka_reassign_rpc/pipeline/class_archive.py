"""Where the JVM finds the classes that Spark needs, read and checked already: class data sharing (JEP 350).

`kafka-reassign-rpc prepare` makes the archive. A JVM of another build, or with other jars, does not take it and starts
as it does without one.
"""

import os
import sys
from pathlib import Path

from kafka_reassign_rpc.pipeline.job_errors import BadInput

PATH_VARIABLE = "KAFKA_REASSIGN_SPARK_CLASSES"


def archive_path() -> Path:
    """The file that the environment variable names; else one in the Python environment, where Spark's jars are too."""
    named = os.environ.get(PATH_VARIABLE)
    return Path(named) if named else Path(sys.prefix) / "share" / "kafka-reassign-rpc" / "spark-classes.jsa"


def options_to_use() -> str:
    """What a JVM is told so that it takes the classes from the archive; "" where there is none."""
    archive = archive_path()
    return f"-XX:SharedArchiveFile={archive} -Xlog:cds*=off" if archive.is_file() and _is_one_word(archive) else ""


def options_to_make(archive: Path) -> str:
    """What a JVM is told so that it writes the classes that it has loaded when it ends. Raises BadInput."""
    if not _is_one_word(archive):
        raise BadInput(f"{archive}: Spark divides the options of Java at spaces, so the path must not have one")
    return f"-XX:ArchiveClassesAtExit={archive}"


def _is_one_word(path: Path) -> bool:
    return len(str(path).split()) == 1
