"""What Python needs no longer is dropped in the JVM as well: a thread of py4j says so, one object after the other.

A JVM that ends before it has answered that thread makes py4j print a traceback, after a job that has succeeded.
"""

from threading import Lock
from typing import Any


class JvmGarbage:
    """`client`: that of a py4j gateway. Nothing but its thread calls `garbage_collect_object` with `enqueue=False`."""

    def __init__(self, client: Any) -> None:
        self._collect = client.garbage_collect_object
        self._one_at_a_time = Lock()
        self._ended = False
        client.garbage_collect_object = self._one

    def end(self) -> None:
        """Nothing more is sent; waits for the answer to what has been."""
        with self._one_at_a_time:
            self._ended = True

    def _one(self, target_id: str, enqueue: bool = True) -> None:
        if enqueue:
            self._collect(target_id)
            return
        with self._one_at_a_time:
            if not self._ended:
                self._collect(target_id, False)
