"""Runs commands of the pipeline one after the other in one Spark session, in a process of its own:

    python -m tests.pipeline.jobs_on_master MASTER SETTINGS-AS-JSON COMMANDS-AS-JSON

Each command is a list of arguments. It prints the exit code of each; the session is that of a user with this --master.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.pipeline import spark_session
from tests.jvm import QUICK


def run(master: str, settings: dict[str, str], commands: list[list[str]]) -> None:
    java = " ".join(QUICK)
    with spark_session.session(
        "jobs", master=master, memory="512m", settings=settings, java=java, in_python=True
    ) as spark:

        @contextmanager
        def the_same_session(*_: object, **__: object) -> Iterator[SparkSession]:
            with spark_session.spark_errors_as_job_failed():
                yield spark

        spark_session.session, kept = the_same_session, spark_session.session
        try:
            for command in commands:
                code = main([*command, *(("--master", master) if _is_on_spark(command) else ())])
                print(f"{code} {' '.join(command[:2])}", flush=True)
        finally:
            spark_session.session = kept


def _is_on_spark(command: list[str]) -> bool:
    return command[0] in ("plan", "audit", "history") and command[1] != "show"


if __name__ == "__main__":
    os.environ.pop("PYSPARK_PYTHON", None)
    run(sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3]))
