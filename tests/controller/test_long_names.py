"""A message that echoes what a client has sent fits into its answer, whatever the client has sent."""

from typing import Any

import pytest

from kafka_reassign_rpc.core.kafka_errors import LONGEST_MESSAGE, InvalidTopic
from kafka_reassign_rpc.protocol.messages import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
)
from tests.controller.bad_znodes.test_garbage import brokers, no_defect, serving
from tests.faults.cluster import ask
from tests.waiting import eventually

UNKNOWN_TOPIC, INVALID_TOPIC = 3, 17
LONGEST = "é" * 16_383
"""The longest name in bytes that a request can have where a length takes two bytes."""


def test_sv_6_a_message_has_a_limit() -> None:
    assert str(InvalidTopic("short")) == "short"
    long = str(InvalidTopic("x" * 100_000))
    assert long.startswith("xxx")
    assert len(long) < LONGEST_MESSAGE + 100
    assert 4 * LONGEST_MESSAGE + 400 < 2**15


async def test_sv_6_requests_that_name_the_longest_name_are_refused_in_words(
    zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    partitions, topics = CreatePartitionsRequest.CreatePartitionsTopic, CreateTopicsRequest.CreatableTopic

    async def refusal(request: Any, field: str, version: int) -> tuple[int, str]:
        (result,) = getattr(await ask(address, request, version), field)
        return result.error_code, result.error_message

    create = CreateTopicsRequest(topics=[topics(name=LONGEST, num_partitions=1, replication_factor=1)], timeout_ms=1000)
    grow = CreatePartitionsRequest(topics=[partitions(name=LONGEST, count=2)], timeout_ms=1000)
    async with serving(zk_connect) as address, brokers(zk_connect, 1):

        async def topic_refused() -> bool:
            code, message = await refusal(create, "topics", 4)
            return code == INVALID_TOPIC and "é" in message

        await eventually(topic_refused)  # once the controller knows the broker
        code, message = await refusal(grow, "results", 0)
        assert code == UNKNOWN_TOPIC
        assert "é" in message
    no_defect(caplog)
