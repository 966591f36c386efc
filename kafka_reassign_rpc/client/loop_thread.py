"""An event loop in its own thread, for code that has none, or must not run on its own loop."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Several threads may use it. One that runs an event loop itself waits."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="kafka-reassign-client", daemon=True)
        self._thread.start()

    def run(self, call: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Whatever ends the wait, such as Ctrl-C, ends the coroutine too."""
        if os.getpid() != self._process:
            raise RuntimeError("a client has no connections in a child process: make one there")
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the client is closed")
            result = asyncio.run_coroutine_threadsafe(call(*args, **options), self._loop)
        try:
            return result.result()
        except CancelledError:
            raise RuntimeError("the client was closed during the call") from None
        except BaseException:
            result.cancel()
            raise

    def close(self, last: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """Ends what runs there, runs `last`, and ends the thread. Does nothing in a child process, or a second time."""
        with self._lock:
            if self._is_closed or os.getpid() != self._process:
                return
            self._is_closed = True
        asyncio.run_coroutine_threadsafe(_end_others(last), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _end_others(last: Callable[[], Coroutine[Any, Any, None]] | None) -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if last is not None:
        await last()
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
