"""Where a move with a first leader does not begin, or is cancelled, its partition keeps neither the first leader in
front nor as its leader."""

import asyncio
import json
import shlex
import signal
import subprocess
import threading
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.cli.submit_command import _how_to_restore_order
from kafka_reassign_rpc.client import KafkaError, MoveTerms, ReassignmentClient, TopicPartition
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed, NotController, PolicyViolation
from kafka_reassign_rpc.core.queue.in_flight_caps import PlanCaps
from kafka_reassign_rpc.pipeline.job_errors import JobFailed
from kafka_reassign_rpc.pipeline.submission.stop_conditions import SubmitStopped
from kafka_reassign_rpc.pipeline.submission.submit_plan import Submission
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit
from kafka_reassign_rpc.reassign_command.main import main as kafka_reassign
from tests.pipeline.plans import Moves, write_plan
from tests.pipeline.simulated_cluster import AT_ONCE, Results, SimulatedCluster, submission, targets_of
from tests.pipeline.test_leadership_first import BATCH, BOTH_WAYS, FIRST, A, B, cluster, leader_of
from tests.pipeline.test_submit import assignment, cluster_id, in_flight, rotated_batches, submit, wait_until_assigned
from tests.waiting import eventually


def once_reordered(made: SimulatedCluster, then: Callable[[], object]) -> None:
    """Do something between the election of A's first leader and the request for its move."""
    elect = made.elect_preferred_leaders

    def elect_and_then(names: Iterable[TopicPartition]) -> Results:
        results = elect(names)
        if made.replicas[A] == (3, 1, 2) and A not in made.moves:
            then()
        return results

    made.elect_preferred_leaders = elect_and_then  # type: ignore[method-assign, assignment]


def must_be_as_before(made: SimulatedCluster) -> None:
    assert (made.replicas[A], made.leaders[A]) == ((1, 2, 3), 1)
    assert A not in made.moves


@BOTH_WAYS
def test_dp_7_a_move_that_the_controller_refuses_leaves_the_order_and_the_leader_as_they_were(
    tmp_path: Path, by_batch: bool
) -> None:
    made = cluster()
    once_reordered(made, lambda: made.refusals.update({A: [PolicyViolation("not here")]}))
    with pytest.raises(PlanDoesNotFit, match="t-0: not here"):
        submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, by_batch=by_batch).execute()
    must_be_as_before(made)
    assert made.elected == [{A}, {A}]
    assert made.replicas[B] == (4, 3)
    [back] = [one for one in made.altered if one.targets.get(A) == (1, 2, 3)]
    assert (back.targets, back.expected) == ({A: (1, 2, 3)}, {A: (3, 1, 2)}), "compare-and-set"


def test_dp_7_the_order_is_restored_while_other_moves_of_the_plan_go_on(tmp_path: Path) -> None:
    made, orders = cluster(), list[tuple[int, ...]]()
    made.lists_to_end = 20
    made.on_list = lambda: orders.append(made.replicas[A]) if B in made.moves else None
    once_reordered(made, lambda: made.refusals.update({A: [PolicyViolation("not here")]}))
    with pytest.raises(PlanDoesNotFit):
        submission(made, tmp_path / "p", BATCH, first_leaders=FIRST).execute()
    assert orders[-1] == (1, 2, 3)


@BOTH_WAYS
def test_dp_7_a_move_that_somebody_cancels_leaves_the_order_as_it_was(tmp_path: Path, by_batch: bool) -> None:
    made = cluster()
    made.lists_to_end = 1000

    def cancel() -> None:
        if A in made.moves:
            made.cancel_partition_reassignments([A])
            made.lists_to_end = 0

    made.on_list = cancel
    with pytest.raises(PlanDoesNotFit, match="t-0: it was cancelled"):
        submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, by_batch=by_batch).execute()
    must_be_as_before(made)


def many(first: int = 12) -> tuple[SimulatedCluster, Moves, dict[tuple[str, int], int]]:
    """Twelve partitions of brokers 1 and 2 go to brokers 3 and 4; broker 2 leads them first."""
    made = SimulatedCluster(dict.fromkeys(range(12), (1, 2)), {1, 2, 3, 4}, 10**6)
    made.queues = True
    batch: Moves = {("t", index): ((3, 4), (1, 2)) for index in range(12)}
    return made, batch, {("t", index): 2 for index in range(first)}


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(143), SubmitStopped("…"), JobFailed("…")], ids=repr)
def test_dp_7_moves_that_are_taken_back_from_the_queue_get_their_order_back_and_those_in_flight_do_not(
    tmp_path: Path, end: BaseException
) -> None:
    made, batch, first = many()
    made.raise_at_list(4, end)
    run = submission(made, tmp_path / "p", batch, first_leaders=first, caps=PlanCaps(1, 100))
    with pytest.raises(type(end)):
        run.execute()
    waited = {name for one in made.altered for name in one.targets if name not in made.moves}
    assert waited
    assert made.moves
    for name in made.replicas:
        assert (made.replicas[name], made.leaders.get(name, 1)) == (((2, 1), 2) if name in made.moves else ((1, 2), 1))
    assert run.under_way.out_of_order == {}
    before = said_of(run, tmp_path / "p")
    assert {(one["topic"], one["partition"]) for one in before["partitions"]} == made.moves.keys()
    assert all((one["replicas"], one["expected_replicas"]) == ([1, 2], [2, 1]) for one in before["partitions"])


def said_of(run: Submission, path: Path) -> Mapping[str, Any]:
    """The file that the advice names."""
    execute, elect = _how_to_restore_order(run, Namespace(bootstrap_server="h:1", command_config="my file"))
    command = f"kafka-reassign --bootstrap-server h:1 --command-config 'my file' --reassignment-json-file {path}"
    assert execute.endswith(f"{command}/before.json --execute --additional --expect-current")
    assert elect.endswith(
        "kafka-leader-election.sh --bootstrap-server h:1 --admin.config 'my file' --election-type preferred "
        f"--path-to-json-file {path}/before.json"
    )
    found: Mapping[str, Any] = json.loads((path / "before.json").read_bytes())
    return found


@BOTH_WAYS
@pytest.mark.parametrize("end", [KeyboardInterrupt, SubmitStopped, ClusterAuthorizationFailed])
def test_dp_7_an_end_between_the_new_order_and_the_move_restores_the_order(
    tmp_path: Path, by_batch: bool, end: type[BaseException]
) -> None:
    made, ends = cluster(), [end("…")]

    def alter(moves: Mapping[TopicPartition, Any], **options: Any) -> Results:
        if A in made.leaders and ends:
            raise ends.pop()
        return asked(moves, **options)

    asked, made.alter_partition_reassignments = made.alter_partition_reassignments, alter  # type: ignore[method-assign]
    run = submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, by_batch=by_batch)
    with pytest.raises(end):
        run.execute()
    assert made.elected[0] == {A}
    must_be_as_before(made)
    assert run.under_way.out_of_order == {}


@BOTH_WAYS
def test_dp_7_a_run_that_stops_restores_the_order_that_a_killed_one_left(tmp_path: Path, by_batch: bool) -> None:
    made = cluster()
    made.alter_partition_reassignments({A: MoveTerms((3, 1, 2))})
    made.elect_preferred_leaders([A])
    made.on_list = lambda: made.live.discard(4)
    with pytest.raises(SubmitStopped, match="broker 4 lost"):
        submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, by_batch=by_batch).execute()
    must_be_as_before(made)


@BOTH_WAYS
def test_dp_7_a_move_that_is_refused_for_the_moment_for_too_long_leaves_the_order_as_it_was(
    tmp_path: Path, by_batch: bool
) -> None:
    made = cluster()
    once_reordered(made, lambda: made.refusals.update({A: [NotController()] * 10**6}))
    asked = made.alter_partition_reassignments

    def alter(moves: Mapping[TopicPartition, Any], **options: Any) -> Results:
        if targets_of(moves).get(A) == (1, 2, 3):
            made.refusals.clear()
        return asked(moves, **options)

    made.alter_partition_reassignments = alter  # type: ignore[method-assign]
    soon = replace(AT_ONCE, patience=0.1, poll=0.01)
    with pytest.raises(JobFailed, match="not begun"):
        submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, by_batch=by_batch, intervals=soon).execute()
    must_be_as_before(made)


@BOTH_WAYS
@pytest.mark.parametrize("compares", [True, False])
def test_dp_7_a_partition_that_changed_meanwhile_is_not_touched(tmp_path: Path, by_batch: bool, compares: bool) -> None:
    """Somebody gives it another order between the election and the move."""
    made = cluster()
    made.compares = compares

    def change() -> None:
        made.replicas[A] = (3, 2, 1)
        made.refusals[A] = [PolicyViolation("not here")]

    once_reordered(made, change)
    with pytest.raises(PlanDoesNotFit, match="t-0: not here"):
        submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, by_batch=by_batch).execute()
    assert made.replicas[A] == (3, 2, 1)
    assert made.elected == [{A}]


def test_dp_7_a_partition_that_changes_as_its_order_is_restored_is_not_touched_and_is_no_failure(
    tmp_path: Path,
) -> None:
    made, said = cluster(), list[str]()
    once_reordered(made, lambda: made.refusals.update({A: [PolicyViolation("not here")]}))
    asked = made.alter_partition_reassignments

    def alter(moves: Mapping[TopicPartition, Any], **options: Any) -> Results:
        if targets_of(moves).get(A) == (1, 2, 3):
            made.replicas[A] = (2, 3, 1)
        return asked(moves, **options)

    made.alter_partition_reassignments = alter  # type: ignore[method-assign]
    run = submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, said=said)
    with pytest.raises(PlanDoesNotFit, match="t-0: not here"):
        run.execute()
    assert made.replicas[A] == (2, 3, 1)
    assert not any("in front" in line for line in said)
    assert run.under_way.out_of_order == {}


@BOTH_WAYS
@pytest.mark.parametrize("answer", [PolicyViolation("disabled"), None], ids=["refused", "silent"])
def test_dp_7_an_order_that_cannot_be_restored_is_a_line_that_hides_no_other_error(
    tmp_path: Path, by_batch: bool, answer: KafkaError | None
) -> None:
    made, said = cluster(), list[str]()

    def refuse_all() -> None:
        made.refusals[A] = [PolicyViolation("not here"), *[PolicyViolation("disabled")] * 100]

    once_reordered(made, refuse_all)
    asked = made.alter_partition_reassignments

    def alter(moves: Mapping[TopicPartition, Any], **options: Any) -> Results:
        if targets_of(moves).get(A) == (1, 2, 3) and answer is None:
            raise PolicyViolation("silent")
        return asked(moves, **options)

    made.alter_partition_reassignments = alter  # type: ignore[method-assign]
    run = submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, by_batch=by_batch, said=said)
    with pytest.raises(PlanDoesNotFit, match="t-0: not here"):
        run.execute()
    why = "silent" if answer is None else "disabled"
    assert f"p: keep their first leader in front until the same command runs again ({why}): t-0" in said
    assert run.under_way.out_of_order.keys() == {A}
    [before] = said_of(run, tmp_path / "p")["partitions"]
    assert (before["topic"], before["partition"], before["replicas"]) == ("t", 0, [1, 2, 3])


def test_dp_7_an_interrupt_ends_submit_in_time_where_the_order_cannot_be_restored_and_says_how(tmp_path: Path) -> None:
    made, batch, first = many()
    made.raise_at_list(4, KeyboardInterrupt())
    asked, answer = made.alter_partition_reassignments, threading.Event()

    def hang(moves: Mapping[TopicPartition, Any], **options: Any) -> Results:
        if (1, 2) in targets_of(moves).values():
            answer.wait(60)
        return asked(moves, **options)

    made.alter_partition_reassignments = hang  # type: ignore[method-assign]
    soon = replace(AT_ONCE, withdrawal=2.0)
    run = submission(made, tmp_path / "p", batch, first_leaders=first, caps=PlanCaps(1, 100), intervals=soon)
    with pytest.raises(KeyboardInterrupt):
        run.execute()
    assert not answer.is_set()
    out_of_order = {name for name, replicas in made.replicas.items() if replicas == (2, 1)}
    named = {(one["topic"], one["partition"]) for one in said_of(run, tmp_path / "p")["partitions"]}
    assert named == out_of_order
    assert out_of_order > made.moves.keys()
    answer.set()


def test_dp_7_a_preferred_replica_that_cannot_lead_costs_a_line_and_the_order_is_restored(tmp_path: Path) -> None:
    made, said = cluster(), list[str]()

    def lose() -> None:
        made.refusals[A] = [PolicyViolation("not here")]
        made.cannot_lead.add(A)

    once_reordered(made, lose)
    with pytest.raises(PlanDoesNotFit):
        submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, said=said).execute()
    assert made.replicas[A] == (1, 2, 3)
    [line] = [line for line in said if "until the next preferred election" in line]
    assert line.endswith(": t-0")


def test_dp_7_a_plan_without_first_leaders_has_no_advice_about_their_order(tmp_path: Path) -> None:
    made, batch, _ = many()
    made.raise_at_list(4, KeyboardInterrupt())
    run = submission(made, tmp_path / "p", batch, caps=PlanCaps(1, 100))
    with pytest.raises(KeyboardInterrupt):
        run.execute()
    assert run.under_way.moves
    assert _how_to_restore_order(run, Namespace(bootstrap_server="h:1", command_config=None)) == []
    assert not (tmp_path / "p" / "before.json").exists()


async def test_dp_7_an_interrupt_on_a_server_leaves_each_order_as_it_was_and_says_how_after_a_cancel(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path
) -> None:
    [batch] = rotated_batches(client, "clicks", 9, 9)
    standing = {TopicPartition(*name): tuple(replicas) for name, (_, replicas) in batch.items()}
    first = {name: replicas[-1] for name, replicas in standing.items()}
    path = write_plan(tmp_path / "my plan", cluster_id(client), batch, moves_per_broker=1, first_leaders=first)
    with submit(bootstrap, path, "--throttle", "20000", stderr=subprocess.PIPE) as process:  # so slow that none ends

        def some_move_and_some_wait() -> bool:
            return 0 < len(in_flight(client)) < len(client.list_partition_reassignments())

        await eventually(some_move_and_some_wait, within=60)
        process.send_signal(signal.SIGINT)
        _, err = await asyncio.to_thread(process.communicate, timeout=60)
    said, _, cancel, execute, elect = err.decode().splitlines()[-5:]
    assert "taken back" in said
    moving = client.list_partition_reassignments().keys()
    assert moving
    assert moving < standing.keys()
    await eventually(
        lambda: (
            {name: assignment(client, "clicks")[name] for name in standing.keys() - moving}
            == {name: standing[name] for name in standing.keys() - moving}
        )
    )
    assert [leader_of(client, name) for name in sorted(standing.keys() - moving)] == [
        standing[name][0] for name in sorted(standing.keys() - moving)
    ]

    for advice in (cancel, execute):
        program, *advised = shlex.split(advice.partition(": ")[2])
        assert (program, await asyncio.to_thread(kafka_reassign, advised)) == ("kafka-reassign", 0)
    await wait_until_assigned(client, standing)
    file = Path(shlex.split(elect)[-1])
    named = {(one["topic"], one["partition"]) for one in json.loads(file.read_bytes())["partitions"]}
    assert named == moving
    assert not any(client.elect_preferred_leaders(named).values())
    assert {leader_of(client, name) == standing[name][0] for name in standing} == {True}
