"""A crowd of hostile connections, in processes of its own: `python -m tests.fuzz.crowd HOST:PORT NUMBER FIRST_HOST`.

A third is silent, a third sends half a frame, a third asks for metadata and reads nothing. What the server closes comes
again. Each second it prints a line of JSON: how many connections are open, how many were opened and how many closed by
the server. It ends when its standard input ends.
"""

import json
import os
import select
import socket
import struct
import sys
import time
from contextlib import suppress

HOSTS = 8
"""Addresses from which a process comes: 127.0.FIRST.1 to 127.0.FIRST.8."""
OPENED_A_SECOND = 200
HALF = struct.pack(">i", 100_000) + bytes(1000)
UNREAD = struct.pack(">ihhihi", 14, 3, 1, 1, -1, -1) * 3
"""Metadata of all topics."""
SENT = (b"", HALF, UNREAD)
IP_BIND_ADDRESS_NO_PORT = 24


class Crowd:
    """The connections of one process."""

    def __init__(self, address: tuple[str, int], number: int, first: int) -> None:
        self._address = address
        self._number = number
        self._first = first
        self._epoll = select.epoll()
        self._connections: dict[int, tuple[socket.socket, int]] = {}
        self._since = time.monotonic()
        self.opened = self.closed = 0

    @property
    def open(self) -> int:
        return len(self._connections)

    def grow(self) -> None:
        """Opens those that are missing, some each second."""
        due = int((time.monotonic() - self._since) * OPENED_A_SECOND)
        for _ in range(min(due - self.opened, self._number - self.open)):
            connection = socket.socket()
            connection.setblocking(False)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
            connection.bind((f"127.0.{self._first}.{1 + self.opened % HOSTS}", 0))
            with suppress(BlockingIOError):
                connection.connect(self._address)
            self._epoll.register(connection, select.EPOLLOUT | select.EPOLLRDHUP)
            self._connections[connection.fileno()] = connection, self.opened % 3
            self.opened += 1

    def look(self, seconds: float) -> None:
        """Sends what new ones send, and notices what the server has closed."""
        for number, events in self._epoll.poll(seconds):
            connection, kind = self._connections[number]
            if events & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR):
                self._gone(number)
                continue
            self._epoll.modify(number, select.EPOLLRDHUP)
            try:
                connection.send(SENT[kind])
            except OSError:
                self._gone(number)

    def _gone(self, number: int) -> None:
        connection, _ = self._connections.pop(number)
        self._epoll.unregister(number)
        connection.close()
        self.closed += 1


def main() -> None:
    os.nice(10)  # on other machines it would take no time from the server
    host, _, port = sys.argv[1].rpartition(":")
    crowd, told = Crowd((host, int(port)), int(sys.argv[2]), int(sys.argv[3])), time.monotonic()
    while not select.select([sys.stdin], [], [], 0)[0]:
        crowd.grow()
        crowd.look(0.01)
        if time.monotonic() - told >= 1:
            told = time.monotonic()
            print(json.dumps({"open": crowd.open, "opened": crowd.opened, "closed": crowd.closed}), flush=True)


if __name__ == "__main__":
    main()
