"""Controller mutation quotas in the three APIs that have them."""

from typing import Any

import pytest

from kafka_reassign_rpc.core.quotas.client_quotas import CLIENT_ID
from kafka_reassign_rpc.protocol.messages import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from tests.api.ask import ask
from tests.api.model_node import ModelNode, topic

BURST = 11
"""Partitions that a client may change at once under a rate of 1."""
EXCEEDED = 89


def limited(rate: str = "1") -> ModelNode:
    node = ModelNode(topic("old"))
    node.quota_table.put(((CLIENT_ID, "test"),), {"controller_mutation_rate": rate})
    return node


def create(version: int, *topics: tuple[str, int], validate_only: bool = False) -> Any:
    kind = CreateTopicsRequest.CreatableTopic
    return CreateTopicsRequest(
        version=version,
        topics=[
            kind(version=version, name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[])
            for name, count in topics
        ],
        timeout_ms=1000,
        validate_only=validate_only,
    )


def grow(version: int, count: int) -> Any:
    kind = CreatePartitionsRequest.CreatePartitionsTopic
    return CreatePartitionsRequest(
        version=version,
        topics=[kind(version=version, name="old", count=count, assignments=None)],
        timeout_ms=1000,
        validate_only=False,
    )


def delete(version: int) -> Any:
    return DeleteTopicsRequest(version=version, topic_names=["old"], timeout_ms=1000)


def codes(answer: Any) -> list[int]:
    name = next(name for name in ("topics", "results", "responses") if hasattr(answer, name))
    return [one.error_code for one in getattr(answer, name)]


async def test_sv_5_topics_beyond_a_clients_quota_are_refused_and_the_client_hears_how_long_to_wait() -> None:
    node = limited()
    assert codes(await ask(node, create(7, ("validated", 5000), validate_only=True), 7)) == [0]
    first = await ask(node, create(7, ("a", BURST + 2), ("b", 1)), 7)
    assert codes(first) == [0, EXCEEDED]
    assert first.topics[1].error_message is None
    assert 1000 < first.throttle_time_ms <= 2000
    for request, version in ((create(6, ("c", 1)), 6), (grow(3, 99), 3), (delete(5), 5)):
        answer = await ask(node, request, version)
        assert codes(answer) == [EXCEEDED]
        assert answer.throttle_time_ms > 0


async def test_sv_5_what_is_only_validated_is_answered_although_the_quota_is_used_up() -> None:
    node = limited()
    assert codes(await ask(node, create(7, ("a", BURST + 2)), 7)) == [0]
    validated = await ask(node, create(7, ("b", 1), validate_only=True), 7)
    assert (codes(validated), validated.throttle_time_ms) == ([0], 0)


async def test_sv_5_before_the_versions_that_know_the_error_clients_are_only_asked_to_wait() -> None:
    node = limited()
    assert (await ask(node, create(5, ("a", BURST)), 5)).throttle_time_ms == 0
    for request, version in ((create(5, ("b", 100)), 5), (grow(2, 99), 2), (delete(4), 4)):
        answer = await ask(node, request, version)
        assert EXCEEDED not in codes(answer)
        assert answer.throttle_time_ms > 90_000


async def test_sv_5_what_the_controller_refuses_uses_up_no_quota() -> None:
    node = limited()
    node.controller.refuses_topics = True
    for _ in range(3):
        answer = await ask(node, create(7, ("refused", BURST + 100)), 7)
        assert EXCEEDED not in codes(answer)
        assert answer.throttle_time_ms == 0


@pytest.mark.parametrize("rate", ["", "none"])
async def test_sv_6_a_quota_that_is_no_number_is_none(rate: str) -> None:
    node = limited(rate)
    assert codes(await ask(node, create(7, ("a", 9000), ("b", 9000)), 7)) == [0, 0]
