"""Channels to brokers, for LeaderAndIsr, StopReplica and UpdateMetadata (Kafka's ControllerChannelManager).

channel_manager         one channel for each registered broker; which brokers have to learn of a change; followers wait
                        until their leader has learned of a leader epoch; what brokers that return have to stop and
                        forget
broker_channel          the ordered connection to one broker: how long it waits for an answer, and before it tries again
                        (ANSWER_TIMEOUT_S, …)
pending_requests        what one broker still has to learn, and in which order; how many partitions one request has
                        (PARTITIONS_PER_REQUEST)
stop_unassigned         what a broker holds although it is not assigned to it: asks for that, and has it stopped
request_builders        what the three requests say; LeaderAndIsr and UpdateMetadata as bytes
replica_answers         what brokers report by their answers; which of their replicas are in a failed log dir, or have
                        the log of another topic: they are reported offline, or their logs replaced
"""

from kafka_reassign_rpc.controller_channel.channel_manager import ChannelManager
from kafka_reassign_rpc.controller_channel.request_builders import Sender

__all__ = ["ChannelManager", "Sender"]
