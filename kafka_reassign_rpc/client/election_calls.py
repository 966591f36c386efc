"""Calls that elect leaders."""

from kafka_reassign_rpc.client.client_errors import UnsupportedHere, error_of, raise_for
from kafka_reassign_rpc.client.reassignment_calls import Partitions, Results
from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.core.kafka_errors import ElectionNotNeeded
from kafka_reassign_rpc.core.leadership.elections import ElectionType
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition, by_topic
from kafka_reassign_rpc.protocol.messages import ApiMessage, ElectLeadersRequest

_Partitions = ElectLeadersRequest.TopicPartitions


async def elect_preferred_leaders(router: RequestRouter, partitions: Partitions, timeout_ms: int) -> Results:
    wanted = [_Partitions(topic=name, partitions=indexes) for name, indexes in by_topic(partitions).items()]
    if not wanted:
        return {}

    def build(version: int) -> ApiMessage:
        if version < 1:  # its answer cannot say that the node is not the controller
            raise UnsupportedHere("This needs Kafka 2.4 or later: ElectLeaders 1.")
        return ElectLeadersRequest(election_type=ElectionType.PREFERRED, topic_partitions=wanted, timeout_ms=timeout_ms)

    answer = await router.ask_controller(build, ElectLeadersRequest, changes=True)
    raise_for(answer.error_code, None)
    results: Results = {}
    for topic in answer.replica_election_results:
        for one in topic.partition_result:
            error = error_of(one.error_code, one.error_message)
            name = TopicPartition(topic.topic, one.partition_id)
            results[name] = None if isinstance(error, ElectionNotNeeded) else error
    return results
