"""One look at the cluster. What has no answer is an error that says why: nothing may be concluded from it."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.client.broker_questions import Answer
from kafka_reassign_rpc.client.config_calls import Configs, Resource
from kafka_reassign_rpc.client.kraft_calls import Quorum, RegisteredBroker
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from kafka_reassign_rpc.client.result_values import PartitionReassignment
from kafka_reassign_rpc.client.stock_cluster import sampled
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import takes_nothing_new
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

NOT_ASKED = KafkaError("It was not asked.")


class Wanted(NamedTuple):
    """topics          by name; None: all that this principal may describe
    moves           the moves in flight, whoever has started them
    brokers         the registered brokers, fenced ones too
    quorum          who controls, and how long each node has been quiet
    log_dirs        broker -> the topics and partitions whose sizes it is asked for; with {} only for its log dirs. A
                    broker that is still busy with its last question is not asked
    topic_configs   topics; with any of them, or of brokers, also the defaults of all brokers
    broker_configs  brokers; each has one question at a time, so in a look it is not asked for sizes as well
    """

    topics: Collection[str] | None = ()
    moves: bool = True
    brokers: bool = True
    quorum: bool = False
    log_dirs: Mapping[int, Mapping[str, Sequence[int]]] = {}
    topic_configs: Collection[str] = ()
    broker_configs: Collection[int] = ()


class Seen(msgspec.Struct, frozen=True):
    """began, ended  by the loop's clock. The moves were asked first, so topics are as new as they or newer
    cluster_id    "" if no answer has it
    moves         those in flight, as the controller had them committed
    topics        those that were asked for; of all, those that may be described. One that no broker knows has its
                  error
    eligible      eligible leader replicas (KIP-966) of those of these topics that have partitions without a leader
    log_dirs      the last answer of each broker that has come since the look before; its `found` may be an error
    configs       set by somebody, without defaults; those of brokers as `log_dirs`
    """

    began: float
    ended: float
    cluster_id: str = ""
    moves: Mapping[TopicPartition, PartitionReassignment] | KafkaError = NOT_ASKED
    brokers: Mapping[int, RegisteredBroker] | KafkaError = NOT_ASKED
    topics: Mapping[str, TopicInfo] | KafkaError = NOT_ASKED
    eligible: Mapping[TopicPartition, tuple[int, ...]] | KafkaError = {}
    quorum: Quorum | KafkaError = NOT_ASKED
    log_dirs: Mapping[int, Answer] = {}
    configs: Mapping[Resource, Configs | KafkaError] = {}

    def cordoned(self, broker: int) -> bool | None:
        """Whether all its working log dirs take no new replica (KIP-1066); None: it has not told."""
        answer = self.log_dirs.get(broker)
        return None if answer is None else takes_nothing_new(sampled(answer.found))


def without_leader(topics: Mapping[str, TopicInfo]) -> list[str]:
    return [name for name, one in topics.items() if any(some.leader < 0 for some in one.partitions.values())]
