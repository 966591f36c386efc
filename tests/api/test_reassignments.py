"""AlterPartitionReassignments and ListPartitionReassignments: translation to and from the port."""

import asyncio
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.api.a45_alter_partition_reassignments import API
from kafka_reassign_rpc.api.a46_list_partition_reassignments import ListFragments, encode_partition
from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.large_requests import MOST_REPLICAS, NUMBERS
from kafka_reassign_rpc.api.ports import AlterReassignments
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicationFactor
from kafka_reassign_rpc.core.state.partition import HEAL, QUEUE, RPC, CancelMove, MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.protocol.frame_codec import encode_body
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafka_reassign_rpc.support.slices import finished
from kafka_reassign_rpc.support.turns import start
from tests.api.ask import ask
from tests.api.model_node import ModelNode, moving, topic


def alter(version: int, *topics: tuple[str, list[Any]], **fields: Any) -> AlterPartitionReassignmentsRequest:
    kind = AlterPartitionReassignmentsRequest
    one = kind.ReassignableTopic
    return kind(
        version=version,
        timeout_ms=1234,
        topics=[
            one(
                version=version,
                name=name,
                partitions=[one.ReassignablePartition(version=version, **p) for p in partitions],
            )
            for name, partitions in topics
        ],
        **fields,
    )


def results(answer: Any) -> dict[tuple[str, int], tuple[int, str | None]]:
    found = {}
    for t in answer.responses:
        for p in t.partitions:
            assert (t.name, p.partition_index) not in found, "each partition exactly once"
            found[t.name, p.partition_index] = (p.error_code, p.error_message)
    return found


def asked_terms(node: ModelNode) -> list[MoveTerms]:
    assert node.controller is not None
    return [asked for _, request in node.controller.calls for _, items in request.topics for _, asked in items]


@pytest.mark.parametrize("version", [0, 1])
async def test_455_1_every_partition_is_answered_exactly_once_with_its_own_error(version: int) -> None:
    node = ModelNode(topic("t", 2))
    request = alter(
        version,
        ("t", [{"partition_index": 0, "replicas": [1, 2]}, {"partition_index": 9, "replicas": [1]}]),
        ("nope", [{"partition_index": -1, "replicas": [1]}]),
        ("t", [{"partition_index": 1, "replicas": None}, {"partition_index": 0, "replicas": [3]}]),
    )
    answer = await ask(node, request, version)
    assert (answer.error_code, answer.error_message, answer.throttle_time_ms) == (0, "", 0)
    assert results(answer) == {
        ("t", 0): (0, None),
        ("t", 9): (3, "The partition does not exist."),
        ("t", 1): (85, "No partition reassignment is in progress."),
        ("nope", -1): (3, "The partition does not exist."),
    }
    [(_, asked)] = node.controller.calls
    assert asked == AlterReassignments(
        topics=[
            ("t", [(0, MoveTerms((3,))), (9, MoveTerms((1,))), (1, CancelMove())]),
            ("nope", [(-1, MoveTerms((1,)))]),
        ],
        allow_replication_factor_change=True,
        timeout_ms=1234,
    )


async def test_455_1_an_alter_takes_turns_with_others_however_many_topics_it_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kafka_reassign_rpc.support.turns.TURN_S", 0)
    monkeypatch.setattr("kafka_reassign_rpc.support.turns.SHORT_S", 0)
    topics = 1000
    request = alter(0, *[(f"t-{n}", [{"partition_index": 0, "replicas": [1]}]) for n in range(topics)])
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    waiting = asyncio.create_task(others())
    answer = await ask(ModelNode(*[topic(f"t-{n}") for n in range(topics)]), request, 0)
    waiting.cancel()
    assert len(results(answer)) == topics
    assert turns >= 4, "two on the way in, two on the way out"


@pytest.mark.long
async def test_455_1_no_step_of_an_alter_works_on_all_its_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured in calls, which no busy machine changes."""
    monkeypatch.setattr("kafka_reassign_rpc.support.turns.TURN_S", 0)
    monkeypatch.setattr("kafka_reassign_rpc.support.turns.SHORT_S", 0)
    names = [f"t-{n}" for n in range(5_000)]
    request = alter(0, *[(name, [{"partition_index": 0, "replicas": [1]}]) for name in names])
    node: Any = ModelNode(*[topic(name) for name in names])
    decide = node.controller.alter_reassignments
    calls = longest = 0

    def count(_frame: Any, _event: str, _function: Any) -> None:
        nonlocal calls
        calls += 1

    async def uncounted(*args: Any) -> Any:
        sys.setprofile(None)
        try:
            return await decide(*args)
        finally:
            sys.setprofile(count)

    async def others() -> None:
        nonlocal calls, longest
        while True:
            longest, calls = max(longest, calls), 0
            await asyncio.sleep(0)

    node.controller.alter_reassignments = uncounted
    sys.setprofile(count)
    try:
        left: Any = start(API.handle(node, request, RequestContext(45, 0, 1, "test")))  # type: ignore[arg-type]
        beside = asyncio.create_task(others())
        answer = await left
    finally:
        sys.setprofile(None)
    beside.cancel()
    assert len(b"".join(answer.body)) > 10 * len(names)
    assert 0 < longest < 5 * NUMBERS


async def test_a05_an_alter_of_nothing_is_answered_with_nothing() -> None:
    answer = await ask(ModelNode(), alter(0), 0)
    assert (answer.error_code, list(answer.responses)) == (0, [])
    answer = await ask(ModelNode(), alter(0, ("t", [])), 0)
    assert (answer.error_code, list(answer.responses)) == (0, [])


@pytest.mark.parametrize("allow", [True, False])
async def test_860_1_version_1_carries_the_flag_and_echoes_it(*, allow: bool) -> None:
    node = ModelNode(topic("t"))
    request = alter(1, ("t", [{"partition_index": 0, "replicas": [1]}]), allow_replication_factor_change=allow)
    answer = await ask(node, request, 1)
    assert answer.allow_replication_factor_change is allow
    assert node.controller.calls[0][1].allow_replication_factor_change is allow


async def test_860_5_the_expected_replicas_reach_the_controller() -> None:
    node = ModelNode(topic("t"))
    request = alter(0, ("t", [{"partition_index": 0, "replicas": [1], "expected_replicas": [3, 2]}]))
    await ask(node, request, 0)
    assert node.controller.calls[0][1].topics == [("t", [(0, MoveTerms((1,), expected=(3, 2)))])]


@pytest.mark.parametrize(
    ("reason", "known"), [(None, ""), ("heal broker 3", "heal broker 3"), ("x" * 1000, "x" * 1000)]
)
async def test_236_7_a_reason_reaches_the_controller(reason: str | None, known: str) -> None:
    node = ModelNode(topic("t"))
    request = alter(0, ("t", [{"partition_index": 0, "replicas": [1]}]))
    request.reason = reason
    await ask(node, request, 0)
    assert asked_terms(node) == [MoveTerms((1,), reason=known)]


@pytest.mark.parametrize(
    ("cap", "queue", "code"), [(5, True, 0), (-1, True, 0), (5, False, 42), (0, True, 42), (-2, True, 42)]
)
async def test_236_13_a_cap_of_moves_in_the_queue_reaches_the_controller(cap: int, queue: bool, code: int) -> None:
    node = ModelNode(topic("t"))
    request = alter(0, ("t", [{"partition_index": 0, "replicas": [1]}]))
    request.queue, request.moves_per_broker = queue, cap
    answer = await ask(node, request, 0)
    [result] = answer.responses[0].partitions
    assert result.error_code == code
    known = MoveTerms((1,), QUEUE, moves_per_broker=None if cap < 0 else cap)
    assert asked_terms(node) == ([] if code else [known])


async def test_236_7_a_reason_that_is_too_long_is_refused() -> None:
    node = ModelNode(topic("t"))
    request = alter(0, ("t", [{"partition_index": 0, "replicas": [1]}]))
    request.reason = "x" * 1001
    answer = await ask(node, request, 0)
    assert [(one.error_code, one.error_message) for one in answer.responses[0].partitions] == [
        (42, "A reason has at most 1000 characters, this one has 1001.")
    ]
    assert node.controller.calls == []


@pytest.mark.parametrize("reason", ["no controller", "inactive", "resigned meanwhile"])
async def test_a01_a02_another_node_answers_not_controller_at_the_top_only(reason: str) -> None:
    node = ModelNode(topic("t", {0: moving()}))
    request = alter(0, ("t", [{"partition_index": 0, "replicas": [1]}]))
    if reason == "no controller":
        node.controller = None
    elif reason == "inactive":
        node.controller.active = False
    else:
        node.controller.is_active = lambda: True
        node.controller.active = False
    answer = await ask(node, request, 0)
    text = "This is not the correct controller for this cluster."
    assert (answer.error_code, answer.error_message, list(answer.responses)) == (41, text, [])
    if reason != "resigned meanwhile":
        listed = await ask(node, list_of(t=[0]), 0)
        assert (listed.error_code, listed.error_message, list(listed.topics)) == (41, text, [])


async def test_m03_an_error_of_the_whole_request_is_at_the_top_and_at_each_partition() -> None:
    node = ModelNode(topic("t"))
    node.controller.raises = InvalidReplicationFactor("no")
    answer = await ask(node, alter(0, ("t", [{"partition_index": 0, "replicas": [1]}])), 0)
    assert (answer.error_code, results(answer)) == (38, {("t", 0): (38, "no")})


# ------------------------------------------------------------------------------------------------ list


def listed(answer: Any) -> dict[tuple[str, int], tuple[Any, ...]]:
    return {
        (t.name, p.partition_index): (
            list(p.replicas),
            list(p.adding_replicas),
            list(p.removing_replicas),
            p.reassignment_id,
        )
        for t in answer.topics
        for p in t.partitions
    }


def list_of(**topics: list[int]) -> ListPartitionReassignmentsRequest:
    kind = ListPartitionReassignmentsRequest
    one = kind.ListPartitionReassignmentsTopics
    return kind(version=0, topics=[one(version=0, name=n, partition_indexes=i) for n, i in topics.items()])


@pytest.mark.parametrize("many", [2, 60_000])
async def test_j02_a_refused_list_names_the_partitions_that_were_asked_for_without_replicas(many: int) -> None:
    asked, nobody = list_of(a=[*range(many)], nope=[5], b=[]), AclAuthorizer()
    answer = await ask(ModelNode(topic("a", {0: moving(0)})), asked, 0, nobody)
    assert (answer.error_code, [one.name for one in answer.topics]) == (31, ["a", "nope", "b"])
    named = [[p.partition_index for p in one.partitions] for one in answer.topics]
    assert named == [[*range(many)], [5], []]
    assert not any(p.replicas or p.adding_replicas or p.removing_replicas for t in answer.topics for p in t.partitions)
    everything = await ask(ModelNode(), ListPartitionReassignmentsRequest(version=0, topics=None), 0, nobody)
    assert (everything.error_code, everything.topics) == (31, [])


SHOWN = ([1, 2, 4, 3], [4], [3], 1000)


async def test_455_1_f06_all_moving_partitions_are_listed() -> None:
    still = topic("still", 3)
    node = ModelNode(topic("t", {0: moving(), 1: still.partitions[0], 2: moving(2)}), still, topic("u", {5: moving()}))
    answer = await ask(node, ListPartitionReassignmentsRequest(version=0, topics=None), 0)
    assert (answer.error_code, answer.error_message) == (0, "")
    assert listed(answer) == {("t", 0): SHOWN, ("t", 2): (*SHOWN[:3], 1002), ("u", 5): SHOWN}


async def test_f01_nothing_moving_is_an_empty_list() -> None:
    answer = await ask(ModelNode(topic("t", 3)), ListPartitionReassignmentsRequest(version=0, topics=None), 0)
    assert (answer.error_code, list(answer.topics)) == (0, [])


async def test_f04_only_what_was_asked_for_and_moves_is_listed() -> None:
    node = ModelNode(topic("t", {0: moving(), 1: moving(1)}), topic("still", 1), topic("u", {0: moving()}))
    answer = await ask(node, list_of(t=[0, 7], still=[0], nope=[0]), 0)
    assert listed(answer) == {("t", 0): SHOWN}
    assert listed(await ask(node, list_of(), 0)) == {}


async def test_240_4_the_id_of_a_move_is_a_tagged_field_once_it_is_durable() -> None:
    undurable = Partition(replicas=(1, 2), adding=(2,), leader=1, isr=(1,), move=MoveRecord(MoveTerms((2,)), (1,)))
    node = ModelNode(topic("t", {0: undurable, 1: moving(1)}))
    answer = await ask(node, ListPartitionReassignmentsRequest(version=0, topics=None), 0)
    assert [p.reassignment_id for p in answer.topics[0].partitions] == [-1, 1001]


@pytest.mark.parametrize("size", [0, 1, 3, 125, 126, 127, 200])
def test_455_1_hand_written_fragments_equal_what_the_codec_writes(size: int) -> None:
    partition = Partition(
        replicas=tuple(range(size)),
        adding=tuple(range(size // 2)),
        removing=(2**31 - 1,),
        move=MoveRecord(MoveTerms((1,)), (2,), 2**40),
    )
    one = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    body = ListPartitionReassignmentsResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0,
        error_message="",
        topics=[
            one(
                version=0,
                name="t" * (size + 1),
                partitions=[
                    one.OngoingPartitionReassignment(
                        version=0,
                        partition_index=7,
                        replicas=partition.replicas,
                        adding_replicas=partition.adding,
                        removing_replicas=partition.removing,
                        reassignment_id=2**40,
                    )
                ],
            )
        ],
    )
    expected = encode_body(body, version=0)
    assert finished(ListFragments().encode("t" * (size + 1), [(7, partition, None)])) in expected
    assert encode_partition(7, partition) in expected


@given(
    route=st.sampled_from([RPC, QUEUE, HEAL]),
    reason=st.text(max_size=200),
    id_=st.none() | st.integers(0, 2**62),
    waits=st.booleans(),
)
def test_240_4_the_tags_of_a_move_have_the_bytes_that_the_codec_writes(
    route: str, reason: str, id_: int | None, waits: bool
) -> None:
    one = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    shown = one.OngoingPartitionReassignment(
        version=0,
        partition_index=7,
        replicas=[1] if waits else [2, 1],
        adding_replicas=[2],
        removing_replicas=[1],
        reassignment_id=-1 if waits or id_ is None else id_,
        state="waiting" if waits else "moving",
        route=route,
        reason=reason,
    )
    body = ListPartitionReassignmentsResponse(
        version=0,
        throttle_time_ms=0,
        error_code=0,
        error_message="",
        topics=[one(version=0, name="t", partitions=[shown])],
    )
    move = MoveRecord(MoveTerms((2,), route, reason), (1,), id_)
    moves = Partition((2, 1), adding=(2,), removing=(1,), move=move)
    listed = (7, Partition((1,)), WaitingMove(MoveTerms((2,), route, reason))) if waits else (7, moves, None)
    assert finished(ListFragments().encode("t", [listed])) in encode_body(body, version=0)


def test_455_1_fragments_follow_the_values_and_forget_what_has_gone() -> None:
    fragments = ListFragments()
    first, second = moving(1), moving(2)
    before = finished(fragments.encode("t", [(0, first, None), (1, first, None)], complete=True))
    assert finished(fragments.encode("t", [(0, first, None), (1, first, None)], complete=True)) == before
    after = finished(fragments.encode("t", [(0, second, None)], 5, complete=True))
    assert after == finished(ListFragments().encode("t", [(0, second, None)]))
    assert (fragments.of_topic("t", 5), fragments.of_topic("t", 6), fragments.of_topic("u", 5)) == (after, None, None)
    fragments.keep({"t"})
    assert fragments.of_topic("t", 5) == after
    fragments.keep(())
    assert fragments.of_topic("t", 5) is None
    assert finished(fragments.encode("t", [(0, second, None)])) == after


async def test_236_13_a_waiting_move_is_listed_with_current_adding_and_removing_replicas() -> None:
    node = ModelNode(topic("t", {0: moving(0), 1: Partition((1, 2)), 2: Partition((1, 2))}))
    node.controller.waiting = {
        "t": {1: WaitingMove(MoveTerms((2, 3), QUEUE)), 2: WaitingMove(MoveTerms((2, 1), QUEUE))}
    }
    answer = await ask(node, ListPartitionReassignmentsRequest(version=0, topics=None), 0)
    listed = {one.partition_index: one for one in answer.topics[0].partitions}
    assert [listed[i].state for i in range(3)] == ["moving", "waiting", "waiting"]
    assert (listed[1].replicas, listed[1].adding_replicas, listed[1].removing_replicas) == ([1, 2], [3], [1])
    order = listed[2]
    assert (order.replicas, order.adding_replicas, order.removing_replicas) == ([1, 2], [2, 1], [1, 2])
    assert [listed[i].reassignment_id for i in (1, 2)] == [-1, -1]

    one = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(name="t", partition_indexes=[2])
    answer = await ask(node, ListPartitionReassignmentsRequest(version=0, topics=[one]), 0)
    assert [found.partition_index for found in answer.topics[0].partitions] == [2]


async def test_455_1_a_list_of_many_is_complete() -> None:
    node = ModelNode(topic("t", {i: moving(i) for i in range(12_000)}))
    answer = await ask(node, ListPartitionReassignmentsRequest(version=0, topics=None), 0)
    assert [p.reassignment_id for p in answer.topics[0].partitions] == list(range(1000, 13_000))


@pytest.mark.parametrize(("count", "code"), [(MOST_REPLICAS, 0), (MOST_REPLICAS + 1, 42)])
async def test_sv_6_a_target_of_more_replicas_than_any_cluster_has_brokers_is_refused(count: int, code: int) -> None:
    """Before anything checks it: each check of a million of them would hold up the loop."""
    node = ModelNode(topic("t"))
    for partition in (
        {"partition_index": 0, "replicas": list(range(count))},
        {"partition_index": 0, "replicas": [1], "expected_replicas": list(range(count))},
    ):
        answer = await ask(node, alter(0, ("t", [partition])), 0)
        assert answer.error_code == code
    assert len(node.controller.calls) == (2 if code == 0 else 0)
