"""The status document of a stock controller: made by the code of our servers, from what the cluster's nodes tell."""

import time
from collections.abc import Callable, Collection
from typing import NamedTuple

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient
from kafka_reassign_rpc.client.config_calls import BROKER, OF_ALL_BROKERS
from kafka_reassign_rpc.client.move_progress import brokers_to_ask
from kafka_reassign_rpc.client.stock_cluster import answers_of, cluster_of
from kafka_reassign_rpc.core.partition_health import PartitionHealth
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment_settings import DEFAULT_SETTINGS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.config_entities import DEFAULT
from kafka_reassign_rpc.core.status.brokers import brokers_of, count_replicas, no_counts
from kafka_reassign_rpc.core.status.documents import Brokers, Moves, Status
from kafka_reassign_rpc.core.status.moves import MoveFilter, page_of, select_moves
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import ServerView, TermView
from kafka_reassign_rpc.support.slices import finished, run_through
from kafka_reassign_rpc.support.wall_clock import now_ms

SAMPLE_S = 2.0
"""Between the two samples of sizes that rates need."""


class StockStatus(NamedTuple):
    """`silent`: brokers that did not tell their configs."""

    status: Status
    moves: Moves
    brokers: Brokers
    silent: Collection[int]


def read(client: ReassignmentClient, sleep: Callable[[float], None]) -> StockStatus:
    everything, listed = client.describe_everything(), client.list_partition_reassignments()
    cluster = cluster_of(everything.nodes, everything.topics, listed)
    silent = _read_configs(client, cluster)
    tracker, health, counts = ProgressTracker(float("inf")), PartitionHealth(), no_counts()
    asked = brokers_to_ask({name: move for name, move in listed.items() if not move.is_waiting})
    for pause in (0.0, SAMPLE_S) if asked else ():
        sleep(pause)
        answers = answers_of(client.describe_log_dirs(asked))
        run_through(tracker.update(time.monotonic(), cluster, answers, [], {}))
    run_through(health.update(cluster))
    run_through(count_replicas(cluster, counts))
    term, at = TermView(cluster, tracker, DEFAULT_SETTINGS, health.now, None), now_ms()
    controller, brokers = everything.controller, cluster.brokers
    view = ServerView(controller, everything.cluster_id, "controller", "", controller, -1, -1, brokers, {}, term)
    selection = finished(select_moves(term, MoveFilter(sort="left")))
    return StockStatus(
        status_of(view, at=at, version="", full=True),
        page_of(term, selection, offset=0, limit=selection.size, at=at, listed_at=at),
        finished(brokers_of(cluster, counts, tracker.rates, at=at, counted_at=at)),
        silent,
    )


def _read_configs(client: ReassignmentClient, cluster: Cluster) -> set[int]:
    """Put the dynamic configs of brokers in; returns the brokers that do not tell them."""
    found = {str(one): configs for one, configs in client.describe_broker_configs(cluster.brokers).items()}
    cluster.broker_configs = {
        name: {one.name: one.value for one in configs if one.value and one.source != OF_ALL_BROKERS}
        for name, configs in found.items()
        if isinstance(configs, list)
    }
    of_all = client.describe_configs([(BROKER, "")])[BROKER, ""]
    if isinstance(of_all, list):
        cluster.broker_configs[DEFAULT] = {one.name: one.value for one in of_all if one.value}
    return {int(name) for name, configs in found.items() if isinstance(configs, KafkaError)}
