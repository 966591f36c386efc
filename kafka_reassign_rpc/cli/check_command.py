"""`kafka-reassign-rpc check`: looks whether a server could control a cluster, and changes nothing."""

import argparse
import asyncio
import logging
from typing import Any

import msgspec

from kafka_reassign_rpc.cli.cluster_access import add_timeout, given, in_kraft_mode, reached, timeout_seconds
from kafka_reassign_rpc.cli.cluster_settings import BOOTSTRAP, COMMAND_CONFIG
from kafka_reassign_rpc.cli.listener_settings import complete_listeners
from kafka_reassign_rpc.cli.security_settings import security_properties
from kafka_reassign_rpc.cli.serve_command import own_values, server_config
from kafka_reassign_rpc.cli.server_settings import SETTINGS, secret_files
from kafka_reassign_rpc.cli.settings_reader import OF_BROKER, add_flags, read_settings
from kafka_reassign_rpc.core.config_values import BROKER_IDS, parse_brokers
from kafka_reassign_rpc.preflight import departure_findings, findings, settings_findings
from kafka_reassign_rpc.preflight.authorizer_findings import BrokerLogins, gather
from kafka_reassign_rpc.preflight.check import check, check_for_kraft, of_secret_files
from kafka_reassign_rpc.preflight.departure_findings import check_departure
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.server.sasl_sources import SaslSources
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.support.secrecy import told
from kafka_reassign_rpc.support.typed_commands import Connection
from kafka_reassign_rpc.transport.broker_links import LISTENER

HELP = "look whether a server could control a cluster, whether it could migrate to KRaft, or whether brokers may go"
USAGE = (
    "kafka-reassign-rpc check {--zookeeper-connect HOST:PORT[,…][/CHROOT] | --bootstrap-server HOST:PORT[,…]}"
    " [--for-kraft | --without 3,7] [--json] [--SETTING VALUE …]"
)
DESCRIPTION = """\
Looks at a cluster before a server controls it: ZooKeeper, its ACLs and its content; each broker; the present
controller; and what a server would do first. It changes nothing. Run it on the server's host, with the flags and the
configuration file of `kafka-reassign-rpc serve`.

With --for-kraft it looks instead for all that keeps the cluster from its migration to KRaft (KIP-866), and for what
would be lost by it or left behind: moves, throttles, deletions, replicas on brokers that are gone, versions, log dirs,
quotas, ACLs.

With --without it looks instead whether these brokers may go: which partitions lose their last in-sync replica, fall
under min.insync.replicas, become under-replicated or lose a rack without them, and whether the other brokers have room
for what they hold. Of many partitions it counts all, and names the first.

With --bootstrap-server it looks whether a server could be put in front of a cluster in KRaft mode: the login's rights,
the topic of the state log and whether it can be read, coordinators of transactions, brokers.

Prints a line for each finding: OK, WARNING, or UNSAFE with what to do, and the commands that do it as they can be run.
"""
EPILOG = """\
exit codes: 0 a server can control the cluster (--for-kraft: it is ready; --without: the brokers may go), 1 it is
            unsafe or cannot be found out, 2 wrong flags or settings
example:    kafka-reassign-rpc check --zookeeper-connect zk1:2181/kafka --listeners PLAINTEXT://controller1:9092
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--for-kraft", action="store_true", help="look whether the cluster is ready for its migration to KRaft"
    )
    parser.add_argument("--without", metavar="3,7", help="look whether the brokers with these ids may go")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of lines")
    add_timeout(parser)
    add_flags(parser, SETTINGS)


async def _read(sasl: SaslSources) -> None:
    """Finds what `serve` would find in files of users and keys of tokens."""
    try:
        await sasl.start()
    except BadSetting as error:
        raise UsageError(str(error)) from None
    finally:
        await sasl.close()


def _broker_logins(values: dict[str, Any]) -> BrokerLogins:
    own, listener = security_properties(values), values[LISTENER]
    file = {name: text.value for name, text in values[OF_BROKER].items()}
    return gather({**own, **({} if listener is None else {LISTENER: listener})}, file, values["listeners"])


def _without(arguments: argparse.Namespace) -> frozenset[int]:
    """Empty: the check is not about brokers that go."""
    if arguments.without is None:
        return frozenset()
    if arguments.for_kraft:
        raise UsageError("--for-kraft and --without ask two questions: give one of them")
    found = parse_brokers(arguments.without)
    if not found:
        raise UsageError(f"--without: expected {BROKER_IDS}, got {told(arguments.without)}")
    return found


def run(arguments: argparse.Namespace) -> int:
    without = _without(arguments)
    values = complete_listeners(read_settings(arguments, SETTINGS))
    seconds = timeout_seconds(arguments)
    if in_kraft_mode(values["zookeeper.connect"], values[BOOTSTRAP]):
        if without or arguments.for_kraft:
            raise UsageError("--for-kraft and --without ask about a cluster in ZooKeeper mode")
        return _shown(arguments, _of_kraft(values, seconds), findings.TO_SERVE, {})
    config = server_config(values)
    if config.sasl is not None:
        asyncio.run(_read(config.sasl))
    logging.disable(logging.CRITICAL)  # the findings say what the log would
    more: dict[str, Any] = {}
    if without:
        question = findings.TO_LEAVE
        found, departure = asyncio.run(check_departure(config, seconds, without))
        more = departure_findings.document(without, departure)
    elif arguments.for_kraft:
        question, found = findings.TO_MIGRATE, asyncio.run(check_for_kraft(config, seconds, given(arguments)))
    else:
        question = findings.TO_CONTROL
        found = [
            *of_secret_files(secret_files(values)),
            *settings_findings.of_own_settings(own_values(values)),
            *asyncio.run(check(config, seconds, _broker_logins(values))),
        ]
    return _shown(arguments, found, question, more)


def _of_kraft(values: dict[str, Any], seconds: float) -> list[findings.Finding]:
    from kafka_reassign_rpc.cli import kraft_serving  # it takes a while to import
    from kafka_reassign_rpc.kraft import kraft_check

    common = server_config({**values, "listeners": (), "advertised.listeners": None})
    logging.disable(logging.CRITICAL)
    kraft_serving.kraft_config(values, common)
    client = f"check-{values['broker.id']}"
    at = reached(values[BOOTSTRAP], values[COMMAND_CONFIG], client, round(seconds * 1000))
    own, protocol = values["listeners"][0], at.protocol
    lost = kraft_serving.lost_secrecy(own, protocol)
    found = asyncio.run(kraft_check.check(at.settings, at.configs, values["broker.id"], lost))
    found += settings_findings.of_own_settings(own_values(values))
    return findings.filled(found, Connection(values[BOOTSTRAP], values[COMMAND_CONFIG]))


def _shown(
    arguments: argparse.Namespace, found: list[findings.Finding], question: findings.Question, more: dict[str, Any]
) -> int:
    if arguments.json:
        print(msgspec.json.encode({**findings.document(found, question), **more}).decode())  # noqa: T201
    else:
        print("\n".join(findings.lines(found, question)))  # noqa: T201
    return 0 if findings.is_safe(found) else 1
