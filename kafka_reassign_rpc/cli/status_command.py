"""`kafka-reassign-rpc status`: says who controls a cluster, since when, and what is under way, by its ZooKeeper."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from kafka_reassign_rpc.cli import security_settings
from kafka_reassign_rpc.cli.cluster_access import (
    add_access,
    add_cluster,
    add_timeout,
    in_kraft_mode,
    reached,
    timeout_seconds,
)
from kafka_reassign_rpc.cli.pipeline_jobs import say
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.cli.server_settings import SETTINGS, secret_files
from kafka_reassign_rpc.cli.settings_reader import read_settings
from kafka_reassign_rpc.cli.value_parsers import zookeeper_connect
from kafka_reassign_rpc.preflight import read_status
from kafka_reassign_rpc.preflight.read_status import ClusterStatus
from kafka_reassign_rpc.security.secret_files import readable
from kafka_reassign_rpc.support.connection_flags import add_command_config
from kafka_reassign_rpc.support.quiet_arguments import checked
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

if TYPE_CHECKING:
    from kafka_reassign_rpc.reassign_command.status_text import Seen

HELP = "say from ZooKeeper, or from the state log, who controls a cluster, since when, and what is under way"
DESCRIPTION = """\
Reads from ZooKeeper who the controller is (a stock broker, a kafka-reassign-rpc server or a KRaft controller), where,
since when and with which epoch; then shows what `kafka-reassign status` shows: problems, moves, brokers. This also
works while there is no controller, and changes nothing. `kafka-reassign status` asks the nodes, and so knows
progress, self-healing, history and events, too.

With --bootstrap-server it reads the state log of a cluster in KRaft mode, and the cluster: also while no server leads.
It needs READ and DESCRIBE on the topic of the log, and DESCRIBE on the cluster.

For a secured ZooKeeper give the files and flags of `serve`: --config, --kafka-config,
--java-security-auth-login-config and others.
"""
EPILOG = """\
exit codes: 0 there is a controller, 1 there is none, or no answer, 2 wrong flags
example:    kafka-reassign-rpc status --zookeeper-connect zk1:2181/kafka --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_command_config(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of lines")
    add_timeout(parser)
    add_access(parser)


def run(arguments: argparse.Namespace) -> int:
    seconds = timeout_seconds(arguments)
    if in_kraft_mode(arguments.zookeeper_connect, arguments.bootstrap_server):
        return _of_kraft(arguments, seconds)
    return _of_zookeeper(arguments, seconds)


def _of_kraft(arguments: argparse.Namespace, seconds: float) -> int:
    from kafka_reassign_rpc.client import KafkaError
    from kafka_reassign_rpc.kraft import read_status
    from kafka_reassign_rpc.kraft.ports import LookFailed
    from kafka_reassign_rpc.kraft.state_log.log_errors import LogError

    at = reached(arguments.bootstrap_server, arguments.command_config, "kafka-reassign-status", round(seconds * 1000))
    logging.disable(logging.CRITICAL)

    async def ask() -> ClusterStatus:
        return await read_status.status(await read_status.stand(at.settings, at.configs))

    try:
        status = asyncio.run(ask())
    except (LogError, LookFailed, KafkaError) as error:
        return _failed(str(error))
    return _print(arguments, status)


def _failed(why: str) -> int:
    sys.stderr.write(f"kafka-reassign-rpc status: {why}\n")
    return 1


def _of_zookeeper(arguments: argparse.Namespace, seconds: float) -> int:
    from kafka_reassign_rpc.preflight import read_status  # kafka-python takes a while, and few commands need it

    connect = checked("--zookeeper-connect", zookeeper_connect, arguments.zookeeper_connect)
    values = read_settings(arguments, SETTINGS)
    for one in readable(secret_files(values)):
        say(f"warning: {one}")
    access = security_settings.access(security_properties(values))
    logging.disable(logging.CRITICAL)
    try:
        status = asyncio.run(read_status.from_zookeeper(connect, seconds, access))
    except (ZkError, TimeoutError) as error:
        return _failed(str(error) or f"no answer within {seconds:g} s")
    return _print(arguments, status)


def _print(arguments: argparse.Namespace, status: ClusterStatus) -> int:
    if arguments.json:
        print(msgspec.json.encode(document(status)).decode())  # noqa: T201
    else:
        print("\n".join(_lines(status)))  # noqa: T201
    return 0 if status.controller is not None else 1


def document(status: ClusterStatus) -> dict[str, Any]:
    """The document of `kafka-reassign status`, and what only ZooKeeper has."""
    from kafka_reassign_rpc.reassign_command import action_status

    controller = read_status.controller_document(status.controller)
    found = action_status.document(_seen(status))
    return {**found, "controller": controller, "deleting": status.deleting, "hint": status.hint}


def _seen(status: ClusterStatus) -> "Seen":
    from kafka_reassign_rpc.reassign_command.status_text import Seen

    stored, controller = status.seen, status.controller
    is_stock = controller is not None and controller.kind in (read_status.BROKER, read_status.KRAFT)
    return Seen(stored.status, stored.moves, len(stored.moves), stored.brokers, is_stock=is_stock, is_stored=True)


def _lines(status: ClusterStatus) -> Iterator[str]:
    from kafka_reassign_rpc.reassign_command.action_context import Output
    from kafka_reassign_rpc.reassign_command.history_plots import ASCII, BLOCKS
    from kafka_reassign_rpc.reassign_command.status_text import fitted, lines

    yield read_status.controller_line(status.controller)
    yield from lines(_seen(status), BLOCKS if Output(sys.stdout, as_json=False).can_write(BLOCKS) else ASCII)
    yield ""
    for line in read_status.notes(status):
        yield from fitted(line)
