"""The flags by which a command reaches a cluster. Variables of the environment are their defaults: which of them this
product reads, and those that somebody meant to be one."""

import argparse
import os
import re
from collections.abc import Iterable
from difflib import get_close_matches

from kafka_reassign_rpc.support.secrecy import told_name

_PRODUCT = "KAFKA_REASSIGN"
PREFIX = f"{_PRODUCT}_"
WATCH = f"{PREFIX}WATCH"
BOOTSTRAP_SERVER = f"{PREFIX}BOOTSTRAP_SERVER"
COMMAND_CONFIG = f"{PREFIX}COMMAND_CONFIG"
SPARK_CLASSES = f"{PREFIX}SPARK_CLASSES"
VARIABLES = (WATCH, BOOTSTRAP_SERVER, COMMAND_CONFIG, SPARK_CLASSES)
_OF_SERVICES = re.compile(
    r".*_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT|PORT_\d+_(TCP|UDP|SCTP)(_[A-Z]+)?|ENV_.*|NAME)"
)
"""What Kubernetes and Docker set for a service of the name kafka-reassign-…"""


def misspelt(names: Iterable[str]) -> str | None:
    """What is wrong with a variable that begins as ours do, and that nothing reads: it would have no effect."""
    meant = {one.removeprefix(PREFIX): one for one in VARIABLES}
    for name in sorted(names):
        plain = re.sub("[.-]", "_", name.upper())
        if not plain.startswith(_PRODUCT) or name in VARIABLES or _OF_SERVICES.fullmatch(name):
            continue
        near = get_close_matches(plain.removeprefix(_PRODUCT).lstrip("_")[:100], meant, 1)
        if near:
            return f"{told_name(name)}: no such variable of the environment; is {meant[near[0]]} meant?"
        if plain.startswith(PREFIX):
            return f"{told_name(name)}: no such variable of the environment; there are {', '.join(VARIABLES)}"
    return None


PROPERTIES = "a Java properties file with configs of the client"


def bootstrap_server() -> str | None:
    """The value of the environment."""
    return os.environ.get(BOOTSTRAP_SERVER) or None


def command_config() -> str | None:
    """The value of the environment."""
    return os.environ.get(COMMAND_CONFIG) or None


def add_bootstrap_server(parser: argparse._ActionsContainer, *, required: bool) -> None:
    default = bootstrap_server()
    parser.add_argument(
        "--bootstrap-server",
        required=required and default is None,
        default=default,
        metavar="HOST:PORT[,…]",
        help=f"one or more nodes of the cluster, separated by commas (default: the variable {BOOTSTRAP_SERVER})",
    )


def add_command_config(parser: argparse._ActionsContainer, about: str = PROPERTIES) -> None:
    parser.add_argument(
        "--command-config",
        default=command_config(),
        metavar="FILE",
        help=f"{about} (default: the variable {COMMAND_CONFIG})",
    )
