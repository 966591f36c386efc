"""Events of configs of leases that others change. (`core.throttling.leased_configs` decides what becomes of them.)"""

from collections.abc import Iterator

from kafka_reassign_rpc.core.config_values import INT64
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from kafka_reassign_rpc.core.throttling.leased_configs import (
    BrokerAfter,
    BrokerMemory,
    ListMemory,
    RateMemory,
    TopicMemory,
    entries_of,
)
from kafka_reassign_rpc.core.throttling.removed_throttles import lists_of, named, sets_again
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, Configs
from kafka_reassign_rpc.core.throttling.standing_rates import SIDES
from kafka_reassign_rpc.support.bounded_text import whole_number


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
