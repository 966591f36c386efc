"""Events of what is read, not decided: brokers lost or returned, topics left alone or taken up again, reassignments and
repairs switched off or on; and of dynamic configs that others change, those of leases too
(`core.throttling.leased_configs` decides what becomes of them)."""

from collections.abc import Iterator, Mapping
from itertools import islice

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.config_values import INT64
from kafka_reassign_rpc.core.configs.config_definitions import BROKER_CONFIGS, TOPIC_CONFIGS
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.quotas.client_quotas import QUOTA_NAMES
from kafka_reassign_rpc.core.settings import healing_settings
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.core.throttling.leased_configs import (
    BrokerAfter,
    BrokerMemory,
    ListMemory,
    RateMemory,
    TopicMemory,
    entries_of,
    lists_of,
    named,
    sets_again,
)
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, Configs
from kafka_reassign_rpc.core.throttling.standing_rates import SIDES
from kafka_reassign_rpc.support.bounded_text import shortened, whole_number, word
from kafka_reassign_rpc.support.counted import first_of

SHOWN = 5
"""Changed configs that the event shows; of others it has the number."""
LONGEST = 100
"""Characters of a name or a value."""
_OF_KAFKA = (*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values())
_SHOWN_VALUES = {one.name for one in _OF_KAFKA if not one.sensitive} | SERVER_SETTINGS.keys() | QUOTA_NAMES
"""Configs whose values are shown. Others are passwords, or may be a plug-in's secrets, or credentials."""


def config_changed(
    of: str, before: Mapping[str, str], after: Mapping[str, str], *, topic: str | None = None, broker: int | None = None
) -> Event | None:
    """The event, without who asked; None: nothing has changed. `of`: for people, whose configs these are."""
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    if not changed:
        return None
    reason = f"{of}: {first_of([*_shown(changed[:SHOWN], before, after)], SHOWN, of=len(changed))}"
    return Event(catalogue.CONFIG_CHANGED, topic=topic, broker=broker, reason=reason)


def _shown(names: list[str], before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in names:
        is_shown = name in _SHOWN_VALUES
        yield f"{word(name, LONGEST)} {_value(before.get(name), is_shown)} -> {_value(after.get(name), is_shown)}"


def _value(value: str | None, is_shown: bool) -> str:
    if value is None:
        return "unset"
    return (shortened(value, LONGEST) or '""') if is_shown else "(hidden)"


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


def events_of_topic(topic: str, known: TopicMemory, after: TopicMemory, rate: int) -> Iterator[Event]:
    before = dict(lists_of(known))
    again, left = {}, {}
    for name, now in lists_of(after):
        if now is None:
            continue
        was = before[name] or ListMemory("")
        had = entries_of(was.again), entries_of(was.left)
        again[name] = ",".join(one for one in entries_of(now.again) if one not in had[0])
        left[name] = ",".join(one for one in entries_of(now.left) if one not in had[1])
    if any(again.values()):
        reason = f"somebody else had removed {named(again)}: back again"
        yield Event(catalogue.THROTTLE_REMOVED, topic, who=CONTROLLER.who, reason=reason)
    if any(left.values()):
        yield Event(catalogue.THROTTLE_REMOVED, topic, who=CONTROLLER.who, reason=_left(named(left), rate, topic))


def _left(what: str, rate: int, topic: str | None = None) -> str:
    again = sets_again(rate, topic)
    text = f"somebody else has removed {what} again: moves go on without it until it is set again"
    return f"{text}: {again}" if again else text


def events_of_broker(broker: int, current: Configs, known: BrokerMemory, after: BrokerAfter) -> Iterator[Event]:
    before, now = current.get(LEADER_RATE), after.configs.get(LEADER_RATE)
    lease = after.memory.leader
    rate = None if now is None else whole_number(now, 0, INT64)
    put_back = _put_back(current, known, after)
    if put_back or before != now:
        if lease is not None:
            yield Event(catalogue.THROTTLE_SET, who=CONTROLLER.who, broker=broker, bytes=rate, reason=put_back)
        else:
            reason = None if now is not None else "no rate"
            yield Event(catalogue.THROTTLE_RESTORED, who=CONTROLLER.who, broker=broker, bytes=rate, reason=reason)
    yield from _by_others(broker, current, known, after)
    yield from _left_so(broker, known, after)


def _sides(known: BrokerMemory, after: BrokerAfter) -> Iterator[tuple[str, RateMemory | None, RateMemory | None]]:
    yield LEADER_RATE, known.leader, after.memory.leader
    yield FOLLOWER_RATE, known.follower, after.memory.follower


def _put_back(current: Configs, known: BrokerMemory, after: BrokerAfter) -> str | None:
    """What was found in place of the rates of leases, and does not stay."""
    found: dict[str, list[str]] = {}
    for name, was, now in _sides(known, after):
        rate = current.get(name)
        if was is not None and now is not None and rate not in (was.set, after.configs.get(name)):
            instead = "had deleted" if rate is None else f"had set {rate} in place of"
            found.setdefault(f"somebody else {instead} {was.set}", []).append(SIDES[name])
    return "; ".join(f"{', '.join(sides)}: {what}" for what, sides in found.items()) or None


def _by_others(broker: int, current: Configs, known: BrokerMemory, after: BrokerAfter) -> Iterator[Event]:
    """One event for both sides, where they have got the same rate."""
    found: dict[tuple[str | None, int], list[str]] = {}
    for name, was, now in _sides(known, after):
        rate = current.get(name)
        is_left = now is not None and now.left
        if was is not None and now is not None and not is_left and rate != was.set and rate == after.configs.get(name):
            found.setdefault((rate, now.lease), []).append(SIDES[name])
    for (rate, leased), sides in found.items():
        side = "" if len(sides) == len(SIDES) else f"{sides[0]}: "
        yield Event(
            catalogue.THROTTLE_SET,
            broker=broker,
            bytes=None if rate is None else whole_number(rate, 0, INT64),
            reason=f"{side}by somebody else, instead of the {leased} B/s of leases",
        )


def _left_so(broker: int, known: BrokerMemory, after: BrokerAfter) -> Iterator[Event]:
    found: dict[tuple[str, int], list[str]] = {}
    for name, was, now in _sides(known, after):
        if now is not None and now.left and (was is None or not was.left):
            found.setdefault((now.set, now.lease), []).append(SIDES[name])
    for (rate, leased), sides in found.items():
        reason = f"{', '.join(sides)}: {_left(rate, leased)}"
        yield Event(catalogue.THROTTLE_REMOVED, who=CONTROLLER.who, broker=broker, bytes=leased, reason=reason)
