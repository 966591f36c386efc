"""Documents and commands of servers, as the client asks for them."""

import json
from typing import Any

import pytest

from kafka_reassign_rpc.client import AsyncReassignmentClient, UnsupportedHere
from kafka_reassign_rpc.client.client_errors import Unreachable
from kafka_reassign_rpc.core.document_and_command_bodies import LONGEST_BODY
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.protocol.messages import AskDocumentResponse, DoCommandResponse


class Controller:
    """`sent`: the bodies of the requests."""

    def __init__(self, answer: Any, serves: int = 0) -> None:
        self.sent: list[bytes] = []
        self._answer = answer
        self._serves = serves

    async def controller_serves(self, _cls: Any) -> int:
        return self._serves

    async def ask_controller(self, build: Any, _cls: Any, **_options: Any) -> Any:
        self.sent.append(build(0).body)
        return self._answer


def client(controller: Any) -> AsyncReassignmentClient:
    made = AsyncReassignmentClient()
    made._router = controller
    return made


def answer(cls: type[Any], body: bytes = b"", code: int = 0) -> Any:
    return cls(version=0, throttle_time_ms=0, error_code=code, error_message=None, body=body)


async def test_sv_11_a_controller_that_does_not_tell_its_state_is_not_taken_for_one_without_leases() -> None:
    stock: Any = Controller(None, serves=-1)
    earlier: Any = Controller(answer(AskDocumentResponse, code=35))
    for controller in (stock, earlier):
        with pytest.raises(UnsupportedHere, match="that needs a kafka-reassign-rpc server of this version"):
            await client(controller).controller_state()
    assert (len(stock.sent), len(earlier.sent)) == (0, 1)


async def test_sv_11_a_later_server_may_tell_more_and_a_garbled_answer_is_no_document() -> None:
    later: Any = Controller(answer(AskDocumentResponse, b'{"version":"9","epoch":1,"since":2,"brokers":{},"more":[1]}'))
    assert (await client(later).controller_state()).version == "9"
    garbled: Any = Controller(answer(AskDocumentResponse, b'{"version":9}'))
    with pytest.raises(Unreachable, match="the answer cannot be read: Expected `str`, got `int`"):
        await client(garbled).controller_state()


async def test_dh_5_a_release_has_no_reason_and_means_all_moves_only_where_nothing_is_named() -> None:
    done: Any = Controller(answer(DoCommandResponse, b'{"changed":1,"unchanged":2,"in_flight":3}'))
    await client(done).release()
    await client(done).hold(topics=["t"], reason="disks")
    all_moves, some = map(json.loads, done.sent)
    assert all_moves == {"all": True, "topics": None, "brokers": None, "reasons": None}
    assert some == {"all": False, "topics": ["t"], "brokers": None, "reasons": None, "reason": "disks"}


async def test_dh_4_a_rate_for_all_moves_names_none() -> None:
    done: Any = Controller(answer(DoCommandResponse, b'{"moving":1,"waiting":2,"repairs":3}'))
    assert await client(done).alter_throttles(5) == ThrottledMoves(1, 2, 3)
    assert [json.loads(one) for one in done.sent] == [{"rate": 5, "topics": None}]


async def test_dh_4_a_rate_for_topics_and_partitions_names_each_topic_once() -> None:
    done: Any = Controller(answer(DoCommandResponse, b'{"moving":1,"waiting":2,"repairs":3}'))
    await client(done).alter_throttles(5, topics=["a", "a"], partitions=[("a", 1), ("b", 2), ("b", 3)])
    await client(done).alter_throttles(5, partitions=[])
    assert [json.loads(one)["topics"] for one in done.sent] == [{"a": None, "b": [2, 3]}, {}]


async def test_dh_4_more_partitions_than_a_body_has_room_for_go_in_several_and_the_counts_add_up() -> None:
    done: Any = Controller(answer(DoCommandResponse, b'{"moving":1,"waiting":2,"repairs":3}'))
    partitions = [("large", at) for at in range(30_000)] + [(f"topic-{at}", at) for at in range(5_000)]
    found = await client(done).alter_throttles(5, partitions=partitions)
    parts = len(done.sent)
    assert parts > 2
    assert found == ThrottledMoves(parts, 2 * parts, 3 * parts)
    assert max(map(len, done.sent)) <= LONGEST_BODY
    named = [json.loads(one)["topics"] for one in done.sent]
    assert [(name, at) for part in named for name, indexes in part.items() for at in indexes] == partitions
