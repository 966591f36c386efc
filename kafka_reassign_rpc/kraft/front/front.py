"""Listeners of ours in front of the cluster, and where the brokers are. Requests that come while no server leads wait a
while, instead of being told to look for a controller: a client that knows the brokers would take one of them for it,
and go on there.
"""

import asyncio
import logging
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from kafka_reassign_rpc.api.dispatch import Service
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaTable
from kafka_reassign_rpc.kraft.front.answer_patches import FrontNodes, Shown, named_broker, place_of, shown
from kafka_reassign_rpc.kraft.front.front_connection import FrontConnection
from kafka_reassign_rpc.security.tls.own_handshake import Loaded, dns_names, has_name
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.server import Server
from kafka_reassign_rpc.server.server_limits import ServerLimits, ServerStats
from kafka_reassign_rpc.support.host_port import LAST_PORT, Address

HELD_S = 10.0
"""A take-over is over by then, with the usual lead time; clients wait longer."""
MOST_TRIED = 5
"""Of the brokers that are known, and of the given addresses, for one client."""
SLOW_S = 30.0
"""For so long other brokers come before one that has kept a client waiting."""
MOST_HELD = 200
"""More than that get their answer, NOT_CONTROLLER, at once."""


class HeldRequests:
    """`is_led`: whether a server leads, or none will while this process runs. `news` is called when that may have
    changed.
    """

    def __init__(self, is_led: Callable[[], bool], seconds: float = HELD_S, most: int = MOST_HELD) -> None:
        self._is_led = is_led
        self._seconds = seconds
        self._most = most
        self._count = 0
        self._news = asyncio.Event()

    def news(self) -> None:
        if self._count:
            self._news.set()
            self._news = asyncio.Event()

    async def led(self) -> None:
        if self._is_led() or self._count >= self._most:
            return
        self._count += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    while not self._is_led():
                        await self._news.wait()
        finally:
            self._count -= 1


log = logging.getLogger(__name__)


async def _at_once() -> None:
    pass


class FrontSettings(msgspec.Struct, frozen=True, kw_only=True):
    """listener    where clients bootstrap. SASL_PLAINTEXT and SASL_SSL hand logins on; the authenticator is not used
    advertised  how clients reach it; with port 0 the listener's own port
    node_id     of this server among the brokers; no broker has it
    nodes       how clients see the brokers
    brokers     as clients of this kind reach them (with SASL if `listener` has it), in case none answers that the
                cluster has told
    tls         to brokers; without a certificate of ours, which would be a login
    """

    listener: Listener
    advertised: Address
    node_id: int
    brokers: Sequence[Address]
    nodes: FrontNodes = FrontNodes.BESIDE
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
        self._placed: set[int] = set()
        """Brokers that have a place of their own here."""
        self._refused: set[int] = set()
        """Brokers that get none."""
        self._named_by: Loaded | None = None
        self._names: frozenset[str] = frozenset()
        """Of that certificate."""
        self._slow_until: dict[Address, float] = {}
        """Brokers that others come before."""
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

    def where(self, listener: str, tls_name: str | None) -> Sequence[Address]:
        node = self._nodes.get(listener)
        if self._settings.nodes is FrontNodes.NAMES:
            node = named_broker(tls_name, self.address.host)
        if node is not None:
            return [self._brokers[node]] if node in self._brokers else []
        known, now = list(self._brokers.values()), time.monotonic()
        random.shuffle(known)
        known.sort(key=lambda one: self._slow_until.get(one, now) > now)
        given = self._settings.brokers[:MOST_TRIED]  # all may have moved while no client has asked
        return list(dict.fromkeys((*known[:MOST_TRIED], *given)))

    def slow(self, broker: Address) -> None:
        now = time.monotonic()
        self._slow_until = {one: until for one, until in self._slow_until.items() if until > now}
        self._slow_until[broker] = now + SLOW_S

    async def learn(self, brokers: Mapping[int, Address]) -> None:
        """As clients of this front's kind reach them. Places of brokers that have gone stay: they come back."""
        if brokers:
            self._brokers = dict(brokers)
        if self._settings.nodes is FrontNodes.NAMES:
            self._name_brokers()
        elif self._settings.nodes is FrontNodes.PORTS:
            async with self._opening:
                for node in self._new():
                    await self._listen(node, place_of(FrontNodes.PORTS, node, self.address).port)

    def _new(self) -> list[int]:
        """Brokers of which it is open whether they have a place of their own here."""
        return sorted(self._brokers.keys() - self._placed - self._refused)

    async def _listen(self, node: int, port: int) -> None:
        own = self._settings.listener
        name = f"{own.name}_{node}"
        try:
            if port > LAST_PORT:
                raise OSError(f"there is no port {port}")  # noqa: TRY301
            await self.server.listen(msgspec.structs.replace(own, name=name, port=port))
        except OSError as error:
            self._refuse(node, str(error))
        else:
            self._nodes[name] = node
            self._placed.add(node)

    def _name_brokers(self) -> None:
        """Clients refuse a name that the certificate has not. The next certificate may have it."""
        tls = self._settings.listener.tls
        assert tls is not None
        if tls.loaded is not self._named_by:
            self._named_by, self._names = tls.loaded, dns_names(tls.loaded.own[0])
            self._placed.clear()
            self._refused.clear()
        for node in self._new():
            host = place_of(FrontNodes.NAMES, node, self.address).host
            if has_name(self._names, host):
                self._placed.add(node)
            else:
                self._refuse(node, f"the certificate has not the name {host}")

    def _refuse(self, node: int, why: str) -> None:
        self._refused.add(node)
        log.warning(
            "broker %d has no place of its own at this server (%s): clients that it answers leave, and their moves are"
            " seen as those of others",
            node,
            why,
        )

    async def shown(self, brokers: Mapping[int, Address]) -> Shown:
        await self.learn(brokers)
        return self.shown_last

    @property
    def shown_last(self) -> Shown:
        elsewhere = self._leader(self._brokers)
        if elsewhere is not None:
            return elsewhere
        return shown(self._settings.nodes, self._settings.node_id, self.address, self._placed)
