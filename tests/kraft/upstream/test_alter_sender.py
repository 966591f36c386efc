"""kr-6: how changes leave this server. The nodes are scripted, their sockets are real."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kafka_reassign_rpc.client import polling_pace
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.upstream import PARTITIONS_A_REQUEST, Outcome, Told, Upstream, Wanted
from kafka_reassign_rpc.protocol.messages import AlterPartitionReassignmentsResponse
from tests.python_client.scripted_nodes import ALTER, LIST, ScriptedCluster, ScriptedNode, addresses, listening

MANY = [TopicPartition("t", one) for one in range(2 * PARTITIONS_A_REQUEST + 1)]


class Gate:
    """Opens for so many requests."""

    def __init__(self, times: int) -> None:
        self.times = times

    def __call__(self) -> bool:
        self.times -= 1
        return self.times >= 0


class Taking(ScriptedNode):
    """It takes the partitions of a request up to `up_to`, and does not name others. `refuses`: each request as a whole,
    with this error. `told`: the topics of each request to alter, and "answered" behind it."""

    up_to = 10 * PARTITIONS_A_REQUEST
    refuses = 0
    says_mute = True

    def __init__(self, cluster: ScriptedCluster, node: int) -> None:
        super().__init__(cluster, node)
        self.told: list[str] = []

    def _answer(self, key: int, version: int) -> Any:
        if key != ALTER:
            return super()._answer(key, version)
        self.told += [*(topic.name for topic in self.body.topics), "answered"]
        of = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
        topics = []
        for topic in self.body.topics:
            named = [
                of.ReassignablePartitionResponse(partition_index=one.partition_index, error_code=0, error_message=None)
                for one in topic.partitions
                if one.partition_index < self.up_to
            ]
            topics.append(of(name=topic.name, partitions=named))
        return AlterPartitionReassignmentsResponse(
            version=version,
            throttle_time_ms=round(1_000 * self.muted_s) if self.says_mute else 0,
            error_code=self.refuses,
            error_message=None,
            responses=topics,
        )


async def told_by(node: ScriptedNode, may_tell: Callable[[], bool], target: list[int] | None = None) -> list[Told]:
    upstream = Upstream({"bootstrap_servers": addresses([node]), "request_timeout_ms": 2_000}, may_tell)
    await upstream.start()
    try:
        found = await upstream.alter(dict.fromkeys(MANY, target))
    finally:
        await upstream.close()
    assert list(found) == MANY
    return [one.told for one in found.values()]


async def test_kr_6_a_request_has_a_thousand_partitions_at_most_and_the_gate_is_asked_before_each() -> None:
    gate = Gate(10)
    async with listening(Taking(ScriptedCluster(), 1)) as node:
        assert set(await told_by(node, gate, [1])) == {Told.DONE}
        assert node.asked.count(ALTER) == 3
    assert gate.times == 7


@pytest.mark.parametrize("times", [0, 1, 2])
async def test_kr_6_nothing_leaves_after_the_gate_has_closed(times: int) -> None:
    async with listening(Taking(ScriptedCluster(), 1)) as node:
        told = await told_by(node, Gate(times), [1])
        assert node.asked.count(ALTER) == times
    assert told == [Told.DONE] * times * PARTITIONS_A_REQUEST + [Told.NOT_TOLD] * (
        len(MANY) - times * PARTITIONS_A_REQUEST
    )


async def test_kr_6_after_a_lost_answer_nothing_more_is_sent() -> None:
    node = Taking(ScriptedCluster(), 1)
    node.replies[ALTER] = lambda answer: answer if node.asked.count(ALTER) == 1 else None
    async with listening(node):
        told = await told_by(node, Gate(10))
        assert node.asked.count(ALTER) == 2
    one = PARTITIONS_A_REQUEST
    assert told == [Told.DONE] * one + [Told.UNKNOWN] * one + [Told.NOT_TOLD]


async def test_kr_6_a_request_that_is_refused_as_a_whole_is_told_about_no_partition_and_is_the_last() -> None:
    node = Taking(ScriptedCluster(), 1)
    node.refuses = ClusterAuthorizationFailed.code
    async with listening(node):
        assert set(await told_by(node, Gate(10), [1])) == {Told.NOT_TOLD}
        assert node.asked.count(ALTER) == 1


async def test_kr_6_what_an_answer_does_not_name_is_unknown() -> None:
    node = Taking(ScriptedCluster(), 1)
    node.up_to = 1
    async with listening(node):
        assert await told_by(node, Gate(10)) == [Told.DONE] + [Told.UNKNOWN] * (len(MANY) - 1)


async def test_kr_6_looks_go_on_behind_a_closed_gate_and_what_has_no_answer_has_its_reason() -> None:
    async with listening(Taking(ScriptedCluster(), 1)) as node:
        node.replies[LIST] = lambda _answer: b"\0\0\0\4\0\0\0\0"
        upstream = Upstream({"bootstrap_servers": addresses([node]), "request_timeout_ms": 2_000}, Gate(0))
        await upstream.start()
        try:
            with polling_pace.counted() as asked:
                found = await upstream.look(Wanted(topics=["t"]))
        finally:
            await upstream.close()
        assert asked.requests > 1
    assert found.cluster_id == "c"
    assert found.topics == {}
    assert "the frame ends inside its header" in str(found.moves)
    assert found.brokers == {}  # before Kafka 2.8


async def test_kr_6_of_two_that_tell_at_once_the_second_waits_until_all_requests_of_the_first_are_answered() -> None:
    node = Taking(ScriptedCluster(), 1)

    def sent() -> bool:
        node.told.append("sent")
        return True

    async with listening(node):
        upstream = Upstream({"bootstrap_servers": addresses([node]), "request_timeout_ms": 5_000}, sent)
        await upstream.start()
        try:
            first, second = (dict.fromkeys((name._replace(topic=one) for name in MANY), (1,)) for one in ("a", "b"))
            outcomes = await asyncio.gather(upstream.alter(first), upstream.alter(second))
        finally:
            await upstream.close()
    assert node.told == [*(["sent", "a", "answered"] * 3), *(["sent", "b", "answered"] * 3)]
    assert {one.told for found in outcomes for one in found.values()} == {Told.DONE}


async def test_kr_6_a_request_quota_delays_what_is_told_and_seen_and_nothing_is_lost_or_sent_twice() -> None:
    """A broker answers with the delay, and reads nothing more for as long (KIP-219)."""
    node = Taking(ScriptedCluster(), 1)
    node.muted_s = 0.1
    async with listening(node):
        began = asyncio.get_running_loop().time()
        assert set(await told_by(node, Gate(10), [1])) == {Told.DONE}
        assert asyncio.get_running_loop().time() - began > 1.9 * node.muted_s
        assert node.asked.count(ALTER) == 3
        node.asked.clear()
        upstream = Upstream({"bootstrap_servers": addresses([node])}, Gate(0))
        await upstream.start()
        try:
            found = await upstream.look(Wanted(topics=["t"]))
        finally:
            await upstream.close()
    assert (found.moves, found.topics, found.brokers) == ({}, {}, {})
    assert node.asked.count(LIST) == 1


@pytest.mark.parametrize("says", [True, False])
async def test_kr_6_what_a_mute_broker_is_not_sent_is_not_told_and_what_it_may_read_yet_has_an_open_outcome(
    says: bool,
) -> None:
    """A quota mutes it for longer than a request may take. What comes behind is not sent."""
    node = Taking(ScriptedCluster(), 1)
    node.says_mute = says
    async with listening(node):
        upstream = Upstream({"bootstrap_servers": addresses([node]), "request_timeout_ms": 1_000}, Gate(10))
        await upstream.start()
        try:
            assert set((await upstream.alter(dict.fromkeys(MANY[:1], (1,)))).values()) == {Outcome(Told.DONE)}
            node.muted_s = 3.0
            found = await upstream.alter(dict.fromkeys(MANY, (1,)))
        finally:
            await upstream.close()
    one, second = PARTITIONS_A_REQUEST, Told.NOT_TOLD if says else Told.UNKNOWN
    assert [some.told for some in found.values()] == [Told.DONE] * one + [second] * one + [Told.NOT_TOLD]
