"""Log dirs are asked of all brokers at once, in a bounded time; a broker that tells nothing is named."""

import asyncio
from typing import Any

import pytest

from kafka_reassign_rpc.client import KafkaError, LogDirs, ReplicaLogDir, TopicPartition, Unreachable
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.log_dir_calls import (
    BrokerLogDirs,
    HeldReplica,
    LogDir,
    LogDirCalls,
)
from kafka_reassign_rpc.client.node_connections import NodeConnections
from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.protocol.messages import DescribeLogDirsResponse

FROZEN, WITHOUT_RIGHTS, REFUSES, GONE = range(90, 94)
A = TopicPartition("t", 0)

Result = DescribeLogDirsResponse.DescribeLogDirsResult


def answer(broker: int) -> DescribeLogDirsResponse:
    """One log dir with replica t-0, whose size is the broker's id."""
    found = Result.DescribeLogDirsTopic.DescribeLogDirsPartition(
        partition_index=0, partition_size=broker, offset_lag=0, is_future_key=False
    )
    topics = [Result.DescribeLogDirsTopic(name="t", partitions=[found])]
    results = [Result(error_code=0, log_dir="/d", topics=topics, total_bytes=1000, usable_bytes=100)]
    results[0].is_cordoned = broker == 2  # from Kafka 4.3 on
    return DescribeLogDirsResponse(version=5, throttle_time_ms=0, error_code=0, results=results)


class Brokers(RequestRouter):
    """Takes the place of connections: broker `FROZEN` never answers, others answer when `expected` have been asked."""

    def __init__(self, expected: int) -> None:
        settings = client_settings({})
        super().__init__(NodeConnections(settings), settings)
        self._expected = expected
        self._asked = 0
        self._all_asked = asyncio.Event()

    async def ask_node(self, node: int, *_: object, **__: object) -> Any:
        self._asked += 1
        if self._asked == self._expected:
            self._all_asked.set()
        await self._all_asked.wait()
        if node == FROZEN:
            await asyncio.Event().wait()
        if node == GONE:
            raise Unreachable("Broker 93 is not available.")
        if node == WITHOUT_RIGHTS:  # before Kafka 3.2
            return DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=[])
        if node == REFUSES:  # from Kafka 3.2 on
            return DescribeLogDirsResponse(throttle_time_ms=0, error_code=31, results=[])
        return answer(node)


def client(router: RequestRouter) -> LogDirCalls:
    made = LogDirCalls()
    made._router = router
    return made


async def test_dp_1_all_brokers_are_asked_before_the_first_has_answered() -> None:
    found = await client(Brokers(expected=50)).describe_log_dirs({broker: [A] for broker in range(50)})
    assert found == [LogDirs(broker, {A: ReplicaLogDir("/d", None, broker, 0)}) for broker in range(50)]


async def test_dp_1_brokers_that_never_answer_cost_one_timeout_together_and_hide_no_answer() -> None:
    asked = {broker: {"t": [0]} for broker in (1, FROZEN, GONE, 2)}

    found = await client(Brokers(expected=4)).describe_brokers(asked, timeout_ms=300)

    assert list(found) == list(asked)
    for broker in (1, 2):
        assert found[broker] == BrokerLogDirs(
            [HeldReplica("t", 0, broker, "/d", False)], [LogDir("/d", True, 1000, 100, broker == 2)]
        )
    assert [(type(one), str(one)) for one in (found[FROZEN], found[GONE])] == [
        (Unreachable, "It did not answer within 0.3 s."),
        (Unreachable, "Broker 93 is not available."),
    ]


@pytest.mark.parametrize("broker", [WITHOUT_RIGHTS, REFUSES])
async def test_dp_1_a_client_without_the_right_to_see_log_dirs_learns_so_from_any_kafka(broker: int) -> None:
    error = (await client(Brokers(1)).describe_brokers({broker: {"t": [0]}}))[broker]
    assert isinstance(error, ClusterAuthorizationFailed)
    [dirs] = await client(Brokers(1)).describe_log_dirs({broker: [A]})
    assert dirs == LogDirs(broker, error=str(error))
    assert isinstance(error, KafkaError)
    if broker == WITHOUT_RIGHTS:
        assert "needs the operation DESCRIBE on the cluster" in str(error)
