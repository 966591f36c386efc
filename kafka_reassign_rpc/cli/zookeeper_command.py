"""`kafka-reassign-rpc zookeeper`: runs the embedded ZooKeeper alone."""

import argparse
import asyncio

from kafka_reassign_rpc.cli.long_running import (
    add_log_arguments,
    announce,
    ended_first,
    run_until_signalled,
    set_up_logging,
)
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.support.quiet_arguments import UsageError

HELP = "run a real ZooKeeper; it needs only Java"
DESCRIPTION = """\
Runs a real ZooKeeper server as a child process, from the jars that come with pyspark. It keeps its data in --data-dir.
It needs Java 17 or later (from JAVA_HOME or PATH).

Prints `ready zookeeper=HOST:PORT` when it can be used. SIGTERM or Ctrl-C ends it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data-dir", default=".data/zookeeper", metavar="DIR", help="the directory for its data (default: %(default)s)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address on which it listens (default: %(default)s)")
    parser.add_argument(
        "--port",
        type=int,
        default=2181,
        help="the port on which it listens; 0 picks a free port (default: %(default)s)",
    )
    add_log_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if not 0 <= arguments.port <= 65535:
        raise UsageError(f"--port: expected 0 to 65535, got {arguments.port}")
    set_up_logging(arguments.log_level, arguments.log_format)

    async def main(stop: asyncio.Event) -> None:
        zookeeper = EmbeddedZooKeeper(arguments.data_dir, port=arguments.port, host=arguments.host)
        try:
            if await ended_first(zookeeper.start(), stop):
                announce(f"ready zookeeper={zookeeper.address}")
                await stop.wait()
        finally:
            await zookeeper.stop()

    return run_until_signalled(main, arguments.log_format)
