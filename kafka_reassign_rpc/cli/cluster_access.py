"""Which cluster a command that is no server is about, in which mode, and how it reaches a secured ZooKeeper: by the
flags and files of `serve`.
"""

import argparse
import shlex

from kafka_reassign_rpc.cli import outward_settings
from kafka_reassign_rpc.cli.security_names import OTHER_NAMES
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import add_flags
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.security.login import jaas
from kafka_reassign_rpc.support.connection_flags import add_bootstrap_server, bootstrap_server

_SETTINGS = [one for one in SETTINGS if one.group == outward_settings.ZOOKEEPER]
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


def given(arguments: argparse.Namespace) -> str:
    """Those that were given, as a command line has them."""
    values = {key: getattr(arguments, key, None) for key in _FLAGS}
    return " ".join(f"--{key.replace('_', '-')} {shlex.quote(one)}" for key, one in values.items() if one is not None)
