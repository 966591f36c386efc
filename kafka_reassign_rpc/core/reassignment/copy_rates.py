"""How fast moves copy to and from each broker."""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.reassignment.remaining_time import WINDOW_S


class _Copied(NamedTuple):
    at: float
    into: Mapping[int, int]
    out_of: Mapping[int, int]


class CopyRates:
    """Rates cover at least `WINDOW_S`."""

    def __init__(self) -> None:
        self._seen: deque[_Copied] = deque()
        self._silent: Collection[int] = ()
        self._is_dark = False

    def sampled(
        self,
        now: float,
        into: Mapping[int, int],
        out_of: Mapping[int, int],
        silent: Collection[int] = (),
        *,
        is_dark: bool = False,
    ) -> None:
        """`into`, `out_of`: all bytes that moves have copied so far. `silent`: brokers that receive, and have not said
        how much. `is_dark`: no other broker receives.
        """
        self._silent, self._is_dark = silent, is_dark
        self._seen.append(_Copied(now, dict(into), dict(out_of)))
        while len(self._seen) > 2 and now - self._seen[1].at >= WINDOW_S:
            self._seen.popleft()

    def of(self, broker: int, *, moves: bool) -> tuple[int | None, int | None]:
        """Bytes per second to this broker and from it, None: unknown. `moves`: whether anything moves at all."""
        if moves and self._is_dark:
            return None, None
        into = None
        if not moves or broker not in self._silent:
            into = self._rate(lambda copied: copied.into.get(broker, 0), moves=moves)
        return into, self._rate(lambda copied: copied.out_of.get(broker, 0), moves=moves)

    def of_all(self, *, moves: bool) -> int | None:
        """Bytes per second, as far as brokers say; None: unknown."""
        if moves and self._is_dark:
            return None
        there = self._seen[-1].into if self._seen else {}
        return self._rate(lambda copied: sum(copied.into.get(one, 0) for one in there), moves=moves)

    def _rate(self, bytes_of: Callable[[_Copied], int], *, moves: bool) -> int | None:
        if not moves:
            return 0
        seconds = self._seen[-1].at - self._seen[0].at if self._seen else 0.0
        if seconds <= 0:
            return None
        return max(0, int((bytes_of(self._seen[-1]) - bytes_of(self._seen[0])) / seconds))
