"""Counts the requests of a client, their bytes, and how long it waited for answers."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Traffic:
    """`requests`: those without an answer too. `answer_s`: seconds of waiting for answers, even if several came at the
    same time.
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

    def include(self, other: "Traffic") -> None:
        self.requests += other.requests
        self.bytes += other.bytes
        self.answer_s += other.answer_s


_counted: ContextVar[Traffic | None] = ContextVar("counted", default=None)


@contextmanager
def counted() -> Iterator[Traffic]:
    """The calls of this block, and of tasks that begin in it. Blocks may be nested."""
    traffic = Traffic(_counted.get())
    token = _counted.set(traffic)
    try:
        yield traffic
    finally:
        _counted.reset(token)


def count(size: int, took_s: float) -> None:
    """`size` has the bytes of a request and of its answer, if there was one."""
    traffic = _counted.get()
    if traffic is not None:
        traffic.add(size, took_s)
