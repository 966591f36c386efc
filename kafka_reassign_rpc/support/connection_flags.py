"""The flags by which a command reaches a cluster. Variables of the environment are their defaults."""

import argparse
import os

from kafka_reassign_rpc.support.environment import BOOTSTRAP_SERVER, COMMAND_CONFIG

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
