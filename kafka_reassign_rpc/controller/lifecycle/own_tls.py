"""A TLS handshake of the server with itself at each of its listeners, before it controls and each hour.

Without it a certificate that no broker takes shows only afterwards: brokers cannot report ISRs, and log a failure with
each attempt. A stock broker refuses to start then (SslFactory).

A server whose certificate brokers would refuse while it controls gives the controllership back: a stock 3.9 broker
whose connection to the controller fails by TLS as it asks for ids of producers ends (a NullPointerException in
RPCProducerIdManager), so that each new idempotent producer ends one more broker. Brokers take each other's
certificates, and one of them takes over until the certificate is right.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.core.state.broker import Endpoint, endpoint_for
from kafka_reassign_rpc.core.status.own_certificates import CURE, NO_CERTIFICATES, ListenerHandshake, OwnCertificates
from kafka_reassign_rpc.security.tls.own_handshake import Loaded, ends, refused

log = logging.getLogger(__name__)

CHECK_S = 1.0
"""Seconds between two looks whether certificates are new, ..."""
EVERY_S = 3600.0
"""... and, where they are not, between two handshakes."""

Used = Sequence[tuple[str, Loaded]]
"""What is loaded, by its use."""


class OwnTls:
    """`endpoints`: where peers reach the listeners, in the order of the configuration. `on_change` is called when
    brokers would no longer take the certificate, or take it again."""

    def __init__(
        self,
        config: ServerConfig,
        endpoints: Callable[[], Sequence[Endpoint]],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._endpoints = endpoints
        self._now = now
        self._lock = asyncio.Lock()
        self._judged: Used = ()
        self._due_at = 0.0
        self.found = NO_CERTIFICATES
        self.on_change: Callable[[], None] = lambda: None

    async def known(self) -> None:
        """Waits until the certificates in use have been checked."""
        async with self._lock:
            if self._is_due():
                await self._look()

    async def keep(self) -> None:
        """While the listeners are open, until it is cancelled."""
        while used(self._config):
            await self.known()
            await asyncio.sleep(CHECK_S)

    def _is_due(self) -> bool:
        now_used = used(self._config)
        same = len(now_used) == len(self._judged) and all(
            new is old for (_, new), (_, old) in zip(now_used, self._judged, strict=True)
        )
        return not same or (bool(now_used) and self._now() >= self._due_at)

    async def _look(self) -> None:
        before = self.found
        self._judged = used(self._config)
        try:
            self.found = await asyncio.to_thread(certificates, self._config, self._endpoints())
        except Exception:  # a defect here must not keep a server from elections
            self._due_at = self._now() + EVERY_S
            log.exception("whether brokers take the certificates of this server is not known: the check failed")
            return
        self._due_at = self._now() + min(EVERY_S, self._until_next_end())
        for one in self.found.handshakes:
            if one.fails:
                log.error("%s. What to do: %s", one, CURE)
            elif one.why:
                log.warning("%s. Those that trust another CA do", one)
        if before.failing and not self.found.failing:
            log.info("the certificates of all listeners are taken")
        if (before.kept_out is None) != (self.found.kept_out is None):
            self.on_change()

    def _until_next_end(self) -> float:
        """In seconds: a certificate that ends is noticed then, not an hour later."""
        now = time.time()
        return min((at - now + 1 for at in self.found.ends.values() if at > now), default=EVERY_S)


def certificates(config: ServerConfig, endpoints: Sequence[Endpoint]) -> OwnCertificates:
    """Takes milliseconds for each listener: call it off the event loop. `endpoints`: as `OwnTls`."""
    now = datetime.now(UTC)
    last: dict[tuple[str, ...], float] = {
        (use, one.part): one.at for use, loaded in used(config) for one in ends(loaded.own, loaded.twin.trusted or ())
    }
    return OwnCertificates(tuple(_handshakes(config, endpoints, now)), last)


def used(config: ServerConfig) -> Used:
    found = [(f"listener {name}", one.tls) for name, one in config.security.items()]
    others = (("brokers", config.links.tls), ("ZooKeeper", config.zookeeper_access.tls))
    found += [("listener METRICS", config.metrics_security.tls), *others]
    return [(use, tls.loaded) for use, tls in found if tls is not None]


def _handshakes(config: ServerConfig, endpoints: Sequence[Endpoint], now: datetime) -> Iterator[ListenerHandshake]:
    links = config.links
    of_brokers = endpoint_for(config.listeners, config.brokers_listener, links.protocol or "")
    for bound, reached in zip(config.listeners, endpoints, strict=True):
        security = config.security.get(bound.listener)
        if security is None or security.tls is None:
            continue
        server, is_theirs = security.tls.loaded, bound is of_brokers
        client = links.tls.loaded.twin if is_theirs and links.tls is not None else server.twin
        why = refused(server, client, reached.host, now)
        if why is None:
            yield ListenerHandshake(bound.listener, is_theirs)
        else:
            yield ListenerHandshake(bound.listener, is_theirs, why.why, why.is_of_trust and not is_theirs)
