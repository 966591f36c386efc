"""Which cluster a command is about, in which mode, and how it reaches it: a secured ZooKeeper by the flags and files of
`serve`, one in KRaft mode by --bootstrap-server and --command-config.
"""

import argparse
import logging
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_reassign_rpc.cli import security_settings
from kafka_reassign_rpc.cli.security_names import OTHER_NAMES
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import add_flags
from kafka_reassign_rpc.cli.value_parsers import whole
from kafka_reassign_rpc.client import client_configs, load_properties
from kafka_reassign_rpc.client.client_settings import ClientSettings, Warn, client_settings
from kafka_reassign_rpc.security.login import jaas
from kafka_reassign_rpc.security.login.sasl_login import client_security
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.security.tls.context_parts import ReloadedContext
from kafka_reassign_rpc.support.connection_flags import add_bootstrap_server, bootstrap_server
from kafka_reassign_rpc.support.quiet_arguments import UsageError, checked
from kafka_reassign_rpc.transport.broker_links import BrokerLinks

log = logging.getLogger(__name__)

PATIENCE_MS = 10_000
"""How long the cluster may take to answer, unless command.config says otherwise."""

_SETTINGS = [one for one in SETTINGS if one.group == security_settings.ZOOKEEPER]
_SETTINGS += [one for one in SETTINGS if one.name in (jaas.JAAS_FILE, OTHER_NAMES)]
_FLAGS = ("config", "kafka_config", *(one.key for one in _SETTINGS))


def add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--zookeeper-connect",
        metavar="HOST:PORT[,…][/CHROOT]",
        help="the ZooKeeper of the cluster, with its chroot",
    )
    add_bootstrap_server(parser, required=False)


def in_kraft_mode(zookeeper: str | None, bootstrap: str | None) -> bool:
    """A variable of the environment gives way to --zookeeper-connect. Raises UsageError."""
    if zookeeper is None and bootstrap is None:
        raise UsageError("--zookeeper-connect is needed, or --bootstrap-server for a cluster in KRaft mode")
    if zookeeper is not None and bootstrap is not None and bootstrap != bootstrap_server():
        raise UsageError("--zookeeper-connect and --bootstrap-server: a cluster is in one mode, so give one of them")
    return zookeeper is None


def add_access(parser: argparse.ArgumentParser) -> None:
    """`read_settings` reads them, with all settings of the server: a file may be that of `serve`."""
    add_flags(parser, _SETTINGS)


def add_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout-ms",
        metavar="MS",
        default=PATIENCE_MS,
        help="milliseconds to connect to ZooKeeper, to read from it, and for the answers of each broker (default:"
        " %(default)s)",
    )


def timeout_seconds(arguments: argparse.Namespace) -> float:
    return float(checked("--timeout-ms", whole(1, 3_600_000), arguments.timeout_ms)) / 1000


def given(arguments: argparse.Namespace) -> str:
    """Those that were given, as a command line has them."""
    values = {key: getattr(arguments, key, None) for key in _FLAGS}
    return " ".join(f"--{key.replace('_', '-')} {shlex.quote(one)}" for key, one in values.items() if one is not None)


class Reached(NamedTuple):
    """How a program reaches the cluster: configs of the client, the same as settings, and links to single brokers."""

    configs: Mapping[str, Any]
    settings: ClientSettings
    links: BrokerLinks

    @property
    def protocol(self) -> str:
        return self.settings.configs.security_protocol

    def of_controllers(self, addresses: str | None) -> Mapping[str, Any] | None:
        """Configs of a client of the controllers at these addresses, with commas in between; None: none are given."""
        if not addresses:
            return None
        rest = {name: value for name, value in self.configs.items() if name != "bootstrap_servers"}
        return {**rest, "bootstrap_controllers": addresses.split(",")}


def reached(bootstrap: str, command_config: str | None, client_id: str, milliseconds: int = PATIENCE_MS) -> Reached:
    """Reads keystores. Raises UsageError."""
    try:
        return reached_by(bootstrap, patient_properties(command_config, milliseconds), client_id)
    except BadSetting as error:
        raise UsageError(str(error)) from None


def warn(text: str) -> None:
    log.warning("%s", text)


def patient_properties(
    command_config: str | None, milliseconds: int = PATIENCE_MS, warn: Warn = warn
) -> dict[str, str]:
    """Those of the file, if there is one. Raises BadSetting."""
    patience = {"request.timeout.ms": str(milliseconds), "default.api.timeout.ms": str(milliseconds)}
    return {**patience, **load_properties(command_config, warn)}


def reached_by(bootstrap: str, properties: Mapping[str, str], client_id: str) -> Reached:
    """Reads keystores. Raises BadSetting."""
    security = client_security(properties)
    configs = {"client_id": client_id, **client_configs(bootstrap, properties, warn)}
    settings = client_settings(configs)
    tls = None
    if security.tls is not None:
        tls = ReloadedContext("brokers", security.tls.load_client, security.tls.files)
    return Reached(configs, settings, BrokerLinks(None, security.protocol, tls, security.login))
