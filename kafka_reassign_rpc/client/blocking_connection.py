from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.loop_thread import LoopThread
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
