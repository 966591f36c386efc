"""Ends py4j's thread that tells the JVM which objects Python no longer needs. If the JVM ended before it answered that
thread, py4j would print a traceback after a job that has succeeded.
"""

from threading import Lock
from typing import Any


class JvmGarbage:
    """Only the thread of `client`, of a py4j gateway, calls `garbage_collect_object` with `enqueue=False`."""

    def __init__(self, client: Any) -> None:
        self._collect = client.garbage_collect_object
        self._one_at_a_time = Lock()
        self._ended = False
        client.garbage_collect_object = self._one

    def end(self) -> None:
        """Waits for the answer to what was sent, and sends no more."""
        with self._one_at_a_time:
            self._ended = True

    def _one(self, target_id: str, enqueue: bool = True) -> None:
        if enqueue:
            self._collect(target_id)
            return
        with self._one_at_a_time:
            if not self._ended:
                self._collect(target_id, False)
