"""The partitions of which a broker still needs a LeaderAndIsr. Followers whose leader knows the new leader epoch go
first: they replicate nothing until they know it too. So each partition pauses for about one request, however many
change at once.
"""

from collections.abc import Iterable
from itertools import islice


class PendingLeaderAndIsr:
    def __init__(self) -> None:
        self._awaited: dict[str, dict[int, bool]] = {}
        """Followers whose leader knows the epoch."""
        self._others: dict[str, dict[int, bool]] = {}
        self._held: dict[str, dict[int, bool]] = {}
        """New replicas whose leader does not know the epoch yet. They wait; the request that comes first carries that
        they are new."""
        self._at_once: dict[str, set[int]] = {}
        """Those of `_awaited` and `_others` that must not wait."""

    def __bool__(self) -> bool:
        return bool(self._awaited or self._others)

    def __contains__(self, name: tuple[str, int]) -> bool:
        topic, index = name
        return index in self._awaited.get(topic, ()) or index in self._others.get(topic, ())

    def put(self, topic: str, index: int, *, is_new: bool, leader_knows: bool = False, at_once: bool = False) -> None:
        if at_once:
            self._at_once.setdefault(topic, set()).add(index)
        if self._held:
            is_new = _drop(self._held, topic, index) or is_new
        if leader_knows:
            is_new = _drop(self._others, topic, index) or is_new
        pending = self._awaited if leader_knows or index in self._awaited.get(topic, ()) else self._others
        indexes = pending.setdefault(topic, {})
        indexes[index] = is_new or indexes.get(index, False)

    def hold(self, topic: str, index: int, *, is_new: bool) -> bool:
        """Holds it back until `put`. Returns False if it must not wait."""
        if self._at_once and index in self._at_once.get(topic, ()):
            return False
        if self.drop(topic, index) or is_new:
            self._held.setdefault(topic, {})[index] = True
        return True

    def drop(self, topic: str, index: int) -> bool:
        """Whether the replica is new; False if it was not pending."""
        self._not_at_once(topic, (index,))
        is_new = _drop(self._awaited, topic, index)
        is_new |= _drop(self._others, topic, index)
        return _drop(self._held, topic, index) or is_new

    def drop_topic(self, topic: str) -> None:
        for pending in (self._awaited, self._others, self._held):
            pending.pop(topic, None)
        self._at_once.pop(topic, None)

    def _not_at_once(self, topic: str, indexes: Iterable[int]) -> None:
        found = self._at_once.get(topic) if self._at_once else None
        if found is not None:
            found.difference_update(indexes)
            if not found:
                del self._at_once[topic]

    def take(self, limit: int) -> dict[str, dict[int, bool]]:
        taken: dict[str, dict[int, bool]] = {}
        for pending in (self._awaited, self._others):
            limit -= _move(pending, taken, limit)
        for topic, indexes in taken.items():
            self._not_at_once(topic, indexes)
        return taken

    def take_all(self) -> dict[str, dict[int, bool]]:
        taken = self._awaited
        for pending in (self._others, self._held):
            for topic, indexes in pending.items():
                taken.setdefault(topic, {}).update(indexes)
        self._awaited, self._others, self._held, self._at_once = {}, {}, {}, {}
        return taken


def _drop(pending: dict[str, dict[int, bool]], topic: str, index: int) -> bool:
    indexes = pending.get(topic)
    if indexes is None:
        return False
    is_new = indexes.pop(index, False)
    if not indexes:
        del pending[topic]
    return is_new


def _move(source: dict[str, dict[int, bool]], target: dict[str, dict[int, bool]], limit: int) -> int:
    left = limit
    while source and left > 0:
        topic = next(iter(source))
        taken = list(islice(source[topic].items(), left))
        target.setdefault(topic, {}).update(taken)
        for index, _ in taken:
            del source[topic][index]
        if not source[topic]:
            del source[topic]
        left -= len(taken)
    return limit - left
