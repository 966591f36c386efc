"""What an operator must look at, the worst first. The page, `status` and the API begin with it."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec.structs import replace

from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.healing.failed_brokers import paused_who
from kafka_reassign_rpc.core.healing.self_healing_status import (
    FailedBroker,
    GoneBroker,
    HealingStatus,
    LogDirFailure,
    what_and_fate,
)
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.status.documents import ROLES, StatusProblem, Totals
from kafka_reassign_rpc.core.status.views import ServerView, TermView
from kafka_reassign_rpc.core.throttling.leased_configs import Removed, sets_again
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.cluster_name import of_cluster
from kafka_reassign_rpc.support.counted import agreeing, counted, first_of, those
from kafka_reassign_rpc.support.human_units import utc_time
from kafka_reassign_rpc.support.typed_commands import command

EMPTY_PLACE = (
    "there is no broker and no topic. A mistyped chroot looks the same: is that of zookeeper.connect the brokers' own?"
)
UNSEEN_PLACE = (
    "no broker is registered. A mistyped chroot looks the same: is that of zookeeper.connect the brokers' own?"
)
UNSEEN_CLUSTER = "the cluster cannot be seen: the log of watch says why"
OF_SERVERS = ("controller", "standby")
"""Roles of those that read the registrations of brokers."""
NAMED = 5
"""Brokers, or reasons, that a text names."""
MOST_UNSEEN = 20


def problems_of(view: ServerView, totals: Totals | None, *, full: bool) -> list[StatusProblem]:
    """`full`: reasons of stalls, and who has switched something off, may be shown."""
    found = sorted(_problems(view, totals, full=full), key=lambda one: one.level != "wrong")
    name = view.watch.name
    return [replace(one, text=f"{of_cluster(name)}{one.text}") for one in found] if name else found


def reason_of(view: ServerView, *, full: bool) -> str:
    """Why this process has no role. What `watch` cannot see has addresses and users, which are shown only in full."""
    if view.watch.lost_quorum is not None:
        return view.watch.lost_quorum.text
    return UNSEEN_CLUSTER if view.reason and view.server is None and not full else view.reason


def disabled_text(rules: TermView | None, *, full: bool) -> str | None:
    """What a cluster says that takes nothing may have names and addresses."""
    if rules is None:
        return None
    why = restrictions.why_disabled(rules.cluster)
    return restrictions.TAKES_NOTHING if not full and restrictions.is_only_refused(rules.cluster) else why


def lost_brokers(cluster: Cluster, healing: HealingStatus | None) -> Mapping[int, int | None]:
    """Brokers that are not registered, and that hold replicas or that moves name: when a controller first missed each;
    None: unknown.
    """
    gone = () if healing is None else healing.gone
    found = {one.broker: one.since for one in gone} | cluster.failed
    return {broker: since for broker, since in found.items() if broker not in cluster.brokers}


def _problems(view: ServerView, totals: Totals | None, *, full: bool) -> Iterator[StatusProblem]:
    term = view.term
    yield from _of_role(view, full=full)
    for text in view.watch.unseen[:MOST_UNSEEN] if full else ():
        yield StatusProblem("unseen", "warn", text, None)
    if failing := view.certificates.failing:
        text = first_of(failing, NAMED, between="; ") if full else "the certificates of listeners are refused"
        yield StatusProblem("certificates", "wrong", text, None)
    if not view.brokers and view.role in OF_SERVERS:
        yield _no_broker(term)
    if term is None or totals is None:
        return
    if lost := lost_brokers(term.cluster, term.healing):
        yield _lost(term, lost)
    if term.cluster.live_with_failed_log_dirs:
        yield _failed_log_dirs(term, full=full)
    if term.cluster.unreadable:
        yield _left_alone(term.cluster.unreadable, full=full)
    if totals.offline:
        text = f"{counted(totals.offline, 'partition', 'are')} offline: no replica leads"
        yield StatusProblem("offline", "wrong", text, None)
    if totals.stalled:
        why = f": {_reasons(term)}" if full and term.progress.sums.stalls else ""
        yield StatusProblem("stalled", "wrong", f"{counted(totals.stalled, 'move', 'are')} stalled{why}", None)
    if (disabled := disabled_text(view.rules, full=full)) is not None:
        # A znode is its own reason: it does not say who has made it.
        who = restrictions.disabled_who(term.cluster) if full and not term.cluster.disabled_by_znode else None
        text = f"Reassignments are disabled{_by(who)}: {disabled}. Moves in flight go on"
        yield StatusProblem("disabled", "wrong", text, None)
    yield from _of_healing(term, full=full)
    yield from _unapproved(term)
    if totals.under_replicated:
        text = f"{counted(totals.under_replicated, 'partition', 'are')} under-replicated"
        yield StatusProblem("under_replicated", "warn", text, None)
    yield from _removed(term.removed, full=full)
    if not totals.in_flight and not totals.waiting and (slow := _needlessly_throttled(term)):
        verify = command("kafka-reassign", "--verify", "--reassignment-json-file", "FILE")
        text = (
            f"Nothing moves, and {those(slow, verb='are', most=NAMED)} throttled by a config that no move needs."
            f" With the file of the moves this clears it: {verify}"
        )
        yield StatusProblem("needless_throttles", "warn", text, None)


def _of_role(view: ServerView, *, full: bool) -> Iterator[StatusProblem]:
    if (lost := view.watch.lost_quorum) is not None:
        yield StatusProblem("no_controller", "wrong", lost.text, lost.since)
    elif view.role not in ROLES:
        since = "" if view.watch.silent_since is None else f" (since {utc_time(view.watch.silent_since)} UTC)"
        text = f"{reason_of(view, full=full) or 'this server is not ready'}{since}"
        yield StatusProblem("no_controller", "wrong", text, view.watch.silent_since)
    elif view.controller.id is None and view.role != "watch":  # the cluster has one, and does not say which
        yield StatusProblem("no_controller", "wrong", "no controller is known", None)
    elif view.watch.silent_since is not None:
        yield StatusProblem("unseen", "wrong", _silent(view.watch.silent_since), view.watch.silent_since)


def _silent(since: int) -> str:
    return (
        f"No broker has said since {utc_time(since)} UTC which moves there are: they are shown as they were then. While"
        " a KRaft cluster has no active controller, no broker says it; a broker that hangs delays it"
    )


def _no_broker(term: TermView | None) -> StatusProblem:
    """Only the controller knows the topics."""
    if term is None or not term.cluster.topics:
        return StatusProblem("no_brokers", "wrong", EMPTY_PLACE if term else UNSEEN_PLACE, None)
    count = len(term.cluster.topics)
    text = (
        f"no broker is registered, and there {agreeing(count, 'are')} {counted(count, 'topic')}: all brokers are down"
    )
    return StatusProblem("no_brokers", "wrong", text, None)


def _lost(term: TermView, lost: Mapping[int, int | None]) -> StatusProblem:
    registered = len(term.cluster.brokers)
    fates = _fates(term.healing, () if term.healing is None else (*term.healing.failed, *term.healing.gone))
    shown = []
    for broker in sorted(lost)[:NAMED]:
        at = lost[broker]
        since = "" if at is None else f" since {utc_time(at)} UTC"
        fenced = ", fenced" if broker in term.cluster.soft.kraft.fenced else ""
        shown.append(f"{broker}{since}{fenced}{fates.get(broker, '')}")
    lost_ones = first_of(shown, NAMED, of=len(lost), between="; ")
    text = f"{registered} of {counted(registered + len(lost), 'broker')} live; lost: {lost_ones}{_off(term)}"
    return StatusProblem(
        "lost_brokers", "wrong", text, min((one for one in lost.values() if one is not None), default=None)
    )


def _off(term: TermView) -> str:
    """Why none of them is healed."""
    is_off = term.healing is not None and term.healing.interval_ms is None
    return ". Self-healing is off: failure.interval.ms=-1" if is_off else ""


def _fates(healing: HealingStatus | None, lost: Iterable[FailedBroker | LogDirFailure | GoneBroker]) -> dict[int, str]:
    if healing is None:
        return {}
    return {one.broker: f", {text}" for one in lost if (text := what_and_fate(one))}


def _failed_log_dirs(term: TermView, *, full: bool) -> StatusProblem:
    failures = term.cluster.live_with_failed_log_dirs
    fates = _fates(term.healing, () if term.healing is None else term.healing.log_dirs)
    shown = []
    for broker in sorted(failures)[:NAMED]:
        paths = failures[broker].paths
        named = f" ({first_of(paths, NAMED)})" if full and paths else ""
        shown.append(f"{broker}{named} since {utc_time(failures[broker].since)} UTC{fates.get(broker, '')}")
    brokers = first_of(shown, NAMED, of=len(failures), between="; ")
    text = f"{counted(len(failures), 'broker', 'have')} lost log dirs: {brokers}{_off(term)}"
    return StatusProblem("failed_log_dirs", "wrong", text, min(one.since for one in failures.values()))


def _left_alone(topics: Mapping[str, str], *, full: bool) -> StatusProblem:
    reasons = [f"{name} ({topics[name]})" for name in sorted(topics)[:NAMED]]
    named = first_of(reasons, NAMED, of=len(topics), between="; ")
    text = f"{counted(len(topics), 'topic', 'are')} left alone: whatever is asked about such a topic is refused"
    return StatusProblem("topics_left_alone", "wrong", f"{text}. {named}" if full else text, None)


def _reasons(term: TermView) -> str:
    stalls = term.progress.sums.stalls
    texts = [why if count == 1 else f"{why} ({count} moves)" for why, count in stalls.most_common(NAMED)]
    return "; ".join(texts) + ("; …" if len(stalls) > NAMED else "")


def _of_healing(term: TermView, *, full: bool) -> Iterator[StatusProblem]:
    healing = term.healing
    if healing is None:
        return
    if healing.paused:  # that holds it back, too
        who = paused_who(term.cluster) if full else None
        text = f"Self-healing is paused{_by(who)}: no broker is healed, and waiting repairs do not start"
        yield StatusProblem("healing_paused", "warn", text, None)
    elif healing.held_back is not None:
        yield StatusProblem("healing_held_back", "wrong", f"Self-healing is held back: {healing.held_back}", None)


def _unapproved(term: TermView) -> Iterator[StatusProblem]:
    if not term.cluster.queue.unapproved:
        return
    repairs = () if term.healing is None else term.healing.repairs
    of = sorted(one.broker for one in repairs if one.unapproved)
    repaired = f" of {those(of, most=NAMED)}" if of else ""
    waiting = f"{counted(term.cluster.queue.unapproved, 'move')} of repairs{repaired}"
    wait = agreeing(term.cluster.queue.unapproved, "wait")
    text = f"{waiting} {wait} for approval: {command('kafka-reassign heal', '--approve')}"
    yield StatusProblem("repairs_unapproved", "wrong", text, None)


def _removed(removed: Collection[Removed], *, full: bool) -> Iterator[StatusProblem]:
    if not removed:
        return
    shown = [str(one) for one in removed if full or one.topic is None]
    hidden = len(removed) - len(shown)
    others = [counted(hidden, "topic")] if hidden else []
    lowest = min((one.rate for one in removed if one.rate > 0), default=0)  # for all moves: not more than was asked for
    again = sets_again(lowest)
    text = (
        f"Moves go on without throttles that somebody else has removed again:"
        f" {first_of([*shown, *others], NAMED, between='; ')}."
    ) + (f" This sets them again: {again}" if again else "")
    yield StatusProblem("removed_throttles", "warn", text, None)


def _by(who: str | None) -> str:
    return "" if who is None else f" by {who}"


def _needlessly_throttled(term: TermView) -> list[int]:
    """By a rate of their own that was read after the last move had ended. One for all brokers may be permanent."""
    found = throttled(term.cluster) - {*term.outdated, *term.silent}
    return sorted(broker for broker in found if term.cluster.leases.rate(broker) < 0)


def throttled(cluster: Cluster) -> set[int]:
    """Brokers with a rate of their own."""
    names = [
        name for name, configs in cluster.broker_configs.items() if LEADER_RATE in configs or FOLLOWER_RATE in configs
    ]
    return {broker for name in names if (broker := whole_number(name, 0, INT32)) is not None}
