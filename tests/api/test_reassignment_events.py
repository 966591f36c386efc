"""DescribeReassignmentEvents: the events that a server has recorded."""

import pytest

from kafka_reassign_rpc.api.a32242_describe_reassignment_events import MAX_BYTES
from kafka_reassign_rpc.api.ports import NodeEndpoint, RecordedEvents
from kafka_reassign_rpc.protocol.messages import DescribeReassignmentEventsRequest
from tests.api.ask import ask
from tests.api.model_node import ModelNode


def request(from_seq: int = 0, max_bytes: int = 1000) -> DescribeReassignmentEventsRequest:
    return DescribeReassignmentEventsRequest(version=0, from_seq=from_seq, max_bytes=max_bytes)


async def test_sv_7_events_come_with_their_server_the_oldest_one_kept_and_where_to_go_on() -> None:
    node = ModelNode()
    node.recorded = RecordedEvents(['{"seq":7}', '{"seq":8}'], 9, 7)
    answer = await ask(node, request(3), 0)
    assert (answer.error_code, answer.server_id, answer.oldest_seq, answer.next_seq) == (0, 1000, 7, 9)
    assert list(answer.events) == ['{"seq":7}', '{"seq":8}']


async def test_sv_7_a_server_that_is_not_the_controller_answers_from_its_own_log() -> None:
    node = ModelNode()
    assert node.controller is not None
    node.controller.active = False
    node.recorded = RecordedEvents([], 0, 0)
    assert (await ask(node, request(), 0)).error_code == 0


async def test_sv_7_who_asks_for_no_events_learns_which_servers_run() -> None:
    node = ModelNode()
    node.recorded = RecordedEvents([], 0, 0)
    node.running = [NodeEndpoint(1000, "h", 1), NodeEndpoint(1001, "i", 2)]
    found = (await ask(node, request(-1), 0)).servers
    assert [(one.server_id, one.host, one.port) for one in found] == [(1000, "h", 1), (1001, "i", 2)]
    assert list((await ask(node, request(0), 0)).servers) == []


@pytest.mark.parametrize(("asked", "given"), [(10, 10), (2**31 - 1, MAX_BYTES), (-5, -5), (0, 0)])
async def test_sv_7_an_answer_is_bounded_whatever_is_asked_for(asked: int, given: int) -> None:
    node = ModelNode()
    node.recorded = RecordedEvents([], 0, 0)
    await ask(node, request(-1, asked), 0)
    assert node.asked_events == [(-1, given)]


async def test_sv_7_a_server_without_an_event_log_says_how_to_have_one() -> None:
    answer = await ask(ModelNode(), request(), 0)
    assert answer.error_code == 44
    assert "event.log.dir" in answer.error_message
    assert (answer.server_id, answer.oldest_seq, answer.next_seq, list(answer.events)) == (-1, -1, -1, [])
