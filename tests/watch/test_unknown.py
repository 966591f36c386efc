"""kr-1: what is unknown is null in each document and "unknown" on the page and in texts: not 0, empty or made up."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.client.stock_cluster import cluster_of
from kafka_reassign_rpc.core.kafka_errors import TopicAuthorizationFailed, UnknownTopicOrPartition
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir
from kafka_reassign_rpc.core.state.partition import LEADER_UNKNOWN
from kafka_reassign_rpc.core.status.views import PartitionHealth
from kafka_reassign_rpc.protocol.messages import MetadataResponse
from kafka_reassign_rpc.support.slices import run_through
from tests.http_client import get
from tests.python_client.scripted_nodes import METADATA, ScriptedCluster, listening
from tests.reassign_command.run_command import Command
from tests.status_page.documented import Documented
from tests.waiting import eventually
from tests.watch.moving_nodes import TOPIC, TWO_MOVE, MovingNode
from tests.watch.test_decisions import MOVE, NODES, T0, topic
from tests.watch.watching import Watch, watching

STALL_S = 5.0


class HiddenNode(MovingNode):
    """`error`: what it says of the topic that moves; 0: it describes it."""

    error = TopicAuthorizationFailed.code

    def _answer(self, key: int, version: int) -> Any:
        answer = super()._answer(key, version)
        if key == METADATA and self.error and isinstance(answer, MetadataResponse):
            answer.topics[0].error_code, answer.topics[0].partitions = self.error, []
        return answer


@asynccontextmanager
async def hidden(folder: Path) -> AsyncIterator[tuple[HiddenNode, Watch]]:
    """Two nodes, of which neither describes the topic that moves."""
    cluster = ScriptedCluster()
    first, second = HiddenNode(cluster, 1), HiddenNode(cluster, 2)
    async with listening(first), listening(second), watching(f"127.0.0.1:{first.port}", folder) as watch:
        yield first, watch


async def test_kr_1_without_describe_on_a_topic_its_leader_isr_and_all_that_follows_from_them_are_null(
    tmp_path: Path,
) -> None:
    async with hidden(tmp_path / "events") as (node, watch):

        async def are_measured() -> bool:
            moves = await watch.moves()
            return len(moves) == len(TWO_MOVE) and all(one["copied"] for one in moves.values())

        await eventually(are_measured)
        api = Documented(watch.served.address)
        await api.ask_all(departure=False)
        moves = (await api.ask("moves"))["moves"]
        assert {(one["leader"], one["leader_known"], one["waits_for"]) for one in moves} == {(None, False, None)}
        assert {(one["bytes_total"], one["bytes_copied"]) for one in moves} == {(1_000, 500)}, "of the largest replica"
        partitions = (await watch.document(f"partitions?name={TOPIC}"))["partitions"]
        told = {(one["leader"], one["isr"], one["under_replicated"], one["offline"]) for one in partitions}
        assert told == {(None, None, None, None)}
        totals = (await api.ask("status"))["totals"]
        assert (totals["under_replicated"], totals["offline"], totals["waiting"]) == (None, None, None)
        for one in (await api.ask("brokers"))["brokers"]:
            kinds = ("replicas", "leaders", "under_replicated", "out_of_sync", "rate_out", "throttle_in")
            assert [one[kind] for kind in kinds] == [None] * 6
        metrics = (await get(watch.served.address, "/metrics")).body
        assert b"kafka_reassign_broker_copied_in_bytes_total{" in metrics
        assert b"kafka_reassign_broker_copied_out_bytes_total{" not in metrics, "nobody knows who leads"
        (why,) = [one for one in await watch.problems() if one.startswith("Leaders")]
        assert why == f"Leaders and ISRs of 1 topic are not seen: they need the operation DESCRIBE on them ({TOPIC})"
        await is_told_by_status(node)


async def is_told_by_status(node: HiddenNode) -> None:
    """By `kafka-reassign status`, which is no process that watches."""
    command = Command(f"127.0.0.1:{node.port}")
    told = await command.json("status")
    assert len(told["moves"]) == len(TWO_MOVE), "they move, whoever may describe them"
    assert {one["leader"] for one in told["moves"]} == {None}
    text = (await command("status")).out
    assert "leader unknown" in text
    assert "no leader" not in text
    assert "Leaders and ISRs of 1 topic are not seen" in " ".join(text.split())


async def test_kr_1_a_leader_is_known_from_the_right_to_describe_its_topic_on_until_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with hidden(tmp_path / "events") as (_, watch):

        async def leaders() -> set[Any]:
            return {(one["leader"], one["leader_known"]) for one in (await watch.moves()).values()}

        async def are_unknown() -> bool:
            return await leaders() == {(None, False)}

        async def are_known() -> bool:
            return await leaders() == {(1, True)}

        await eventually(are_unknown)
        monkeypatch.setattr(HiddenNode, "error", 0)
        await eventually(are_known)
        assert not any(one.startswith("Leaders") for one in await watch.problems())
        assert "leaders and ISRs of topics that move can be seen again" in caplog.text
        assert (await watch.document("status"))["totals"]["offline"] == 0
        monkeypatch.setattr(HiddenNode, "error", TopicAuthorizationFailed.code)
        await eventually(are_unknown)


def test_kr_1_a_move_that_is_listed_before_any_broker_knows_its_topic_has_no_made_up_leader() -> None:
    cluster = cluster_of(NODES, [topic(error=UnknownTopicOrPartition())], {T0: MOVE})
    partition = cluster.topics["t"].partitions[0]
    assert (partition.leader, partition.isr, partition.is_described) == (LEADER_UNKNOWN, (), False)
    health = PartitionHealth()
    run_through(health.update(cluster))
    assert health.now == (0, 0), "unknown is neither under-replicated nor offline"


@pytest.mark.parametrize(
    ("grows_to", "answers", "why"),
    [
        (50, True, "broker 3 fetches nothing"),
        (100, True, "no progress, and no reason for it can be seen"),
        (50, False, "no answer from broker 3"),
    ],
)
def test_kr_1_no_reason_of_a_stall_is_concluded_from_an_unknown_leader_or_isr(
    grows_to: int, answers: bool, why: str
) -> None:
    cluster, tracker = cluster_of(NODES, [], {T0: MOVE}), ProgressTracker(STALL_S)
    for second in (0, 10):
        held = {2: 100, **({3: grows_to} if answers else {})}
        told = {broker: [SampledLogDir("/d", sizes={"t": {0: size}})] for broker, size in held.items()}
        run_through(tracker.update(float(second), cluster, told, [], {}))
    figures = tracker.figures("t", 0)
    assert figures is not None
    assert figures.stalled == why
    assert figures.total == 100, "the largest of the old replicas"
