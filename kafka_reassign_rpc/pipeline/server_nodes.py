"""Nodes that are no brokers: a kafka-reassign-rpc server is listed among the nodes and holds no replicas."""

from collections.abc import Iterable

_SERVER_LOG_DIRS = ("none",)
"""The log dirs that a kafka-reassign-rpc server answers to DescribeLogDirs."""


def is_server(log_dirs: Iterable[str]) -> bool:
    """Whether the node with these log dirs is a kafka-reassign-rpc server."""
    return tuple(log_dirs) == _SERVER_LOG_DIRS
