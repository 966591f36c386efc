"""An honest client in a process of its own: `python -m tests.fuzz.honest HOST:PORT METRICS_HOST:PORT`.

It asks all the time, on a connection that it keeps and on new ones, and asks `/ready`. Each second it prints a line of
JSON: how many requests, how many of them waited for more than LATE_S, the longest wait for each of the three in
seconds, and errors. It ends when its standard input
ends.
"""

import http.client
import json
import select
import socket
import sys
import time
from collections.abc import Callable

from kafka_reassign_rpc.protocol.frame_codec import decode_response, encode_request
from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

EVERY_S = 0.02
LATE_S = 0.05
TIMEOUT_S = 120.0
ERRORS_TOLD = 20
READY_EVERY, CONNECT_EVERY = 25, 5
VERSIONS = encode_request(ApiVersionsRequest(version=0), version=0, correlation_id=1, client_id="honest")
LIST = encode_request(
    ListPartitionReassignmentsRequest(version=0, timeout_ms=60_000, topics=None),
    version=0,
    correlation_id=1,
    client_id="honest",
)

Address = tuple[str, int]


def connect(address: Address) -> socket.socket:
    found = socket.create_connection(address, timeout=TIMEOUT_S)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def ask(connection: socket.socket, request: bytes) -> bytes:
    """The answer without its length."""
    connection.sendall(request)
    return _exactly(connection, int.from_bytes(_exactly(connection, 4), "big"))


def _exactly(connection: socket.socket, count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        data = connection.recv(count - len(found))
        if not data:
            raise ConnectionError("the server closed the connection")
        found += data
    return bytes(found)


class Honest:
    """Asks, and keeps the longest waits and the errors since the last report."""

    def __init__(self, address: Address, pages: Address) -> None:
        self._address, self._pages = address, pages
        self._kept = connect(address)
        self._clear()

    def _clear(self) -> None:
        self._waits = {"request": 0.0, "connection": 0.0, "ready": 0.0}
        self._count = self._late = 0
        self._errors: list[str] = []

    def report(self) -> str:
        line = json.dumps(
            {"count": self._count, "late": self._late, "waits": self._waits, "errors": self._errors[:ERRORS_TOLD]}
        )
        self._clear()
        return line

    def turn(self, number: int) -> None:
        self._timed("request", self._request)
        if number % CONNECT_EVERY == 0:
            self._timed("connection", self._connection)
        if number % READY_EVERY == 0:
            self._timed("ready", self._ready)

    def _timed(self, kind: str, work: Callable[[], None]) -> None:
        since = time.perf_counter()
        try:
            work()
        except (OSError, http.client.HTTPException, AssertionError) as error:
            self._errors.append(f"{kind}: {type(error).__name__}: {error}")
            if kind == "request":
                self._kept.close()
                self._kept = connect(self._address)
        waited = time.perf_counter() - since
        self._count += 1
        self._late += waited > LATE_S
        self._waits[kind] = max(self._waits[kind], waited)

    def _request(self) -> None:
        _, answer = decode_response(ListPartitionReassignmentsResponse, ask(self._kept, LIST), version=0)
        assert answer.error_code == 0, f"error {answer.error_code}: {answer.error_message}"

    def _connection(self) -> None:
        with connect(self._address) as connection:
            _, answer = decode_response(ApiVersionsResponse, ask(connection, VERSIONS), version=0)
            assert answer.error_code == 0, f"error {answer.error_code}"

    def _ready(self) -> None:
        connection = http.client.HTTPConnection(*self._pages, timeout=TIMEOUT_S)
        try:
            connection.request("GET", "/ready")
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, f"/ready answers {answer.status}: {body!r}"
        finally:
            connection.close()


def main() -> None:
    address, pages = ((host, int(port)) for host, _, port in (text.rpartition(":") for text in sys.argv[1:3]))
    honest, number, told = Honest(address, pages), 0, time.monotonic()
    while not select.select([sys.stdin], [], [], EVERY_S)[0]:
        honest.turn(number)
        number += 1
        if time.monotonic() - told >= 1:
            told = time.monotonic()
            print(honest.report(), flush=True)
    print(honest.report(), flush=True)


if __name__ == "__main__":
    main()
