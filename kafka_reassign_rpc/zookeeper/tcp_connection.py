"""aiozk's Connection, with its open ends closed.

aiozk opens a second connection for `srvr`, takes a closed connection for a silent one, and can spin or block on a frame
that is cut short. Here the caller's timeout bounds every step, and every loss ends up in `drop`: calls that wait for an
answer get Unknown, those that wait to be sent get NotSent.
"""

import asyncio
import ssl
import struct
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any

from aiozk import protocol
from aiozk.connection import Connection

from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent, TooBig, Unknown, ZkError, from_code

Parse = Callable[[bytes], Any]
"""Makes a result of a whole answer packet. Raises ZkError for the caller, ValueError or struct.error on garbage."""

MAX_FRAME = 1_048_575
"""The largest request packet that ZooKeeper takes (jute.maxbuffer); with one byte more it closes the connection."""
MAX_ANSWER = 256 << 20
"""ZooKeeper sets no limit to its answers; a length beyond this one is garbage."""
MAX_BYTES_IN_FLIGHT = 4 << 20
"""Bytes sent or about to be sent, and not answered. Beyond it calls wait, in their order."""
REQUEST_COST = 512
"""A request counts at least so much, for its answer and its bookkeeping: at most some 8,000 small ones are in
flight."""

READ_CHUNK = 1 << 18
WATCH_XID, PING_XID = -1, -2

_LENGTH = struct.Struct(">i")
_ANSWER = struct.Struct(">iqi")


class ZooKeeperConnection(Connection):  # type: ignore[misc]  # aiozk has no types
    """`pump` reads until the connection is lost. `submit` sends in the order of calls."""

    def __init__(
        self,
        host: str,
        port: int,
        watch_handler: Callable[[int, str], None],
        answered: Callable[[float, int], None],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(host, port, watch_handler, None)
        self.tls = tls
        self.answered = answered
        self.lost: str | None = None
        self.last_recv = monotonic()
        self.bytes_in_flight = 0
        self.pinging = False
        self._queued: deque[tuple[asyncio.Future[Any], int, bytes, Parse, str]] = deque()
        self._unwritten: list[bytes] = []

    async def connect(self) -> None:
        """Raises OSError."""
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port, ssl=self.tls, limit=READ_CHUNK)

    async def handshake(self, request: Any) -> Any:
        """Asks for a session, new or old; returns aiozk's ConnectResponse. Raises OSError, EOFError, struct.error."""
        packet = request.serialize()
        self.writer.write(_LENGTH.pack(len(packet)) + packet)
        size = _LENGTH.unpack(await self.reader.readexactly(4))[0]
        if not 20 <= size <= 1024:
            raise ConnectionError(f"a handshake of {size} bytes")
        response = protocol.ConnectResponse.deserialize(await self.reader.readexactly(size))
        self.last_recv = monotonic()
        return response

    # Sending

    def send(self, request: Any, xid: int = 0) -> asyncio.Future[Any]:
        """An aiozk request; the future ends in aiozk's response object."""
        number: int = xid if request.special_xid is None else request.special_xid
        response = protocol.response_xref[request.opcode]
        return self.submit(number, request.serialize(number), lambda answer: response.deserialize(answer[16:]))

    def submit(self, xid: int, packet: bytes, parse: Parse, path: str = "") -> asyncio.Future[Any]:
        """At once, or when the requests in flight leave room. The future ends in the parsed answer or a ZkError. Raises
        NotSent, TooBig.
        """
        if self.lost is not None:
            raise NotSent(f"not connected: {self.lost}")
        if len(packet) > MAX_FRAME:
            raise TooBig(len(packet), MAX_FRAME)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if xid >= 0 and (self._queued or not self._has_room(len(packet))):
            self._queued.append((future, xid, packet, parse, path))
        else:
            self._put(future, xid, packet, parse, path)
        return future

    def _has_room(self, size: int) -> bool:
        return self.bytes_in_flight + max(size, REQUEST_COST) <= MAX_BYTES_IN_FLIGHT

    def _put(self, future: asyncio.Future[Any], xid: int, packet: bytes, parse: Parse, path: str) -> None:
        cost = max(len(packet), REQUEST_COST)
        self.bytes_in_flight += cost
        entry = (future, parse, monotonic(), cost, path)
        if xid < 0:
            self.pending_specials[xid].append(entry)
        else:
            self.pending[xid] = entry
        # One write to the transport per turn of the loop: a thousand pipelined singles are one system call, not 1000.
        if not self._unwritten:
            asyncio.get_running_loop().call_soon(self._flush)
        self._unwritten += (_LENGTH.pack(len(packet)), packet)

    def ping(self) -> None:
        if self.pinging or self.lost is not None:
            return
        self.pinging = True
        self.submit(PING_XID, struct.pack(">ii", PING_XID, 11), self._pinged).add_done_callback(_seen)

    def _pinged(self, _: bytes) -> None:
        self.pinging = False

    def _flush(self) -> None:
        # The transport may have closed after a reset of which `pump` has yet to hear: uvloop's raises RuntimeError then
        if self.lost is None and not self.writer.is_closing():
            self.writer.write(b"".join(self._unwritten))
        self._unwritten.clear()

    # Receiving

    async def pump(self) -> str:
        """Returns why the connection is lost."""
        try:
            buffer = bytearray()
            while self.lost is None:
                data = await self.reader.read(READ_CHUNK)
                if not data:
                    self.drop("closed by the server")
                    break
                self.last_recv = monotonic()
                buffer += data
                done = self._packets(buffer)
                if done:
                    del buffer[:done]
        except (OSError, struct.error, ValueError, LookupError) as error:
            self.drop(error_text(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}")
        finally:
            self.drop("cancelled")
        assert self.lost is not None
        return self.lost

    def _packets(self, buffer: bytearray) -> int:
        at, end = 0, len(buffer)
        while end - at >= 4 and self.lost is None:
            size = _LENGTH.unpack_from(buffer, at)[0]
            if not 16 <= size <= MAX_ANSWER:
                raise ValueError(f"a packet of {size} bytes")
            if end - at - 4 < size:
                break
            at += 4 + size
            self._packet(bytes(buffer[at - size : at]))
        return at

    def _packet(self, packet: bytes) -> None:
        xid, zxid, code = _ANSWER.unpack_from(packet)
        if xid == WATCH_XID:
            kind, _, length = struct.unpack_from(">iii", packet, 16)
            self.watch_handler(kind, packet[28 : 28 + length].decode())
            return
        if xid < 0:
            future, parse, sent, cost, path = self.pending_specials[xid].pop(0)
        else:
            future, parse, sent, cost, path = self.pending.pop(xid)
        self.answered(sent, zxid)
        self.bytes_in_flight -= cost
        while self._queued and self._has_room(len(self._queued[0][2])):
            queued = self._queued.popleft()
            if not queued[0].done():  # a call that was cancelled while it waited is not sent
                self._put(*queued)
        if future.done():
            return
        if code:
            future.set_exception(from_code(code, path))
            return
        try:
            future.set_result(parse(packet))
        except ZkError as error:
            future.set_exception(error)
        except (struct.error, ValueError, LookupError) as error:
            future.set_exception(Unknown(f"an answer that cannot be read: {error}"))
            raise

    # The end

    def drop(self, why: str) -> None:
        """Lost or given up. Further calls do nothing."""
        if self.lost is not None:
            return
        self.lost = why
        self.closing = True
        if self.writer is not None:
            self.writer.transport.abort()
        for entry in self.drain_all_pending():
            if not entry[0].done():
                entry[0].set_exception(Unknown(f"the connection was lost before the answer: {why}"))
        for future, *_ in self._queued:
            if not future.done():
                future.set_exception(NotSent(f"not connected: {why}"))
        self._queued.clear()

    async def close(self, _timeout: float = 0) -> None:  # aiozk's signature
        self.drop("closed")


def _seen(future: asyncio.Future[Any]) -> None:
    """The loss of the connection is reported elsewhere."""
    if not future.cancelled():
        future.exception()
