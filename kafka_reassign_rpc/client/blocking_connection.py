"""The connections of the blocking client, and its event loop in a thread: callers have none, or must not block it."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.request_routing import connect

T = TypeVar("T")


class BlockingConnection:
    """Its event loop has a thread of its own. `configs`: those of ReassignmentClient."""

    def __init__(self, **configs: Any) -> None:
        settings = client_settings(configs)
        self._timeout_ms = settings.configs.request_timeout_ms
        self._loop = LoopThread()
        try:
            self._router = self._loop.run(connect, settings)
        except BaseException:
            self._loop.close()
            raise

    def close(self) -> None:
        """Close the connections. A call that another thread waits for raises RuntimeError."""
        self._loop.close(self._router.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _run(self, call: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        return self._loop.run(call, self._router, *args, **options)


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
