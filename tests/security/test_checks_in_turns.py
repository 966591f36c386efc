"""Checks that take long: a client that asks for many, or goes away, keeps no other from logging in."""

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial

import pytest
import pytest_asyncio

from kafka_reassign_rpc.protocol.frame_codec import decode_response
from kafka_reassign_rpc.protocol.messages import SaslAuthenticateResponse
from kafka_reassign_rpc.security.sasl import mechanism
from kafka_reassign_rpc.security.sasl.hashed_users import UNAVAILABLE, HashedUsers, hashed_line, parse_users
from kafka_reassign_rpc.security.sasl.mechanism import ChecksInTurns, TooBusy
from kafka_reassign_rpc.security.sasl.plain import PlainSaslServer
from kafka_reassign_rpc.security.sasl.sasl_authenticator import SaslAuthenticator, SaslSettings
from kafka_reassign_rpc.security.sasl.sasl_config import MAX_RECEIVE_SIZE
from kafka_reassign_rpc.server import connection_times
from kafka_reassign_rpc.server.server import Server
from tests.raw_client import connected
from tests.security.sasl_steps import plain
from tests.security.test_login_costs import framed, handshake
from tests.security.worst_tokens import authenticate
from tests.server.conftest import StartServer, address, start_server
from tests.waiting import eventually

__all__ = ["start_server"]


class Bench:
    """Checks that note their names, behind one that holds the thread until `go`."""

    def __init__(self) -> None:
        self.checks = ChecksInTurns("tried")
        self.done: list[str] = []
        self._gate = threading.Event()
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def hold(self) -> None:
        self.ask("-", "held", self._gate.wait)
        await asyncio.sleep(0)

    def ask(self, address: str, name: str, check: Callable[[], object] = bool) -> None:
        def noted() -> None:
            check()
            self.done.append(name)

        self.tasks[name] = asyncio.create_task(self.checks.run(address, noted))

    async def outcomes(self) -> dict[str, str]:
        """After `go`: what became of each."""
        self._gate.set()
        found = await asyncio.gather(*self.tasks.values(), return_exceptions=True)
        return {name: type(one).__name__ for name, one in zip(self.tasks, found, strict=True) if one is not None}


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made._gate.set()
    made.checks.close()


async def test_hm_5_addresses_take_turns(bench: Bench) -> None:
    await bench.hold()
    for number in range(4):
        bench.ask("a", f"a{number}")
    for name in ("b0", "c0", "b1"):
        bench.ask(name[0], name)
    await asyncio.sleep(0)
    assert await bench.outcomes() == {}
    assert bench.done == ["held", "a0", "b0", "c0", "a1", "b1", "a2", "a3"]


async def test_hm_5_a_check_whose_client_has_gone_is_never_begun(bench: Bench) -> None:
    await bench.hold()
    for number in range(300):
        bench.ask("a", f"a{number}")
    bench.ask("a", "last")
    await asyncio.sleep(0)
    for number in range(300):
        bench.tasks[f"a{number}"].cancel()
    assert set((await bench.outcomes()).values()) == {"CancelledError"}
    assert bench.done == ["held", "last"]
    assert (len(bench.checks._line), bench.checks._busy) == (0, False)


async def test_hm_5_who_goes_as_the_turn_comes_hands_it_on(bench: Bench) -> None:
    await bench.hold()
    for name in ("a0", "b0"):
        bench.ask(name[0], name)
    await asyncio.sleep(0)
    bench.checks._over()  # the turn of a0 has come; it has not run yet
    bench.tasks["a0"].cancel()
    assert await bench.outcomes() == {"a0": "CancelledError"}
    assert bench.done == ["held", "b0"]


async def test_hm_5_a_check_waits_for_a_bounded_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "LONGEST_WAIT_S", 0.05)
    await bench.hold()
    bench.ask("a", "a0")
    with pytest.raises(TooBusy):
        await bench.tasks.pop("a0")
    assert await bench.outcomes() == {}


async def test_hm_5_where_too_many_wait_the_busiest_address_gives_up_its_last(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mechanism, "MOST_WAITING", 4)
    await bench.hold()
    for number in range(5):
        bench.ask("a", f"a{number}")
    for name in ("b0", "b1", "b2"):
        bench.ask(name[0], name)
        await asyncio.sleep(0)
    assert await bench.outcomes() == {"a2": "TooBusy", "a3": "TooBusy", "a4": "TooBusy", "b2": "TooBusy"}
    assert bench.done == ["held", "a0", "b0", "a1", "b1"]


async def test_hm_5_who_goes_as_it_is_given_up_hands_on_no_turn(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "MOST_WAITING", 2)
    await bench.hold()
    for name in ("a0", "a1"):
        bench.ask("a", name)
    await asyncio.sleep(0)
    bench.checks._make_room("b")  # a1 is given up; it has not run yet
    bench.tasks["a1"].cancel()
    await asyncio.gather(bench.tasks["a1"], return_exceptions=True)
    assert len(bench.checks._line) == 1  # a0 still waits for the thread
    assert await bench.outcomes() == {"a1": "CancelledError"}
    assert bench.done == ["held", "a0"]


# ------------------------------------------------------------------------------------------------ over sockets


@pytest_asyncio.fixture
async def server(start_server: StartServer) -> AsyncIterator[Server]:
    """PLAIN with one user, whose hash takes a tenth of a second."""
    users = HashedUsers(parse_users(f'alice = "{hashed_line("alice-secret")}"'.encode(), "users"))
    settings = SaslSettings(mechanisms={"PLAIN": partial(PlainSaslServer, users)}, max_receive_size=MAX_RECEIVE_SIZE)
    yield await start_server(None, partial(SaslAuthenticator, settings), connection_failed_authentication_delay_ms=0)
    users.close()


async def logs_in(server: Server, user: str, password: str) -> tuple[int, str | None]:
    async with connected(address(server)) as client:
        await client.send(framed(handshake("PLAIN")))
        await client.frame()
        await client.send(framed(authenticate(plain(user, password))))
        answer = decode_response(SaslAuthenticateResponse, await client.frame(), version=2)[1]
        return answer.error_code, answer.error_message


@pytest.mark.both_loops
@pytest.mark.parametrize(("end", "behind"), [("reset", 0), ("half", 0), ("close", 1000), ("half", 1000)])
async def test_hm_5_wrong_passwords_of_clients_that_hung_up_keep_no_other_out(
    server: Server, monkeypatch: pytest.MonkeyPatch, end: str, behind: int
) -> None:
    """`behind`: bytes after the token, which are not read until then."""
    monkeypatch.setattr(connection_times, "TICK_SECONDS", 0.05)
    hashed: list[bytes] = []
    really = hashlib.pbkdf2_hmac

    def pbkdf2_hmac(name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
        hashed.append(password)
        return really(name, password, salt, iterations)

    monkeypatch.setattr(hashlib, "pbkdf2_hmac", pbkdf2_hmac)
    half_closed: list[asyncio.StreamWriter] = []
    for number in range(100):
        _, writer = await asyncio.open_connection(*address(server))
        writer.write(framed(handshake("PLAIN")) + framed(authenticate(plain(f"nobody {number}", "wrong"))))
        writer.write(bytes(behind))
        await writer.drain()
        if end == "half":
            writer.write_eof()
            half_closed.append(writer)
        elif end == "reset":
            writer.transport.abort()
        else:
            writer.close()
    assert await logs_in(server, "alice", "alice-secret") == (0, "")
    assert len(hashed) < 50, "of 100 wrong ones few were begun before their clients went"
    await eventually(lambda: server.stats.connections_now == 0)
    for writer in half_closed:
        writer.close()


async def test_hm_5_a_login_that_cannot_be_checked_in_time_fails_with_kafkas_text(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mechanism, "LONGEST_WAIT_S", 0.02)
    begun, goes_on = threading.Event(), threading.Event()
    really = hashlib.pbkdf2_hmac

    def pbkdf2_hmac(name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
        begun.set()
        goes_on.wait()
        return really(name, password, salt, iterations)

    monkeypatch.setattr(hashlib, "pbkdf2_hmac", pbkdf2_hmac)
    first = asyncio.create_task(logs_in(server, "nobody", "wrong"))
    try:
        await eventually(begun.is_set)
        for number in range(3):
            assert await logs_in(server, f"nobody {number}", "wrong") == (58, UNAVAILABLE)
    finally:
        goes_on.set()
    assert await first == (58, "Authentication failed: Invalid username or password")
