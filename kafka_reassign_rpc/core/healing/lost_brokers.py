"""Which lost brokers are healed, and when (KIP-46): a broker that bounces never is.

A broker that is gone while it holds replicas has failed. The moment at which that was first noticed is durable, and
survives whoever noticed it. What happens to it:

    gone for                                   then
    less than the alert interval               nothing
    the alert interval                         an alert, once
    the failure interval (`failure.interval.ms`, -1: never, the default)
                                               its replicas are moved to other brokers: the repair is queued, and
                                               the failure is forgotten, since the repair is durable itself. Where
                                               some replicas have nowhere to go the failure stands, and the rest is
                                               tried again soon after brokers come or go, or after a while
    until it comes back, whenever that is      the failure is forgotten; what of its repair has not started is dropped

Nothing is moved, and a reason is shown, while

    healing is paused
    too many brokers are gone, in number or as a share of the cluster: what is wrong then is not a broker
    this controller has not looked long enough itself: after a pause of ZooKeeper, in which nobody had a
        session, or after its own election, brokers are given time to come back

An operator's order ("heal this one now") passes the interval by, and nothing else.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.config_values import INT32, flag, number
from kafka_reassign_rpc.core.state.cluster import HEAL, Cluster, Partition
from kafka_reassign_rpc.core.state.queue_entries import Waiting
from kafka_reassign_rpc.core.throttling.observed_throughput import EXPECTED, HealingThrottle

OFF = -1

INTERVAL = "failure.interval.ms"
ALERT_INTERVAL = "failure.alert.interval.ms"
PAUSED = "self.healing.paused"
MAX_BROKERS = "self.healing.max.failed.brokers"
MAX_PERCENTAGE = "self.healing.max.failed.percentage"
THROTTLE = "self.healing.throttle"
CHUNK = "self.healing.max.moves"
CANCEL_ON_RETURN = "self.healing.cancel.on.return"

GRACE_MS = 30_000
"""How long a controller has to miss a broker itself before it heals it, however long ago the failure was recorded."""

PREPARE_MS = 30_000
"""How long before a broker's time comes its repair is planned: by then all is measured and thought out. Never before
half the interval is over."""

MAX_INTERVAL_MS = 10**14
"""Three thousand years: the time at which a broker is healed can be told."""

RETRY_MS = 300_000
"""How long until what could not be repaired is tried again though no broker has come or gone."""

NAMED = 20
"""So many brokers are named where something is said of many."""


class Healing(msgspec.Struct, frozen=True):
    """How the cluster heals itself.

    interval_ms         how long a broker has to be gone; -1: healing is off
    alert_interval_ms   how long until an alert, also where healing is off; -1: half the interval
    max_brokers         brake: with more brokers gone than this nothing is moved
    max_percentage      brake: with a greater share of the brokers gone than this nothing is moved
    throttle            of each broker that takes part
    chunk               moves of repairs in flight at a time
    cancel_on_return    cancel what is under way of a repair when its broker comes back
    """

    interval_ms: int = OFF
    alert_interval_ms: int = OFF
    max_brokers: int = 10
    max_percentage: int = 40
    throttle: HealingThrottle = HealingThrottle()
    chunk: int = 500
    cancel_on_return: bool = False
    paused: bool = False

    @property
    def alert_after_ms(self) -> int | None:
        """None: never. Nothing is healed without an alert before."""
        if self.interval_ms < 0:
            return None if self.alert_interval_ms < 0 else self.alert_interval_ms
        return self.interval_ms // 2 if self.alert_interval_ms < 0 else min(self.alert_interval_ms, self.interval_ms)

    @property
    def grace_ms(self) -> int:
        """For how long brokers are given time to come back where others are coming back, too."""
        return max(0, min(GRACE_MS, self.interval_ms))


class Repairs(NamedTuple):
    """How it stands.

    failed           brokers that have failed
    alerted          those of them that have been gone for longer than the alert interval
    waiting, moving  moves of repairs
    impossible       partitions that repairs had to leave as they are
    held_back        whether something keeps all of it back
    """

    failed: int = 0
    alerted: int = 0
    waiting: int = 0
    moving: int = 0
    impossible: int = 0
    held_back: bool = False


NO_REPAIRS = Repairs()

_NUMBERS = {
    INTERVAL: ("interval_ms", -1, MAX_INTERVAL_MS),
    ALERT_INTERVAL: ("alert_interval_ms", -1, MAX_INTERVAL_MS),
    MAX_BROKERS: ("max_brokers", 0, INT32),
    MAX_PERCENTAGE: ("max_percentage", 0, 100),
    CHUNK: ("chunk", 1, INT32),
}
_FLAGS = {PAUSED: "paused", CANCEL_ON_RETURN: "cancel_on_return"}


def settings_of(cluster: Cluster, started_with: Healing) -> tuple[Healing, list[str]]:
    """The cluster's dynamic configs above what the server was started with; and what of them makes no sense.

    A value that makes no sense counts for nothing: healing goes by what stood before it, and somebody is told.
    """
    found: dict[str, int | bool | HealingThrottle] = {}
    problems = []
    for name, text in cluster.default_configs.items():
        if name in _NUMBERS:
            field, low, high = _NUMBERS[name]
            value: int | bool | HealingThrottle | None = number(text, low, high)
            expected = f"a whole number from {low} to {high}"
        elif name == THROTTLE:
            value, field, expected = _throttle(text), "throttle", EXPECTED
        elif name in _FLAGS:
            field, value, expected = _FLAGS[name], flag(text), "true or false"
        else:
            continue
        if value is None:
            problems.append(f"{name}={text!r} is left out: {expected} is expected")
        else:
            found[field] = value
    return msgspec.structs.replace(started_with, **found), problems


def is_paused(cluster: Cluster) -> bool:
    """Whether an operator has paused healing."""
    return flag(cluster.default_configs.get(PAUSED, "")) is True


def _throttle(text: str) -> HealingThrottle | None:
    try:
        return HealingThrottle.parse(text)
    except ValueError:
        return None


def rack_problems(cluster: Cluster, settings: Healing) -> list[str]:
    """What repairs can make less of than they should, because it is not known where brokers stand."""
    rackless = sorted(broker.id for broker in cluster.brokers.values() if broker.rack is None)
    if not rackless or len(rackless) == len(cluster.brokers) or settings.interval_ms < 0:
        return []
    named = f"{_listed(rackless[:NAMED])}{' …' if len(rackless) > NAMED else ''}"
    return [f"brokers {named} have no rack, others do: those without are taken for one rack of their own"]


def wanted(cluster: Cluster, partition: Partition, queued: Waiting | None) -> tuple[int, ...]:
    """Where a partition is to lie, as far as repairs go by it: what waits counts before what is under way.

    Somebody's queued target that waits for a broker which is not there is no remedy, and no reason to heal that broker.
    """
    if queued is not None and (queued.route == HEAL or all(replica in cluster.brokers for replica in queued.target)):
        return queued.target
    return partition.target


def still_needed(cluster: Cluster, partition: Partition | None, target: tuple[int, ...]) -> tuple[int, ...] | None:
    """What is left of a repair that has not started; None: nothing.

    Brokers that are back have their places again, unless that puts more replicas into one rack than the repair does.
    """
    if partition is None:
        return None
    standing = partition.target
    if all(replica in cluster.brokers for replica in standing):
        return None
    if len(standing) != len(target):
        return target
    left = tuple([old if old in cluster.brokers else new for old, new in zip(standing, target, strict=True)])
    if len(set(left)) < len(left) or len(_racks(cluster, left)) < len(_racks(cluster, target)):
        return target
    return left


def _racks(cluster: Cluster, replicas: Iterable[int]) -> set[str | None]:
    return {cluster.brokers[replica].rack for replica in replicas if replica in cluster.brokers}


def may_go_back(cluster: Cluster, partition: Partition) -> bool:
    """Whether a partition moves for the sake of brokers that are all back by now."""
    move = partition.move
    return (
        partition.is_moving
        and move is not None
        and move.route == HEAL
        and all(replica in cluster.brokers for replica in move.original)
    )


class Losses:
    """Replicas on brokers that are not there, by broker: counted in slices of the caller's.

    A replica that a move (or a queued one) takes away from its broker is not lost with it any more.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._live = frozenset(cluster.brokers)
        self.replicas: dict[int, int] = {}

    def count(self, partition: Partition, queued: Waiting | None = None) -> None:
        """`queued`: what waits for this partition."""
        if queued is None and self._live.issuperset(partition.replicas):
            return
        for replica in wanted(self._cluster, partition, queued):
            if replica not in self._cluster.brokers:
                self.replicas[replica] = self.replicas.get(replica, 0) + 1


class FailureWatch(msgspec.Struct, frozen=True):
    """What is known at one moment.

    failed      brokers with a durable failure: when it was first noticed, ms since the epoch
    lost        brokers that are gone and hold replicas, with their number
    live        brokers that are there
    missed      since when this controller has missed a broker itself, by broker, ms
    ordered     brokers that an operator wants healed now
    not_before  when a repair that had to leave replicas where they are is tried again, by broker, ms
    now_ms      the time, ms since the epoch
    """

    failed: Mapping[int, int]
    lost: Mapping[int, int]
    live: Collection[int]
    missed: Mapping[int, int]
    now_ms: int
    ordered: frozenset[int] = frozenset()
    not_before: Mapping[int, int] = {}


class Diagnosis(msgspec.Struct, frozen=True):
    """What is to be done.

    record      brokers that have failed since: to be made durable, with the time
    forget      failures that are over: the broker is back, or holds nothing any more
    alerts      brokers that have been gone for longer than the alert interval
    heal        brokers whose replicas are to be moved now
    prepare     brokers whose time comes next, and soon: their repair may be planned
    heal_at     when each lost broker's time comes (or came), ms; None: never
    held_back   why brokers whose time has come are not healed; None: nothing holds them back
    due_ms      when to look again though nothing happens; None: never
    """

    record: Mapping[int, int]
    forget: frozenset[int]
    alerts: tuple[int, ...]
    heal: tuple[int, ...]
    prepare: tuple[int, ...]
    heal_at: Mapping[int, int | None]
    held_back: str | None
    due_ms: int | None


def diagnose(watch: FailureWatch, settings: Healing) -> Diagnosis:
    """What follows from what is known. Changes nothing, and may be asked as often as one likes."""
    forget = frozenset(broker for broker in watch.failed if broker in watch.live or broker not in watch.lost)
    record = {
        broker: watch.missed.get(broker, watch.now_ms) for broker in sorted(watch.lost) if broker not in watch.failed
    }
    failed = {broker: since for broker, since in watch.failed.items() if broker not in forget} | record
    times = {broker: _times(watch, settings, broker, min(since, watch.now_ms)) for broker, since in failed.items()}
    due = sorted(broker for broker, (_, heal) in times.items() if heal is not None and heal <= watch.now_ms)
    coming = min((heal for _, heal in times.values() if heal is not None and heal > watch.now_ms), default=None)
    prepare_at = None if coming is None else coming - min(PREPARE_MS, settings.interval_ms // 2)
    soon = prepare_at is not None and prepare_at <= watch.now_ms
    brake = _brake(watch, settings) if due or soon else None
    held_back = brake if due else None
    return Diagnosis(
        record=record,
        forget=forget,
        alerts=tuple(sorted(b for b, (alert, _) in times.items() if alert is not None and alert <= watch.now_ms)),
        heal=() if held_back else tuple(due),
        prepare=tuple(sorted(b for b, (_, heal) in times.items() if heal == coming)) if soon and not brake else (),
        heal_at={broker: heal for broker, (_, heal) in times.items()},
        held_back=held_back,
        due_ms=min(
            (at for at in (*chain(*times.values()), prepare_at) if at is not None and at > watch.now_ms), default=None
        ),
    )


def _times(watch: FailureWatch, settings: Healing, broker: int, since: int) -> tuple[int | None, int | None]:
    """When there is an alert about a failure, and when it is healed; None: never."""
    alert = None if settings.alert_after_ms is None else since + settings.alert_after_ms
    ordered = watch.now_ms if broker in watch.ordered else None
    if settings.interval_ms < 0:
        return alert, ordered
    missed = watch.missed.get(broker, watch.now_ms)
    due = max(since + settings.interval_ms, missed + settings.grace_ms, watch.not_before.get(broker, 0))
    return alert, due if ordered is None else ordered


def _brake(watch: FailureWatch, settings: Healing) -> str | None:
    gone = len(watch.lost)
    everybody = gone + len(watch.live)
    if settings.paused:
        return f"healing is paused ({PAUSED}=true)"
    if not watch.live:
        return "no broker is there to take replicas"
    if gone > settings.max_brokers:
        return f"{gone} brokers are gone, more than {MAX_BROKERS}={settings.max_brokers}: {_listed(watch.lost)}"
    if 100 * gone > settings.max_percentage * everybody:
        return (
            f"{gone} of {everybody} brokers are gone, more than {MAX_PERCENTAGE}={settings.max_percentage}:"
            f" {_listed(watch.lost)}"
        )
    return None


def _listed(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(brokers)))
