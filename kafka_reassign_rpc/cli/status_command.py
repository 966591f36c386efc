"""`kafka-reassign-rpc status`: says who controls a cluster, since when, and what is under way."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from kafka_reassign_rpc.cli import outward_settings
from kafka_reassign_rpc.cli.check_command import add_timeout, timeout_seconds
from kafka_reassign_rpc.cli.pipeline_jobs import connection_of, say
from kafka_reassign_rpc.cli.secret_settings import secret_files
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import read_settings
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.cli.value_parsers import zookeeper_connect
from kafka_reassign_rpc.cli.zookeeper_access import add_access
from kafka_reassign_rpc.client import KafkaError, ReassignmentClient, client_configs, load_properties
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.running_servers import configs_of_another
from kafka_reassign_rpc.preflight import cluster_status
from kafka_reassign_rpc.preflight.cluster_status import ClusterStatus, StatusParts
from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.secret_files import readable
from kafka_reassign_rpc.support.connection_flags import add_bootstrap_server, add_command_config, bootstrap_server
from kafka_reassign_rpc.support.typed_commands import ANY
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

if TYPE_CHECKING:
    from kafka_reassign_rpc.reassign_command.status_text import Seen

HELP = "say who controls a cluster, since when, and what is under way"
DESCRIPTION = """\
Says who the controller is (a stock broker or a kafka-reassign-rpc server), where, since when and with which epoch; then
shows what `kafka-reassign status` shows: problems, moves, brokers, self-healing; and the moves by route. It asks the
nodes of the cluster, or its ZooKeeper, which also works while nobody controls the cluster, and changes nothing.

The nodes tell the epoch and the time of the election only if the controller is a server with an event log. ZooKeeper
always tells them. For a secured ZooKeeper give the files and flags of `serve`: --config,
--kafka-config, --java-security-auth-login-config and others.
"""
EPILOG = """\
exit codes: 0 there is a controller, 1 there is none or nobody answers, 2 wrong flags
examples:   kafka-reassign-rpc status --bootstrap-server broker1:9092
            kafka-reassign-rpc status --zookeeper-connect zk1:2181/kafka --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    place = parser.add_mutually_exclusive_group(required=bootstrap_server() is None)
    add_bootstrap_server(place, required=False)
    place.add_argument(
        "--zookeeper-connect", metavar="HOST:PORT[,…][/CHROOT]", help="the ZooKeeper of the cluster, with its chroot"
    )
    add_command_config(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of lines")
    add_timeout(parser)
    add_access(parser)


def _configs(arguments: argparse.Namespace) -> dict[str, Any]:
    try:
        properties = load_properties(arguments.command_config, _warn) if arguments.command_config else {}
        found = client_configs(arguments.bootstrap_server, properties, _warn)
    except BadSetting as error:
        raise UsageError(f"--command-config: {error}") from None
    try:
        client_settings(found)  # an address that is none is no cluster that does not answer
    except BadSetting as error:
        raise UsageError(f"--bootstrap-server: {error}") from None
    return found


def _warn(text: str) -> None:
    say(f"warning: {text}")


def run(arguments: argparse.Namespace) -> int:
    from kafka_reassign_rpc.preflight import read_status  # kafka-python takes a while, and few commands need it

    seconds = timeout_seconds(arguments)
    if arguments.zookeeper_connect is not None:
        try:
            connect = zookeeper_connect(arguments.zookeeper_connect)
        except ValueError as error:
            raise UsageError(f"--zookeeper-connect: {error}") from None
        values = read_settings(arguments, SETTINGS)
        for one in readable(secret_files(values)):
            _warn(str(one))
        access = outward_settings.access(security_properties(values))
        configs, reading = None, read_status.from_zookeeper(connect, seconds, access)
    else:
        configs = _configs(arguments)
        reading = read_status.from_nodes(configs, seconds)
    logging.disable(logging.CRITICAL)
    try:
        status = asyncio.run(reading)
        seen = seen_of(status, configs, seconds, as_json=arguments.json)
        status = cluster_status.with_document(status, StatusParts(seen.status, seen.moves, seen.brokers))
    except (ZkError, KafkaError, TimeoutError) as error:
        sys.stderr.write(f"kafka-reassign-rpc status: {error or f'no answer within {seconds:g} s'}\n")
        return 1
    if arguments.json:
        print(msgspec.json.encode(cluster_status.document(status)).decode())  # noqa: T201
    else:
        here = ANY if arguments.bootstrap_server is None else connection_of(arguments)
        print(here.filled("\n".join(_lines(status, seen))))  # noqa: T201
    return 0 if status.controller is not None else 1


def seen_of(status: ClusterStatus, configs: Mapping[str, Any] | None, seconds: float, *, as_json: bool) -> "Seen":
    """Asks a controller for the status document, as `kafka-reassign status` does. Raises KafkaError."""
    from kafka_reassign_rpc.reassign_command import action_status
    from kafka_reassign_rpc.reassign_command.status_text import Seen

    if status.seen is not None:
        stored, controller = status.seen, status.controller
        is_stock = controller is not None and controller.kind in (cluster_status.BROKER, cluster_status.KRAFT)
        of = len(stored.moves)
        return Seen(stored.status, stored.moves, of, stored.brokers, is_stock=is_stock, is_stored=True)
    limit_ms = int(seconds * 1000)
    limits = {"request_timeout_ms": limit_ms, "bootstrap_timeout_ms": limit_ms}
    of_client = {**(configs or {}), **limits}
    with ReassignmentClient(**of_client) as client:
        return action_status.read(
            client, lambda address: ReassignmentClient(**configs_of_another(of_client, address)), as_json=as_json
        )


def _lines(status: ClusterStatus, seen: "Seen") -> Iterator[str]:
    from kafka_reassign_rpc.reassign_command.history_plots import ASCII, BLOCKS
    from kafka_reassign_rpc.reassign_command.output import Output
    from kafka_reassign_rpc.reassign_command.status_text import fitted, lines

    yield cluster_status.controller_line(status.controller)
    yield from lines(seen, BLOCKS if Output(sys.stdout, as_json=False).can_write(BLOCKS) else ASCII)
    yield ""
    for line in cluster_status.around(status):
        yield from fitted(line)
