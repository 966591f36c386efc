"""Submit where a stock broker is the controller for a while: it waits for a kafka-reassign-rpc server, and where none
comes back it says what was sent."""

from argparse import Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.cli.pipeline_jobs import Status
from kafka_reassign_rpc.cli.submit_command import FAILED, _what_goes_on, carry_out
from kafka_reassign_rpc.client import MoveTerms, PartitionReassignment, TopicPartition, UnsupportedHere
from kafka_reassign_rpc.client.reassignment_calls import NO_EXPECTATIONS
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit, PollIntervals
from tests.pipeline.plans import write_plan
from tests.pipeline.simulated_cluster import Results, SimulatedCluster, moves, submission

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
BATCH = moves(p0=((3, 2), (1, 3)), p1=((3, 2), (1, 3)))
IMPATIENT = PollIntervals(poll=0, health=0, mismatch=0, arrival=0, confirm=0, patience=0.1)
FOREVER = 10**9
BOTH_WAYS = pytest.mark.parametrize("by_batch", [False, True], ids=["as_others_end", "by_batch"])


class Contested(SimulatedCluster):
    """A stock broker takes over when there are moves, or before there is one, for so many questions to it."""

    def __init__(self, asks: int, *, at_first: bool = False, lists_to_end: int = 2) -> None:
        super().__init__({0: (1, 3), 1: (1, 3)}, {1, 2, 3}, lists_to_end)
        self._asks, self._at_first = asks, at_first
        self.stock = 0
        self.waited = False

    def _take_over(self) -> None:
        self.stock, self._asks = self._asks, 0

    def list_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        found = super().list_partition_reassignments(partitions)
        if found and not self.stock:
            self._take_over()
        return {name: move for name, move in found.items() if not (self.stock and move.is_waiting)}

    def can_compare_replicas(self) -> bool:
        self.waited |= bool(self.stock)
        self.stock -= bool(self.stock)
        return not self.stock

    def alter_partition_reassignments(
        self, moves: Mapping[TopicPartition, MoveTerms | None], **options: Any
    ) -> Results:
        if self._at_first:
            self._at_first = False
            self._take_over()
        if self.stock and None not in moves.values():
            self.stock -= 1
            raise UnsupportedHere(NO_EXPECTATIONS)
        return super().alter_partition_reassignments(moves, **options)


@BOTH_WAYS
@pytest.mark.parametrize("at_first", [False, True])
def test_dp_4_submit_waits_while_another_controller_is_in_charge(
    tmp_path: Path, by_batch: bool, at_first: bool
) -> None:
    """That one does not list what waits in the queue: it is not taken for cancelled."""
    cluster, said = Contested(60, at_first=at_first), list[str]()
    cluster.queues = True
    caps = None if by_batch else PlanCaps(1, 10)
    run = submission(cluster, tmp_path / "p", BATCH, said=said, by_batch=by_batch, caps=caps)
    assert run.execute() == 2
    assert cluster.waited
    assert cluster.replicas == {A: (3, 2), B: (3, 2)}
    asked = [name for one in cluster.altered for name in one.targets]
    assert sorted(asked) == [A, B], "each is sent once"
    assert any("trying again: The controller is no kafka-reassign-rpc server any more" in line for line in said)


@BOTH_WAYS
def test_dp_4_where_no_server_comes_back_submit_ends_in_time_and_says_what_was_sent(
    tmp_path: Path, by_batch: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = Contested(FOREVER, lists_to_end=3_000)
    cluster.queues = True
    caps = None if by_batch else PlanCaps(1, 10)
    run = submission(cluster, tmp_path / "p", BATCH, intervals=IMPATIENT, by_batch=by_batch, caps=caps)
    arguments = Namespace(execute=True, undo=False, accept_health=False, bootstrap_server="h:1", command_config=None)
    ended = carry_out(
        arguments,
        run.path,
        run,
        Status(),
        goes_on=lambda: _what_goes_on(run, arguments) if run.under_way.moves else [],
        interrupted=list,
    )
    assert ended == FAILED
    first, goes_on, *rest = capsys.readouterr().err.splitlines()
    assert first == "kafka-reassign-rpc submit: The controller is no kafka-reassign-rpc server any more."
    assert goes_on == (
        f"  up to 2 moves of {run.path} go on without it, those that wait in a queue included: The controller is no"
        " kafka-reassign-rpc server any more."
    )
    assert "run the same command again" in rest[0]
    assert "--cancel" in rest[1]
    assert set(cluster.moves) == {A, B}, "nothing is cancelled"


def test_dp_4_where_no_server_has_ever_been_in_control_a_refusal_ends_submit_at_once(tmp_path: Path) -> None:
    cluster = SimulatedCluster({0: (1, 3)}, {1, 2, 3})
    cluster.compares = False
    cluster.errors["alter"] = [UnsupportedHere("no such API")]
    with pytest.raises(UnsupportedHere, match="no such API"):
        submission(cluster, tmp_path / "p", moves(p0=((3, 2), (1, 3)))).execute()


def test_dh_2_what_came_to_a_drained_broker_is_moved_away_though_a_move_of_the_plan_is_left_out(
    tmp_path: Path,
) -> None:
    """What was left out stays: it is not known why."""
    cluster, said = SimulatedCluster({0: (1, 3), 1: (1, 3)}, {1, 2, 3}), list[str]()
    came = TopicPartition("t", 2)
    cluster.replicas[came] = cluster.first[came] = (1, 3)
    cluster.refusals[A] = [PolicyViolation("not here")]
    write_plan(tmp_path / "p", "c1", BATCH, kind="drain", requested={"brokers": [1], "topics": []})
    with pytest.raises(PlanDoesNotFit, match="1 move was left out; all others are done:\nt-0: not here"):
        submission(cluster, tmp_path / "p", said=said).execute()
    assert cluster.replicas == {A: (1, 3), B: (3, 2), came: (2, 3)}
    assert "1 partition came to broker 1 meanwhile: t-2" in said
    assert any(line.startswith("broker 1 is not empty: it has 1 replica (t-0") for line in said)
