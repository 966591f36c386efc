"""Which failed brokers are repaired, and when (KIP-46). A broker that only bounces never is.

A broker has failed if it is gone and holds replicas; in part if it is registered and has lost log dirs with replicas.
An adding replica counts only if its move is a repair, which is planned again. What a move in
flight takes away is not repaired; what a waiting one would take away is, since that may wait for hours. A failed log
dir stays recorded, and an absent broker is still shown (`GoneBroker`), while partitions name it. ZooKeeper stores when
a controller first noticed the failure, so the time survives that controller.

gone for                              the controller
less than the alert interval          does nothing
the alert interval                    reports an alert, once
`failure.interval.ms` (-1: never,     queues the repair: moves of its replicas to other brokers. The repair is
the default)                          durable, so the failure is forgotten. If some replicas cannot be placed, the
                                      failure stays, and the controller tries again after brokers come or go, or
                                      after `RETRY_MS`
any time, and comes back              forgets the failure, and withdraws the moves of its repair that have not
                                      started

No repair starts or continues while self-healing is paused, while so many brokers are gone that the fault is not a
broker's, and while brokers get time to come back: after an outage of ZooKeeper, after this controller's election, and
after too many were gone. An operator's order to repair now skips only the interval.

KAFKA_STORAGE_ERROR to LeaderAndIsr says which replicas are offline, and decides. DescribeLogDirs names the failed log
dirs, and can contradict: a broker whose log dirs all work has lost none, and its replica is offline for another reason.
No answer says nothing. A broker's clock runs from its first failed log dir, and begins again if another has failed
(`is_another`). A new replica never goes to another log dir of the same broker, which does not start with two logs of
one partition once its disk is back. Nor does a repair give other replicas to a broker with a failed log dir.

While approval is required (`self.healing.approval`), repairs that self-healing queues by itself wait for it; one that
an operator orders (`heal --now`) counts as approved. Each move stores its need, which outlasts failovers and the end of
the setting. A held move (`core.queue.holding`) also waits for its release.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.healing.repair_targets import (
    Copy,
    CostSum,
    leaving,
    listed,
    repaired_brokers,
    still_to_copy,
    wanted_replicas,
)
from kafka_reassign_rpc.core.settings.healing_settings import (
    MAX_BROKERS,
    MAX_PERCENTAGE,
    NO_APPROVAL,
    PAUSED,
    HealingSettings,
)
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.broker import Broker, FailedLogDirs
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.support.counted import agreeing, counted, those


def brake(gone: Collection[int], live: Collection[int], settings: HealingSettings) -> str | None:
    """Why no repair may join the queue, and no waiting one may start, or None.

    gone   brokers with lost replicas that no move in flight takes away, and no repair that may start
    """
    if settings.unreadable:
        return settings.unreadable
    if settings.paused:
        return f"healing is paused ({PAUSED}=true)"
    return too_many_gone(gone, live, settings)


def paused_who(cluster: Cluster) -> str | None:
    """Who has paused self-healing, in words for people, None if unknown."""
    by = cluster.set_by(PAUSED)
    return None if by is None else by.who


def too_many_gone(gone: Collection[int], live: Collection[int], settings: HealingSettings) -> str | None:
    """Why the fault is not a broker's, or None, also while paused."""
    known = len({*gone, *live})
    how = "gone" if set(gone).isdisjoint(live) else "gone or have lost log dirs"
    if not live:
        return "no broker is there to take replicas"
    if len(gone) > settings.max_brokers:
        missing = f"{counted(len(gone), 'broker', 'are')} {how}"
        return f"{missing}, more than {MAX_BROKERS}={settings.max_brokers}: {listed(gone)}"
    if 100 * len(gone) > settings.max_percentage * known:
        return (
            f"{len(gone)} of {known} brokers {agreeing(len(gone), 'are')} {how},"
            f" more than {MAX_PERCENTAGE}={settings.max_percentage}: {listed(gone)}"
        )
    return None


def braked_caps(cluster: Cluster, gone: Collection[int]) -> InFlightCaps:
    """The caps in force, under which no repair starts while the brake holds. `gone` as in `counting`."""
    rules = cluster.soft.in_force
    held_back = brake(counting(gone, cluster), cluster.brokers, rules.healing)
    return rules.caps if held_back is None else replace(rules.caps, repairs=0)


def counting(gone: Collection[int], cluster: Cluster) -> set[int]:
    """Of the last count: brokers that are still gone, or have recorded lost log dirs."""
    return {broker for broker in gone if broker not in cluster.brokers or broker in cluster.failed_log_dirs}


def needed_since(settings: HealingSettings, by: Requester, adopted: WaitingMove | None, now_ms: int) -> int | None:
    """Since when a new move of a repair needs approval, ms since the epoch; None: it needs none.

    by       who has asked for the repair
    adopted  the move of others that the repair replaces: they wanted it to start, unless they held it
    """
    is_wanted = by != CONTROLLER or (adopted is not None and adopted.may_start)
    return None if settings.approval == NO_APPROVAL or is_wanted else now_ms


def awaits(move: WaitingMove, brokers: Collection[int] | None) -> bool:
    """Whether a move needs approval and repairs one of `brokers`, None: any."""
    if move.unapproved is None:
        return False
    return brokers is None or not repaired_brokers(move.terms.reason, move.terms.target).isdisjoint(brokers)


class DescribedLogDirs(NamedTuple):
    """A broker's answer under the registration `epoch`. `failed`: paths, None: no answer."""

    epoch: int
    failed: tuple[str, ...] | None


def described_now(
    described: Mapping[int, DescribedLogDirs], live: Mapping[int, Broker]
) -> dict[int, tuple[str, ...] | None]:
    """Without answers of former registrations."""
    return {id_: one.failed for id_, one in described.items() if id_ in live and live[id_].epoch == one.epoch}


def is_another(failure: FailedLogDirs, failed: tuple[str, ...] | None, *, is_repaired: bool = False) -> bool:
    """Whether none of the recorded log dirs has failed now, or, where `is_repaired`, a failed one is not recorded.

    is_repaired   the repair of the recorded ones is queued, and replicas are lost that it does not take away
    """
    if not failure.paths or not failed:
        return False
    return set(failure.paths).isdisjoint(failed) or (is_repaired and not set(failed) <= set(failure.paths))


def recorded(since: int, failed: tuple[str, ...] | None, known: FailedLogDirs | None) -> FailedLogDirs:
    return FailedLogDirs(since, failed or (() if known is None else known.paths))


PREPARE_MS = 30_000
"""The controller plans a repair this long before it is due, but not in the first half of the interval."""

RETRY_MS = 300_000
"""The controller retries an incomplete repair after this time if no broker comes or goes."""

NAMED = 20


class RepairCounts(NamedTuple):
    """failed      brokers that are gone and named by replicas or moves
    alerted     of these, and of registered ones that have lost log dirs, for longer than the alert interval
    waiting     moves of repairs, of which `unapproved` lack approval; `moving`: in flight
    impossible  partitions that repairs had to leave
    held_back   something holds all repairs back
    log_dirs    registered brokers that have lost log dirs
    """

    failed: int = 0
    alerted: int = 0
    waiting: int = 0
    moving: int = 0
    impossible: int = 0
    held_back: bool = False
    paused: bool = False
    unapproved: int = 0
    log_dirs: int = 0


NO_REPAIRS = RepairCounts()


def rack_problems(cluster: Cluster, settings: HealingSettings) -> list[str]:
    rackless = sorted(broker.id for broker in cluster.brokers.values() if broker.rack is None)
    if not rackless or len(rackless) == len(cluster.brokers) or settings.interval_ms < 0:
        return []
    named = those(rackless, verb="have", most=NAMED)
    return [f"{named} no rack, others do: those without are taken for one rack of their own"]


class LostReplicas:
    """Counts the replicas on absent brokers and on failed log dirs, in slices of the caller.

    replicas    by broker: those that no move in flight and no repair takes away (`wanted_replicas`); 0 for a registered
                broker whose failed log dir only moves name
    leaving     brokers with others, which a move in flight takes away
    unapproved  brokers with others, which only an unapproved repair would take away
    repaired    by absent broker: those that a repair takes away
    awaited     by absent broker: moves, in flight or waiting, that would bring a replica there
    costs       by broker: what repairs that wait copy, and what others would, by the sizes of leaders
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.costs: defaultdict[int, CostSum] = defaultdict(CostSum)
        self._live = frozenset(cluster.brokers)
        self.replicas: dict[int, int] = {}
        self.leaving: set[int] = set()
        self.unapproved: set[int] = set()
        self.repaired: Counter[int] = Counter()
        self.awaited: Counter[int] = Counter()

    @property
    def brokers(self) -> frozenset[int]:
        """Those that a repair would have to empty, which the brake counts."""
        return frozenset(broker for broker, count in self.replicas.items() if count) | self.unapproved

    def count(self, partition: Partition, queued: WaitingMove | None = None, size: int | None = None) -> None:
        """`size`: of the leader's replica in bytes; None: unknown."""
        if not names_lost(self._live, partition, queued):
            return
        wanted = wanted_replicas(self._cluster, partition, queued)
        leaves = leaving(self._cluster, partition, queued, wanted)
        for replica in leaves:
            self.leaving.add(replica)
            self.replicas.setdefault(replica, 0)
        for replica in wanted:
            if self._cluster.is_lost(replica, partition):
                self.replicas[replica] = self.replicas.get(replica, 0) + 1
                self.costs[replica].add(Copy(partition.leader, size))
        if queued is not None and queued.terms.route == HEAL:
            copy = Copy(partition.leader, size, still_to_copy(partition, queued.terms.target))
            for broker in repaired_brokers(queued.terms.reason, queued.terms.target):
                self.costs[broker].add(copy)
        others = [one for one in partition.replicas if one not in wanted and self._cluster.is_lost(one, partition)]
        if queued is not None and queued.unapproved is not None:
            self.unapproved.update(others)
        is_repair = queued is not None and queued.terms.route == HEAL
        for replica in others:
            if replica in self._live:
                self.replicas.setdefault(replica, 0)
            elif replica in partition.adding and not is_repair:
                self.awaited[replica] += 1
            elif replica not in leaves:
                self.repaired[replica] += 1
        if queued is not None and not is_repair:
            self.awaited.update(self._absent(queued, partition))

    def _absent(self, queued: WaitingMove, partition: Partition) -> Iterator[int]:
        return (one for one in queued.terms.target if one not in self._live and one not in partition.replicas)


def names_lost(live: Collection[int], partition: Partition, queued: WaitingMove | None) -> bool:
    """Whether a partition may concern repairs; not only of those that do, but it costs little."""
    return queued is not None or bool(partition.offline) or any(one not in live for one in partition.replicas)


class FailureWatch(msgspec.Struct, frozen=True):
    """What the controller knows at one moment. Times are ms since the epoch.

    failed      failed brokers, with the time when a controller first noticed it; `in_part`: those with lost log dirs
    lost        brokers with lost replicas: how many a repair would have to replace
    silent      registered brokers whose log dirs are not known now
    missed      since when this controller itself has missed a broker
    ordered     brokers that an operator has ordered to repair now
    not_before  when an incomplete repair is tried again, by broker
    waiting     moves of repairs that have not started
    braked_ms   when too many brokers were last gone, None: never so far
    unapproved  brokers with replicas whose repair waits for approval
    """

    failed: Mapping[int, int]
    lost: Mapping[int, int]
    live: Collection[int]
    missed: Mapping[int, int]
    now_ms: int
    ordered: frozenset[int] = frozenset()
    not_before: Mapping[int, int] = {}
    waiting: int = 0
    braked_ms: int | None = None
    unapproved: Collection[int] = ()
    in_part: Mapping[int, int] = {}
    silent: Collection[int] = ()


class Diagnosis(msgspec.Struct, frozen=True):
    """What the controller does about failed brokers.

    record      newly failed brokers, with the time, to be made durable. A live one has failed in part
    forget      failures that are over: the broker is back, or has no replicas any more
    mended      partial failures that are over: the replicas are online, or others have them now
    alerts      brokers past the alert interval
    prepare     brokers that are due soon: their repair may be planned
    heal_at     when each failed broker is (or was) due, ms; None: never
    held_back   why due brokers are not repaired and waiting repairs do not start, or None
    due_ms      when to diagnose again if nothing happens; None: never
    braked_ms   for the next `FailureWatch`
    """

    record: Mapping[int, int]
    forget: frozenset[int]
    alerts: tuple[int, ...]
    heal: tuple[int, ...]
    prepare: tuple[int, ...]
    heal_at: Mapping[int, int | None]
    held_back: str | None
    due_ms: int | None
    braked_ms: int | None = None
    mended: frozenset[int] = frozenset()


def diagnose(watch: FailureWatch, settings: HealingSettings) -> Diagnosis:
    forget = frozenset(broker for broker in watch.failed if broker in watch.live or broker not in watch.lost)
    mended = frozenset(broker for broker in watch.in_part if broker not in watch.lost and broker not in watch.silent)
    failed = {broker: since for broker, since in watch.failed.items() if broker not in forget}
    # While the whole broker is away, its failed log dirs wait: that is one repair, not two.
    failed |= {one: since for one, since in watch.in_part.items() if one in watch.live and one not in mended}
    record = {broker: watch.missed.get(broker, watch.now_ms) for broker in sorted(watch.lost) if broker not in failed}
    failed |= record
    gone = {broker for broker, count in watch.lost.items() if count}.union(watch.unapproved)
    too_many = too_many_gone(gone, watch.live, settings) is not None
    braked_ms = watch.now_ms if too_many else watch.braked_ms
    # While too many are gone, repairs are due, so that the reason why they do not start is shown.
    lifted_ms = None if too_many else braked_ms
    times = {
        broker: _times(watch, settings, broker, min(since, watch.now_ms), lifted_ms) for broker, since in failed.items()
    }
    due = sorted(broker for broker, (_, heal) in times.items() if heal is not None and heal <= watch.now_ms)
    coming = min((heal for _, heal in times.values() if heal is not None and heal > watch.now_ms), default=None)
    prepare_at = None if coming is None else coming - min(PREPARE_MS, settings.interval_ms // 2)
    soon = prepare_at is not None and prepare_at <= watch.now_ms
    braked = brake(gone, watch.live, settings)
    held_back = braked if due or watch.waiting else None
    return Diagnosis(
        record=record,
        forget=forget,
        alerts=tuple(sorted(b for b, (alert, _) in times.items() if alert is not None and alert <= watch.now_ms)),
        heal=() if braked else tuple(due),
        prepare=tuple(sorted(b for b, (_, heal) in times.items() if heal == coming)) if soon and not braked else (),
        heal_at={broker: heal for broker, (_, heal) in times.items()},
        held_back=held_back,
        due_ms=min(
            (at for at in (*chain(*times.values()), prepare_at) if at is not None and at > watch.now_ms), default=None
        ),
        braked_ms=braked_ms,
        mended=mended,
    )


def _times(
    watch: FailureWatch, settings: HealingSettings, broker: int, since: int, lifted_ms: int | None
) -> tuple[int | None, int | None]:
    """When a failed broker's alert and its repair are due, in ms; None: never.

    lifted_ms   when too many brokers were last gone, None: they are now, or never were
    """
    alert = None if settings.alert_after_ms is None else since + settings.alert_after_ms
    ordered = watch.now_ms if broker in watch.ordered else None
    if not watch.lost.get(broker):
        return alert, None
    if settings.interval_ms < 0:
        return alert, ordered
    missed = watch.missed.get(broker, watch.now_ms)
    due = max(since + settings.interval_ms, missed + settings.grace_ms, watch.not_before.get(broker, 0))
    if lifted_ms is not None:
        due = max(due, lifted_ms + settings.grace_ms)
    return alert, due if ordered is None else ordered


def is_alerted(since: int | None, now_ms: int, settings: HealingSettings) -> bool:
    """For a broker that is gone without a failure of its own. `since` None: from before this controller's term, so for
    long.
    """
    after = settings.alert_after_ms
    return after is not None and (since is None or since + after <= now_ms)


def promised_times(found: Diagnosis, settings: HealingSettings, disabled: str | None) -> Mapping[int, int | None]:
    """For people; empty while something keeps repairs from starting, such as `disabled` reassignments."""
    return {} if settings.paused or found.held_back is not None or disabled is not None else found.heal_at
