"""A client of each running kafka-reassign-rpc server: only it has the events that it has recorded. The controller names
the servers; Metadata shows only the controller.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kafka_reassign_rpc.client.blocking_client import ReassignmentClient
from kafka_reassign_rpc.client.result_values import ClusterNode
from kafka_reassign_rpc.client.server_calls import FROM_NOW_ON

OTHER_SERVER_MS = 5_000
"""Milliseconds that a server that is not the controller may take to answer."""

Connect = Callable[[str], ReassignmentClient]
"""Takes HOST:PORT, and uses the configuration of the command."""


def running_servers(client: ReassignmentClient) -> tuple[int, dict[int, ClusterNode | None]]:
    """The controller, and where each running server is (None: the controller itself). Raises as `event_page`."""
    here = client.event_page(FROM_NOW_ON)
    return here.server, {here.server: None} | {node.id: node for node in here.servers}


def configs_of_another(configs: Mapping[str, Any], address: str) -> dict[str, Any]:
    """`address` is HOST:PORT; the timeout is short."""
    timeout_ms = min(OTHER_SERVER_MS, configs.get("request_timeout_ms", OTHER_SERVER_MS))
    return {**configs, "bootstrap_servers": address, "request_timeout_ms": timeout_ms}


class ServerClients:
    def __init__(self, client: ReassignmentClient, connect: Connect) -> None:
        self._client = client
        self._connect = connect
        self._others: dict[ClusterNode, ReassignmentClient] = {}

    def of(self, node: ClusterNode | None) -> ReassignmentClient:
        """None: the controller. Raises Unreachable."""
        if node is None:
            return self._client
        if node not in self._others:
            self._others[node] = self._connect(f"{node.host}:{node.port}")
        return self._others[node]

    def close(self) -> None:
        for client in self._others.values():
            client.close()
