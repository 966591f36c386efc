"""A ZooKeeper session: kept over lost connections, over exactly when it is over, and never silently replaced.

    from        event                                               to          hooks called

    new         handshake accepted                                  connected   connected
    connected   close, reset, bad packet, 2T/3 of silence           suspended   disconnected
    suspended   handshake accepted with the same session            connected   connected
    suspended   handshake refused, swallowed or closed; no route    suspended   none: the next host is tried
    suspended   the server says that the session has expired        new         over
    any         T has passed since the last answered request left   new         over (the *lease* has run out)

T is the negotiated session timeout. The lease counts from the time when an answered request was *sent*: by our own
clock, it never ends after the server's. A server that was away too may still keep a session whose lease has run out.
This process then connects to it once more, only to close it: its ephemeral znodes would block those of the new session.

Of aiozk's Session the fields and the shape are used; all code that waits, retries or restores is replaced.
"""

import asyncio
import contextlib
import logging
import random
import struct
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from aiozk import protocol
from aiozk.session import Session
from aiozk.states import States

from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.zookeeper.access import PLAIN, Access
from kafka_reassign_rpc.zookeeper.tcp_connection import ZooKeeperConnection
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent, SessionOver, ZkError

log = logging.getLogger(__name__)

NO_PASSWORD = b"\0" * 16
SASL, CLOSE_SESSION = 102, -11
MIN_BACKOFF, MAX_BACKOFF = 0.05, 1.0
FIRST_STEP_SECONDS = 5.0
MIN_STEP_SECONDS = 0.25
SHORT_LIVED_SECONDS = 0.5
"""A connection lost sooner counts as refused: otherwise the client would try a server that accepts and drops again and
again without a pause."""


class Expired(Exception): ...


class ZooKeeperSession(Session):  # type: ignore[misc]  # aiozk has no types
    """Hooks are called synchronously; their exceptions are logged."""

    conn: ZooKeeperConnection | None
    hosts: list[tuple[str, int]]
    session_id: int | None
    password: bytes
    timeout: float
    xid: int
    started: bool
    closing: bool
    repair_loop_task: asyncio.Task[None] | None

    def __init__(
        self,
        hosts: Sequence[tuple[str, int]],
        timeout: float,
        *,
        access: Access = PLAIN,
        watch: Callable[[int, str], None],
    ) -> None:
        super().__init__(",".join(str(Address(*host)) for host in hosts), timeout, None, False, None)
        self.hosts = list(hosts)
        random.shuffle(self.hosts)
        self.wanted_timeout = timeout
        self.access = access
        self.watch = watch
        self.password = NO_PASSWORD
        self.last_zxid = 0
        self.alive_at = monotonic()
        self.round_trip = 0.0
        self.last_error = "not tried yet"
        self.connected_hooks: list[Callable[[], None]] = []
        self.disconnected_hooks: list[Callable[[], None]] = []
        self.over_hooks: list[Callable[[int], None]] = []
        self._host = -1
        self._stale: tuple[int, bytes] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._connected = asyncio.Event()
        self._changed = asyncio.Event()
        """It is set, and replaced, when the session gets a connection or ends."""

    # What callers see

    @property
    def connected(self) -> bool:
        return bool(self.state.current_state == States.CONNECTED)

    def lease_left(self) -> float:
        """Seconds for which the session lives at least, as far as this process can know. At 0 or less: act as if it
        were over.
        """
        return 0.0 if self.session_id is None else self.alive_at + self.timeout - monotonic()

    def connection(self, session: int | None = None) -> ZooKeeperConnection:
        if session is not None and session != self.session_id:
            raise SessionOver(f"session {session:#x} is over")
        if self.conn is None or self.state.current_state != States.CONNECTED:
            raise NotSent(f"not connected to ZooKeeper: {self.last_error}")
        return self.conn

    async def connected_again(self, session: int) -> None:
        """Raises SessionOver as soon as the session is over."""
        while True:
            changed = self._changed
            try:
                if self.connection(session).lost is None:
                    return
            except NotSent:
                pass
            await changed.wait()

    def _signal_change(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def next_xid(self) -> int:
        self.xid = self.xid % 0x7FFFFFFF + 1
        return self.xid

    async def start(self) -> None:
        """Call it with a timeout; then `close`."""
        if not self.started:
            self.started = True
            self.repair_loop_task = asyncio.create_task(self.repair_loop())
            self._tick()
        await self._connected.wait()

    async def close(self) -> None:
        """If connected, the session's ephemeral znodes go at once. Calls no hook."""
        if not self.started:
            return
        self.started = False
        self.closing = True
        if self._timer is not None:
            self._timer.cancel()
        conn = self.conn
        if conn is not None and self.connected:
            self.state.transition_to(States.SUSPENDED)
            with contextlib.suppress(ZkError, TimeoutError):
                async with asyncio.timeout(min(2.0, self.timeout)):
                    await self._farewell(conn)
        if self.repair_loop_task is not None:
            self.repair_loop_task.cancel()
            await asyncio.gather(self.repair_loop_task, return_exceptions=True)
            self.repair_loop_task = None
        if conn is not None:
            conn.drop("closed")
        self._connected.clear()
        self.session_id, self.password, self._stale = None, NO_PASSWORD, None
        self._signal_change()
        self.closing = False

    async def _farewell(self, conn: ZooKeeperConnection) -> None:
        xid = self.next_xid()
        await conn.submit(xid, struct.pack(">ii", xid, CLOSE_SESSION), bytes)

    # Getting and keeping a connection

    async def repair_loop(self) -> None:
        failures = 0
        while True:
            since = monotonic()
            try:
                pump = await self._connect()
            except Expired:
                self._over("the server has expired it", known_to_server=False)
                continue
            except (OSError, EOFError, struct.error, ValueError, ZkError) as error:
                reason = f"{Address(*self._at())}: {_why(error)}"
                level = logging.DEBUG if reason == self.last_error else logging.INFO
                log.log(level, "no ZooKeeper session over %s", reason)
                self.last_error = reason
            else:
                lost = await pump
                self.last_error = f"{Address(*self._at())}: {lost}"
                if self.connected:
                    self._suspend(lost)
                if monotonic() - since > SHORT_LIVED_SECONDS:
                    failures = 0
                    continue
            failures += 1
            rounds, rest = divmod(failures, len(self.hosts))
            if rest == 0:
                await asyncio.sleep(min(MIN_BACKOFF * 2 ** min(rounds - 1, 10), MAX_BACKOFF))

    def _at(self) -> tuple[str, int]:
        return self.hosts[self._host % len(self.hosts)]

    def _step_seconds(self) -> float:
        """For connecting and shaking hands with one host: all hosts must fit in before the lease ends."""
        if self.session_id is None:
            return min(FIRST_STEP_SECONDS, max(self.wanted_timeout, MIN_STEP_SECONDS))
        return max(self.timeout / 3 / max(1, len(self.hosts) - 1), MIN_STEP_SECONDS)

    async def _connect(self) -> asyncio.Task[str]:
        self._host += 1
        async with asyncio.timeout(self._step_seconds()):
            asked_for = self.session_id
            conn, sent, response = await self._shake_hands(asked_for or 0, self.password, self.last_zxid)
            if response.timeout <= 0 or not response.session_id:
                conn.drop("session expired")
                if asked_for is not None and asked_for == self.session_id:
                    raise Expired
                raise ConnectionError("the server gave no session")
            if asked_for != self.session_id:  # the lease ran out meanwhile: the resumed session is not ours any more
                conn.drop("session given up")
                raise ConnectionError("the session was given up during the handshake")
            pump = asyncio.create_task(conn.pump())
            try:
                await self._authenticate(conn)
                if conn.lost is not None or asked_for != self.session_id:
                    raise ConnectionError(conn.lost or "the session was given up during the handshake")  # noqa: TRY301
            except BaseException:
                conn.drop("not authenticated")
                await asyncio.gather(pump, return_exceptions=True)
                raise
        if self._stale is not None:
            try:
                await self._close_stale(*self._stale)
            except BaseException:
                conn.drop("cancelled")
                await asyncio.gather(pump, return_exceptions=True)
                raise
        self.conn = conn
        self.session_id, self.password = response.session_id, response.password
        self.timeout = response.timeout / 1000
        self.alive_at = max(sent, self.alive_at) if asked_for else sent
        self.state.transition_to(States.CONNECTED)
        self._connected.set()
        self._signal_change()
        self._tick()
        if self.session_id is None:  # this process stood still during the handshake: the lease has run out already
            return pump
        log.info("ZooKeeper session %#x over %s, timeout %g s", self.session_id, Address(*self._at()), self.timeout)
        _call(self.connected_hooks)
        return pump

    async def _shake_hands(self, session: int, password: bytes, zxid: int) -> tuple[ZooKeeperConnection, float, Any]:
        host, port = self._at()
        tls = None if self.access.tls is None else self.access.tls.context
        conn = ZooKeeperConnection(host, port, self.watch, self._answered, tls)
        try:
            await conn.connect()
            sent = monotonic()
            response = await conn.handshake(
                protocol.ConnectRequest(
                    protocol_version=0,
                    last_seen_zxid=zxid,
                    timeout=int(self.wanted_timeout * 1000),
                    session_id=session,
                    password=password,
                    read_only=False,
                )
            )
        except BaseException:
            conn.drop("handshake failed")
            raise
        return conn, sent, response

    async def _authenticate(self, conn: ZooKeeperConnection) -> None:
        if self.access.sasl is not None:
            await self.access.sasl(conn.host, lambda token: self._sasl_exchange(conn, token))
        for scheme, credentials in self.access.auth:
            await conn.send(protocol.AuthRequest(type=0, scheme=scheme, auth=credentials))

    async def _sasl_exchange(self, conn: ZooKeeperConnection, token: bytes) -> bytes:
        xid = self.next_xid()
        packet = struct.pack(">iii", xid, SASL, len(token)) + token
        answer: bytes = await conn.submit(xid, packet, bytes)
        size = struct.unpack_from(">i", answer, 16)[0]
        return answer[20 : 20 + max(size, 0)]

    async def _close_stale(self, session: int, password: bytes) -> None:
        """Once: a server that was away itself keeps the session for a whole timeout after its return."""
        self._stale = None
        pump = None
        with contextlib.suppress(OSError, EOFError, struct.error, ZkError):
            async with asyncio.timeout(self._step_seconds()):
                conn, _, response = await self._shake_hands(session, password, 0)
                try:
                    if response.timeout > 0 and response.session_id:
                        pump = asyncio.create_task(conn.pump())
                        await self._authenticate(conn)
                        await self._farewell(conn)
                        log.info("ZooKeeper session %#x, given up before, was still alive and is closed now", session)
                finally:
                    conn.drop("session given up")
        if pump is not None:
            await asyncio.gather(pump, return_exceptions=True)

    # Losing it

    def _answered(self, sent: float, zxid: int) -> None:
        self.alive_at = max(self.alive_at, sent)
        self.round_trip = monotonic() - sent
        self.last_zxid = max(self.last_zxid, zxid)

    def _suspend(self, why: str) -> None:
        self.state.transition_to(States.SUSPENDED)
        self._connected.clear()
        log.warning("ZooKeeper connection lost, nothing is read or written until it is back: %s", why)
        _call(self.disconnected_hooks)

    def _over(self, why: str, *, known_to_server: bool) -> None:
        old = self.session_id
        if old is None:
            return
        if self.conn is not None and self.connected:
            self.conn.drop(why)
            self._suspend(why)
        if known_to_server:
            self._stale = (old, self.password)
        self.session_id, self.password, self.last_zxid = None, NO_PASSWORD, 0
        self.state.transition_to(States.LOST)
        log.warning(
            "ZooKeeper session %#x is over, and with it what it registered; a new one is asked for: %s", old, why
        )
        self._signal_change()
        _call(self.over_hooks, old)

    def _tick(self) -> None:
        """Pings when a third of the lease is used, drops a silent connection, ends a lease that has run out."""
        if self._timer is not None:
            self._timer.cancel()
        timeout = self.timeout
        wait = timeout / 12
        if self.session_id is not None:
            left = self.lease_left()
            if left <= 0:
                self._over("its lease has run out", known_to_server=True)
            else:
                wait = min(wait, left)
                now = monotonic()
                if self.conn is not None and self.connected:
                    if now - self.conn.last_recv > timeout * 2 / 3:
                        # After a stall of this process the answer may lie unread in the socket: read it first.
                        asyncio.get_running_loop().call_soon(self._silent, self.conn, 3)
                    elif now - self.alive_at >= timeout / 3:
                        self.conn.ping()
        self._timer = asyncio.get_running_loop().call_later(max(wait, 0.005), self._tick)

    def _silent(self, conn: ZooKeeperConnection, turns: int) -> None:
        if conn.lost is not None or monotonic() - conn.last_recv <= self.timeout * 2 / 3:
            return
        if turns:
            asyncio.get_running_loop().call_soon(self._silent, conn, turns - 1)
            return
        conn.drop(f"nothing heard for {monotonic() - conn.last_recv:.1f} s")

    # aiozk's machinery that must never run

    async def send(self, request: Any) -> Any:
        return await self.connection().send(request, self.next_xid())

    def set_heartbeat(self) -> None:
        """The watchdog pings."""


def _why(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "closed during the handshake"
    if isinstance(error, TimeoutError):
        return "no answer"
    return error_text(error)


def _call(hooks: Sequence[Callable[..., None]], *arguments: Any) -> None:
    for hook in list(hooks):
        try:
            hook(*arguments)
        except Exception:
            log.exception("a ZooKeeper session hook failed: the session goes on")
