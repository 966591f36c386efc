"""`--cancel` where moves end between its look and its request."""

import io
from collections.abc import Iterable
from typing import Any

import pytest

from kafka_reassign_rpc.client import ClusterNode, PartitionReassignment, TopicPartition
from kafka_reassign_rpc.core.kafka_errors import KafkaError, NoReassignmentInProgress, PolicyViolation
from kafka_reassign_rpc.reassign_command import action_cancel
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure
from kafka_reassign_rpc.reassign_command.options import parse
from kafka_reassign_rpc.reassign_command.output import Output

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
MOVE = PartitionReassignment(replicas=(1, 2, 3), adding_replicas=(3,), removing_replicas=(1,))


class Cluster:
    """Two partitions move. `a-0` ends before the cancel arrives. `cleared`: what lost its throttle."""

    def __init__(self, answer: KafkaError | None) -> None:
        self.moves = {A: MOVE, B: MOVE}
        self.cleared: set[str] = set()
        self._answer = answer
        """To the cancel of `b-0`; None: it is cancelled."""

    def list_partition_reassignments(self, _: Iterable[TopicPartition] | None = None) -> Any:
        return dict(self.moves)

    def cancel_partition_reassignments(self, _: Iterable[TopicPartition]) -> Any:
        del self.moves[A]
        if self._answer is None:
            del self.moves[B]
        return {A: NoReassignmentInProgress(), B: self._answer}

    def describe_cluster(self) -> list[ClusterNode]:
        return [ClusterNode(broker, "host", 1, None) for broker in (1, 2, 3)]

    def describe_configs(self, _: Any) -> Any:
        return {}

    def change_configs(self, changes: Any) -> Any:
        self.cleared |= {name for _, name in changes}
        return dict.fromkeys(changes)


def cancelled(cluster: Cluster) -> str:
    out = io.StringIO()
    context = ActionContext(parse(["--bootstrap-server", "localhost:9092", "--cancel"]), Output(out, as_json=False))
    context._client = cluster  # type: ignore[assignment]
    action_cancel.run(context)
    return out.getvalue()


def test_236_12_a_move_that_ended_meanwhile_fails_no_cancel_and_keeps_no_throttle() -> None:
    cluster = Cluster(None)
    assert cancelled(cluster).startswith("Successfully cancelled partition reassignment for: b-0\n")
    assert cluster.cleared == {"1", "2", "3", "a", "b"}


def test_236_12_where_a_cancel_fails_the_throttles_of_what_has_ended_go_all_the_same() -> None:
    """A repeated command finds nothing of it in flight, and would never clear them."""
    cluster = Cluster(PolicyViolation("no"))
    with pytest.raises(TerseFailure, match="b-0: no"):
        cancelled(cluster)
    assert "a" in cluster.cleared
    assert list(cluster.moves) == [B]
