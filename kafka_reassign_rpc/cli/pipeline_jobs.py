"""What the commands of the pipeline share: the way to the cluster, one line for what went wrong, signs of life.

Exit codes: 0 done, 1 failed, 2 wrong flags or input that cannot be used; a command's help names those beyond.
Nothing heavy is imported here: `--help` of any command has to be quick.
"""

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from kafka_reassign_rpc.cli.usage_error import UsageError

if TYPE_CHECKING:
    from kafka_reassign_rpc.client import ReassignmentClient

EVERY_S = 5.0
"""Where nobody looks at a terminal, so seldom is said how far things are."""


def add_connection_arguments(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    parser.add_argument(
        "--bootstrap-server", required=required, metavar="HOST:PORT[,…]", help="nodes of the cluster, any of them"
    )
    parser.add_argument(
        "--command-config", metavar="FILE", help="properties of a Kafka client (security.protocol, sasl.jaas.config, …)"
    )


def add_spark_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--master", default="local[*]", metavar="URL", help="where Spark runs (default: %(default)s, this machine)"
    )
    parser.add_argument(
        "--driver-memory", default="2g", metavar="SIZE", help="of the Java process here (default: %(default)s)"
    )


@contextmanager
def connected(arguments: argparse.Namespace) -> Iterator["ReassignmentClient"]:
    """The client that the connection arguments ask for. Raises UsageError, Unreachable."""
    from kafka.errors import KafkaConfigurationError

    from kafka_reassign_rpc.client import ReassignmentClient
    from kafka_reassign_rpc.reassign_command.action_context import check_addresses
    from kafka_reassign_rpc.reassign_command.command_config import client_configs, load
    from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed

    try:
        check_addresses(arguments.bootstrap_server.split(","))
        properties = load(arguments.command_config) if arguments.command_config else {}
        configs = client_configs(arguments.bootstrap_server, properties, lambda text: say(f"warning: {text}"))
        if "client.id" not in properties:
            configs["client_id"] = "kafka-reassign-rpc"
        client = ReassignmentClient(**configs)
    except (CommandFailed, KafkaConfigurationError, ValueError) as error:
        raise UsageError(str(error)) from None
    with client:
        yield client


def run_job(name: str, job: Callable[[], int]) -> int:
    """The job's exit code; what it raises becomes one line and the exit code that goes with it."""
    from kafka_reassign_rpc.core.kafka_errors import KafkaError
    from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
    from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError

    try:
        return job()
    except BadInput as error:
        raise UsageError(str(error)) from None
    except (JobFailed, KafkaError, RemoteProtocolError, OSError) as error:
        sys.stderr.write(f"kafka-reassign-rpc {name}: {error}\n")
        return 1


def say(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(text + "\n")


class Status:
    """One line about how far things are: drawn anew on a terminal, said now and then to anything else."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._said_at = clock()
        self._drawn = False

    def show(self, text: str) -> None:
        if self._stream.isatty():
            self._stream.write(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}")
            self._stream.flush()
            self._drawn = True
        elif self._clock() - self._said_at >= EVERY_S:
            self._said_at = self._clock()
            self._stream.write(text + "\n")
            self._stream.flush()

    def say(self, text: str) -> None:
        """A line that stays."""
        self.clear()
        self._stream.write(text + "\n")
        self._stream.flush()

    def clear(self) -> None:
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False
