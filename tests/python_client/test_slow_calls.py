"""What a call that goes on trying says: for what it waits, and until when."""

import asyncio
import re
from datetime import datetime
from typing import cast

import pytest

from kafka_reassign_rpc.client import AsyncReassignmentClient, node_questions
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.node_connections import NodeConnections
from kafka_reassign_rpc.client.request_routing import RequestRouter
from tests.python_client.scripted_nodes import ScriptedCluster, ScriptedNode, addresses, listening
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_questions, "WORD_S", 0.05)


async def test_hm_1_a_call_that_waits_for_a_controller_says_so_once_and_until_when() -> None:
    cluster, said = ScriptedCluster(), list[str]()

    def say(text: str) -> None:
        said.append(text)
        cluster.controller = 1

    async with (
        listening(ScriptedNode(cluster, 1)) as node,
        AsyncReassignmentClient(bootstrap_servers=addresses([node])) as client,
    ):
        client.say_what_is_waited_for(say)
        cluster.controller = -1
        assert await client.list_partition_reassignments() == {}
    (text,) = said
    why = "(.*controller.*|nothing has failed so far.)"  # as far as the call has come
    assert re.fullmatch(rf"No answer yet, trying on until \d\d:\d\d:\d\d: {why}", text), text


async def test_hm_1_a_call_that_is_answered_or_has_ended_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_questions, "WORD_S", 60.0)
    cluster, said = ScriptedCluster(), list[str]()
    async with (
        listening(ScriptedNode(cluster, 1)) as node,
        AsyncReassignmentClient(bootstrap_servers=addresses([node])) as client,
    ):
        client.say_what_is_waited_for(said.append)
        assert await client.list_partition_reassignments() == {}
    assert said == []


async def test_hm_1_a_call_that_asks_several_nodes_says_so_once_and_until_when_it_tries_itself() -> None:
    router, said = (
        RequestRouter(cast("NodeConnections", None), client_settings({"bootstrap_servers": "a:1"})),
        list[str](),
    )
    router.slow.say = said.append

    async def one() -> None:
        with router.slow.told(asyncio.get_running_loop().time() + 7_200.0):
            router.slow.failed("one is down.")
            await eventually(lambda: said)

    before = datetime.now()
    await router.at_once([one, one, one], 3_600_000)
    (text,) = said
    until = datetime.strptime(re.findall(r"\d\d:\d\d:\d\d", text)[0], "%H:%M:%S")
    assert 3_590 < (until - before).seconds < 4_200, text
    assert text.endswith(": one is down.")


async def test_hm_1_calls_at_the_same_time_say_each_for_what_it_waits() -> None:
    slow, said = node_questions.SlowCalls(), list[str]()
    slow.say, begun = said.append, asyncio.Barrier(2)

    async def call(why: str) -> None:
        with slow.told(asyncio.get_running_loop().time() + 3_600.0):
            slow.failed(why)
            await begun.wait()
            await eventually(lambda: len(said) == 2)

    await asyncio.gather(call("first"), call("second"))
    assert sorted(text.rpartition(": ")[2] for text in said) == ["first", "second"]
