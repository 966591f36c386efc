"""What a user reads of a call that goes on trying: for what it waits, and until when."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

WORD_S = 3.0
"""After this time a call says that it waits."""


@dataclass
class _Call:
    """`why`: its last failure."""

    why: str = "nothing has failed so far."


_present: ContextVar[_Call | None] = ContextVar("present", default=None)
"""The call that this task is a part of."""


class SlowCalls:
    """`say` gets the text, once in a call, in the event loop's thread; None: nobody wants it."""

    def __init__(self) -> None:
        self.say: Callable[[str], None] | None = None

    @contextmanager
    def told(self, deadline: float) -> Iterator[None]:
        """`deadline`: of the call, by the clock of the event loop. A part of another call says nothing."""
        if _present.get() is not None:
            yield
            return
        token = _present.set(call := _Call())
        timer = asyncio.get_running_loop().call_later(WORD_S, self._tell, call, deadline)
        try:
            yield
        finally:
            timer.cancel()
            _present.reset(token)

    @staticmethod
    def failed(why: str) -> None:
        """The present call goes on trying."""
        if (call := _present.get()) is not None:
            call.why = why

    def _tell(self, call: _Call, deadline: float) -> None:
        left = deadline - asyncio.get_running_loop().time()
        if self.say is not None and left > 0:
            until = time.strftime("%H:%M:%S", time.localtime(time.time() + left))
            self.say(f"No answer yet, trying on until {until}: {call.why}")
