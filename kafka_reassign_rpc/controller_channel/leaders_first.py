"""A leader learns of a new leader epoch before its followers do.

A fetcher with an older epoch than its leader's gets FENCED_LEADER_EPOCH, and goes on at once with its own LeaderAndIsr.
One with a newer epoch, or a new replica whose leader does not know it yet, gets UNKNOWN_LEADER_EPOCH and backs off for
replica.fetch.backoff.ms, a second by default (AbstractFetcherThread's processFetchRequest and onPartitionFenced in
Kafka 3.9). Kafka's ZooKeeper controller sends to all replicas at once, and who is ahead of the leader loses that
second.

To wait until the leader has answered costs followers nothing: they could not fetch with the new epoch before. A broker
that led, and has not learned of the end, never waits: until then it accepts records that the new leader does not have.
Who waits is decided in `channel_manager._new_leader_epoch`.
"""

from collections.abc import Iterable, Iterator, Mapping

Followers = tuple[int, ...]
"""Broker ids. (Their pending requests know whether the replica is new there.)"""


class LeadersFirst:
    def __init__(self) -> None:
        self._held: dict[str, dict[int, tuple[int, Followers]]] = {}
        """By topic and partition: the leader, and the followers that wait for it."""

    def hold(self, topic: str, index: int, leader: int, followers: Followers) -> None:
        if followers:
            self._held.setdefault(topic, {})[index] = leader, followers
        else:
            self.forget(topic, index)

    def waiting(self, topic: str, index: int) -> Followers:
        held = self._held.get(topic)
        return () if held is None else held.get(index, (0, ()))[1]

    def forget(self, topic: str, index: int) -> None:
        held = self._held.get(topic)
        if held is not None and held.pop(index, None) is not None and not held:
            del self._held[topic]

    def forget_topic(self, topic: str) -> None:
        self._held.pop(topic, None)

    def forget_replica(self, topic: str, index: int, broker: int) -> None:
        """The broker stops its replica: a LeaderAndIsr that is held back must not undo that."""
        held = self._held.get(topic, {}).get(index)
        if held is not None:
            self.hold(topic, index, held[0], tuple(one for one in held[1] if one != broker))

    def partitions(self) -> Mapping[str, Iterable[int]]:
        return {topic: list(held) for topic, held in self._held.items()}

    def release(self, leader: int, topic: str, indexes: Iterable[int]) -> Iterator[tuple[int, Followers]]:
        for index in indexes:
            held = self._held.get(topic, {}).get(index)
            if held is not None and held[0] == leader:
                self.forget(topic, index)
                yield index, held[1]
