"""What brokers tell the controller by a znode that it deletes once it is done.

/log_dir_event_notification/log_dir_event_…   {"version":1,"broker":1,"event":1}                    a log dir failed
/isr_change_notification/isr_change_…         {"version":1,"partitions":[{"topic":"t","partition":0}]}
/admin/preferred_replica_election             the same
"""

import msgspec

from kafka_reassign_rpc.zookeeper.znode_contents import Id, decode_json


class _LogDirEvent(msgspec.Struct):
    broker: Id


_log_dir_event = msgspec.json.Decoder(_LogDirEvent)


def decode_log_dir_event(data: bytes, path: str) -> int:
    """The id of the broker. As in Kafka, no other field counts. Raises BadZnode."""
    return decode_json(_log_dir_event, data, path).broker
