"""How a new controller asks brokers what they know."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from kafka_reassign_rpc.controller.lifecycle import term
from kafka_reassign_rpc.core.failover import MOST_PARTITIONS, Told, proven, to_ask_about
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.topic_writes import put_topic
from kafka_reassign_rpc.protocol.frame_codec import encode_response
from kafka_reassign_rpc.protocol.messages import MetadataRequest, MetadataResponse
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.support.turns import in_turns
from kafka_reassign_rpc.transport.broker_answers import TOPICS_AT_ONCE
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from tests.controller_channel.scripted_broker import SILENT, ScriptedBroker
from tests.core.build import cluster, not_moving
from tests.longest_turn import tries
from tests.waiting import eventually

VERSION = 12
NEVER_S = 3600.0


@asynccontextmanager
async def brokers(*answers: Callable[[Any], Any]) -> AsyncIterator[list[tuple[Broker, ScriptedBroker]]]:
    started = list[tuple[Broker, ScriptedBroker]]()
    try:
        for id_, answer in enumerate(answers, 1):
            scripted = ScriptedBroker({ApiKey.METADATA: VERSION, ApiKey.API_VERSIONS: 0})
            scripted.answer = answer
            await scripted.start()
            endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", scripted.port)
            started.append((Broker(id_, 100 + id_, (endpoint,)), scripted))
        yield started
    finally:
        for _, scripted in started:
            await scripted.stop()


def topic_id(name: str) -> UUID:
    return UUID(int=1 + hash(name) % 2**100)


def metadata(names: Sequence[str], partitions: int = 1) -> MetadataResponse:
    of_topic = MetadataResponse.MetadataResponseTopic
    found = [
        of_topic.MetadataResponsePartition(
            version=VERSION, partition_index=index, leader_id=1, leader_epoch=5, replica_nodes=[1, 2], isr_nodes=[1, 2]
        )
        for index in range(partitions)
    ]
    topics = [of_topic(version=VERSION, name=name, topic_id=topic_id(name), partitions=found) for name in names]
    return MetadataResponse(version=VERSION, topics=topics)


def names_in(request: MetadataRequest) -> list[str]:
    return [one.name or "" for one in request.topics or ()]


def knows(request: MetadataRequest) -> MetadataResponse:
    return metadata(names_in(request))


def is_silent(_: MetadataRequest) -> object:
    return SILENT


def _next(answers: Iterator[bytes], _: MetadataRequest) -> bytes:
    return next(answers)


async def ask(asked: Sequence[tuple[Broker, ScriptedBroker]], names: Sequence[str], *, is_enough: bool) -> list[Told]:
    return await term.ask_of_edits([one for one, _ in asked], BrokerLinks(), "1000", names, lambda _: is_enough)


async def test_hm_2_a_broker_that_does_not_answer_delays_no_failover_in_which_another_finds_all_as_it_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(term, "ANSWER_S", NEVER_S)
    async with brokers(is_silent, knows, is_silent) as asked:
        (told,) = await ask(asked, ["t", "u"], is_enough=True)
        assert told == Told(
            2,
            {"t": topic_id("t"), "u": topic_id("u")},
            {TopicPartition("t", 0): (1, 5), TopicPartition("u", 0): (1, 5)},
        )


async def test_hm_2_all_brokers_are_waited_for_where_what_one_says_is_not_as_it_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(term, "ANSWER_S", NEVER_S)
    async with brokers(knows, knows, is_silent) as asked:
        asking = asyncio.create_task(ask(asked, ["t"], is_enough=False))
        await eventually(lambda: all(scripted.received for _, scripted in asked))
        await asyncio.sleep(0)
        assert not asking.done()
        await asked[2][1].stop()
        assert [(one.broker, one.ids) for one in await asking] == [
            (1, {"t": topic_id("t")}),
            (2, {"t": topic_id("t")}),
            (3, {}),
        ]


async def test_hm_2_what_a_broker_has_said_counts_although_the_rest_of_it_does_not_come() -> None:
    def says_some(request: MetadataRequest) -> MetadataResponse | None:
        return knows(request) if len(names_in(request)) == TOPICS_AT_ONCE else None

    async with brokers(says_some) as asked:
        (told,) = await ask(asked, [f"{number}" for number in range(TOPICS_AT_ONCE + 1)], is_enough=False)
        assert len(told.ids) == len(told.leaders) == TOPICS_AT_ONCE


@pytest.mark.parametrize("topics", [1, MOST_PARTITIONS])
async def test_hm_2_a_new_controller_asks_about_thousands_of_partitions_and_does_not_hold_the_event_loop(
    topics: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term, "ANSWER_S", NEVER_S)  # whatever else the machine does: the turns are measured
    names = [f"{number}" for number in range(topics)]
    here = cluster()
    for name in names:
        put_topic(here, name, None, {index: not_moving(1, 2) for index in range(MOST_PARTITIONS // topics)}, version=0)
    answers = [
        encode_response(
            metadata(names[first : first + TOPICS_AT_ONCE], MOST_PARTITIONS // topics),
            version=VERSION,
            correlation_id=1 + first // TOPICS_AT_ONCE,
        )[4:]
        for first in range(0, topics, TOPICS_AT_ONCE)
    ]
    for measured in tries():
        async with brokers(partial(_next, iter(answers))) as asked, measured:
            found = await in_turns(to_ask_about(here, {}, 0))
            told = await ask(asked, sorted(found, key=int), is_enough=True)
            edits = await in_turns(proven(here, told, 0))
        assert len(told[0].leaders) == MOST_PARTITIONS
        assert len(edits.lost) == topics
