"""Deletions of large topics leave others their turn."""

from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.topics.topic_deletion import possible_strays
from tests.core.build import TOPIC, TOPIC_ID, not_moving
from tests.longest_turn import tries

BROKERS = 30
PARTITIONS = 100_000


async def test_sv_10_a_few_strays_of_a_topic_with_many_partitions_are_found_in_no_time() -> None:
    """It is no step for each partition and broker."""
    topic = Topic(TOPIC, TOPIC_ID, dict.fromkeys(range(PARTITIONS), not_moving(1, 2)))
    suspected = {broker: [7] for broker in range(1, BROKERS + 1)}
    for measured in tries():
        async with measured:
            found = list(possible_strays(topic, (), suspected))
    assert found == [(7, broker) for broker in range(3, BROKERS + 1)]
