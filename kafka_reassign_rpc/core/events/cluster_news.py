"""Events of what is read, not decided: brokers lost or returned, topics left alone or taken up again, reassignments and
repairs switched off or on.
"""

from collections.abc import Iterator, Mapping
from itertools import islice

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.settings import healing_settings
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.requesters import Requester

MOST_TOPICS = 100
"""Events of topics at a call; the next call has the others."""


class ClusterNews:
    """Compares the cluster with what it was at the last call."""

    def __init__(self) -> None:
        self._brokers: Mapping[int, Broker] | None = None
        self._disabled: str | None = None
        self._paused = False
        self._ends_without_name = False
        self._left_alone: dict[str, str] = {}

    def of(self, cluster: Cluster) -> Iterator[Event]:
        """The first call reports disabled reassignments and a pause, but no brokers."""
        if cluster.brokers is not self._brokers:
            if self._brokers is not None:
                yield from _broker_events(self._brokers, cluster.brokers)
            self._brokers = cluster.brokers
        disabled = restrictions.reassignments_disabled(cluster)
        reason = None if disabled is None else str(disabled)
        if reason != self._disabled:
            self._disabled = reason
            event = (
                Event(catalogue.REASSIGNMENTS_ENABLED)
                if reason is None
                else Event(catalogue.REASSIGNMENTS_DISABLED, reason=reason)
            )
            by = restrictions.switched_by(cluster) if reason is not None else self._enabled_by(cluster)
            yield event if by is None else event.asked_by(by)
            self._ends_without_name = cluster.disabled_by_znode or restrictions.is_only_refused(cluster)
        if cluster.soft.in_force.healing.paused != self._paused:
            self._paused = not self._paused
            event = (
                Event(catalogue.HEAL_PAUSED, reason=f"{healing_settings.PAUSED}=true")
                if self._paused
                else Event(catalogue.HEAL_RESUMED)
            )
            by = cluster.set_by(healing_settings.PAUSED)
            yield event if by is None else event.asked_by(by)

        if cluster.unreadable != self._left_alone:
            yield from self._topic_events(cluster.unreadable)

    def _topic_events(self, left_alone: Mapping[str, str]) -> Iterator[Event]:
        taken_up = [name for name in self._left_alone if name not in left_alone]
        begun = ((name, reason) for name, reason in left_alone.items() if self._left_alone.get(name) != reason)
        for name in taken_up[:MOST_TOPICS]:
            del self._left_alone[name]
            yield Event(catalogue.TOPIC_TAKEN_UP, name)
        for name, reason in [*islice(begun, MOST_TOPICS)]:
            self._left_alone[name] = reason
            yield Event(catalogue.TOPIC_LEFT_ALONE, name, reason=reason)

    def _enabled_by(self, cluster: Cluster) -> Requester | None:
        """A deleted znode does not say who has deleted it, and a cluster that takes moves again has no name."""
        return None if self._ends_without_name else restrictions.switched_by(cluster)


def _broker_events(before: Mapping[int, Broker], after: Mapping[int, Broker]) -> Iterator[Event]:
    for id_ in sorted(before.keys() | after.keys()):
        if id_ not in after:
            yield Event(catalogue.BROKER_LOST, broker=id_)
        elif id_ not in before:
            yield Event(catalogue.BROKER_RETURNED, broker=id_)
        elif before[id_].epoch != after[id_].epoch:
            yield Event(catalogue.BROKER_RETURNED, broker=id_, reason="it has registered again")
