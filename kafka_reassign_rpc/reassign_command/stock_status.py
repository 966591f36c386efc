"""The status document of a stock controller: made by the code of our servers from the nodes' answers."""

import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.client import ReassignmentClient
from kafka_reassign_rpc.client.config_calls import Resource
from kafka_reassign_rpc.client.known_configs import Answer, told
from kafka_reassign_rpc.client.move_progress import brokers_to_ask
from kafka_reassign_rpc.client.stock_cluster import (
    NEEDS_DESCRIBE,
    cluster_of,
    hidden_topics,
    others_to_ask,
    sampled,
    text_of_hidden,
)
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed, KafkaError
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir, takes_nothing_new
from kafka_reassign_rpc.core.state.topic_partition import by_topic
from kafka_reassign_rpc.core.status.broker_documents import Brokers
from kafka_reassign_rpc.core.status.brokers import brokers_of, count_replicas, no_counts
from kafka_reassign_rpc.core.status.documents import Moves, Status
from kafka_reassign_rpc.core.status.moves import MoveFilter, page_of, select_moves
from kafka_reassign_rpc.core.status.partition_health import PartitionHealth
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import ControllerView, ServerView, TermView, WatchView
from kafka_reassign_rpc.support.slices import finished, run_through
from kafka_reassign_rpc.support.wall_clock import now_ms

SAMPLE_S = 2.0
"""Between the two samples of sizes that rates need."""


class StockStatus(NamedTuple):
    """`silent`: brokers that did not report their configs."""

    status: Status
    moves: Moves
    brokers: Brokers
    silent: Collection[int]


def read(client: ReassignmentClient, sleep: Callable[[float], None]) -> StockStatus:
    everything = client.describe_everything()
    try:
        listed = client.list_partition_reassignments()
    except ClusterAuthorizationFailed:
        raise ClusterAuthorizationFailed(NEEDS_DESCRIBE) from None
    cluster = cluster_of(everything.nodes, everything.topics, listed)
    of_brokers = client.describe_broker_configs(cluster.brokers)
    others = others_to_ask(cluster)
    try:
        of_others: Mapping[Resource, Answer] = client.describe_configs(others)
    except KafkaError as error:  # the moves are shown without them
        of_others = dict.fromkeys(others, error)
    known = told(of_brokers, of_others)
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
