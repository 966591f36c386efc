"""Simulated Kafka brokers: real sockets, real ZooKeeper sessions, sizes in place of data.

A controller (ours, or that of a stock Kafka broker in ZooKeeper mode) drives them as it drives real ones.

fleet.py                  the brokers of one process: start, wait until ready, stop; the APIs that they serve
fleet_config.py           how many brokers, racks, bandwidth, topics, directories, with the defaults
simulated_broker.py       one broker: the parts below put together, and the `Node` that API handlers see
broker_registration.py    /brokers/ids, the broker epoch
controller_requests.py    what LeaderAndIsr, StopReplica and UpdateMetadata change; the cluster, as UpdateMetadata
                          describes it
replica_table.py          its replicas and the sizes of their logs; the file in which sizes survive the process
leader_replication.py     the leader's side of replication: how many bytes each follower gets
replica_fetcher.py        the follower's side of replication
throttled_replicas.py     which replicas the configs throttle, and at which rate, followed in ZooKeeper; how much a
                          bucket saves up (BURST_S)
isr_proposals.py          which ISR a leader wants, and the requests that ask the controller for it
controller_connection.py  the connection to the current controller, and controlled shutdown (TRIES, TIMEOUT_S)
log_dirs.py               log dirs, moves of replicas between them, and the files that take log dirs away
seed_topics.py            topics that exist from the start, and the size of their replicas
"""

from kafka_reassign_rpc.fleet.fleet import Fleet
from kafka_reassign_rpc.fleet.fleet_config import FleetConfig, SeedTopic, parse_bytes, parse_topic
from kafka_reassign_rpc.fleet.replica_table import LogSizeFileError
from kafka_reassign_rpc.fleet.seed_topics import SeedError

__all__ = ["Fleet", "FleetConfig", "LogSizeFileError", "SeedError", "SeedTopic", "parse_bytes", "parse_topic"]
