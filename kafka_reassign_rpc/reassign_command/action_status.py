"""`kafka-reassign status`: all that the status page of a server shows, once, in a terminal.

It shows the status document and derives nothing: `status_text` draws it. What this cluster does not have (a stock
controller has no queue, no healing and no events) is left out, and said.
"""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from msgspec import to_builtins
from msgspec.structs import asdict

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient, Unreachable, UnsupportedHere
from kafka_reassign_rpc.client.blocking_client import Connect
from kafka_reassign_rpc.client.config_calls import Resource
from kafka_reassign_rpc.client.move_progress import LOOKS, brokers_to_ask, progress_of, together
from kafka_reassign_rpc.client.stock_cluster import (
    NEEDS_DESCRIBE,
    ConfigAnswer,
    cluster_of,
    hidden_topics,
    others_to_ask,
    sampled,
    text_of_hidden,
    told_configs,
)
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir, takes_nothing_new
from kafka_reassign_rpc.core.state.topic_partition import by_topic
from kafka_reassign_rpc.core.status.broker_documents import Brokers, BrokerStatus, Throttle
from kafka_reassign_rpc.core.status.brokers import brokers_of, count_replicas, no_counts
from kafka_reassign_rpc.core.status.documents import Move, Moves, MoveSums, Status, Totals
from kafka_reassign_rpc.core.status.moves import MoveFilter, page_of, select_moves
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import ControllerView, PartitionHealth, ServerView, TermView, WatchView
from kafka_reassign_rpc.reassign_command import action_heal, action_watch, history_plots
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, say
from kafka_reassign_rpc.reassign_command.action_events import newest_events
from kafka_reassign_rpc.reassign_command.status_text import (
    EVENTS_SHOWN,
    MOVES_SHOWN,
    Seen,
    caps_of,
    last_lines,
    lines,
)
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.slices import finished, run_through
from kafka_reassign_rpc.support.wall_clock import now_ms

MOVES_PER_PAGE = 500
SAMPLE_S = 2.0
"""Between the two samples of sizes that rates need, where the controller is a stock one."""


def run(context: ActionContext, *, sleep: Callable[[float], None] = time.sleep) -> None:
    try:
        seen = read(context.client, context.client_of, as_json=context.output.as_json, sleep=sleep)
    except Unreachable:
        _show_last(context)
        raise
    blocks = history_plots.BLOCKS if context.output.can_write(history_plots.BLOCKS) else history_plots.ASCII
    context.output.lines(lines(seen, blocks))
    context.output.collect(**document(seen))


def _show_last(context: ActionContext) -> None:
    """No controller answers: what a server at the given addresses last knew."""
    with suppress(KafkaError):
        seen = Seen(context.client.status_here(), (), 0, (), is_stored=True)
        context.output.lines(last_lines(seen.status))
        context.output.collect(**document(seen))


def read(
    client: ReassignmentClient, connect: Connect, *, as_json: bool, sleep: Callable[[float], None] = time.sleep
) -> Seen:
    """`as_json`: with every move. Raises KafkaError."""
    seen, events, history = _read_document(client, sleep, as_json=as_json), None, None
    controller = seen.status.controller.id
    at = next((str(Address(node.host, node.port)) for node in client.describe_cluster() if node.id == controller), None)
    seen = seen._replace(at=at)
    try:
        healing, history = client.healing_status(), client.history() or None
    except UnsupportedHere:
        return seen
    with suppress(KafkaError):  # a server may keep no event log
        events = newest_events(client, connect, say, EVENTS_SHOWN)
    return seen._replace(events=events, healing=healing, history=history)


def _read_document(client: ReassignmentClient, sleep: Callable[[float], None], *, as_json: bool) -> Seen:
    try:
        status, page = _of_one_sample(client, as_json=as_json)
    except UnsupportedHere:
        made = read_stock(client, sleep)
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


class StockStatus(NamedTuple):
    """`silent`: brokers that did not report their configs."""

    status: Status
    moves: Moves
    brokers: Brokers
    silent: Collection[int]


def read_stock(client: ReassignmentClient, sleep: Callable[[float], None]) -> StockStatus:
    """Made by the code of our servers from the nodes' answers."""
    everything = client.describe_everything()
    try:
        listed = client.list_partition_reassignments()
    except ClusterAuthorizationFailed:
        raise ClusterAuthorizationFailed(NEEDS_DESCRIBE) from None
    cluster = cluster_of(everything.nodes, everything.topics, listed)
    of_brokers = client.describe_broker_configs(cluster.brokers)
    others = others_to_ask(cluster)
    try:
        of_others: Mapping[Resource, ConfigAnswer] = client.describe_configs(others)
    except KafkaError as error:  # the moves are shown without them
        of_others = dict.fromkeys(others, error)
    known = told_configs(of_brokers, of_others)
    cluster.broker_configs, cluster.topic_configs = known.brokers, known.topics
    cluster.derive_settings()
    quorum = client.describe_quorum(everything.controller)
    cluster.soft.kraft, lacking = client.kraft_facts(cluster, quorum.quiet_s)
    tracker, health, counts = ProgressTracker(float("inf"), at_once=True), PartitionHealth(), no_counts()
    in_flight = brokers_to_ask({name: move for name, move in listed.items() if not move.is_waiting})
    asked = {broker: by_topic(some) for broker, some in in_flight.items()}
    answers: dict[int, list[SampledLogDir] | None] = {}
    for pause in (0.0, SAMPLE_S) if asked else ():
        sleep(pause)
        answers = {broker: sampled(one) for broker, one in client.describe_brokers(asked).items()}
        run_through(tracker.update(time.monotonic(), cluster, answers, [], {}))
    run_through(health.update(cluster))
    run_through(count_replicas(cluster, counts))
    closed = {broker: takes_nothing_new(log_dirs) for broker, log_dirs in answers.items()}
    silent, at = cluster.brokers.keys() - known.known, now_ms()
    hidden = hidden_topics(cluster)
    term = TermView(
        cluster,
        tracker,
        health.now,
        None,
        silent=silent,
        hidden=hidden,
        tells_routes=False,
        outdated=silent,
        closed=closed,
    )
    brokers = cluster.brokers
    unseen = [one for one in (lacking, text_of_hidden(hidden), known.lacking) if one]
    controller, watch = ControllerView(quorum.leader), WatchView(unseen=unseen)
    view = ServerView(None, everything.cluster_id, "watch", "", controller, brokers, term, watch)
    selection = finished(select_moves(term, MoveFilter(sort="left")))
    return StockStatus(
        status_of(view, at=at, version="", full=True),
        page_of(term, selection, offset=0, limit=selection.size, at=at, listed_at=at),
        finished(
            brokers_of(
                cluster, counts, tracker.rates, silent=silent, closed=closed, hidden=hidden, at=at, counted_at=at
            )
        ),
        silent,
    )


COMMAND = OurCommand(
    "status",
    "show the whole cluster once",
    "Shows the whole cluster once: its controller, all moves in flight and waiting with their progress, who asked and "
    "why, brokers with rates and throttles, caps, self-healing, plots of the last hour and day, and the newest events. "
    "What a stock controller does not have is left out.",
    lambda context, _: run(context),
    is_ours=False,
)
