"""A line in which the addresses of clients take turns: one that brings many waits for its own."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class _Place(NamedTuple):
    what: Any
    turn: "asyncio.Future[None]"


def _nothing(_what: Any) -> None:
    pass


class AddressLine(Generic[T]):
    """For one event loop. `gone`: called with what was let in and is cancelled at the same moment."""

    def __init__(self, gone: Callable[[T], object] = _nothing) -> None:
        self._gone = gone
        self._of: OrderedDict[str, dict[_Place, None]] = OrderedDict()
        """By address; the first is next."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    async def wait(self, address: str, what: T) -> None:
        """Until `let_in` is called for it. Raises what `give_up_last` got."""
        place = _Place(what, asyncio.get_running_loop().create_future())
        self._of.setdefault(address, {})[place] = None
        self._count += 1
        try:
            await place.turn
        except asyncio.CancelledError:
            if not place.turn.cancelled() and place.turn.exception() is None:
                self._gone(what)
            raise
        finally:
            self._leave(address, place)

    def first(self) -> T | None:
        """What is next; None if nothing waits."""
        while self._of:
            address, places = next(iter(self._of.items()))
            place = next(iter(places))
            if not place.turn.done():
                what: T = place.what
                return what
            self._leave(address, place)  # it is being cancelled
        return None

    def let_in(self) -> None:
        """The `first`. Its address waits behind all others."""
        address, places = next(iter(self._of.items()))
        place = next(iter(places))
        self._of.move_to_end(address)
        self._leave(address, place)
        place.turn.set_result(None)

    def busiest(self) -> str | None:
        return max(self._of, key=self.of, default=None)

    def of(self, address: str) -> int:
        """How many of this address wait."""
        return len(self._of.get(address, ()))

    def give_up_last(self, address: str, error: Exception) -> None:
        place = next(reversed(self._of[address]))
        self._leave(address, place)
        if not place.turn.done():
            place.turn.set_exception(error)

    def _leave(self, address: str, place: _Place) -> None:
        places = self._of.get(address, {})
        if place in places:
            del places[place]
            self._count -= 1
            if not places:
                del self._of[address]
