"""What users and clients have used, in bounded memory: no client can make the server forget what others have used.

A client may bring a new client id with each request. If memory is full, its user's oldest entry goes; a user without
entries takes the place of the oldest of all.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from kafka_reassign_rpc.core.quotas.quota_table import Sharers

V = TypeVar("V")


class QuotaUsage(Generic[V]):
    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Sharers, V] = OrderedDict()
        """The one that was used least recently comes first, also among those of a user."""
        self._of_users: dict[str | None, OrderedDict[Sharers, None]] = {}

    def __len__(self) -> int:
        return len(self._values)

    def of(self, key: Sharers, make: Callable[[], V]) -> V:
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
            self._of_users[key[0]].move_to_end(key)
            return value
        if len(self._values) >= self._most:
            self._drop(next(iter(self._of_users.get(key[0], self._values))))
        self._of_users.setdefault(key[0], OrderedDict())[key] = None
        value = self._values[key] = make()
        return value

    def _drop(self, key: Sharers) -> None:
        del self._values[key]
        others = self._of_users[key[0]]
        del others[key]
        if not others:
            del self._of_users[key[0]]
