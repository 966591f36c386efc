"""The load client: blocking sockets, and frames encoded beforehand, so that the client costs almost nothing."""

import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Self

from benchmarks import frames

Address = tuple[str, int]


class Wire:
    """One connection, over TLS if there is a context. Every wait raises TimeoutError after `timeout` seconds."""

    def __init__(self, address: Address, timeout: float = 60.0, tls: ssl.SSLContext | None = None) -> None:
        self._socket = socket.create_connection(address, timeout=timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname=address[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, frame: bytes) -> bytes:
        """The answer without its length."""
        self._socket.sendall(frame)
        return self.answer()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> int:
        """The number of bytes received."""
        count = len(self._socket.recv(1 << 16))
        if not count:
            raise ConnectionError("the server closed the connection")
        return count

    def answer(self) -> bytes:
        return bytes(self._exactly(int.from_bytes(self._exactly(4), "big")))

    def _exactly(self, count: int) -> bytearray:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            got = self._socket.recv_into(view)
            if not got:
                raise ConnectionError("the server closed the connection")
            view = view[got:]
        return data


class Latencies(NamedTuple):
    """Seconds from request to answer, in the order of the answers."""

    of_each: list[float]
    took: float

    @property
    def per_second(self) -> float:
        return len(self.of_each) / self.took

    def percentile(self, percent: float) -> float:
        ordered = sorted(self.of_each)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]

    @property
    def worst(self) -> float:
        return max(self.of_each)


def small_requests(
    address: Address,
    depth: int,
    go_on: Callable[[float], bool],
    timeout: float = 60.0,
    connect: Callable[[Address, float], Wire] = Wire,
) -> Latencies:
    """Sends empty Lists on one connection, with `depth` requests outstanding, while `go_on(seconds since start)`.

    Ends when nothing has come for `timeout` seconds. Requests without an answer count as answered at that moment.
    """
    frame = frames.LIST_NOTHING
    with connect(address, timeout) as wire:
        size = len(wire.ask(frame)) + 4
        done: list[float] = []
        sent: deque[float] = deque()
        clock = time.perf_counter
        begun = now = clock()
        wire.send(frame * depth)
        sent.extend([now] * depth)
        received = answered = 0
        while go_on(now - begun):
            try:
                received += wire.receive()
            except TimeoutError:
                now = clock()
                done.extend(now - moment for moment in sent)
                break
            now = clock()
            fresh = received // size - answered
            if fresh:
                answered += fresh
                done.extend(now - sent.popleft() for _ in range(fresh))
                now = clock()
                wire.send(frame * fresh)
                sent.extend([now] * fresh)
        return Latencies(done, now - begun)


class Pings:
    """Sends an empty List every few milliseconds while the block runs, to measure how others are served.

    The latency of a ping counts from the moment at which it was due, so a late ping does not hide the next ones.
    """

    def __init__(self, address: Address, every: float = 0.002) -> None:
        self._address = address
        self._every = every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._done: list[float] = []
        self._ready = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def result(self) -> Latencies:
        return Latencies(self._done, len(self._done) * self._every)

    def _run(self) -> None:
        with Wire(self._address, timeout=3600) as wire:
            wire.ask(frames.LIST_NOTHING)
            self._ready.set()
            due = time.perf_counter()
            while not self._over.is_set():
                wire.ask(frames.LIST_NOTHING)
                now = time.perf_counter()
                self._done.append(now - due)
                due = max(due + self._every, now)
                time.sleep(max(0.0, due - now))


def until_nothing_moves(address: Address, timeout: float, every: float = 0.05) -> None:
    """Repeat a List of everything until it is empty. Raises TimeoutError after `timeout` seconds."""
    end = time.perf_counter() + timeout
    with Wire(address, timeout) as wire:
        while not frames.nothing_moves(wire.ask(frames.LIST_ALL)):
            if time.perf_counter() > end:
                raise TimeoutError
            time.sleep(every)


def until_controller(address: Address, timeout: float, every: float = 0.002) -> float:
    """Ask one node until it answers as the controller; returns the time (time.time()) of that answer."""
    end = time.perf_counter() + timeout
    with Wire(address, timeout) as wire:
        while frames.list_error(wire.ask(frames.LIST_NOTHING)) != 0:
            if time.perf_counter() > end:
                raise TimeoutError
            time.sleep(every)
        return time.time()
