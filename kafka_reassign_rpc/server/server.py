"""A server: its listeners, from the first bind to the last answer."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from kafka_reassign_rpc.api.dispatch import Service
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaTable
from kafka_reassign_rpc.server.listener import HandshakeTurns, Listener, Listening, listen
from kafka_reassign_rpc.server.open_connections import OpenConnections
from kafka_reassign_rpc.server.server_connection import ServerConnection
from kafka_reassign_rpc.server.server_limits import ServerLimits, ServerStats
from kafka_reassign_rpc.support.counted import counted

log = logging.getLogger(__name__)


class Server:
    """`quotas` are those of users, clients and addresses. `start` binds (or raises OSError); `close` drains.
    `addresses` has the real host and port by listener name. `connection` makes each connection."""

    def __init__(
        self,
        service: Service,
        listeners: Sequence[Listener],
        limits: ServerLimits | None = None,
        quotas: QuotaTable | None = None,
        stats: ServerStats | None = None,
        connection: Callable[[OpenConnections, Listener], asyncio.Protocol] = ServerConnection,
    ) -> None:
        self.stats = ServerStats() if stats is None else stats
        self.addresses: dict[str, tuple[str, int]] = {}
        self.service = service
        self._limits = limits or ServerLimits()
        self._quotas = QuotaTable() if quotas is None else quotas
        self._listeners = tuple(listeners)
        self._listening: list[Listening] = []
        self._connection = connection

    async def start(self) -> None:
        self._connections = OpenConnections(self.service, self._limits, self.stats, self._quotas)
        self._turns = HandshakeTurns()
        try:
            for listener in self._listeners:
                await self.listen(listener)
        except BaseException:
            await self._stop_listening()
            self._connections.drain()
            raise

    async def listen(self, listener: Listener) -> None:
        """One listener more. Raises OSError."""
        listening = await listen(
            listener.host,
            listener.port,
            partial(self._connection, self._connections, listener),
            backlog=self._limits.socket_listen_backlog_size,
            door=self._connections,
            tls=listener.tls,
            tls_handshake_timeout=self._limits.tls_handshake_timeout_ms / 1000,
            turns=self._turns,
            name=listener.name,
        )
        self._listening.append(listening)
        self.addresses[listener.name] = listening.address

    async def close(self, deadline: float = 10.0) -> None:
        """Answers all requests that have arrived. Cuts off the rest after `deadline` seconds."""
        await self._stop_listening()
        self._connections.drain()
        try:
            async with asyncio.timeout(deadline):
                await self._connections.empty()
        except TimeoutError:
            log.warning(
                "%s cut off without all answers, at the end of the drain",
                counted(self._connections.cut_off(), "connection", "were"),
            )
            await self._connections.empty()

    async def _stop_listening(self) -> None:
        for listening in self._listening:
            await listening.close()
        self._listening = []
