"""A node that hangs takes requests and answers none: what others can answer goes to them, and what changes something is
sent once.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NoReturn

import pytest

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError, TopicPartition, Unreachable
from kafka_reassign_rpc.client.client_errors import UnsupportedHere
from kafka_reassign_rpc.protocol.frame_codec import decode_body
from kafka_reassign_rpc.protocol.messages import ApiVersionsResponse, DescribeClusterResponse
from tests.python_client.scripted_nodes import (
    ALTER,
    API_VERSIONS,
    LIST,
    METADATA,
    SERVED,
    ScriptedCluster,
    ScriptedNode,
    listening,
)
from tests.waiting import eventually

QUORUM, DESCRIBE_CLUSTER = 55, 60
NEVER_MS = 300_000
"""Whoever waits for an answer for so long fails its test."""
SLOW = "kafka_reassign_rpc.client.request_routing.SLOW_S"
TIME_TO_ANSWER_S = 1.0
"""For nodes that do answer, on a busy machine."""


class KRaftNode(ScriptedNode):
    """Any node lists the moves, and serves DescribeQuorum."""

    def _answer(self, key: int, version: int) -> Any:
        if key == API_VERSIONS:
            return ApiVersionsResponse(version=version, error_code=0, api_keys=[*SERVED, (QUORUM, 0, 1)])
        answer = super()._answer(key, version)
        if key == LIST:
            answer.error_code = 0
        return answer


class ControllerNode(ScriptedNode):
    """A KRaft controller: only the active one lists the moves, and none passes requests on."""

    def _answer(self, key: int, version: int) -> Any:
        if key == API_VERSIONS:
            served = [*SERVED, (QUORUM, 0, 1), (DESCRIBE_CLUSTER, 0, 1)]
            return ApiVersionsResponse(version=version, error_code=0, api_keys=served)
        if key == DESCRIBE_CLUSTER:
            one = DescribeClusterResponse.DescribeClusterBroker
            return DescribeClusterResponse(
                version=version,
                error_code=0,
                cluster_id="c",
                controller_id=self.cluster.controller,
                brokers=[
                    one(version=version, broker_id=node, host="127.0.0.1", port=port, rack=None)
                    for node, port in self.cluster.members.items()
                ],
            )
        return super()._answer(key, version)


def hang(node: ScriptedNode) -> None:
    for key in (METADATA, API_VERSIONS, ALTER, LIST):
        node.replies[key] = lambda _: b""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SLOW, 0.1)
    monkeypatch.setattr("kafka_reassign_rpc.client.node_connections.random.shuffle", list.sort)


@asynccontextmanager
async def two(kind: type[ScriptedNode]) -> AsyncIterator[tuple[ScriptedNode, ScriptedNode]]:
    """The first is the one that Metadata names as the controller."""
    nodes = ScriptedCluster()
    first, second = kind(nodes, 1), kind(nodes, 2)
    async with listening(first), listening(second):
        yield first, second


def client_of(*nodes: ScriptedNode, request_timeout_ms: int = NEVER_MS) -> AsyncReassignmentClient:
    places = [f"127.0.0.1:{node.port}" for node in nodes]
    return AsyncReassignmentClient(
        bootstrap_servers=places, request_timeout_ms=request_timeout_ms, bootstrap_timeout_ms=NEVER_MS
    )


async def test_kr_1_a_first_address_that_hangs_does_not_keep_the_client_from_the_next_one() -> None:
    async with two(KRaftNode) as (hung, good):
        hang(hung)
        for places in ((hung, good), (good, hung)):
            async with client_of(*places) as client:
                assert await client.list_partition_reassignments() == {}
                assert LIST in good.asked
        assert LIST not in hung.asked


async def test_kr_1_several_addresses_that_hang_do_not_keep_the_client_from_the_one_that_answers() -> None:
    nodes = ScriptedCluster()
    async with AsyncExitStack() as stack:
        good, *hung = [await stack.enter_async_context(listening(KRaftNode(nodes, node))) for node in (1, 2, 3)]
        for one in hung:
            hang(one)
        for places in ((good, *hung), (*hung, good)):
            async with client_of(*places) as client:
                assert await client.list_partition_reassignments() == {}


async def test_kr_1_in_kraft_mode_a_list_goes_past_a_controller_that_hangs_and_later_ones_do_not_ask_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SLOW, TIME_TO_ANSWER_S)
    async with two(KRaftNode) as (hung, good), client_of(hung) as client:
        assert await client.list_partition_reassignments() == {}
        assert (hung.asked.count(LIST), good.asked.count(LIST)) == (1, 0)
        hang(hung)
        for _ in range(3):
            assert await client.list_partition_reassignments() == {}
            await client.describe_some([])
        assert (hung.asked.count(LIST), good.asked.count(LIST)) == (2, 3)
        assert hung.asked[-1] == LIST, "and nothing after it"


async def test_kr_1_a_question_for_any_node_goes_past_one_that_hangs() -> None:
    async with two(KRaftNode) as (hung, good), client_of(hung) as client:
        await client.describe_some([])
        hang(hung)
        for _ in range(3):
            await client.describe_some([])
        assert good.asked.count(METADATA) >= 3


async def test_kr_1_an_answer_that_comes_late_is_taken_where_no_other_node_answers() -> None:
    async with two(KRaftNode) as (first, second), client_of(first) as client:
        await client.describe_some([])
        asked = asyncio.Event()

        def late(answer: bytes) -> bytes:
            asked.set()
            return b""

        for node in (first, second):
            node.replies[METADATA] = late
        waiting = asyncio.create_task(client.describe_some([]))
        await eventually(lambda: METADATA in second.asked)
        assert not waiting.done()
        for node in (first, second):
            del node.replies[METADATA]
            node.disconnect()
        assert (await waiting).cluster_id == "c"


async def test_455_1_in_zookeeper_mode_a_list_waits_for_the_one_node_that_knows() -> None:
    async with two(ScriptedNode) as (hung, other), client_of(hung, request_timeout_ms=600) as client:
        assert await client.list_partition_reassignments() == {}
        hang(hung)
        with pytest.raises(KafkaError, match="no answer within"):
            await client.list_partition_reassignments()
        assert LIST not in other.asked
        hung.cluster.controller = other.node
        assert await client.list_partition_reassignments() == {}, "the next one asks who it is now"


async def test_455_1_what_changes_something_is_sent_once_however_long_the_answer_takes() -> None:
    async with two(KRaftNode) as (hung, other), client_of(hung, request_timeout_ms=600) as client:
        await client.list_partition_reassignments()
        hang(hung)
        with pytest.raises(KafkaError, match="It is not known whether the request had its effect"):
            await client.alter_partition_reassignments({TopicPartition("t", 0): [2]})
        assert (hung.asked.count(ALTER), other.asked.count(ALTER)) == (1, 0)


async def test_kr_1_a_standby_controller_is_not_asked_in_place_of_the_active_one() -> None:
    """It answers NOT_CONTROLLER, at once: the sound answer of the active one would never be waited for."""
    async with two(ControllerNode) as (active, standby):
        places = [f"127.0.0.1:{node.port}" for node in (active, standby)]
        async with AsyncReassignmentClient(bootstrap_controllers=places, request_timeout_ms=600) as client:
            assert await client.list_partition_reassignments() == {}
            hang(active)
            with pytest.raises(KafkaError, match="no answer within"):
                await client.list_partition_reassignments()
            active.replies.clear()
            await client.alter_partition_reassignments({TopicPartition("t", 0): [2]})
        assert not {LIST, ALTER} & {*standby.asked}


async def test_kr_1_an_answer_that_takes_long_to_read_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*args: Any, **kwargs: Any) -> Any:
        time.sleep(1.5 * TIME_TO_ANSWER_S)  # a thread reads large answers
        return decode_body(*args, **kwargs)

    monkeypatch.setattr(SLOW, TIME_TO_ANSWER_S)
    async with two(KRaftNode) as (first, second), client_of(first) as client:
        await client.list_partition_reassignments()
        asked = [*second.asked]
        monkeypatch.setattr("kafka_reassign_rpc.client.node_questions._LARGE_BYTES", 0)
        monkeypatch.setattr("kafka_reassign_rpc.client.node_questions.decode_body", slow)
        assert await client.list_partition_reassignments() == {}
        assert (second.asked, first.asked.count(LIST)) == (asked, 2)


async def test_kr_1_an_answer_that_is_on_its_way_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a slow network the same answer twice takes twice as long, each time."""
    monkeypatch.setattr(SLOW, TIME_TO_ANSWER_S)
    async with two(KRaftNode) as (first, second), client_of(first) as client:
        await client.list_partition_reassignments()
        asked, sending = [*second.asked], list[asyncio.Task[None]]()

        async def trickle(answer: bytes) -> None:
            for byte in answer:
                for writer in first._writers:
                    writer.write(bytes((byte,)))
                await asyncio.sleep(2 * TIME_TO_ANSWER_S / len(answer))

        def slowly(answer: bytes) -> bytes:
            sending.append(asyncio.create_task(trickle(answer)))
            return b""

        first.replies[LIST] = slowly
        assert await client.list_partition_reassignments() == {}
        assert (second.asked, len(sending)) == (asked, 1)


async def test_kr_1_the_only_node_is_asked_once_although_it_was_given_by_another_name() -> None:
    node = KRaftNode(ScriptedCluster(), 1)
    async with (
        listening(node),
        AsyncReassignmentClient(bootstrap_servers=f"localhost:{node.port}", request_timeout_ms=600) as client,
    ):
        await client.describe_some([])
        asked = node.asked.count(METADATA)
        node.replies[METADATA] = lambda _: b""
        with pytest.raises(KafkaError, match="no answer within"):
            await client.describe_some([])
        assert node.asked.count(METADATA) == asked + 1
        node.replies.clear()
        assert await client.list_partition_reassignments() == {}
        assert await client.describe_controller() == 1


async def test_kr_1_where_no_node_answers_the_error_is_that_of_the_node_that_was_asked_first() -> None:
    """An error of the other one may say that asking again is of no use."""
    others_turn, firsts = asyncio.Event(), list[asyncio.Future[Any]]()

    async def ask(node: int) -> NoReturn:
        if node == 1:
            firsts.append(asyncio.ensure_future(others_turn.wait()))
            await firsts[0]
            raise Unreachable("the first")
        others_turn.set()
        await asyncio.wait(firsts)
        await asyncio.sleep(0)  # the first has failed by now
        raise UnsupportedHere("the other")

    async def other() -> int:
        return 2

    async with two(KRaftNode) as (first, _), client_of(first) as client:
        assert client._router is not None
        with pytest.raises(Unreachable, match="the first"):
            await client._router._first_answer(1, ask, other)
