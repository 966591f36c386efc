"""What brokers and Kafka 2.x's election tool report to the controller by a znode that it deletes once it is done.

/log_dir_event_notification/log_dir_event_…   {"version":1,"broker":1,"event":1}                    a log dir failed
/isr_change_notification/isr_change_…         {"version":1,"partitions":[{"topic":"t","partition":0}]}
/admin/preferred_replica_election             the same

As in Kafka, no other field counts.
"""

import msgspec

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.zookeeper.znode_decoder import Id, decode_json


class _LogDirEvent(msgspec.Struct):
    broker: Id


class _Partition(msgspec.Struct, gc=False):
    topic: str
    partition: Id


class _Partitions(msgspec.Struct):
    partitions: list[_Partition]


_log_dir_event = msgspec.json.Decoder(_LogDirEvent)
_partitions = msgspec.json.Decoder(_Partitions)


def decode_log_dir_event(data: bytes, path: str) -> int:
    """The broker. Raises BadZnode."""
    return decode_json(_log_dir_event, data, path).broker


def encode_log_dir_event(broker: int) -> bytes:
    return msgspec.json.encode({"version": 1, "broker": broker, "event": 1})


def decode_partitions(data: bytes, path: str) -> dict[TopicPartition, None]:
    """The partitions of a notification, each once, in their order. Raises BadZnode."""
    found = decode_json(_partitions, data, path).partitions
    return dict.fromkeys(TopicPartition(one.topic, one.partition) for one in found)
