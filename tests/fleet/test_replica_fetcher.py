"""The follower's side of the simulated replication, with a leader that answers as the test tells it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet.leader_replication import AT_ONCE, UNKNOWN_LEADER_EPOCH
from kafka_reassign_rpc.fleet.replica_fetcher import InboundBudget, ReplicaFetcher
from kafka_reassign_rpc.fleet.replica_table import Log, SimulatedReplica
from kafka_reassign_rpc.fleet.throttled_replicas import UNLIMITED, ThrottledReplicas
from kafka_reassign_rpc.protocol.messages import SimulatedFetchRequest, SimulatedFetchResponse
from tests.controller_channel.scripted_broker import FENCED_LEADER_EPOCH, ScriptedBroker
from tests.waiting import eventually


class Leader(ScriptedBroker):
    """Broker 1. `errors`: its errors by partition of topic t; it takes all others."""

    def __init__(self, errors: Mapping[int, int]) -> None:
        super().__init__({SimulatedFetchRequest.API_KEY: 0})
        self.announced: Counter[tuple[int, int]] = Counter()
        """How often each (partition, leader epoch) was announced."""
        self.errors = errors
        self.answer = self._fetch

    def _fetch(self, request: SimulatedFetchRequest) -> Any:
        found = [one for topic in request.added for one in topic.partitions]
        self.announced.update((one.partition, one.leader_epoch) for one in found)
        answers = [(one.partition, self.errors.get(one.partition, 0), 0, 0) for one in found]
        return SimulatedFetchResponse(version=0, error_code=0, wait_ms=AT_ONCE, topics=[("t", answers)])


def replica(index: int, epoch: int) -> SimulatedReplica:
    return SimulatedReplica(TopicPartition("t", index), Log(), leader=1, leader_epoch=epoch, replicas=(1, 2))


async def test_a_fenced_replica_awaits_its_leader_and_isr_and_others_are_announced_again() -> None:
    leader = Leader({0: FENCED_LEADER_EPOCH, 1: UNKNOWN_LEADER_EPOCH})
    await leader.start()
    fetcher = ReplicaFetcher(
        2,
        1,
        InboundBudget(2, ThrottledReplicas(), None, lambda: UNLIMITED, 0.0),
        lambda: Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", leader.port),
        lambda name, log: None,
        lambda: None,
        lambda: 0.01,
    )
    try:
        for index in range(3):
            fetcher.follow(replica(index, 5))
        await eventually(lambda: leader.announced[1, 5] >= 3)
        assert leader.announced[0, 5] == leader.announced[2, 5] == 1

        leader.errors = {}
        fetcher.follow(replica(0, 6))
        await eventually(lambda: leader.announced[0, 6] == 1)
        known = leader.announced[1, 5] + 1
        fetches = len(leader.received)
        await eventually(lambda: len(leader.received) > fetches + 100)
        assert leader.announced[1, 5] <= known
    finally:
        await fetcher.close()
        await leader.stop()
