"""Which brokers to ask again soon for throttles: those of moves that have begun or ended, and those that are throttled
while nothing moves. A throttle is needless only by a reading that is younger than the last move.
"""

from collections.abc import Collection, Iterable

from kafka_reassign_rpc.client.known_configs import Told
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.status.problems import throttled
from kafka_reassign_rpc.support.forgetting import forget_others

LEASE_MS = 2_000
"""For this time after the last move its throttle may still be about to be removed."""


class ThrottleReadings:
    """`told`: brokers whose throttles are known; `at`: when each was asked for them last, ms since 1970."""

    def __init__(self) -> None:
        self.told: frozenset[int] = frozenset()
        self.at: dict[int, int] = {}
        self._changed: set[int] = set()
        self._begun: dict[int, int] = {}
        """Brokers of moves that have begun since, and when: they may have been throttled just before."""
        self._at_rest_since = 0

    def moved(self, events: Iterable[Event], at: int, *, is_last: bool) -> None:
        """`is_last`: nothing moves any more."""
        for one in events:
            brokers = {*(one.target or ()), *(one.original or ())}
            self._changed |= brokers
            if one.event in (catalogue.MOVE_STARTED, catalogue.MOVE_RETARGETED):
                self._begun.update(dict.fromkeys(brokers, at))
        if is_last:
            self._at_rest_since = at

    def returned(self, brokers: Iterable[int]) -> None:
        """What was known of these was dropped when they were lost."""
        self._changed.update(brokers)

    def asked(self, brokers: Iterable[int]) -> None:
        """Their answers may take a while."""
        self._changed.difference_update(brokers)

    def put(self, cluster: Cluster, found: Told, asked: Collection[int], at: int) -> None:
        """These brokers were asked at `at`; earlier answers of others still hold."""
        others = {one for one in cluster.brokers if one not in asked}
        names = {str(one) for one in others}
        kept = {name: one for name, one in cluster.broker_configs.items() if name in names}
        cluster.broker_configs, cluster.topic_configs = {**kept, **found.brokers}, found.topics
        cluster.derive_settings()
        self.told = found.known | (self.told & others)
        self.at.update(dict.fromkeys(found.known, at))
        forget_others(self.at, cluster.brokers)
        self.asked(asked)
        self._begun = {
            one: since for one, since in self._begun.items() if one in cluster.brokers and (one in others or since > at)
        }

    def known(self, cluster: Cluster) -> set[int]:
        """Brokers whose throttles are known. A reading from before a move, without a throttle, does not count."""
        return set(self.told - (self._begun.keys() - throttled(cluster)))

    def outdated(self, cluster: Cluster) -> set[int]:
        """Throttled brokers that were not read after the last move had ended."""
        since = self._at_rest_since + LEASE_MS if self._at_rest_since else 0
        return {one for one in throttled(cluster) if self.at.get(one, 0) < since and not cluster.moving}

    def is_urgent(self, cluster: Cluster) -> bool:
        """What is known may not hold any more."""
        return bool(self._changed & cluster.brokers.keys() or self.outdated(cluster))

    def to_ask(self, cluster: Cluster, moving: Collection[int]) -> set[int]:
        """`moving`: brokers with moves."""
        return (self._changed | throttled(cluster) | set(moving)) & cluster.brokers.keys()
