"""What calls cost the nodes that answer them: requests, bytes, and how long the answers took."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Traffic:
    """requests   those without an answer too
    bytes      of requests and answers
    answer_s   seconds that were waited for answers, those that came at the same time each for itself
    """

    def __init__(self, around: "Traffic | None" = None) -> None:
        self._around = around
        self.requests = self.bytes = 0
        self.answer_s = 0.0

    def add(self, size: int, took_s: float) -> None:
        self.requests += 1
        self.bytes += size
        self.answer_s += took_s
        if self._around is not None:
            self._around.add(size, took_s)


_counted: ContextVar[Traffic | None] = ContextVar("counted", default=None)


@contextmanager
def counted() -> Iterator[Traffic]:
    """Count the calls of this block, and of tasks that begin in it. A block may stand in another one."""
    traffic = Traffic(_counted.get())
    token = _counted.set(traffic)
    try:
        yield traffic
    finally:
        _counted.reset(token)


def note(size: int, took_s: float) -> None:
    """A request, and its answer if there was one, had so many bytes and took so long."""
    traffic = _counted.get()
    if traffic is not None:
        traffic.add(size, took_s)
