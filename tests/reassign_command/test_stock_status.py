"""`kafka-reassign status` of a stock cluster: the document that the command makes by itself."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from kafka_reassign_rpc.client import (
    ClusterNode,
    KafkaError,
    PartitionInfo,
    PartitionReassignment,
    ReassignmentClient,
    TopicPartition,
    UnsupportedHere,
)
from kafka_reassign_rpc.client.config_calls import BROKER, OF_ALL_BROKERS, Config, Configs
from kafka_reassign_rpc.client.kraft_calls import Quorum
from kafka_reassign_rpc.client.log_dir_calls import BrokerLogDirs, HeldReplica, LogDir
from kafka_reassign_rpc.client.metadata_calls import Everything, TopicInfo
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.settings.reassignment_settings import (
    ENABLED,
    MAX_BYTES_IN_FLIGHT,
    MAX_PER_BROKER,
    MAX_PER_CLUSTER,
)
from kafka_reassign_rpc.core.state.broker import KRaftFacts
from kafka_reassign_rpc.core.state.cluster import Cluster as State
from kafka_reassign_rpc.core.status.broker_documents import Brokers, Throttle
from kafka_reassign_rpc.core.status.documents import Moves, Status
from kafka_reassign_rpc.core.status.moves import MoveFilter, page_of, select_moves
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.throttling.replication_throttles import LEADER_RATE
from kafka_reassign_rpc.reassign_command import action_status
from kafka_reassign_rpc.reassign_command.action_status import document
from kafka_reassign_rpc.reassign_command.status_text import Seen, lines
from kafka_reassign_rpc.support.slices import finished
from tests.status_page.views import STEP_S, cluster_of, move, sample, server_of, term_of

NAME = TopicPartition("t", 0)
MOVE = PartitionReassignment((3, 4, 1, 2), (3, 4), (1, 2))


class StockClient:
    """A stock cluster whose broker 2 tells no configs: t-0 moves to 3 and 4, and t-1 has no leader.

    sizes  of the replicas of t-0, by broker, at each time that they are asked for
    """

    fenced: frozenset[int] = frozenset()

    def __init__(self, *sizes: Mapping[int, int]) -> None:
        self.sizes = list(sizes)

    def describe_everything(self) -> Everything:
        partitions = {0: PartitionInfo(1, (3, 4, 1, 2), (1, 2)), 1: PartitionInfo(-1, (1, 9), (9,))}
        topics = [TopicInfo("t", {**partitions, 2: PartitionInfo(2, (2, 1), (2,))}, None)]
        nodes = [ClusterNode(one, "h", 9, f"r{one}") for one in (1, 2, 3, 4)]
        return Everything("c", 1, nodes, iter(topics))

    def list_partition_reassignments(self) -> dict[TopicPartition, PartitionReassignment]:
        return {NAME: MOVE}

    def describe_brokers(self, asked: Mapping[int, Any]) -> dict[int, BrokerLogDirs | KafkaError]:
        now = self.sizes.pop(0)
        held = {one: [HeldReplica(*NAME, now[one], "/d", future=False)] if one in now else [] for one in asked}
        return {one: BrokerLogDirs(found, [LogDir("/d")]) for one, found in held.items()}

    def describe_quorum(self, named: int) -> Quorum:
        return Quorum(named, {})

    def kraft_facts(self, cluster: State, quiet_s: Mapping[int, float]) -> tuple[KRaftFacts, str]:
        return KRaftFacts(self.fenced, quiet_s), ""

    def describe_configs(self, asked: Any) -> dict[Any, Configs]:
        return {(BROKER, ""): [Config(LEADER_RATE, "7000", OF_ALL_BROKERS)]}

    def describe_broker_configs(self, asked: Any) -> dict[int, Configs | KafkaError]:
        """As a stock broker does: with the configs of all brokers among its own."""
        found = [Config(LEADER_RATE, "7000", OF_ALL_BROKERS)]
        return {one: PolicyViolation("no") if one == 2 else found for one in asked}


def test_sv_11_the_document_of_a_stock_controller_is_made_by_the_same_code(monkeypatch: pytest.MonkeyPatch) -> None:
    client = StockClient({1: 100, 2: 90, 3: 40, 4: 0}, {1: 100, 2: 90, 3: 60, 4: 10})
    times = iter((10.0, 20.0))
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    found = action_status.read_stock(cast("ReassignmentClient", client), lambda _: None)
    totals, work = found.status.totals, found.status.work
    assert totals is not None
    assert work is not None
    assert (totals.in_flight, totals.bytes_total, totals.bytes_left, totals.rate) == (1, 200, 130, 3)
    assert (totals.under_replicated, totals.offline, totals.remaining_ms) == (2, 1, 90_000)
    assert (work.share, work.done_ms) == (0.35, 90_000)
    [move] = found.moves.moves
    assert (move.copied, move.original, move.target, move.leader) == ({3: 60, 4: 10}, (1, 2), (3, 4), 1)
    assert [(one.id, one.alive, one.replicas, one.leaders, one.rate_in) for one in found.brokers.brokers] == [
        (1, True, 3, 1, 0), (2, True, 2, 1, 0), (3, True, 1, 0, 2), (4, True, 1, 0, 1), (9, False, 1, 0, 0),
    ]  # fmt: skip
    assert found.brokers.brokers[0].throttle_out == Throttle(7000, "default")
    assert found.silent == {2}
    assert [one.text for one in found.status.problems] == [
        "4 of 5 brokers live; lost: 9",
        "1 partition is offline: no replica leads",
        "Throttles are not all seen: broker 2: no",
        "2 partitions are under-replicated",
    ]


def test_kr_3_the_document_of_a_stock_controller_says_at_once_why_moves_are_stalled() -> None:
    class Lost(StockClient):
        """Broker 4 is fenced, and t-0 moves to it."""

        fenced = frozenset({4})

        def describe_everything(self) -> Everything:
            found = super().describe_everything()
            return found._replace(nodes=[one for one in found.nodes if one.id != 4])

    sizes = {1: 100, 2: 90, 3: 40}
    found = action_status.read_stock(cast("ReassignmentClient", Lost(sizes, sizes)), lambda _: None)
    assert [one.stalled for one in found.moves.moves] == ["broker 4 is fenced"]
    texts = [one.text for one in found.status.problems]
    assert texts[0] == "3 of 5 brokers live; lost: 4, fenced; 9"
    assert "1 move is stalled: broker 4 is fenced" in texts


def test_sv_11_where_nothing_moves_a_rate_of_all_stock_brokers_is_no_problem() -> None:
    class Quiet(StockClient):
        def list_partition_reassignments(self) -> dict[TopicPartition, PartitionReassignment]:
            return {}

    found = action_status.read_stock(cast("ReassignmentClient", Quiet()), lambda _: None)
    assert "needless_throttles" not in [one.kind for one in found.status.problems]


def test_kr_1_what_a_stock_controller_cannot_know_is_not_printed_of_it_even_where_configs_of_a_server_are_left() -> (
    None
):
    class Left(StockClient):
        def describe_configs(self, asked: Any) -> dict[Any, Configs]:
            return {
                (BROKER, ""): [Config(ENABLED, "false", OF_ALL_BROKERS), Config(MAX_PER_CLUSTER, "3", OF_ALL_BROKERS)]
            }

    sizes = {1: 100, 2: 90, 3: 40}
    found = action_status.read_stock(cast("ReassignmentClient", Left(sizes, sizes)), lambda _: None)
    status = found.status
    assert (status.role, status.enabled, status.disabled_by, status.caps) == ("watch", None, None, None)
    assert "disabled" not in {one.kind for one in status.problems}
    seen = Seen(status, found.moves.moves, 1, found.brokers.brokers, is_stock=True, silent=found.silent)
    text = "\n".join(lines(seen))
    assert text.splitlines()[0] == "cluster c: controller 1 (not a kafka-reassign-rpc server)"
    for unknown in ("caps:", "ew move may start", "ew moves may start", "Self-healing:", "History:", "Events:"):
        assert unknown not in text
    assert text.endswith("\nCaps, self-healing, history and events: a kafka-reassign-rpc server has them.")
    assert document(seen)["caps"] == dict.fromkeys((MAX_PER_BROKER, MAX_PER_CLUSTER, MAX_BYTES_IN_FLIGHT))


def test_kr_1_a_quorum_that_this_principal_may_not_ask_is_unknown_and_not_without_a_controller() -> None:
    class Refused(StockClient):
        def describe_quorum(self, named: int) -> Quorum:
            return Quorum(None, {})

    sizes = {1: 100, 2: 90, 3: 40}
    found = action_status.read_stock(cast("ReassignmentClient", Refused(sizes, sizes)), lambda _: None)
    assert "no_controller" not in {one.kind for one in found.status.problems}
    first = next(lines(Seen(found.status, (), 0, (), is_stock=True)))
    assert first == "cluster c: controller unknown (not a kafka-reassign-rpc server)"


class Sampling:
    """A server that takes a sample between the first two answers."""

    def __init__(self) -> None:
        cluster, tracker = cluster_of({"t": {0: move((1,), (3,))}}), ProgressTracker(10 * STEP_S)
        self._term, self.asked = term_of(cluster, tracker), 0
        self._tracker, self._cluster = tracker, cluster
        self._sample(1)

    def _sample(self, turn: int) -> None:
        sizes = {1: {"t": {0: 10_000}}, 3: {"t": {0: 1000 * turn}}}
        sample(self._tracker, self._cluster, turn * STEP_S, sizes)

    def status(self) -> Status:
        return status_of(server_of(self._term), at=1, version="1", full=True)

    def moves(self, **_: object) -> Moves:
        self.asked += 1
        if self.asked == 1:
            self._sample(2)
        selection = finished(select_moves(self._term, MoveFilter()))
        return page_of(self._term, selection, offset=0, limit=9, at=1, listed_at=1)

    def brokers(self) -> Brokers:
        return Brokers(1, 1, [])

    def describe_cluster(self) -> list[ClusterNode]:
        return []

    def healing_status(self) -> None:
        raise UnsupportedHere("not here")


def test_sv_11_headline_and_rows_of_the_status_are_of_one_sample() -> None:
    server: Any = Sampling()
    seen = action_status.read(server, server, as_json=False)
    totals = seen.status.totals
    assert totals is not None
    assert totals.bytes_total is not None
    assert totals.bytes_left is not None
    assert [one.bytes_copied for one in seen.moves] == [totals.bytes_total - totals.bytes_left] == [2000]
    assert server.asked == 2
