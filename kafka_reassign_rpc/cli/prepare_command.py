"""`kafka-reassign-rpc prepare`: makes Spark start in half the time on this machine."""

import argparse

from kafka_reassign_rpc.cli.pipeline_jobs import Status, run_job

HELP = "make audit, history and huge plans start in half the time on this machine"
DESCRIPTION = """\
Half of a small job's time goes into the classes that Spark needs: Java reads and checks thousands of them each time.
prepare runs small jobs once and keeps these classes in a file of 200 MB, from which later jobs take them. It takes a
minute. Run it again after an upgrade of Java or PySpark: a file that does not fit is not used. Jobs run without it as
well, and nothing else depends on it.

KAFKA_REASSIGN_SPARK_CLASSES names the file, for prepare and for the jobs (default: spark-classes.jsa in
share/kafka-reassign-rpc of the Python environment).
"""
EPILOG = """\
exit codes: 0 prepared, 1 failed, 2 a path with a space
"""


def add_arguments(_: argparse.ArgumentParser) -> None: ...


def run(_: argparse.Namespace) -> int:
    return run_job("prepare", _prepare)


def _prepare() -> int:
    from kafka_reassign_rpc.pipeline.class_archive import archive_path
    from kafka_reassign_rpc.pipeline.prepare_spark import prepare

    archive = archive_path()
    with Status() as status:
        prepare(status.show, archive)
    print(f"{archive}: {archive.stat().st_size / 1e6:.0f} MB: jobs start sooner from now on")  # noqa: T201
    return 0
