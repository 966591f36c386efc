"""The client's requests for the queue, and its values for moves that wait."""

from typing import Any

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.client import (
    MOVING,
    QUEUE,
    WAITING,
    CancelMove,
    MoveTerms,
    PartitionReassignment,
    TopicPartition,
    UnsupportedHere,
)
from kafka_reassign_rpc.client.reassignment_calls import (
    NO_QUEUE,
    NO_REASONS,
    alter_partition_reassignments,
    list_partition_reassignments,
)
from kafka_reassign_rpc.client.request_routing import Needs
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.core.state.partition import BATCH, RPC
from kafka_reassign_rpc.protocol.frame_codec import decode_request, encode_request
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsResponse,
)


class Controller:
    """A controller with a fixed answer. `asked` holds the bytes of the requests. `ours`: it serves our own APIs."""

    def __init__(self, answer: Any = None, *, ours: bool = True) -> None:
        self.asked: list[bytes] = []
        self._answer = answer
        self._ours = ours

    async def controller_serves(self, cls: Any) -> int:
        return 0 if self._ours else -1

    async def ask_controller(self, build: Any, cls: Any, *, changes: bool = False, needs: Needs | None = None) -> Any:
        if needs is not None and not self._ours:
            raise UnsupportedHere(needs.otherwise)
        version = int(cls.max_version)
        self.asked.append(encode_request(build(version), version=version, correlation_id=7, client_id="test"))
        return self._answer


async def alter(controller: Controller, **terms: Any) -> Any:
    return await alter_partition_reassignments(
        controller,  # type: ignore[arg-type]
        {("t", 0): MoveTerms((3, 4), **terms)},
        allow_replication_factor_change=True,
        timeout_ms=1_000,
    )


def accepted() -> Any:
    topic = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
    partitions = [
        topic.ReassignablePartitionResponse(partition_index=0, error_code=0, error_message=None),
        topic.ReassignablePartitionResponse(partition_index=1, error_code=44, error_message="no"),
    ]
    return AlterPartitionReassignmentsResponse(
        error_code=0, error_message=None, responses=[topic(name="t", partitions=partitions)]
    )


async def test_236_12_moves_for_the_queue_carry_tag_236_and_others_carry_no_tag() -> None:
    bodies = []
    for queue in (True, False):
        controller = Controller(accepted())
        results = await alter(controller, route=QUEUE if queue else RPC)
        assert results[TopicPartition("t", 0)] is None
        assert isinstance(results[TopicPartition("t", 1)], PolicyViolation)
        bodies += controller.asked
    queued, plain = bodies
    # The last tag of the request: count 1, tag 236 as a varint, one byte, true.
    assert queued.endswith(b"\x01\xec\x01\x01\x01")
    assert plain.endswith(b"\x00")
    for frame, queue in ((queued, True), (plain, False)):
        assert decode_request(frame[4:]).body.queue is queue


async def test_236_12_a_queued_move_has_its_reason_and_its_lease_with_it() -> None:
    controller = Controller(accepted())
    await alter(controller, route=QUEUE, throttle=5000, reason="broker 3 is to go")
    [frame] = controller.asked
    body = decode_request(frame[4:]).body
    assert (body.queue, body.throttle, body.reason) == (True, 5000, "broker 3 is to go")


@pytest.mark.parametrize(("terms", "why"), [({"route": QUEUE}, NO_QUEUE), ({"reason": "it was asked for"}, NO_REASONS)])
async def test_236_12_what_other_servers_would_skip_silently_is_not_sent_to_them(
    terms: dict[str, Any], why: str
) -> None:
    stock = Controller(ours=False)
    with pytest.raises(UnsupportedHere) as refused:
        await alter(stock, **terms)
    assert (refused.value.message, stock.asked) == (why, [])


async def test_240_4_listed_moves_have_their_identity_and_their_state() -> None:
    topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    one = topic.OngoingPartitionReassignment
    partitions = [
        one(partition_index=0, replicas=[3, 1, 2], adding_replicas=[3], removing_replicas=[2], reassignment_id=77),
        one(
            partition_index=1,
            replicas=[1, 2],
            adding_replicas=[3],
            removing_replicas=[2],
            state=WAITING,
            route="heal",
            reason="heal broker 2",
        ),
        one(partition_index=2, replicas=[1, 2], adding_replicas=[2, 1], removing_replicas=[1, 2], state=WAITING),
    ]
    answer = ListPartitionReassignmentsResponse(
        error_code=0, error_message=None, topics=[topic(name="t", partitions=partitions)]
    )
    found = await list_partition_reassignments(Controller(answer), None, 1_000)  # type: ignore[arg-type]
    moving, waiting = found[TopicPartition("t", 0)], found[TopicPartition("t", 1)]
    assert moving == PartitionReassignment((3, 1, 2), (3,), (2,), id=77, state=MOVING)
    assert waiting == PartitionReassignment((1, 2), (3,), (2,), None, WAITING, "heal", "heal broker 2")
    assert (moving.target, waiting.target) == ((3, 1), (1, 3))
    assert (moving.sources, waiting.sources) == (frozenset({1, 2}), frozenset({1, 2}))
    assert (moving.is_waiting, waiting.is_waiting) == (False, True)
    order = found[TopicPartition("t", 2)]
    assert order == PartitionReassignment((1, 2), state=WAITING, waiting_target=(2, 1)), "it adds and removes nothing"


async def test_236_13_a_queued_move_has_its_own_cap_with_it() -> None:
    controller = Controller(accepted())
    await alter(controller, route=QUEUE, moves_per_broker=5)
    await alter(controller, route=QUEUE)
    assert [decode_request(frame[4:]).body.moves_per_broker for frame in controller.asked] == [5, -1]


async def test_455_1_the_moves_of_a_call_share_all_terms_but_target_and_expected_replicas() -> None:
    async def sent(*asked: Any) -> Any:
        controller = Controller(accepted())
        moves = {("t", index): one for index, one in enumerate(asked)}
        await alter_partition_reassignments(
            controller,  # type: ignore[arg-type]
            moves,
            allow_replication_factor_change=True,
            timeout_ms=1_000,
        )
        return decode_request(controller.asked[0][4:]).body

    first, second = MoveTerms((1, 2), reason="x", expected=(3,)), MoveTerms((2, 3), reason="x")
    [topic] = (await sent(first, second, CancelMove((4,)), None)).topics
    found = [(one.replicas, one.expected_replicas) for one in topic.partitions]
    assert found == [([1, 2], [3]), ([2, 3], None), (None, [4]), (None, None)]
    for other in (replace(second, reason="y"), replace(second, throttle=1), replace(second, route=QUEUE)):
        with pytest.raises(ValueError, match="use several calls"):
            await sent(first, other)
    with pytest.raises(ValueError, match="not by batch"):
        await sent(MoveTerms((1,), BATCH))
