"""How a command that is no server reaches a secured ZooKeeper: by the same flags and files as `serve`."""

import argparse
import shlex

from kafka_reassign_rpc.cli import outward_settings
from kafka_reassign_rpc.cli.security_names import OTHER_NAMES
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import add_flags
from kafka_reassign_rpc.security.login import jaas

_SETTINGS = [one for one in SETTINGS if one.group == outward_settings.ZOOKEEPER]
_SETTINGS += [one for one in SETTINGS if one.name in (jaas.JAAS_FILE, OTHER_NAMES)]
_FLAGS = ("config", "kafka_config", *(one.key for one in _SETTINGS))


def add_access(parser: argparse.ArgumentParser) -> None:
    """`read_settings` reads them, with all settings of the server: a file may be that of `serve`."""
    add_flags(parser, _SETTINGS)


def given(arguments: argparse.Namespace) -> str:
    """Those that were given, as a command line has them."""
    values = {key: getattr(arguments, key, None) for key in _FLAGS}
    return " ".join(f"--{key.replace('_', '-')} {shlex.quote(one)}" for key, one in values.items() if one is not None)
