"""`kafka-reassign-rpc check`: looks whether a server could control a cluster, and changes nothing."""

import argparse
import asyncio
import logging
from typing import Any

import msgspec

from kafka_reassign_rpc.cli.listener_settings import settle_listeners
from kafka_reassign_rpc.cli.secret_settings import secret_files
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.cli.serve_command import server_config
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import OF_BROKER, add_flags, read_settings
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.cli.value_parsers import whole
from kafka_reassign_rpc.preflight import findings, secret_file_findings
from kafka_reassign_rpc.preflight.broker_principals import BrokerLogins, gather
from kafka_reassign_rpc.preflight.check import check
from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.server.sasl_sources import SaslSources
from kafka_reassign_rpc.transport.broker_link_settings import LISTENER

HELP = "look whether a server could control a cluster; changes nothing"
USAGE = "kafka-reassign-rpc check --zookeeper-connect HOST:PORT[,…][/CHROOT] [--json] [--SETTING VALUE …]"
DESCRIPTION = """\
Looks at a cluster before a server controls it: ZooKeeper, its ACLs and what stands in it; each broker; the present
controller; and what a server would do first. It changes nothing. Run it on the server's host, with the flags and the
configuration file of `kafka-reassign-rpc serve`.

Prints a line for each finding: OK, WARNING, or UNSAFE with what to do.
"""
EPILOG = """\
exit codes: 0 a server can control the cluster, 1 it is unsafe or cannot be found out, 2 wrong flags or settings
example:    kafka-reassign-rpc check --zookeeper-connect zk1:2181/kafka --listeners PLAINTEXT://controller1:9092
"""
DEFAULT_TIMEOUT_MS = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = USAGE
    parser.epilog = EPILOG
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of lines")
    add_timeout(parser)
    add_flags(parser, SETTINGS)


def add_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout-ms",
        metavar="MS",
        default=DEFAULT_TIMEOUT_MS,
        help="milliseconds to connect to ZooKeeper, to read from it, and for the answers of each broker (default:"
        " %(default)s)",
    )


def timeout_seconds(arguments: argparse.Namespace) -> float:
    """The value of --timeout-ms. Raises UsageError."""
    try:
        return float(whole(1, 3_600_000)(arguments.timeout_ms)) / 1000
    except ValueError as error:
        raise UsageError(f"--timeout-ms: {error}") from None


async def _read(sasl: SaslSources) -> None:
    """Finds what `serve` would find in files of users and keys of tokens."""
    try:
        await sasl.start()
    except BadSetting as error:
        raise UsageError(str(error)) from None
    finally:
        await sasl.close()


def _broker_logins(values: dict[str, Any]) -> BrokerLogins:
    """What the settings say of the logins of brokers."""
    own, listener = security_properties(values), values[LISTENER]
    file = {name: text.value for name, text in values[OF_BROKER].items()}
    return gather({**own, **({} if listener is None else {LISTENER: listener})}, file, values["listeners"])


def run(arguments: argparse.Namespace) -> int:
    values = settle_listeners(read_settings(arguments, SETTINGS))
    if values["zookeeper.connect"] is None:
        raise UsageError("--zookeeper-connect is needed")
    seconds = timeout_seconds(arguments)
    config = server_config(values)
    if config.sasl is not None:
        asyncio.run(_read(config.sasl))
    logging.disable(logging.CRITICAL)  # the findings say what the log would
    found = [
        *secret_file_findings.findings(secret_files(values)),
        *asyncio.run(check(config, seconds, _broker_logins(values))),
    ]
    if arguments.json:
        print(msgspec.json.encode(findings.document(found)).decode())  # noqa: T201
    else:
        print("\n".join(findings.lines(found)))  # noqa: T201
    return 0 if findings.is_safe(found) else 1
