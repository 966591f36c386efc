"""Reads the cluster from ZooKeeper in bulk.

load_cluster   all of it: brokers, configs, marks, KIP-236's znodes, and what the others read
load_topics    topics, partition states, moves
znode_reads    reads of znodes that may not exist, or may be large
load_queue     `/admin/reassign_partitions_queue`
load_replicas  the topics with replicas on one broker
"""
