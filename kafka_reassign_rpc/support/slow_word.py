"""A message while something takes long."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def word_if_slow(say: Callable[[str], None], text: str, seconds: float = 3.0) -> Iterator[None]:
    """Calls `say(text)` once, on a thread, if the block takes longer."""
    timer = threading.Timer(seconds, say, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
