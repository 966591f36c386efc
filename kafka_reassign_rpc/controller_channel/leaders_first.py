"""A leader learns of a new leader epoch before its followers do.

A broker's fetcher that asks with an older epoch than its leader's gets FENCED_LEADER_EPOCH and rests until the broker
gets its own LeaderAndIsr: it goes on at once then. One that asks with a newer epoch than its leader's gets
UNKNOWN_LEADER_EPOCH and backs off for replica.fetch.backoff.ms, a second by default (AbstractFetcherThread's
processFetchRequest and onPartitionFenced in Kafka 3.9). So has a new replica whose leader does not know it yet. Kafka's
ZooKeeper-mode controller tells all replicas at the same time: those that are told first wait for that second.

`LeadersFirst` holds the LeaderAndIsr of followers back until the leader has answered its own. Nothing is lost while the
leader does not answer: its followers could not fetch from it with the new epoch. A broker that led before does not
wait, nor one that has led earlier and has not been told since: as long as it believes that it leads, it accepts records
that the new leader does not have.
"""

from collections.abc import Iterable, Iterator, Mapping

Followers = tuple[int, ...]
"""Brokers. (Whether the replica is new there, their pending requests know.)"""


class LeadersFirst:
    """Followers that wait for their leaders: one entry for each partition at most."""

    def __init__(self) -> None:
        self._held: dict[str, dict[int, tuple[int, Followers]]] = {}
        """By topic and partition: the leader, and the followers that wait for it."""

    def hold(self, topic: str, index: int, leader: int, followers: Followers) -> None:
        """These followers, and no others, wait for `leader`."""
        if followers:
            self._held.setdefault(topic, {})[index] = leader, followers
        else:
            self.forget(topic, index)

    def waiting(self, topic: str, index: int) -> Followers:
        """The followers of the partition that wait."""
        held = self._held.get(topic)
        return () if held is None else held.get(index, (0, ()))[1]

    def forget(self, topic: str, index: int) -> None:
        """No follower of the partition waits any more."""
        held = self._held.get(topic)
        if held is not None and held.pop(index, None) is not None and not held:
            del self._held[topic]

    def forget_topic(self, topic: str) -> None:
        self._held.pop(topic, None)

    def forget_replica(self, topic: str, index: int, broker: int) -> None:
        """The broker stops its replica: a LeaderAndIsr that it was still to get must not undo that."""
        held = self._held.get(topic, {}).get(index)
        if held is not None:
            self.hold(topic, index, held[0], tuple(one for one in held[1] if one != broker))

    def partitions(self) -> Mapping[str, Iterable[int]]:
        """The partitions with followers that wait."""
        return {topic: list(held) for topic, held in self._held.items()}

    def release(self, leader: int, topic: str, indexes: Iterable[int]) -> Iterator[tuple[int, Followers]]:
        """The followers that have waited for `leader` to learn of these partitions. They wait no longer."""
        for index in indexes:
            held = self._held.get(topic, {}).get(index)
            if held is not None and held[0] == leader:
                self.forget(topic, index)
                yield index, held[1]
