"""Nodes that are no brokers: a kafka-reassign-rpc server is listed among the nodes and holds no replicas."""

from collections.abc import Iterable

from kafka_reassign_rpc.client.log_dir_calls import LogDir

_SERVER_LOG_DIRS = ("none",)
"""The log dirs that a kafka-reassign-rpc server answers to DescribeLogDirs."""


def is_server(log_dirs: Iterable[LogDir]) -> bool:
    """Whether the node with these log dirs is a kafka-reassign-rpc server."""
    return tuple(one.path for one in log_dirs) == _SERVER_LOG_DIRS
