"""Moves whose plan names a replica that leads before the copy begins: reordered, elected, moved, and elected again, so
that the first of the target leads; resumed anywhere."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.client import KafkaError, MoveTerms, ReassignmentClient, TopicPartition, Unreachable
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanEntry, read_batch
from tests.pipeline.plans import write_plan
from tests.pipeline.simulated_cluster import Results, SimulatedCluster, moves, submission
from tests.pipeline.test_submit import cluster_id, wait_until_assigned
from tests.pipeline.test_submit import submission as real_submission

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
BATCH = moves(p0=((4, 2, 3), (1, 2, 3)), p1=((4, 3), (1, 3)))
FIRST: dict[tuple[str, int], int] = {A: 3}
BOTH_WAYS = pytest.mark.parametrize("by_batch", [False, True], ids=["as_others_end", "by_batch"])


def cluster() -> SimulatedCluster:
    return SimulatedCluster({0: (1, 2, 3), 1: (1, 3)}, {1, 2, 3, 4})


@BOTH_WAYS
def test_dp_7_the_first_leader_is_put_first_and_elected_before_the_copy_begins(tmp_path: Path, by_batch: bool) -> None:
    made, copied_from = cluster(), set[int]()
    made.on_list = lambda: copied_from.update(made.leaders.get(name, -1) for name in made.moves if name == A)
    assert submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, by_batch=by_batch).execute() == 2
    reorder, move = made.altered
    assert (reorder.targets, reorder.expected) == ({A: (3, 1, 2)}, {A: (1, 2, 3)})
    assert made.elected[0] == {A}
    assert copied_from == {3}
    assert (move.targets, move.expected) == ({A: (4, 2, 3), B: (4, 3)}, {A: (3, 1, 2), B: (1, 3)})
    assert made.replicas == {A: (4, 2, 3), B: (4, 3)}


@BOTH_WAYS
def test_dp_7_after_its_move_a_partition_is_led_by_the_first_of_the_target(tmp_path: Path, by_batch: bool) -> None:
    made = cluster()
    submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, by_batch=by_batch).execute()
    assert made.elected == [{A}, {A}]
    assert made.leaders[A] == 4


@BOTH_WAYS
@pytest.mark.parametrize("first", [2, 1], ids=["the_first_of_the_target", "none_of_the_target"])
def test_dp_7_no_election_follows_where_the_first_of_the_target_leads_anyway(
    tmp_path: Path, by_batch: bool, first: int
) -> None:
    made = SimulatedCluster({0: (3, 2, 1)}, {1, 2, 3, 4})
    batch = moves(p0=((2, 3, 4), (3, 2, 1)))
    submission(made, tmp_path / "p", batch, first_leaders={A: first}, by_batch=by_batch).execute()
    assert made.elected == [{A}]
    assert made.leaders[A] == 2


@BOTH_WAYS
@pytest.mark.parametrize("answer", [None, Unreachable("no answer"), NotController()])
def test_dp_7_a_first_of_the_target_that_cannot_lead_costs_one_line_and_the_next_run_tries_again(
    tmp_path: Path, by_batch: bool, answer: KafkaError | None
) -> None:
    made, said = cluster(), list[str]()
    elect = made.elect_preferred_leaders

    def failing_afterwards(names: Iterable[TopicPartition]) -> Results:
        if made.replicas[A] == (4, 2, 3):
            if answer is not None:
                raise answer
            made.cannot_lead = {A}
        return elect(names)

    made.elect_preferred_leaders = failing_afterwards  # type: ignore[method-assign, assignment]
    options = {"by_batch": by_batch, "said": said}
    assert submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, **options).execute() == 2  # type: ignore[arg-type]
    assert made.leaders[A] == 3
    why = "The preferred leader was not available." if answer is None else answer.message
    [line] = [line for line in said if "election" in line]
    assert line == f"p: led by the first leader of the plan still, as the election failed ({why}): t-0"
    submission(made, tmp_path / "p", said=said).dry_run()
    assert said[-1] == "batch-0001: 2 done, 0 moving, 0 to begin, 1 to elect"

    made.elect_preferred_leaders, made.cannot_lead = elect, set()  # type: ignore[method-assign]
    made.elected.clear()
    assert submission(made, tmp_path / "p", **options).execute() == 0  # type: ignore[arg-type]
    assert (made.elected, made.leaders[A]) == ([{A}], 4)
    assert submission(made, tmp_path / "p", **options).execute() == 0  # type: ignore[arg-type]
    assert made.elected == [{A}]


@BOTH_WAYS
@pytest.mark.parametrize("stage", ["reordered", "elected", "moving", "done"])
def test_dp_7_a_run_that_was_killed_at_any_stage_goes_on_from_there(tmp_path: Path, by_batch: bool, stage: str) -> None:
    made = cluster()
    made.alter_partition_reassignments({A: MoveTerms((3, 1, 2))})
    if stage != "reordered":
        made.elect_preferred_leaders([A])
    if stage in ("moving", "done"):
        made.alter_partition_reassignments({A: MoveTerms((4, 2, 3))})
    if stage == "done":
        made.end(A)
    made.altered.clear()
    made.elected.clear()

    begun = submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, by_batch=by_batch).execute()

    assert made.replicas == {A: (4, 2, 3), B: (4, 3)}
    assert made.leaders[A] == 4
    is_left = stage in ("reordered", "elected")
    assert begun == 1 + is_left
    assert made.elected == ([{A}, {A}] if is_left else [{A}])
    [asked] = made.altered
    assert asked.expected == ({A: (3, 1, 2)} if is_left else {}) | {B: (1, 3)}


@pytest.mark.parametrize("answer", [None, Unreachable("no answer")])
def test_dp_7_a_replica_that_cannot_lead_costs_one_line_and_the_copy_comes_from_the_leader(
    tmp_path: Path, answer: KafkaError | None
) -> None:
    made, said, copied_from = cluster(), list[str](), set[int]()
    made.on_list = lambda: copied_from.update(made.leaders.get(name, -1) for name in made.moves if name == A)
    made.cannot_lead = {A}
    if answer is not None:
        made.errors["elect"] = [answer]
    assert submission(made, tmp_path / "p", BATCH, first_leaders=FIRST, said=said).execute() == 2
    assert made.replicas == {A: (4, 2, 3), B: (4, 3)}
    assert copied_from == {1}
    why = "The preferred leader was not available." if answer is None else answer.message
    assert f"p: copied from the present leader, as the election failed ({why}): t-0" in said


@pytest.mark.parametrize("lost", [1, 2])
def test_dp_7_a_lost_answer_to_either_step_is_looked_after(tmp_path: Path, lost: int) -> None:
    """The request arrives; its answer does not."""
    made = cluster()
    alter, calls = made.alter_partition_reassignments, 0

    def lossy(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        found = alter(*args, **options)
        if calls == lost:
            raise Unreachable("The answer is lost.")
        return found

    made.alter_partition_reassignments = lossy  # type: ignore[method-assign]
    submission(made, tmp_path / "p", BATCH, first_leaders=FIRST).execute()
    assert made.replicas == {A: (4, 2, 3), B: (4, 3)}
    assert made.leaders[A] == 4


def test_dp_7_a_partition_that_changed_is_neither_reordered_nor_moved(tmp_path: Path) -> None:
    made = cluster()
    made.replicas[A] = (2, 1, 3)
    with pytest.raises(Exception, match="p: 1 move was left out"):
        submission(made, tmp_path / "p", BATCH, first_leaders=FIRST).execute()
    assert made.replicas == {A: (2, 1, 3), B: (4, 3)}


def test_dp_7_a_first_leader_that_holds_no_replica_is_no_plan(tmp_path: Path) -> None:
    path = write_plan(tmp_path / "p", "c", BATCH, first_leaders={A: 9})
    with pytest.raises(BadInput, match="t-0: first_leader 9 is none of its expected_replicas"):
        read_batch(path / "batches" / "batch-0001.json", "rebalance")
    assert PlanEntry("t", 0, (4,), (1, 2), 2).reordered == (2, 1)


async def test_dp_7_a_server_lets_the_named_replica_lead_and_copies_from_there(
    client: ReassignmentClient, tmp_path: Path
) -> None:
    topic = client.describe_topics(["orders"])["orders"]
    assert not isinstance(topic, KafkaError)
    standing = topic[0].replicas
    [new, *_] = [broker for broker in range(1, 7) if broker not in standing]
    first, target = standing[-1], (new, *standing[1:])
    name = ("orders", 0)
    path = write_plan(tmp_path / "p", cluster_id(client), {name: (target, standing)}, first_leaders={name: first})
    leaders: set[int | None] = set()

    def look(text: str) -> None:
        moving = client.describe_reassignments()
        leaders.update(found.current_leader for found in moving.values() if found is not None)

    run = real_submission(client, path, throttle=20_000_000)
    run.output.status = look
    assert await asyncio.to_thread(run.execute) == 1
    assert leaders == {first}
    await wait_until_assigned(client, {TopicPartition("orders", 0): target})
    assert leader_of(client, name) == new
    back = client.alter_partition_reassignments({name: standing})
    assert not any(back.values())
    await wait_until_assigned(client, {TopicPartition("orders", 0): standing})


class DyingAfterwards(ReassignmentClient):
    """Its run dies at the election after the move to `target`."""

    target: tuple[int, ...] = ()

    def elect_preferred_leaders(self, partitions: Iterable[tuple[str, int]], **options: Any) -> Results:
        names = list(partitions)
        for topic, index in names:
            found = self.describe_topics([topic], of_controller=True)[topic]
            assert not isinstance(found, KafkaError)
            if tuple(found[index].replicas) == self.target:
                raise Died
        return super().elect_preferred_leaders(names, **options)


class Died(BaseException):
    pass


@BOTH_WAYS
async def test_dp_7_a_run_that_died_between_move_and_election_is_made_good_by_the_next_on_a_server(
    client: ReassignmentClient, bootstrap: str, tmp_path: Path, by_batch: bool
) -> None:
    name = ("payments", int(by_batch))
    topic = client.describe_topics(["payments"])["payments"]
    assert not isinstance(topic, KafkaError)
    standing = topic[name[1]].replicas
    [new, *_] = [broker for broker in range(1, 7) if broker not in standing]
    first, target = standing[-1], (new, *standing[1:])
    path = write_plan(tmp_path / "p", cluster_id(client), {name: (target, standing)}, first_leaders={name: first})
    with DyingAfterwards(bootstrap_servers=bootstrap) as dying:
        dying.target = target
        with pytest.raises(Died):
            await asyncio.to_thread(real_submission(dying, path, by_batch=by_batch).execute)
    await wait_until_assigned(client, {TopicPartition(*name): target})

    assert await asyncio.to_thread(real_submission(client, path, by_batch=by_batch).execute) == 0

    assert leader_of(client, name) == new
    back = client.alter_partition_reassignments({name: standing})
    assert not any(back.values())
    await wait_until_assigned(client, {TopicPartition(*name): standing})


def leader_of(client: ReassignmentClient, name: tuple[str, int]) -> int:
    """The leader, as the controller knows it."""
    topic = client.describe_topics([name[0]], of_controller=True)[name[0]]
    assert not isinstance(topic, KafkaError)
    return topic[name[1]].leader
