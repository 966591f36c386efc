"""Fixtures: running servers."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest_asyncio

from kafka_reassign_rpc.api.dispatch import Dispatcher
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaTable
from kafka_reassign_rpc.security.authenticator import MakeAuthenticator, anonymous
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.server import Server
from kafka_reassign_rpc.server.server_limits import ServerLimits
from tests.api.model_node import ModelNode

StartServer = Callable[..., Awaitable[Server]]


@pytest_asyncio.fixture
async def start_server() -> AsyncIterator[StartServer]:
    """start_server(node or service, authenticator, quotas, **limits): a running server, closed at the end of the
    test."""
    servers: list[Server] = []

    async def start(
        target: Any = None,
        authenticator: MakeAuthenticator = anonymous,
        quotas: QuotaTable | None = None,
        **limits: Any,
    ) -> Server:
        if target is None:
            target = ModelNode()
        service = Dispatcher(target) if hasattr(target, "node_id") else target
        listener = Listener("127.0.0.1", 0, authenticator=authenticator)
        server = Server(service, [listener], ServerLimits(**limits), quotas)
        await server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        await server.close(deadline=0.2)


def address(server: Server) -> tuple[str, int]:
    return server.addresses["PLAINTEXT"]
