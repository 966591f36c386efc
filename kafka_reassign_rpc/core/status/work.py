"""All the work, and when it is done."""

from heapq import nlargest

from kafka_reassign_rpc.core.reassignment.move_sums import GroupKey, Sums
from kafka_reassign_rpc.core.state.partition import HEAL
from kafka_reassign_rpc.core.status.documents import Group, Totals, Work, share
from kafka_reassign_rpc.core.status.views import TermView
from kafka_reassign_rpc.support.counted import agreeing, counted, those

NAMED = 5
"""Dead brokers that a text names."""


def work_of(term: TermView, totals: Totals) -> Work:
    sums = term.progress.sums.all
    left_moves = totals.in_flight + sum((totals.waiting or {}).values())
    # A move that has begun since the last sample counts with the size that it had while it waited.
    unsized = max(0, left_moves - sums.measured - (sums.waiting - sums.unsized))
    total, copied = _bytes(sums) if not unsized and not sums.unmeasured else (None, None)
    left = sums.total - sums.copied + sums.waiting_bytes if not unsized else None
    no_estimate = _no_estimate(term, totals, unsized, left) if left_moves else None
    done_ms = None if no_estimate is not None else _done_ms(term, totals) if left_moves else 0
    if done_ms is None and no_estimate is None:
        no_estimate = "how fast the moves copy is not known yet"
    return Work(
        sums.ended + left_moves, sums.ended, total, copied, left, unsized + sums.unmeasured, share(copied, total),
        done_ms, no_estimate,
    )  # fmt: skip


def groups_of(term: TermView, most: int) -> list[Group]:
    groups = term.progress.sums.groups.items()
    largest = nlargest(most, groups, key=lambda item: (item[1].moves + item[1].waiting, item[0]))
    return [_group(term, key, sums) for key, sums in largest if sums.moves or sums.waiting]


def _group(term: TermView, key: GroupKey, sums: Sums) -> Group:
    total, copied = (None, None) if sums.unknown or sums.unsized or sums.unmeasured else _bytes(sums)
    return Group(
        key.route if term.tells_routes else None, key.reason or None, sums.moves,
        sums.waiting if term.knows_waiting else None, sums.stalled, sums.ended, total, copied, share(copied, total),
    )  # fmt: skip


def _bytes(sums: Sums) -> tuple[int, int]:
    """What all moves copy, and what they have copied."""
    return sums.ended_bytes + sums.total + sums.waiting_bytes, sums.ended_bytes + sums.copied


def _done_ms(term: TermView, totals: Totals) -> int | None:
    """The slowest move in flight has its own estimate; waiting moves, and those that waited at the last sample, follow
    at the pace of the brokers.
    """
    slowest = term.progress.remaining_ms
    if not totals.waiting and not term.progress.sums.all.waiting:
        return None if term.progress.untimed else slowest
    seconds = term.progress.all_done_s
    return None if seconds is None else max(slowest or 0, int(seconds * 1000))


def _no_estimate(term: TermView, totals: Totals, unsized: int, left: int | None) -> str | None:
    by_route = totals.waiting or {}
    waiting = sum(by_route.values())
    rules = term.cluster.soft.in_force
    if waiting and rules.disabled_by is not None:
        return f"{counted(waiting, 'waiting move', 'do')} not start while reassignments are disabled"
    if held := term.cluster.queue.held:
        return f"{counted(held, 'waiting move', 'are')} held until {'it is' if held == 1 else 'they are'} released"
    if term.cluster.queue.unapproved:
        return f"{counted(term.cluster.queue.unapproved, 'move')} of repairs wait for approval"
    if (kept := waiting - by_route.get(HEAL, 0)) and rules.caps.closed:
        return f"{counted(kept, 'waiting move', 'wait')} for a window"
    healing = term.healing
    if healing is not None and by_route.get(HEAL) and (healing.paused or healing.held_back):
        return "repairs wait while self-healing is " + ("paused" if healing.paused else "held back")
    if (dead := _dead_receivers(term)) is not None:
        return dead
    if not term.progress.samples:
        return "no broker has reported yet how much is copied"
    if totals.stalled:
        return f"{counted(totals.stalled, 'move', 'are')} stalled"
    if unsized:
        return f"the bytes of {counted(unsized, 'move')} are not known"
    if left == 0 and totals.in_flight:
        return _why_not_over(term.progress.only_removing, totals.in_flight)
    if totals.rate == 0:
        return "nothing is being copied"
    return None


def _dead_receivers(term: TermView) -> str | None:
    """It is not known when a dead broker comes back."""
    receivers = term.progress.receivers
    dead = sorted(broker for broker in receivers if broker not in term.cluster.brokers)
    if not dead:
        return None
    who = counted(receivers[dead[0]], "move", "wait") if len(dead) == 1 else "moves wait"
    return f"{who} for {those(dead, most=NAMED)}, which {agreeing(len(dead), 'are')} dead"


def _why_not_over(only_removing: int, in_flight: int) -> str:
    """Nothing is left to copy."""
    if only_removing < in_flight:
        return "all is copied, and replicas still have to join the ISR"
    who = f"{counted(in_flight, 'move')} only {agreeing(in_flight, 'remove')} replicas"
    return f"{who}: those that stay are not all in the ISR"
