"""`kafka-reassign-rpc status`: says who controls a cluster, since when, and what is under way, by its ZooKeeper."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from kafka_reassign_rpc.cli import outward_settings
from kafka_reassign_rpc.cli.check_command import add_timeout, timeout_seconds
from kafka_reassign_rpc.cli.pipeline_jobs import say
from kafka_reassign_rpc.cli.secret_settings import secret_files
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import read_settings
from kafka_reassign_rpc.cli.usage_error import checked
from kafka_reassign_rpc.cli.value_parsers import zookeeper_connect
from kafka_reassign_rpc.cli.zookeeper_access import add_access
from kafka_reassign_rpc.preflight import cluster_status
from kafka_reassign_rpc.preflight.cluster_status import ClusterStatus
from kafka_reassign_rpc.security.secret_files import readable
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

if TYPE_CHECKING:
    from kafka_reassign_rpc.reassign_command.status_text import Seen

HELP = "say from ZooKeeper who controls a cluster, since when, and what is under way"
DESCRIPTION = """\
Reads from ZooKeeper who the controller is (a stock broker, a kafka-reassign-rpc server or a KRaft controller), where,
since when and with which epoch; then shows what `kafka-reassign status` shows: problems, moves, brokers. This also
works while there is no controller, and changes nothing. `kafka-reassign status` asks the nodes, and so knows
progress, self-healing, history and events, too.

For a secured ZooKeeper give the files and flags of `serve`: --config, --kafka-config,
--java-security-auth-login-config and others.
"""
EPILOG = """\
exit codes: 0 there is a controller, 1 there is none or ZooKeeper does not answer, 2 wrong flags
example:    kafka-reassign-rpc status --zookeeper-connect zk1:2181/kafka --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument(
        "--zookeeper-connect",
        required=True,
        metavar="HOST:PORT[,…][/CHROOT]",
        help="the ZooKeeper of the cluster, with its chroot",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of lines")
    add_timeout(parser)
    add_access(parser)


def run(arguments: argparse.Namespace) -> int:
    from kafka_reassign_rpc.preflight import read_status  # kafka-python takes a while, and few commands need it

    seconds = timeout_seconds(arguments)
    connect = checked("--zookeeper-connect", zookeeper_connect, arguments.zookeeper_connect)
    values = read_settings(arguments, SETTINGS)
    for one in readable(secret_files(values)):
        say(f"warning: {one}")
    access = outward_settings.access(security_properties(values))
    logging.disable(logging.CRITICAL)
    try:
        status = asyncio.run(read_status.from_zookeeper(connect, seconds, access))
    except (ZkError, TimeoutError) as error:
        sys.stderr.write(f"kafka-reassign-rpc status: {error or f'no answer within {seconds:g} s'}\n")
        return 1
    if arguments.json:
        print(msgspec.json.encode(document(status)).decode())  # noqa: T201
    else:
        print("\n".join(_lines(status)))  # noqa: T201
    return 0 if status.controller is not None else 1


def document(status: ClusterStatus) -> dict[str, Any]:
    """The document of `kafka-reassign status`, and what only ZooKeeper has."""
    from kafka_reassign_rpc.reassign_command import action_status

    controller = cluster_status.controller_document(status.controller)
    found = action_status.document(_seen(status))
    return {**found, "controller": controller, "deleting": status.deleting, "hint": status.hint}


def _seen(status: ClusterStatus) -> "Seen":
    from kafka_reassign_rpc.reassign_command.status_text import Seen

    stored, controller = status.seen, status.controller
    is_stock = controller is not None and controller.kind in (cluster_status.BROKER, cluster_status.KRAFT)
    return Seen(stored.status, stored.moves, len(stored.moves), stored.brokers, is_stock=is_stock, is_stored=True)


def _lines(status: ClusterStatus) -> Iterator[str]:
    from kafka_reassign_rpc.reassign_command.history_plots import ASCII, BLOCKS
    from kafka_reassign_rpc.reassign_command.output import Output
    from kafka_reassign_rpc.reassign_command.status_text import fitted, lines

    yield cluster_status.controller_line(status.controller)
    yield from lines(_seen(status), BLOCKS if Output(sys.stdout, as_json=False).can_write(BLOCKS) else ASCII)
    yield ""
    for line in cluster_status.notes(status):
        yield from fitted(line)
