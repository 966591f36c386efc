import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial

import msgspec

from kafka_reassign_rpc.core.quotas.quota_table import QuotaTable
from kafka_reassign_rpc.kraft.front.answer_patches import Beside, EachByPort, Shown
from kafka_reassign_rpc.kraft.front.front_connection import FrontConnection
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.request_service import Service
from kafka_reassign_rpc.server.server import Server
from kafka_reassign_rpc.server.server_limits import ServerLimits
from kafka_reassign_rpc.server.server_stats import ServerStats
from kafka_reassign_rpc.support.host_port import LAST_PORT, Address

log = logging.getLogger(__name__)


async def _at_once() -> None:
    pass


class FrontSettings(msgspec.Struct, frozen=True, kw_only=True):
    """listener    where clients bootstrap. SASL_PLAINTEXT and SASL_SSL hand logins on; the authenticator is not used
    advertised  how clients reach it; with port 0 the listener's own port
    node_id     of this server among the brokers; no broker has it
    first_port  with `front.nodes=ports`: broker n is at this port + n. None: this server is one node more
    brokers     as clients of this kind reach them (with SASL if `listener` has it), until the cluster tells more
    tls         to brokers; without a certificate of ours, which would be a login
    """

    listener: Listener
    advertised: Address
    node_id: int
    brokers: Sequence[Address]
    first_port: int | None = None
    tls: ssl.SSLContext | None = None


class Front:
    """`start` binds (or raises OSError); `close` drains. `learn` what brokers there are as soon as it is known: those
    ports that clients know from before a restart are open again before they ask. `leader`: how the cluster is shown by
    another server that leads, to which clients go for all of it; None: this server leads, or nobody does. `led`: what
    requests about moves wait for.
    """

    def __init__(
        self,
        settings: FrontSettings,
        handler: Service,
        limits: ServerLimits | None = None,
        quotas: QuotaTable | None = None,
        stats: ServerStats | None = None,
        leader: Callable[[Iterable[int]], Shown | None] = lambda _: None,
        led: Callable[[], Awaitable[None]] = _at_once,
    ) -> None:
        self._leader = leader
        self.led = led
        self._settings = settings
        self.handler = handler
        self.tls = settings.tls
        self._brokers: dict[int, Address] = {}
        self._nodes: dict[str, int] = {}
        """The brokers that have listeners of ours, by their names."""
        self._ports: dict[int, int] = {}
        self._refused: set[int] = set()
        """Brokers without one."""
        self._opening = asyncio.Lock()
        self.server = Server(handler, [settings.listener], limits, quotas, stats, partial(FrontConnection, self))

    @property
    def shows(self) -> "Front":
        return self

    async def start(self) -> None:
        await self.server.start()
        await self.learn(self._brokers)

    async def close(self, deadline: float = 10.0) -> None:
        await self.server.close(deadline)

    @property
    def address(self) -> Address:
        """Where clients bootstrap."""
        host, port = self._settings.advertised
        return Address(host, port or self.server.addresses[self._settings.listener.name][1])

    def where(self, listener: str) -> Sequence[Address]:
        node = self._nodes.get(listener)
        if node is not None:
            return [self._brokers[node]] if node in self._brokers else []
        return list(self._brokers.values()) or self._settings.brokers

    async def learn(self, brokers: Mapping[int, Address]) -> None:
        """As clients of this front's kind reach them. Ports of brokers that have gone stay open: they come back."""
        if brokers:
            self._brokers = dict(brokers)
        if self._settings.first_port is not None:
            async with self._opening:
                for node in sorted(self._brokers.keys() - self._ports.keys() - self._refused):
                    await self._open(node, self._settings.first_port + node)

    async def _open(self, node: int, port: int) -> None:
        own = self._settings.listener
        name = f"{own.name}_{node}"
        try:
            if port > LAST_PORT:
                raise OSError(f"there is no port {port}")  # noqa: TRY301
            await self.server.listen(msgspec.structs.replace(own, name=name, port=port))
        except OSError as error:
            self._refused.add(node)
            log.warning(
                "broker %d has no port of this server (%s): clients that it answers leave, and their moves are seen as"
                " those of others",
                node,
                error,
            )
        else:
            self._nodes[name] = node
            self._ports[node] = port

    async def shown(self, brokers: Mapping[int, Address]) -> Shown:
        await self.learn(brokers)
        return self.shown_last

    @property
    def shown_last(self) -> Shown:
        elsewhere = self._leader(self._brokers)
        if elsewhere is not None:
            return elsewhere
        if self._settings.first_port is None:
            return Beside(self._settings.node_id, self.address)
        return EachByPort(self.address.host, self._ports)
