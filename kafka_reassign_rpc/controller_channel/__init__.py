"""Channels to brokers, for LeaderAndIsr, StopReplica and UpdateMetadata (Kafka's ControllerChannelManager).

channel_manager         one channel for each registered broker; which brokers have to learn of a change
broker_channel          the ordered connection to one broker: how long it waits for an answer, and before it tries again
                        (ANSWER_TIMEOUT_S, …)
pending_requests        what one broker still has to learn, and in which order; how many partitions one request has
                        (PARTITIONS_PER_REQUEST)
pending_leader_and_isr  the same of its replicas
missed_changes          what brokers that return have to stop and forget
unassigned_replicas     what a broker holds although it is not assigned to it
stop_unassigned         asks for that, and has it stopped
leaders_first           followers wait until their leader has learned of a leader epoch
request_builders        what the three requests say
packed_requests         LeaderAndIsr and UpdateMetadata as bytes
leader_and_isr_answers  which replicas of a broker are in a failed log dir, or have the log of another topic
replica_answers         what follows: such replicas are reported offline, or their logs replaced
broker_reports          what brokers report to the controller
judge_defaults          what a broker says to cluster-wide configs
"""

from kafka_reassign_rpc.controller_channel.channel_manager import ChannelManager
from kafka_reassign_rpc.controller_channel.request_builders import Sender

__all__ = ["ChannelManager", "Sender"]
