"""One look at the cluster. What has no answer is an error that says why: nothing may be concluded from it."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.client.config_calls import Configs, Resource
from kafka_reassign_rpc.client.kraft_calls import RegisteredBroker
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.client.result_values import PartitionReassignment
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

NOT_ASKED = KafkaError("It was not asked.")


class Wanted(NamedTuple):
    """topics          by name; None: all that this principal may describe
    moves           the moves in flight, whoever has started them
    brokers         the registered brokers, fenced ones too
    topic_configs   topics; with any of them, or of brokers, also the defaults of all brokers
    broker_configs  brokers. One that is still busy with its last question is not asked
    """

    topics: Collection[str] | None = ()
    moves: bool = True
    brokers: bool = True
    topic_configs: Collection[str] = ()
    broker_configs: Collection[int] = ()


class Seen(msgspec.Struct, frozen=True):
    """began, ended  by the loop's clock. The moves were asked first, so topics are as new as they or newer
    cluster_id    "" if no answer has it
    moves         those in flight, as the controller had them committed
    topics        those that were asked for; of all, those that may be described. One that no broker knows has its
                  error
    eligible      eligible leader replicas (KIP-966) of those of these topics that have partitions without a leader
    configs       set by somebody, without defaults; of brokers the last answer of each that has come since the look
                  before
    asked_at      when each of these brokers was asked, by the loop's clock
    """

    began: float
    ended: float
    cluster_id: str = ""
    moves: Mapping[TopicPartition, PartitionReassignment] | KafkaError = NOT_ASKED
    brokers: Mapping[int, RegisteredBroker] | KafkaError = NOT_ASKED
    topics: Mapping[str, TopicInfo] | KafkaError = NOT_ASKED
    eligible: Mapping[TopicPartition, tuple[int, ...]] | KafkaError = {}
    configs: Mapping[Resource, Configs | KafkaError] = {}
    asked_at: Mapping[Resource, float] = {}


def without_leader(topics: Mapping[str, TopicInfo]) -> list[str]:
    return [name for name, one in topics.items() if any(some.leader < 0 for some in one.partitions.values())]
