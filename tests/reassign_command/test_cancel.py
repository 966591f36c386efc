"""`--cancel` where moves end between its look and its request."""

import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.client import ClusterNode, PartitionInfo, PartitionReassignment, TopicPartition, Unreachable
from kafka_reassign_rpc.client.throttle_configs import BROKER_THROTTLES
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NoReassignmentInProgress, PolicyViolation
from kafka_reassign_rpc.reassign_command import action_cancel, action_queue, action_verify
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, Output
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure
from kafka_reassign_rpc.reassign_command.options import parse

SERVER = 1000
A, B = TopicPartition("a", 0), TopicPartition("b", 0)
MOVE = PartitionReassignment(replicas=(1, 2, 3), adding_replicas=(3,), removing_replicas=(1,))


class Cluster:
    """Two partitions move. `a-0` ends before the cancel arrives. `cleared`: what lost its throttle."""

    def __init__(self, answer: KafkaError | None) -> None:
        self.moves = {A: MOVE, B: MOVE}
        self.cleared: set[str] = set()
        self.live = [1, 2, 3]
        self.silent: set[str] = set()
        """What does not take changes of its configs."""
        self._answer = answer
        """To the cancel of `b-0`; None: it is cancelled."""

    def can_queue(self) -> bool:
        return True

    def list_partition_reassignments(self, _: Iterable[TopicPartition] | None = None) -> Any:
        return dict(self.moves)

    def cancel_partition_reassignments(self, _: Iterable[TopicPartition]) -> Any:
        del self.moves[A]
        if self._answer is None:
            del self.moves[B]
        return {A: NoReassignmentInProgress(), B: self._answer}

    def describe_cluster(self) -> list[ClusterNode]:
        return [ClusterNode(node, "host", 1, None) for node in (*self.live, SERVER)]

    def servers_among(self, nodes: Iterable[int]) -> set[int]:
        return {SERVER} & set(nodes)

    def describe_topics(self, names: Iterable[str]) -> Any:
        return {name: {0: PartitionInfo(2, (2, 3), (2, 3))} for name in names}

    def describe_log_dirs(self, _: Any) -> list[Any]:
        return []

    def describe_configs(self, _: Any) -> Any:
        return {}

    def change_configs(self, changes: Any) -> Any:
        answers = {one: Unreachable("no answer.") if one[1] in self.silent else None for one in changes}
        self.cleared |= {name for (_, name), error in answers.items() if error is None}
        return answers


def run(
    cluster: Cluster,
    action: Callable[[ActionContext], object],
    *options: str,
    as_json: bool = False,
    out: io.StringIO | None = None,
) -> str:
    out = out or io.StringIO()
    context = ActionContext(parse(["--bootstrap-server", "localhost:9092", *options]), Output(out, as_json=as_json))
    context._client = cluster  # type: ignore[assignment]
    try:
        action(context)
    finally:
        context.output.finish()
    return out.getvalue()


def cancelled(cluster: Cluster, *options: str, as_json: bool = False) -> str:
    return run(cluster, action_cancel.run, "--cancel", *options, as_json=as_json)


def test_236_12_a_move_that_ended_in_between_fails_no_cancel_and_keeps_no_throttle() -> None:
    cluster = Cluster(None)
    assert cancelled(cluster).startswith("Successfully cancelled partition reassignment for: b-0\n")
    assert cluster.cleared == {"1", "2", "3", "a", "b"}


def test_236_12_where_a_cancel_fails_the_throttles_of_what_has_ended_go_anyway() -> None:
    """A repeated command finds nothing of it in flight, and would never clear them."""
    cluster = Cluster(PolicyViolation("no"))
    with pytest.raises(TerseFailure, match="b-0: no"):
        cancelled(cluster)
    assert "a" in cluster.cleared
    assert list(cluster.moves) == [B]


def failed(cluster: Cluster, *options: str) -> list[str]:
    """What the command says, its error last."""
    out = io.StringIO()
    with pytest.raises(TerseFailure) as failure:
        run(cluster, action_cancel.run, "--cancel", *options, out=out)
    return [*out.getvalue().splitlines(), *str(failure.value).splitlines()]


def test_236_12_a_cancel_is_done_though_a_dead_broker_keeps_its_throttles_and_fails_with_what_is_left() -> None:
    """One broker of a move is gone, one does not answer, and a topic cannot be changed. The rest is cleared. The stock
    tool's --cancel fails too (ReassignPartitionsCommand.clearAllThrottles)."""
    cluster = Cluster(None)
    cluster.live, cluster.silent = [1, 2], {"2", "a"}
    said = failed(cluster)
    rates = ", ".join(BROKER_THROTTLES)
    keeps = f"Where it has a rate, it keeps it: once it is back, delete its configs {rates}."
    assert said == [
        "Successfully cancelled partition reassignment for: b-0",
        "Clearing broker-level throttles on brokers 1,2,3",
        "Clearing topic-level throttles on topics a,b",
        f"Could not clear the throttles of broker 3: It is not registered. {keeps}",
        f"Could not clear the throttles of broker 2: no answer. {keeps}",
        "Could not clear the throttles of topic a: no answer.",
    ]
    assert cluster.cleared == {"1", "b"}, "nothing on the server's own id"


def test_236_12_a_document_tells_which_throttles_a_cancel_could_not_clear() -> None:
    cluster, out = Cluster(None), io.StringIO()
    cluster.live = [1, 2]
    with pytest.raises(TerseFailure, match="broker 3: It is not registered"):
        run(cluster, action_cancel.run, "--cancel", as_json=True, out=out)
    assert json.loads(out.getvalue()) == {
        "cancelled": [{"topic": "b", "partition": 0}],
        "throttles_cleared": {"brokers": [1, 2], "topics": ["a", "b"]},
        "throttles_not_cleared": {"brokers": {"3": "It is not registered."}, "topics": {}},
    }


def test_236_12_a_cancel_is_done_and_fails_where_its_throttles_are_not_known() -> None:
    cluster = Cluster(None)
    cluster.describe_cluster = lambda: raising(Unreachable("no answer."))  # type: ignore[method-assign]
    said = failed(cluster)
    assert said[0] == "Successfully cancelled partition reassignment for: b-0"
    assert said[1].startswith("Could not clear all throttles: no answer. Some may be left")


def test_236_12_a_cancel_that_fails_names_the_throttles_that_are_left_as_well() -> None:
    cluster = Cluster(PolicyViolation("no"))
    cluster.live = [1, 2]
    said = failed(cluster)
    assert said[-3:-1] == ["Error cancelling partition reassignment for:", "b-0: no"]
    assert said[-1].startswith("Could not clear the throttles of broker 3: It is not registered.")


def test_236_12_a_cancel_of_a_file_too_fails_where_a_throttle_is_left(tmp_path: Path) -> None:
    cluster = Cluster(None)
    cluster.live = [1, 2]
    assert failed(cluster, "--reassignment-json-file", plan(tmp_path))[-1].startswith("Could not clear the throttles")


def raising(error: KafkaError) -> Any:
    raise error


def test_236_12_a_listed_move_that_ended_in_between_fails_no_cancel(tmp_path: Path) -> None:
    cluster = Cluster(None)
    said = cancelled(cluster, "--reassignment-json-file", plan(tmp_path))
    assert said.startswith("Successfully cancelled partition reassignment for: b-0\n")


def test_236_12_verify_clears_what_it_can_and_fails_where_a_throttle_is_left(tmp_path: Path) -> None:
    cluster = Cluster(None)
    cluster.live, cluster.moves = [1, 2], {}
    with pytest.raises(TerseFailure, match="Could not clear the throttles of broker 3: It is not registered"):
        run(cluster, action_verify.run, "--verify", "--reassignment-json-file", plan(tmp_path))
    assert cluster.cleared == {"1", "2", "a", "b"}


def test_236_12_verify_queue_too_fails_where_a_throttle_is_left(tmp_path: Path) -> None:
    cluster = Cluster(None)
    cluster.live, cluster.moves = [1, 2], {}
    with pytest.raises(TerseFailure, match="Could not clear the throttles of broker 3: It is not registered"):
        run(cluster, action_queue.verify, "--verify-queue", "--reassignment-json-file", plan(tmp_path))
    assert cluster.cleared == {"1", "2", "a", "b"}


def plan(directory: Path) -> str:
    path = directory / "plan.json"
    path.write_text(
        json.dumps({"partitions": [{"topic": name, "partition": 0, "replicas": [2, 3]} for name in ("a", "b")]})
    )
    return str(path)
