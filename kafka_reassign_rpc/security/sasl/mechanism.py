"""What the authenticator needs of a SASL mechanism; and what a mechanism needs for checks that take long, such as
hashes of passwords: one thread does them, and the addresses that ask take turns.

An address that sends many gets one check for each of the others'. A check whose client has gone never begins. One that
cannot begin in time is given up, and when too many wait, the busiest address gives up its last.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from kafka_reassign_rpc.support.address_line import AddressLine


class SaslError(Exception):
    """The text is for the log: a client must not know it."""


class SaslAuthenticationError(SaslError):
    """The client gets the text (Kafka's SaslAuthenticationException)."""


class SaslRetry(SaslError):
    """The connection closes without an answer, so that the client tries again (Kafka: retriable Kerberos errors)."""


class SaslServer(Protocol):
    """One exchange (Java's SaslServer).

    complete         the client is authenticated; no further token may come
    authorization_id the user's name, once complete
    expires_at       when the client's credentials expire, in seconds since 1970; None: not on their own
    """

    @property
    def complete(self) -> bool: ...

    @property
    def authorization_id(self) -> str: ...

    @property
    def expires_at(self) -> float | None: ...

    def evaluate(self, token: bytes) -> bytes | Awaitable[bytes]:
        """It is awaitable if the check is done off the event loop. SaslError ends the exchange."""


MakeSaslServer = Callable[[str], SaslServer]
"""Takes the client's address."""


MOST_WAITING = 1_000
LONGEST_WAIT_S = 10.0

T = TypeVar("T")


class TooBusy(Exception): ...


class ChecksInTurns:
    """All checks are for one event loop."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name)
        self._busy = False
        self._line: AddressLine[str] = AddressLine(gone=lambda _: self._over())

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def run(self, address: str, check: Callable[[], T]) -> T:
        """`address` is the client's. Raises TooBusy, and what `check` raises."""
        if self._busy:
            await self._turn(address)
        self._busy = True
        loop = asyncio.get_running_loop()
        try:
            counted = self._thread.submit(check)
        except RuntimeError:  # it is closed
            raise TooBusy from None
        counted.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(self._over))
        return await asyncio.wrap_future(counted)

    async def _turn(self, address: str) -> None:
        self._make_room(address)
        try:
            async with asyncio.timeout(LONGEST_WAIT_S):
                await self._line.wait(address, address)
        except TimeoutError:
            raise TooBusy from None

    def _make_room(self, address: str) -> None:
        """Raises TooBusy if this address is one of the busiest."""
        line = self._line
        if len(line) < MOST_WAITING:
            return
        busiest = line.busiest()
        if busiest is None or line.of(busiest) <= line.of(address) + 1:
            raise TooBusy
        line.give_up_last(busiest, TooBusy())

    def _over(self) -> None:
        if self._line.first() is None:
            self._busy = False
        else:
            self._line.let_in()
