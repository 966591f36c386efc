"""`kafka-reassign status`: all that the status page of a server shows, once, in a terminal.

It shows the status document and derives nothing: `status_text` draws it. What this cluster does not have (a stock
controller has no queue, no healing and no events) is left out, and said.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from msgspec import to_builtins
from msgspec.structs import asdict

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient, Unreachable, UnsupportedHere
from kafka_reassign_rpc.client.move_progress import LOOKS, progress_of, together
from kafka_reassign_rpc.client.running_servers import Connect
from kafka_reassign_rpc.core.status.broker_documents import BrokerStatus, Throttle
from kafka_reassign_rpc.core.status.documents import Move, Moves, MoveSums, Status, Totals
from kafka_reassign_rpc.reassign_command import action_events, action_heal, action_watch, history_plots, stock_status
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.merged_events import newest_events
from kafka_reassign_rpc.reassign_command.status_text import (
    EVENTS_SHOWN,
    MOVES_SHOWN,
    Seen,
    caps_of,
    last_lines,
    lines,
)
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand

MOVES_PER_PAGE = 500


def run(context: ActionContext, *, sleep: Callable[[float], None] = time.sleep) -> None:
    try:
        seen = read(context.client, context.client_of, as_json=context.output.as_json, sleep=sleep)
    except Unreachable:
        _show_last(context)
        raise
    blocks = history_plots.BLOCKS if context.output.can_write(history_plots.BLOCKS) else history_plots.ASCII
    for line in lines(seen, blocks):
        context.output.line(line)
    context.output.collect(**document(seen))


def _show_last(context: ActionContext) -> None:
    """No controller answers: what a server at the given addresses last knew."""
    with suppress(KafkaError):
        seen = Seen(context.client.status_here(), (), 0, (), is_stored=True)
        for line in last_lines(seen.status):
            context.output.line(line)
        context.output.collect(**document(seen))


def read(
    client: ReassignmentClient, connect: Connect, *, as_json: bool, sleep: Callable[[float], None] = time.sleep
) -> Seen:
    """`as_json`: with every move. Raises KafkaError."""
    seen, events, history = _read_document(client, sleep, as_json=as_json), None, None
    controller = seen.status.controller.id
    at = next((f"{node.host}:{node.port}" for node in client.describe_cluster() if node.id == controller), None)
    seen = seen._replace(at=at)
    try:
        healing, history = client.healing_status(), client.history() or None
    except UnsupportedHere:
        return seen
    with suppress(KafkaError):  # a server may keep no event log
        events = newest_events(client, connect, action_events.say, EVENTS_SHOWN)
    return seen._replace(events=events, healing=healing, history=history)


def _read_document(client: ReassignmentClient, sleep: Callable[[float], None], *, as_json: bool) -> Seen:
    try:
        status, page = _of_one_sample(client, as_json=as_json)
    except UnsupportedHere:
        made = stock_status.read(client, sleep)
        moves = made.moves.moves
        return Seen(made.status, moves, len(moves), made.brokers.brokers, is_stock=True, silent=made.silent)
    if not as_json:
        return Seen(status, page.moves, page.count, client.brokers().brokers)
    moves = list(page.moves)
    for offset in range(MOVES_PER_PAGE, page.count, MOVES_PER_PAGE):
        moves += client.moves(limit=MOVES_PER_PAGE, offset=offset).moves
    return Seen(status, moves, len(moves), client.brokers().brokers)


def _of_one_sample(client: ReassignmentClient, *, as_json: bool) -> tuple[Status, Moves]:
    """The headline and the rows; the server may take a sample between two questions."""
    for _ in range(LOOKS):
        status = client.status()
        page = client.moves(limit=MOVES_PER_PAGE) if as_json else client.moves(sort="left", limit=MOVES_SHOWN)
        if status.totals is None or _is_same(status.totals, page.sums):
            break
    return status, page


def _is_same(totals: Totals, sums: MoveSums) -> bool:
    left = None if sums.bytes_total is None or sums.bytes_copied is None else sums.bytes_total - sums.bytes_copied
    told = totals.in_flight, totals.bytes_total, totals.bytes_left
    return told == (sums.in_flight, sums.bytes_total, left) or totals.in_flight == 0


def document(seen: Seen) -> dict[str, Any]:
    """For programs. Times in ms since 1970; null is what is not known. `status` is the status document itself."""
    status, totals, work = seen.status, seen.status.totals, seen.status.work
    return {
        "cluster": status.cluster,
        "controller": {
            **{key: getattr(status.controller, key) for key in ("id", "epoch", "since")},
            "at": [] if seen.at is None else [seen.at],
        },
        "version": status.version or None,
        "problems": [asdict(one) for one in status.problems],
        "under_replicated": None if totals is None else totals.under_replicated,
        "offline": None if totals is None else totals.offline,
        "disabled": status.disabled_by,
        "healing": None if seen.healing is None else action_heal.status_document(seen.healing),
        "history": None if seen.history is None else [history_plots.document(past) for past in seen.history],
        "caps": {name: None if value is None else str(value) for name, value in caps_of(status).items()},
        "stalled": None if totals is None else totals.stalled,
        "waiting": None if totals is None or totals.waiting is None else sum(totals.waiting.values()),
        "finished": None if work is None else work.ended,
        "total": action_watch.numbers(together(status)),
        "brokers_without_answer": {str(broker): "it does not report its configs" for broker in seen.silent},
        "moves": [_move(one) for one in seen.moves],
        "brokers": [_broker(seen, one) for one in seen.brokers],
        "events": None if seen.events is None else list(seen.events[-EVENTS_SHOWN:]),
        "status": to_builtins(status),
    }


def _move(one: Move) -> dict[str, Any]:
    moving = one.state == "moving"
    return {
        **{key: getattr(one, key) for key in ("topic", "partition", "state")},
        "replicas": [*one.target, *one.removing] if moving else list(one.original),
        **{key: list(getattr(one, key)) for key in ("original", "target", "adding", "removing")},
        **{
            key: getattr(one, key)
            for key in ("route", "reason", "leader", "since", "who", "stalled", "waits_for", "place")
        },
        **action_watch.numbers(progress_of(one)),
        "copied": {str(broker): size for broker, size in one.copied.items()},
    }


def _broker(seen: Seen, one: BrokerStatus) -> dict[str, Any]:
    def throttle(side: str, found: Throttle | None) -> dict[str, Any]:
        return {
            f"throttle_{side}": None if found is None else found.rate,
            f"throttle_{side}_by": None if found is None or seen.is_stock else found.by,
        }

    return {
        "broker": one.id,
        "alive": one.alive,
        "shutting_down": one.shutting_down,
        "cordoned": one.cordoned,
        "rack": one.rack,
        "bytes_in_per_second": one.rate_in,
        "bytes_out_per_second": one.rate_out,
        **throttle("in", one.throttle_in),
        **throttle("out", one.throttle_out),
        "replicas": one.replicas,
        "leaders": one.leaders,
    }


COMMAND = OurCommand(
    "status",
    "show the whole cluster once",
    "Shows the whole cluster once: its controller, all moves in flight and waiting with their progress, who asked and "
    "why, brokers with rates and throttles, caps, self-healing, plots of the last hour and day, and the newest events. "
    "What a stock controller does not have is left out.",
    lambda context, _: run(context),
)
