"""Topics with records for the cluster in KRaft mode that `serve` starts, so that there is something to move."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.metadata_calls import TopicInfo, find_topics
from kafka_reassign_rpc.client.request_routing import RequestRouter, connect
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.topic import topic_id_of
from kafka_reassign_rpc.embedded_kraft.kraft_cluster import NODES
from kafka_reassign_rpc.kraft.state_log.leader_calls import NOT_LEADER
from kafka_reassign_rpc.kraft.state_log.record_batches import Record, encode_batch
from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest, ProduceRequest
from kafka_reassign_rpc.support.wall_clock import now_ms

RECORD_BYTES, RECORDS_A_BATCH = 10_000, 50
NOBODY = -1, -1, -1
"""Id, epoch and sequence of a producer that is not idempotent."""
KNOWN_S, PAUSE_S = 30.0, 0.2
_ALREADY_EXISTS = 36
FIRST_WITH_IDS = 13
"""The version of Produce that names topics by their ids."""


class DemoTopic(NamedTuple):
    """`batches`: of half a megabyte, in each partition."""

    partitions: int
    batches: int


TOPICS: Mapping[str, DemoTopic] = {"orders": DemoTopic(12, 2), "payments": DemoTopic(6, 10)}


def two_of(index: int) -> list[int]:
    """Brokers in turn, so that examples are the same everywhere."""
    return [NODES[(index + place) % len(NODES)] for place in range(2)]


async def fill(bootstrap: str) -> None:
    """Does nothing where the topics are there. Raises KafkaError."""
    router = await connect(client_settings({"bootstrap_servers": bootstrap}))
    try:
        made = await _create(router)
        for name in made:
            topic = await _led(router, name)
            await asyncio.gather(*(_produce(router, topic, index) for index in topic.partitions))
    finally:
        await router.close()


async def _create(router: RequestRouter) -> Sequence[str]:
    """Returns those that were not there."""
    creatable = CreateTopicsRequest.CreatableTopic
    topics = [
        creatable(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                creatable.CreatableReplicaAssignment(partition_index=index, broker_ids=two_of(index))
                for index in range(one.partitions)
            ],
            configs=[],
        )
        for name, one in TOPICS.items()
    ]
    request = CreateTopicsRequest(topics=topics, timeout_ms=router.timeout_ms, validate_only=False)
    answer = await router.ask_any(lambda _: request, CreateTopicsRequest, changes=True)
    for made in answer.topics:
        if made.error_code not in (0, _ALREADY_EXISTS):
            raise KafkaError(f"the topic {made.name} cannot be created: {made.error_message}")
    return [made.name for made in answer.topics if not made.error_code]


async def _led(router: RequestRouter, topic: str) -> TopicInfo:
    """The topic, once all its partitions have a leader."""
    for _ in range(int(KNOWN_S / PAUSE_S)):
        found = (await find_topics(router, [topic]))[topic]
        if sum(one.leader >= 0 for one in found.partitions.values()) == TOPICS[topic].partitions:
            return found
        await asyncio.sleep(PAUSE_S)
    raise KafkaError(f"the topic {topic} has no leaders after {KNOWN_S:g} s")


async def _produce(router: RequestRouter, topic: TopicInfo, index: int) -> None:
    of_topic = ProduceRequest.TopicProduceData
    records = [Record(b"", bytes(RECORD_BYTES))] * RECORDS_A_BATCH
    batch = await asyncio.to_thread(encode_batch, records, *NOBODY, now_ms())
    data = of_topic.PartitionProduceData(index=index, records=batch)

    def build(version: int) -> ProduceRequest:
        named = {"topic_id": topic_id_of(topic.topic_id)} if version >= FIRST_WITH_IDS else {"name": topic.name}
        some = [of_topic(partition_data=[data], **named)]
        return ProduceRequest(transactional_id=None, acks=-1, timeout_ms=router.timeout_ms, topic_data=some)

    left = TOPICS[topic.name].batches
    for _ in range(int(KNOWN_S / PAUSE_S)):
        answer = await router.ask_node_once(topic.partitions[index].leader, build, ProduceRequest)
        (made,) = (one for found in answer.responses for one in found.partition_responses)
        if made.error_code and made.error_code not in NOT_LEADER:
            raise KafkaError(f"{topic.name}-{index} takes no records: error {made.error_code}")
        left -= not made.error_code
        if not left:
            return
        if made.error_code:  # the leader of a new topic does not know yet that it is
            await asyncio.sleep(PAUSE_S)
    raise KafkaError(f"{topic.name}-{index} takes no records after {KNOWN_S:g} s: error {made.error_code}")
