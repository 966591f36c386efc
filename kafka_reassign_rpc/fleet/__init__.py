"""Simulated Kafka brokers: real sockets, real ZooKeeper sessions, sizes in place of data.

A controller (ours, or that of a stock Kafka broker in ZooKeeper mode) drives them as it drives real ones.

    registration    /brokers/ids, the broker epoch
    requests        what LeaderAndIsr, StopReplica and UpdateMetadata do to replicas and metadata
    leading         the leader's side of replication; following: the follower's; both bounded by tokens and throttles
    isr             which ISR a leader wants; isr_sender asks the controller for it
    logdirs, store  where logs are, and how they outlive the process
    seeding         topics that exist from the start, and the size of their replicas
    broker, fleet   the parts put together
"""

from kafka_reassign_rpc.fleet.fleet import Fleet
from kafka_reassign_rpc.fleet.fleet_config import FleetConfig, SeedTopic, parse_bytes, parse_topic
from kafka_reassign_rpc.fleet.log_size_file import LogSizeFileError
from kafka_reassign_rpc.fleet.seed_topics import SeedError

__all__ = ["Fleet", "FleetConfig", "LogSizeFileError", "SeedError", "SeedTopic", "parse_bytes", "parse_topic"]
