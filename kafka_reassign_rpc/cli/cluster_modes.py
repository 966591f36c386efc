"""Which mode the cluster of a command is in: --zookeeper-connect, or --bootstrap-server."""

import argparse

from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.support.connection_flags import add_bootstrap_server, bootstrap_server


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
