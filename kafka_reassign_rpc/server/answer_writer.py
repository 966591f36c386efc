"""Writes answers to the transport: a large one goes piece by piece, as the peer takes it."""

import asyncio
from collections import deque

from kafka_reassign_rpc.server.server_stats import ServerStats

PIECE_BYTES = 64 * 1024
"""The approximate size of a piece."""
BURST_BYTES = 1024 * 1024
"""So much goes to the transport in one turn of the loop."""


class AnswerWriter:
    """While it is `clogged` by what the peer has not taken, no further answer is made."""

    def __init__(self, stats: ServerStats) -> None:
        self._stats = stats
        self._transport: asyncio.Transport | None = None
        self._full = False
        """The transport has bytes that it could not write yet."""
        self._pieces: deque[bytes | memoryview] = deque()
        """What the transport does not have yet."""
        self._piece_bytes = 0
        self.clogged = False

    def begin(self, transport: asyncio.Transport) -> None:
        transport.set_write_buffer_limits(high=1)  # what is not written clogs; with 0, TLS always does
        self._transport = transport

    def end(self) -> None:
        self._transport = None
        self._pieces.clear()
        self._piece_bytes = 0
        self._full = self.clogged = False

    @property
    def empty(self) -> bool:
        return not self._pieces

    @property
    def unread_bytes(self) -> int:
        if self._full and self._transport is not None:
            return self._piece_bytes + self._transport.get_write_buffer_size()
        return self._piece_bytes

    def write(self, out: list[bytes]) -> bool:
        """Sends answers, or pieces of one. Returns whether to call `write_on` in the next turn of the loop."""
        if not out or self._transport is None:
            return False
        if not self.clogged:
            data = out[0] if len(out) == 1 else b"".join(out) if sum(map(len, out)) <= PIECE_BYTES else b""
            size = len(data)
            if 0 < size <= PIECE_BYTES:
                self._stats.bytes_sent += size
                self._transport.write(data)
                return False
        for piece in out:
            self._piece_bytes += len(piece)
            if len(piece) <= 2 * PIECE_BYTES:
                self._pieces.append(piece)
            else:
                view = memoryview(piece)
                self._pieces.extend(view[at : at + PIECE_BYTES] for at in range(0, len(piece), PIECE_BYTES))
        return self.write_on()

    def write_on(self) -> bool:
        """Until the transport is full or the turn ends. Returns whether the turn ended it."""
        burst = 0
        while self._pieces and not self._full and self._transport is not None and burst <= BURST_BYTES:
            piece = self._pieces.popleft()
            burst += len(piece)
            self._piece_bytes -= len(piece)
            self._stats.bytes_sent += len(piece)
            self._transport.write(piece)
        self.clogged = self._full or bool(self._pieces)
        return bool(self._pieces) and not self._full and self._transport is not None

    def pause(self) -> None:
        self._full = self.clogged = True

    def resume(self) -> None:
        """The transport has written what it had. Call `write_on`."""
        self._full = False
