"""One connection to each node of a cluster, opened when it is first wanted, kept while it is in use. Errors become
Unreachable, or Unauthenticated if asking again cannot help.
"""

import asyncio
import random
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import NamedTuple, TypeVar

from kafka_reassign_rpc.client import polling_pace
from kafka_reassign_rpc.client.client_errors import NotSent, Unauthenticated, Unreachable
from kafka_reassign_rpc.client.client_settings import ClientSettings
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.frame_errors import BadFrameSize, RemoteProtocolError
from kafka_reassign_rpc.protocol.messages import ApiMessage
from kafka_reassign_rpc.security.login.sasl_mechanisms import LoginFailed, tls_failure
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.bounded_text import shortened
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.slices import forget_others
from kafka_reassign_rpc.transport.rpc_client import MaySend, Muted, RpcClient, SendingForbidden, connect

MAX_REASON = 300
SLOW_S = 2.0
"""A request that may go to another node does so once this one has kept its answer for these seconds."""
SILENT_S = 30.0
"""For these seconds after that others are asked first, unless it answers."""

T = TypeVar("T")


class NodeConnection:
    """`lost` is called once it has failed, `heard` after each answer."""

    def __init__(
        self, client: RpcClient, address: Address, lost: Callable[[Exception], None], heard: Callable[[], None]
    ) -> None:
        self.client = client
        self.address = address
        self._lost = lost
        self._heard = heard

    async def versions(self) -> Mapping[int, tuple[int, int]]:
        """A new connection asks again: the node may have another version now."""
        return await self._translated(self.client.versions())

    async def call(
        self, request_class: type[ApiMessage], body: bytes, version: int, may_send: MaySend | None = None
    ) -> bytes:
        """Raises NotSent, and as all calls Unreachable or Unauthenticated."""
        began, size = time.perf_counter(), len(body)
        try:
            answer = await self._translated(self.client.call(request_class, body, version, raw=True, may_send=may_send))
            size += len(answer)
            return answer
        finally:
            polling_pace.count(size, time.perf_counter() - began)

    async def _translated(self, call: Awaitable[T]) -> T:
        try:
            answer = await call
        except SendingForbidden as error:
            raise NotSent from error
        except Muted as error:
            raise client_error(error, self.address) from error
        except (OSError, EOFError, RemoteProtocolError) as error:
            self.client.close()
            self._lost(error)
            raise client_error(error, self.address) from error
        self._heard()
        return answer


class _Failed(NamedTuple):
    until: float
    why: KafkaError
    backoff: Backoff


class NodeConnections:
    """Until the nodes are known, and while none can be reached, the given addresses take their place, with ids below 0.
    `learned_at` is by the clock of the event loop. `stale`: the cluster has changed, or may have.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._given = {-1 - number: address for number, address in enumerate(settings.addresses)}
        self.nodes: dict[int, Address] = {}
        self.learned_at = float("-inf")
        self._is_stale = True
        self._open: dict[int, NodeConnection] = {}
        self._opening: dict[int, asyncio.Lock] = {}
        self._failed: dict[int, _Failed] = {}
        self._silent: dict[Address, float] = {}
        """Who has kept somebody waiting, and until when others are asked first."""

    @property
    def given(self) -> list[int]:
        return list(self._given)

    @property
    def stale(self) -> bool:
        age = asyncio.get_running_loop().time() - self.learned_at
        return self._is_stale or age * 1000 > self._settings.configs.metadata_max_age_ms

    def learn(self, nodes: Mapping[int, Address]) -> None:
        for node, connection in list(self._open.items()):
            if node >= 0 and nodes.get(node) != connection.address:
                self._close(node)
        for node, address in nodes.items():
            if self.nodes.get(node) != address:
                self._failed.pop(node, None)
        self.nodes = dict(nodes)
        there = {*nodes, *self._given}
        forget_others(self._failed, there)
        forget_others(self._silent, {*nodes.values(), *self._given.values()})
        forget_others(self._opening, {*there, *(node for node, lock in self._opening.items() if lock.locked())})
        for node in self._given.keys() & self._open.keys():
            self._take_over(node)
        self.learned_at, self._is_stale = asyncio.get_running_loop().time(), False

    def _take_over(self, given: int) -> None:
        """A connection to a given address becomes that of the node registered there; brokers may register others."""
        address = self._open[given].address
        node = next((node for node, where in self.nodes.items() if where == address), None)
        if node is not None and node not in self._open and not self._open[given].client.is_closed:
            self._open[node] = self._open.pop(given)
        elif not self._open[given].client.in_flight:
            self._close(given)

    def least_busy(self, *, given_first: bool = False) -> int:
        """Prefers a node that takes requests now and has no answer overdue, one whose last try did not fail, and one
        with a connection among equals. Raises Unreachable.
        """
        now = asyncio.get_running_loop().time()
        silent: list[int] = []
        for some in (self._given, self.nodes) if given_first else (self.nodes, self._given):
            free = [node for node in some if node not in self._failed or self._failed[node].until <= now]
            quick = [node for node in free if not self.is_silent(node) and not self._is_muted(node)]
            if quick:
                return self._least_of(quick)
            silent = silent or free
        if silent:
            return self._least_of(silent)
        why = next(iter(self._failed.values())).why
        raise type(why)(why.message)

    def _least_of(self, nodes: list[int]) -> int:
        random.shuffle(nodes)
        return min(nodes, key=self._load)

    def is_silent(self, node: int) -> bool:
        """It keeps somebody waiting, or has done so a short while ago and not answered since."""
        connection = self._open.get(node)
        if connection is not None and connection.client.waits_s > SLOW_S:
            return True
        address = self._address_of(node)
        return address is not None and self._silent.get(address, 0.0) > asyncio.get_running_loop().time()

    def _is_muted(self, node: int) -> bool:
        """It has asked for a while without requests. In Kafka, too, others are asked then (leastLoadedNode)."""
        address = self._address_of(node)
        return any(one.client.muted_s > 0 for one in self._open.values() if one.address == address)

    def has_sent(self, node: int, since: float) -> bool:
        """A part of a large answer counts."""
        connection = self._open.get(node)
        return connection is not None and connection.client.heard_at > since

    def keeps_waiting(self, node: int) -> None:
        """Those who asked this node do not wait for it any more."""
        if (address := self._address_of(node)) is not None and not self._is_muted(node):
            self._silent[address] = asyncio.get_running_loop().time() + SILENT_S

    def _address_of(self, node: int) -> Address | None:
        return self._given.get(node) or self.nodes.get(node)

    def _load(self, node: int) -> tuple[bool, int, bool]:
        connection = self._open.get(node)
        return (node in self._failed, 0, True) if connection is None else (False, connection.client.in_flight, False)

    async def connection(self, node: int) -> NodeConnection:
        """Raises Unreachable, Unauthenticated."""
        self._close_idle()
        found = self._of(node)
        if found is not None:
            return found
        async with self._opening.setdefault(node, asyncio.Lock()):
            return self._of(node) or await self._connect(node)

    def _of(self, node: int) -> NodeConnection | None:
        found = self._open.get(node)
        if found is None or not found.client.is_closed:
            return found
        self._close(node)
        self._is_stale = True  # the node has ended it: where it comes back, it may be another one
        return None

    async def _connect(self, node: int) -> NodeConnection:
        address = self._address_of(node)
        if address is None:
            raise Unreachable(f"Broker {node} is not available.")
        loop = asyncio.get_running_loop()
        failed = self._failed.get(node)
        if failed is not None and loop.time() < failed.until:
            raise type(failed.why)(failed.why.message)
        configs, began = self._settings.configs, loop.time()
        try:
            client = await self._open_to(address)
        except asyncio.CancelledError:
            if loop.time() - began > SLOW_S:
                self.keeps_waiting(node)
            raise
        except (OSError, EOFError, RemoteProtocolError) as error:
            why = client_error(error, address, f", asked by {configs.security_protocol}")
            longest_s = max(configs.reconnect_backoff_ms, configs.reconnect_backoff_max_ms) / 1000
            backoff = Backoff(configs.reconnect_backoff_ms / 1000, longest_s) if failed is None else failed.backoff
            self._failed[node] = _Failed(loop.time() + backoff.next_s() * random.uniform(0.8, 1.2), why, backoff)  # noqa: S311 (no secret)
            self._is_stale = True
            if isinstance(error, TimeoutError):
                self.keeps_waiting(node)
            raise why from error
        self._failed.pop(node, None)
        self._silent.pop(address, None)
        self._set_buffers(client)
        self._open[node] = made = NodeConnection(
            client, address, lambda error: self._lose(node, error), lambda: self._heard(address)
        )
        return made

    async def apart(self, node: int) -> RpcClient:
        """A connection of its own, which the caller closes: on the other one a question may be open. Raises
        Unreachable, Unauthenticated.
        """
        address = self._address_of(node)
        if address is None:
            raise Unreachable(f"Broker {node} is not available.")
        try:
            return await self._open_to(address)
        except (OSError, EOFError, RemoteProtocolError) as error:
            raise client_error(error, address, f", asked by {self._settings.configs.security_protocol}") from error

    @property
    def failures(self) -> list[str]:
        """Why given addresses could not be reached, in their order."""
        return [self._failed[node].why.message for node in self._given if node in self._failed]

    @property
    def silent(self) -> list[Address]:
        """Given addresses that take a question and answer nothing."""
        return [address for node, address in self._given.items() if self.is_silent(node) and node not in self._failed]

    async def _open_to(self, address: Address) -> RpcClient:
        """Waits until the node has said what it serves."""
        configs = self._settings.configs
        client = await connect(
            *address,
            configs.client_id,
            configs.request_timeout_ms / 1000,
            self._settings.tls,
            self._settings.login,
            max_in_flight=configs.max_in_flight_requests_per_connection,
            max_answer_bytes=configs.receive_message_max_bytes,
        )
        try:
            await client.versions()
        except BaseException:
            client.close()
            raise
        return client

    def _set_buffers(self, client: RpcClient) -> None:
        configs = self._settings.configs
        for option, size in (
            (socket.SO_RCVBUF, configs.receive_buffer_bytes),
            (socket.SO_SNDBUF, configs.send_buffer_bytes),
        ):
            if size >= 0:
                with suppress(OSError):
                    client.socket.setsockopt(socket.SOL_SOCKET, option, size)

    def _heard(self, address: Address) -> None:
        self._silent.pop(address, None)

    def _lose(self, node: int, error: Exception) -> None:
        self._is_stale = True
        if isinstance(error, TimeoutError):
            self.keeps_waiting(node)
        self._open.pop(node, None)

    def _close(self, node: int) -> None:
        self._open.pop(node).client.close()

    def _close_idle(self) -> None:
        """Comes before the node does it."""
        since = asyncio.get_running_loop().time() - self._settings.configs.connections_max_idle_ms / 1000
        for node, one in list(self._open.items()):
            if one.client.last_used < since and not one.client.in_flight:
                self._close(node)

    async def close(self) -> None:
        """Lets the event loop close the sockets."""
        for node in list(self._open):
            self._close(node)
        await asyncio.sleep(0)


def client_error(error: Exception, address: Address, asked_by: str = "") -> KafkaError:
    """`asked_by` is part of the text where a listener of another security protocol, or no Kafka, may have answered."""
    if isinstance(error, LoginFailed):
        return Unauthenticated(f"{address}: {shortened(str(error), MAX_REASON)}")
    if isinstance(error, ssl.SSLError):
        alert = _alert(error)
        if alert:
            return Unauthenticated(f"{address}: it refuses this client: {alert}")
        if not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):  # a node that goes down ends so, too
            return Unauthenticated(f"{address}: {shortened(tls_failure(error), MAX_REASON)}")
    if isinstance(error, BadFrameSize) and asked_by:
        return Unreachable(f"{address}: no answer in Kafka's protocol{asked_by} ({error})")
    is_ended = isinstance(error, EOFError | ConnectionResetError | ssl.SSLError)
    return Unreachable(f"{address}: {_ended(error)}{asked_by}" if is_ended else f"{address}: {error_text(error)}")


def _ended(error: Exception) -> str:
    """A reset from asyncio has no text."""
    return error_text(error) if str(error) else "the connection was reset"


def _alert(error: ssl.SSLError) -> str:
    """The alert of TLS with which a node has ended a connection, or "". With TLS 1.3 a node refuses a client's
    certificate after the client has done its part.
    """
    return (error.reason or "").partition("ALERT_")[2].lower().replace("_", " ")
